#include "backend/fleet/delivery.hpp"

#include <algorithm>

namespace backend::fleet {

base::Result<std::shared_ptr<const PlacementContent>> read_placement(store::Store& store,
                                                                     domain::PlacementKey key) {
  auto placement = store.find_placement(key);
  if (!placement) return std::move(placement).error();
  auto states = domain::read_states(placement->states);
  if (!states) return std::move(states).error();
  return std::make_shared<const PlacementContent>(
      PlacementContent{std::move(*placement), std::move(*states)});
}

base::Result<Delivery> prepare_delivery(store::Store& store, Placed placed,
                                        std::vector<domain::InstanceKey> also) {
  Delivery delivery;
  delivery.changed = std::move(placed.changed);
  delivery.rejected = std::move(placed.rejected);
  for (const PlacedVersion& version : delivery.changed)
    also.push_back(version.instance);
  std::ranges::sort(also);
  const auto repeated = std::ranges::unique(also);
  also.erase(repeated.begin(), repeated.end());

  delivery.progress.reserve(also.size());
  for (const domain::InstanceKey instance : also) {
    auto progress = store.instance_progress(instance);
    if (!progress) return std::move(progress).error();
    if (progress->placement != 0 && !delivery.contents.contains(progress->placement)) {
      auto content = read_placement(store, progress->placement);
      if (!content) return std::move(content).error();
      delivery.contents.emplace(progress->placement, std::move(*content));
    }
    delivery.progress.push_back(std::move(*progress));
  }
  return delivery;
}

}  // namespace backend::fleet
