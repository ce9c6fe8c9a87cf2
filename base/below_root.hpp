// Paths as a program sees them for which another folder is the root: symlinks are followed, also at the end,
// and neither an absolute link nor ".." leads out of it. For reading what people name; what the agent itself
// writes goes through Tree.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

namespace base {

// `root`: "" for the running system. open(2)'s flags; no descriptor, and errno, when it fails.
UniqueFd open_below(const std::string& root, std::string_view path, int flags);

// Nothing when it is not there, or cannot be reached.
std::optional<struct stat> stat_below(const std::string& root, std::string_view path);

}  // namespace base
