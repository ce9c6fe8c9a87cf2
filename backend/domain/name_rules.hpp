// Which names things may have. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "protocol/ids.hpp"

namespace backend::domain {

// Names of apps and recipes stand in paths of the API and in cursors. `what`: "an app".
inline base::Result<void> check_name(std::string_view what, std::string_view name) {
  const std::string_view wrong = protocol::problem_of_name(name);
  if (wrong.empty()) return {};
  return base::Error(base::ErrorCode::invalid, "the name of " + std::string(what) + " " + std::string(wrong));
}

}  // namespace backend::domain
