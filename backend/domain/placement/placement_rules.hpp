// Placing many machines at once: which of them are left out, and when a change is refused as a whole. Pure.
//
// One machine must not decide what the others get. So a machine that cannot be given what it is assigned is
// rejected, alone: it keeps what it has. A change is refused only where it is the change that is wrong.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/domain/placement/placement.hpp"
#include "base/result.hpp"

namespace backend::domain {

// A machine as a change finds it.
struct PlacementCase {
  std::string instance_id;
  std::string problem;        // why it cannot be given what it is assigned; "": it can
  bool was_rejected = false;  // before the change
  bool is_touched = false;    // by what has changed; not, if only its own word makes it so
};

// The machine that shows that the change is wrong: nobody whom it touches could be given it, and at least one
// of them was well before. Nothing: the change holds, and whoever has a problem is rejected.
std::optional<std::size_t> refusing_case(std::span<const PlacementCase> cases);

// For a change of variables, which is refused where it is set: the machine that it takes its recipe from.
std::optional<std::size_t> spoiled_case(std::span<const PlacementCase> cases);

// check_waits() without those who spoil it. `suspects` (as many as there are instances): machines that were
// rejected before, or are where they are by their own word alone. If the waits of all can come true, nobody
// is left out; else suspects are added to the others by halves, and those with which it fails are left out.
// Answers why, for each instance: "" if it is not. An error: the others fail by themselves.
base::Result<std::vector<std::string>> isolate_waits(
    std::string_view app_id, std::span<const PlacedInstance> instances, const std::vector<bool>& suspects,
    std::span<const std::shared_ptr<const StateList>> assigned);

// So often waits are checked to find those; when that is not enough, the rest of the suspects is left out.
inline constexpr std::size_t kMostIsolationChecks = 128;

}  // namespace backend::domain
