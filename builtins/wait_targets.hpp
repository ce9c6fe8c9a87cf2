// What a meta.wait waits for, as its parameter `state` says it. The one reader of it: the backend decides by
// it whom to wait for, the agent names by it what it is waiting for.
//
// Each target is "<instance_id>/<state_id>", or an object with a `state_id` (or `id`, `stateid`) and either
// an `instance_id` or a `selector`. One target need not stand in a list. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/values/value.hpp"

namespace builtins {

inline constexpr std::string_view kWaitModule = "meta.wait";

// A target as it stands there. Views into the value.
struct WaitTarget {
  std::string_view instance_id;  // "": none is named
  std::string_view selector;     // with has_selector
  std::string_view state_id;
  bool has_instance = false, has_selector = false;
  std::string_view text;  // the whole, when it is a text
  bool is_text = false;
};

// The id of a state, or of what a target waits for: the first of `state_id`, `id` and `stateid` that is
// there.
std::string_view state_id_of(const base::Value& object);

// All targets of a wait state's `parameter`, in order. Nothing is refused: see problem_of_target().
std::vector<WaitTarget> read_wait_targets(const base::Value& parameter);

// Why nobody could wait for it; "" if somebody can. Whether the selector is one is the caller's to find out.
std::string problem_of_target(const WaitTarget& target);

}  // namespace builtins
