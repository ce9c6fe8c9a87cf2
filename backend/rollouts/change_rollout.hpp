// A change of a recipe, an assignment or variables on its way to machines: to all of them at once, or as a
// rollout.
//
// On the writer thread, inside the transaction of the change, after its row was written: an error undoes
// both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/domain/rollouts/rollout_rules.hpp"
#include "backend/domain/selectors/selector.hpp"
#include "backend/fleet/placer.hpp"
#include "backend/store/store.hpp"

namespace backend::rollouts {

// How it was asked to go out.
struct ChangeTerms {
  domain::ChangePace pace = domain::ChangePace::as_app;
  std::vector<int> per_cent = {};               // empty: the app's, or the default
  std::optional<std::size_t> canaries = {};     // how many; nothing: domain::change_canaries()
  std::optional<domain::Selector> canary = {};  // which; strict
  std::int64_t may_fail = domain::kMayFail;
  std::int64_t pause_s = 60, jitter_s = 5, timeout_s = 900;
  bool supersedes = false;  // takes the place even of one that runs
};

struct ChangeOrder {
  std::string app_id;
  std::string selector;  // whom it reaches, for people and for scopes
  // A push: recipe and to_revision; from_revision is the one that was the newest. An assignment or variables:
  // the number, and what was there before, if anything was.
  domain::HeldChange change;
  std::string created_by, owner;
  ChangeTerms terms;
  domain::Millis now = 0;
};

struct PlacedChange {
  fleet::Placed placed;                                // what is different for machines now
  std::size_t affected = 0;                            // machines that get something else by it, now or later
  std::vector<fleet::RejectedInstance> rejected = {};  // who cannot be given it
  std::optional<domain::Rollout> rollout = {};         // nothing: it is everybody's at once
};

// What place_app() refuses for all at once is refused also for one after the other. `unsupported`: a rollout
// of the same recipe or assignment runs.
base::Result<PlacedChange> place_change(store::Store& store, const ChangeOrder& order);

// The rollout that holds the same recipe, assignment or variables in the app; nothing: none does.
base::Result<std::optional<domain::Rollout>> find_held(store::Store& store, std::string_view app_id,
                                                       const domain::HeldChange& what);

}  // namespace backend::rollouts
