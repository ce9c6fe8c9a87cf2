// Delivery: what a committed change means to instances, carried from the writer thread to the loop.
//
// A push is a row first and a frame second: prepare_delivery() is called inside the transaction that placed
// the versions, and Fleet::deliver() after it was committed.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/domain/placement/placement.hpp"
#include "backend/fleet/placer.hpp"
#include "backend/store/store.hpp"

namespace backend::fleet {

// A placement with what is read from its states, shared by all instances that run it.
struct PlacementContent {
  domain::Placement placement = {};              // without its states
  std::shared_ptr<const std::string> text = {};  // those, as on the wire
  std::shared_ptr<const domain::StateList> states = {};
  domain::PlacementKey shared = 0;  // whose states these are: its own, or its base's
};
using PlacementContents = std::unordered_map<domain::PlacementKey, std::shared_ptr<const PlacementContent>>;

struct Delivery {
  std::vector<PlacedVersion> changed;  // these are to be told
  std::vector<RejectedInstance> rejected;
  std::vector<domain::InstanceProgress>
      progress;                // of the changed ones, and of others that waits must look at again
  PlacementContents contents;  // of all placements above
};

// On a store's thread.
base::Result<std::shared_ptr<const PlacementContent>> read_placement(store::Store& store,
                                                                     domain::PlacementKey key);
// Reads it into `contents`, unless it is there. Machines that differ in their variables alone share the
// states.
base::Result<void> add_placement(store::Store& store, domain::PlacementKey key, PlacementContents& contents);
// `also`: instances whose tags or facts have changed, or that are new.
base::Result<Delivery> prepare_delivery(store::Store& store, Placed placed,
                                        std::vector<domain::InstanceKey> also = {});

}  // namespace backend::fleet
