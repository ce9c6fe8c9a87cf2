// `opsagent self-test`: whether this program could do its work here. Run by whoever is about to install or to
// switch to it. Reads only, ends within seconds, needs neither root nor network nor a backend; any thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "states/registry.hpp"

namespace agent::install {

struct Check {
  bool ok = true;
  std::string about;
  std::string text;  // what was found, or what is wrong
};

struct SelfTestOptions {
  std::string version;  // of this program
  std::string state_dir;
  std::string config_problem;  // empty: it was read, or is not there
  std::function<states::Registry()> registry;
};

std::vector<Check> self_test(const SelfTestOptions& options);

}  // namespace agent::install
