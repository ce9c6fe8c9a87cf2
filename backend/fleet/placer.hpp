// Placing: assignments and recipes made into what each instance should run, in the store.
//
// While a change is rolled out (domain::Rollout::holds()) whoever was not told is given what there was
// before; a machine that is new, or that is tagged otherwise, too.
//
// What a machine is given of variables and tags is a part of what it runs: only where that differs it gets a
// new version.
//
// Called on the writer thread inside Store::transact(), after the change (assignment, revision, tags, facts,
// handshake) was made there: an error undoes both.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/store/store.hpp"

namespace backend::fleet {

struct PlacedVersion {
  domain::InstanceKey instance = 0;
  std::string app_id, instance_id;
  std::int64_t recipe_version = 0;
  domain::PlacementKey placement = 0;  // find_placement() has the states; shared by many
};

// An instance that cannot be given what it is assigned, and keeps what it has.
struct RejectedInstance {
  std::string app_id, instance_id, reason;
  std::int64_t recipe_version = 0;  // what it keeps
  bool is_new = false;              // it was not rejected before, or for another reason
  bool is_touched = false;          // by the change
};

struct Placed {
  std::size_t matched = 0;             // instances that at least one assignment of the app matches
  std::vector<PlacedVersion> changed;  // those are to be told
  std::vector<RejectedInstance> rejected;
};

// What is different from before; with none of these, it may be anything.
struct Change {
  std::optional<std::int64_t> assignment;
  std::string recipe = {};
  std::optional<std::int64_t> layer = {};  // of variables
};

// All instances of an app that are not revoked and are approved. One that cannot work (two states with one
// id, a wait that can never come true) keeps what it has, and gets the status "rejected" with the reason; the
// others go on. Error `exists`, nothing is changed: the change works for nobody whom it touches, or the waits
// of the others, too, can never come true (domain/placement_rules).
base::Result<Placed> place_app(store::Store& store, std::string_view app_id, const Change& change = {});
// The same after several changes at once. What counts is where they lead together; each of them has to work
// for somebody whom it touches.
base::Result<Placed> place_app(store::Store& store, std::string_view app_id, std::span<const Change> changes);

// One instance: at its handshake, or when its tags or facts have changed. If what it is assigned cannot work,
// it is rejected as above. A revoked one is given nothing.
base::Result<Placed> place_instance(store::Store& store, domain::InstanceKey instance);

// How many instances of the app the selector matches now; give it strict().
base::Result<std::size_t> count_matches(store::Store& store, std::string_view app_id,
                                        const domain::Selector& selector);

}  // namespace backend::fleet
