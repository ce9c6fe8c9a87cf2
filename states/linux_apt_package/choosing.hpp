// Which versions to install: what the recipe wants, met with what apt can get.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/debian/apt_cache.hpp"
#include "states/linux_apt_package/planning.hpp"

namespace states::linux_apt_package {

struct Chosen {
  std::vector<std::string> targets;  // as apt-get takes them: "nginx", "nginx=1.22.1-9", "/tmp/x.deb"
  bool downgrades = false;           // one of them is older than what is installed
};

// The packages whose candidates choose() wants to know.
std::vector<std::string> names_to_look_up(const std::vector<Item>& items);

// For all items with Action::install. By present lists, so a "latest" may turn out to need an installation or
// not: the items' actions are set accordingly. Errors: "Unknown package(s): …",
// "Version … of … is not available (available: …)", one line for each.
base::Result<Chosen> choose(std::vector<Item>& items, const debian::AptCandidates& candidates,
                            debian::AptCache& cache);

}  // namespace states::linux_apt_package
