// `opsagent uninstall`: takes away what site.hpp lists, and nothing else. `opsagent clean reinstall`: as new,
// but the same machine.
//
// What is not ours is kept and named. Killed anywhere, an uninstall that is run again completes it: the
// program itself is the last to go. Blocks until the service has stopped; any thread.
#pragma once

#include <string>
#include <vector>

#include "agent/install/install.hpp"
#include "agent/install/site.hpp"
#include "base/result.hpp"

namespace agent::install {

struct UninstallOptions {
  Site site;
  bool keep_state = false;  // the state folder and the configuration
};

// What was not removed, with the reason, a line each.
using Kept = std::vector<std::string>;

base::Result<Kept> uninstall(const UninstallOptions& options, const Say& say);

// Forgets recipe, reports, journals, old versions and an update that is under way; keeps who the machine is,
// the configuration and which releases it trusts; and installs the current version anew, checked against its
// manifest.
base::Result<void> reinstall(const Site& site, bool start, const Say& say);

}  // namespace agent::install
