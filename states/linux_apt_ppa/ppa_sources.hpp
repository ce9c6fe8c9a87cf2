// Which personal package archives apt's sources name.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::linux_apt_ppa {

// Whether a text has an enabled entry for the archive "owner/archive" of Launchpad: of the one-line form, or
// of deb822's.
bool list_names_ppa(std::string_view text, std::string_view ppa);
bool sources_name_ppa(std::string_view text, std::string_view ppa);

// Whether any file in /etc/apt/sources.list.d does.
base::Result<bool> is_configured(std::string_view ppa, Context& context);

}  // namespace states::linux_apt_ppa
