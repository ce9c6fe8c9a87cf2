// Whether a folder of modules, which runs as root, can be changed by others.
#pragma once

#include <string>

#include "base/result.hpp"

namespace modules {

inline constexpr std::size_t kMostFiles = 10'000;  // below a folder that is given by hand

// The folder's path without links, if others (base/files/others.hpp) can change neither it, nor the way to
// it, nor anything below it. Links below it must stay in it. The error names what is open, and how to close
// it.
base::Result<std::string> closed_tree(const std::string& folder);

}  // namespace modules
