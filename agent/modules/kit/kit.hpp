// The conformance kit: what a module must do, tried out. Starts the module, and, if asked, applies its
// examples on this machine. One thread; blocks.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace agent::modules {

struct Finding {
  std::string check;    // "the plan writes nothing"
  std::string problem;  // "": it is as it should be
  std::string mend;     // what to do
};

struct KitOptions {
  bool applies = true;                         // false: examples are planned only
  std::chrono::milliseconds patience{10'000};  // for each answer
};

// `folder` has the module.json. `each` is called with every finding as it comes; may be empty. What cannot be
// tried because of an earlier problem is left out.
std::vector<Finding> check_module(const std::string& folder, const KitOptions& options,
                                  const std::function<void(const Finding&)>& each = {});

}  // namespace agent::modules
