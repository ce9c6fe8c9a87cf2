// PlacementStore: the rows of what instances should run. See store.hpp for threads and errors.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "backend/domain/model.hpp"
#include "base/result.hpp"

namespace backend::store {

class PlacementStore {
 public:
  virtual ~PlacementStore() = default;

  // Finds or adds the row (its `key` is ignored).
  virtual base::Result<domain::PlacementKey> put_placement(const domain::Placement& placement) = 0;
  // One with a base has no states here: find_placement(base) has them.
  virtual base::Result<domain::Placement> find_placement(domain::PlacementKey key) = 0;
  virtual base::Result<std::optional<domain::PlacementKey>> find_placement(std::string_view source) = 0;
  // Those with wait states that instances of the app have now; of those with the same states one, the base.
  virtual base::Result<std::vector<domain::Placement>> waiting_placements(std::string_view app_id) = 0;
  // Whether one of the app has these states.
  virtual base::Result<bool> is_placed(std::string_view app_id, domain::PlacementKey placement) = 0;
  // The instance is to run this from now on; answers its new recipe_version. A problem that it had is gone.
  virtual base::Result<std::int64_t> place(domain::InstanceKey instance, domain::PlacementKey placement) = 0;
  // What it should run stays as it is; status "rejected" with the reason. "" takes a problem back.
  virtual base::Result<void> set_problem(domain::InstanceKey instance, std::string_view problem) = 0;
  // What no instance runs any more, at most `most`; answers how many.
  virtual base::Result<std::size_t> remove_unused_placements(std::size_t most) = 0;
};

}  // namespace backend::store
