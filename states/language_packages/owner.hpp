// Which package of the distribution has brought a file.
#pragma once

#include <string>
#include <string_view>

#include "states/context.hpp"

namespace states::language_packages {

// Its name; "" when none has. Of dpkg by its lists of files, of rpm by asking it; so for when it matters
// only.
std::string owning_package(std::string_view path, Context& context);

}  // namespace states::language_packages
