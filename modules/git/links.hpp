// Whether the symlinks of a tree stay inside it. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace modules::git {

// The longest target that a symlink can have.
inline constexpr std::size_t kLongestTarget = 4095;

// What is wrong with the link at `path` (inside the tree, without a leading slash); "" when its target,
// followed through the tree's other links as the kernel would, stays below the tree's root. `links` are all
// links of the tree with their targets. A target that is not there is fine: it leads nowhere.
std::string link_problem(const std::map<std::string, std::string>& links, const std::string& path);

}  // namespace modules::git
