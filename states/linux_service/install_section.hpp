// Whether a unit's files say what to do when it is enabled: [Install] in the unit itself or in a drop-in. For
// plans: systemd says so of most units by their state, but not of those that are linked.
#pragma once

#include <string>
#include <string_view>

#include "base/tree/tree.hpp"

namespace states::linux_service {

// Where units are, what an administrator writes first.
inline constexpr std::string_view kUnitFolders[] = {"/etc/systemd/system", "/run/systemd/system",
                                                    "/usr/local/lib/systemd/system", "/lib/systemd/system",
                                                    "/usr/lib/systemd/system"};

// "web@.service" for "web@1.service", "" for what is no instance of a template.
std::string template_of(std::string_view unit);

// Whether a unit file has an [Install] section with something in it that enabling does.
bool has_install_section(std::string_view text);

// False only when all files of the unit could be read and none has one.
bool may_be_enabled(const std::string& unit, base::Tree& tree);

}  // namespace states::linux_service
