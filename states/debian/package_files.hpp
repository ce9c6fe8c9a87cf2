// Which files dpkg has put on the machine for a package, from its own list.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/tree/tree.hpp"

namespace states::debian {

// `name` may have an architecture ("libc6:amd64"). Files and links, no folders: those belong to many. Nothing
// when the package is not here.
std::vector<std::string> files_of_package(std::string_view name, std::string_view native_architecture,
                                          base::Tree& tree);

}  // namespace states::debian
