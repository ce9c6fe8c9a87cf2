// Attempt<T>: what a blocking step of an update comes to: its value, or why the update ends.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/result.hpp"
#include "update/update_table.hpp"

namespace agent::updater {

struct StepFailure {
  update::Event event = update::Event::failed;  // failed or refused
  std::string reason;
  bool retryable = true;        // the same version may be asked for again
  bool is_interrupted = false;  // the agent is ending: nothing is decided
};

// It could not be done, this time.
inline StepFailure failed(const base::Error& error, bool retryable = true) {
  return {.reason = error.message(),
          .retryable = retryable,
          .is_interrupted = error.code() == base::ErrorCode::cancelled};
}
// What was signed, or what it says, forbids it.
inline StepFailure refused(std::string reason) {
  return {.event = update::Event::refused, .reason = std::move(reason)};
}

template <class T>
using Attempt = std::variant<T, StepFailure>;

}  // namespace agent::updater
