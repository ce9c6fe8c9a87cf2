// What `opsagent doctor` looks at. Every check answers one line or more; none of them changes anything.
#pragma once

#include <string>
#include <vector>

#include "agent/cli/options/options.hpp"

namespace agent::cli {

enum class Health { ok, warn, fail };

struct Finding {
  Health health = Health::ok;
  std::string about;   // "state folder"
  std::string text;    // what was found
  std::string advice;  // what to do; empty when all is well
};
using Findings = std::vector<Finding>;

Findings check_configuration(const Options& options);
Findings check_state_folder(const Options& options);
Findings check_daemon(const Options& options);
Findings check_unit();
// Whether this machine can prove who it is, where backends want that.
Findings check_membership(const Options& options);
// Name, proxy, connection, the backend's certificate and clock, for each backend.
Findings check_backends(const Options& options);

}  // namespace agent::cli
