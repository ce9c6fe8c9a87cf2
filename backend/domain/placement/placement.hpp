// Placement: which states each instance is to run, and whether the waits among them can ever come true. Pure.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/domain/model.hpp"
#include "backend/domain/selectors/selector.hpp"
#include "base/result.hpp"

namespace backend::domain {

// What a meta.wait waits for: a state of one instance, or of all instances of its app that a selector matches
// and that have such a state. The selector may not use facts: those change by themselves, and with them a
// wait would open and close.
struct WaitTarget {
  std::string instance_id;  // "": the selector's
  std::shared_ptr<const Selector> selector;
  std::string state_id;
};

struct WaitState {
  std::size_t index = 0;  // among the states
  std::vector<WaitTarget> targets;
};

// A list of states as far as placement and waits need to know it. Shared by all instances that run it.
struct StateList {
  std::vector<std::string> ids;
  std::unordered_map<std::string_view, std::size_t> index;  // of an id; views into `ids`
  std::vector<WaitState> waits;                             // in order
  // Machines fill it in: with variables of their own they may have more states than these, or others.
  bool has_computed = false;

  const WaitState* wait_at(std::size_t state) const;
};

// Reads the wire's list of states. Fails on a wait that is not understood, or an id that stands twice.
base::Result<std::shared_ptr<const StateList>> read_states(std::string_view states_json);

// The largest list that fits into a message to an agent, with what else stands there.
inline constexpr std::size_t kLargestStates = 4 * 1024 * 1024 - 64 * 1024;

// "[a,b]" and "[c]" to "[a,b,c]".
std::string concatenate_states(std::span<const std::string_view> lists);

// An instance with what it is going to run, for the check.
struct PlacedInstance {
  std::string instance_id;
  Tags tags;
  std::shared_ptr<const StateList> states;  // null: nothing
  Tags self_tags = {};                      // what it says of itself
  bool trusts_self_reported = false;        // its app does
  Tags tag_scopes = {};                     // as Instance has them
  bool takes_self_tags = false;             // SelfTrust::all
};

// Checks the waits of one app: a cycle, a wait for a state that its instance does not have, or, when the
// instance is not known (yet) or a selector matches nobody, that no recipe in `assigned` has. Such a wait is
// accepted when some recipe has the state: the machine may join later, and the wait stays open until then. So
// is one for a machine that is there without it, where machines say themselves what they are. A wait that
// asks for what machines say is refused where the app does not rely on that. The text says all: "a wait that
// can never end: a/x → b/y → a/x".
base::Result<void> check_waits(std::string_view app_id, std::span<const PlacedInstance> instances,
                               std::span<const std::shared_ptr<const StateList>> assigned);

}  // namespace backend::domain
