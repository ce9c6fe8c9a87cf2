// How a change of a recipe or an assignment is asked to go out: the object `rollout` of a body, or the
// parameter of that name; and how that is answered.
#pragma once

#include <string>
#include <vector>

#include "backend/api/callers/caller.hpp"
#include "backend/api/changes.hpp"
#include "backend/api/fields.hpp"
#include "backend/rollouts/change_rollout.hpp"

namespace backend::api {

// Growing percentages that end with 100; complains about anything else.
std::vector<int> read_per_cent(Fields& fields, std::string_view name, const base::Value& given);

// {"now": true}: to all at once. {"rings": [10, 50, 100], "canaries": 20, "canary": "role=test",
// "may_fail": 2, "pause_s": 60, "jitter_s": 5, "timeout_s": 900}, all of them optional: ring by ring.
// Nothing: as the app says. Complains about what is wrong.
rollouts::ChangeTerms read_change_terms(Fields& fields, const base::Value* given, const Scope& scope);

// The same from the query parameter `rollout`, as JSON.
rollouts::ChangeTerms terms_of_query(Fields& fields, const Call& call);

// What a change means to machines, of one app or of several.
struct ChangeEffect {
  fleet::Delivery delivery;
  std::size_t affected = 0;
  std::vector<fleet::RejectedInstance> rejected = {};
  std::vector<domain::Rollout> rollouts = {};
};

// place_change() with the audit row of the rollout. For the writer thread.
base::Result<void> place_noted(store::Store& store, const Actor& actor, const rollouts::ChangeOrder& order,
                               fleet::Placed& placed, ChangeEffect& effect);

// "rollouts": those that were begun.
void add_rollouts(base::JsonText& json, const std::vector<domain::Rollout>& rollouts);

}  // namespace backend::api
