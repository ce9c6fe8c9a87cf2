// Removing versions by their manifests: what somebody put beside our files stays, and is named.
#pragma once

#include <string>
#include <vector>

#include "agent/install/site.hpp"
#include "base/result.hpp"

namespace agent::install {

// All of PREFIX/versions; the version that this program belongs to last, and its program and libraries last
// of all, so that it can be run again after a kill. Adds to `kept` what is not ours.
base::Result<void> remove_versions(const Site& site, std::vector<std::string>& kept);

}  // namespace agent::install
