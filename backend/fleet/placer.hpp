// Placing: assignments and recipes made into what each instance should run, in the store.
//
// Called on the writer thread inside Store::transact(), after the change (assignment, revision, tags, facts,
// handshake) was made there: an error undoes both.
#pragma once

#include <vector>

#include "backend/store/store.hpp"

namespace backend::fleet {

struct PlacedVersion {
  domain::InstanceKey instance = 0;
  std::string app_id, instance_id;
  std::int64_t recipe_version = 0;
  domain::PlacementKey placement = 0;  // find_placement() has the states; shared by many
};

struct Placed {
  std::size_t matched = 0;             // instances that at least one assignment of the app matches
  std::vector<PlacedVersion> changed;  // those are to be told
};

// All instances of an app. Error `exists`, nothing is changed: two states with one id on a machine, a wait
// that can never come true.
base::Result<Placed> place_app(store::Store& store, std::string_view app_id);

// One instance: at its handshake, or when its tags or facts have changed. If what it is assigned cannot work,
// it keeps what it has, and gets the status "rejected" with the reason; that is no error.
base::Result<Placed> place_instance(store::Store& store, domain::InstanceKey instance);

// How many instances of the app the selector matches now.
base::Result<std::size_t> count_matches(store::Store& store, std::string_view app_id,
                                        const domain::Selector& selector);

}  // namespace backend::fleet
