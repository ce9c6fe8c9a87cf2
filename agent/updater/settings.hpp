// What the updater is told by the configuration, and by how the agent was started.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "transport/client/proxies.hpp"
#include "update/layout.hpp"

namespace agent::updater {

// So many times the trial is its deadline.
inline constexpr int kDeadlines = 3;

struct Settings {
  std::string state_dir;
  std::string version;  // that runs
  std::string prefix{update::kDefaultPrefix};
  std::string release_base;  // empty: no updates
  std::string channel = "stable";
  bool is_launched = false;  // by the launcher, which is what can start another version
  transport::Proxies proxies;
  std::vector<std::string> self_test;  // what `self-test` of another version is told, e.g. --config
  std::chrono::seconds trial{60};      // that a new version must live before it is confirmed …
  std::chrono::seconds deadline() const { return kDeadlines * trial; }  // by when all of it must be true
  std::chrono::seconds most_delay{5};  // before anything is downloaded, at random
};

}  // namespace agent::updater
