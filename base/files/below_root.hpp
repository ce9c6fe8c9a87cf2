// Paths as a program sees them for which another folder is the root: symlinks are followed, also at the end,
// and neither an absolute link nor ".." leads out of it. The way to that root is walked by the rules of
// way.hpp. For reading what belongs to a system; what people name, and what the agent itself writes, goes
// through Tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.hpp"

namespace base {

// `root`: "" for the running system. open(2)'s flags; no descriptor, and errno, when it fails.
UniqueFd open_below(const std::string& root, std::string_view path, int flags);

// The names in a folder, sorted; none when it is not there, or cannot be read.
std::vector<std::string> names_below(const std::string& root, std::string_view folder);

}  // namespace base
