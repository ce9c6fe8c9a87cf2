// What machines have shown of a change that they were given: of a revision or an assignment that is rolled
// out. Pure. docs/backend.md explains it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend/domain/rollouts/rollout.hpp"

namespace backend::domain {

// A machine that was told, with what it has reported.
struct ChangeEvidence {
  InstanceKey instance = 0;
  std::string instance_id;
  std::string phase;
  std::string noted;               // the words that its row has already
  std::int64_t given_version = 0;  // of what it was given by this rollout
  Millis told = 0;
  std::int64_t recipe_version = 0;  // what it should run now: that, or a later one
  std::int64_t reported_version = 0;
  std::string status;  // that it has reported with it
  std::string error;   // the first one of that
  std::int64_t converged_version = 0;
  Millis converged_at = 0;
  std::int64_t round_version = 0;  // of its last round
  Millis round_at = 0;
  std::uint64_t not_reached = 0;
  bool is_version_1 = false;  // its agent never says when a round ends
  std::vector<StateStanding> states = {};
};

struct ChangeVerdict {
  std::string phase;  // what its row says from now on
  std::string error;
};

// Nothing: its row stays as it is. `own_states`: the ids of the states that the change is about; none: an
// assignment was removed, or variables are others, and any state that fails counts. Else a state of another
// recipe that fails says nothing about this one, for or against.
//
// A machine reports what it likes. What it says of a version that it was not given counts for nothing, nor
// what it said of one before it was given it.
std::optional<ChangeVerdict> judge_change(const ChangeEvidence& evidence,
                                          const std::set<std::string, std::less<>>& own_states);

// What people call a change: "web@7", "assignment 3", "variables 5".
std::string name_of_change(const HeldChange& change);

}  // namespace backend::domain
