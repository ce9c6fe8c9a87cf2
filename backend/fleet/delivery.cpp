#include "backend/fleet/delivery.hpp"

#include <algorithm>

namespace backend {

base::Result<std::shared_ptr<const PlacementContent>> read_placement(Store& store, PlacementKey key) {
  auto placement = store.find_placement(key);
  if (!placement) return std::move(placement).error();
  auto states = read_states(placement->states);
  if (!states) return std::move(states).error();
  return std::make_shared<const PlacementContent>(
      PlacementContent{std::move(*placement), std::move(*states)});
}

base::Result<Delivery> prepare_delivery(Store& store, Placed placed, std::vector<InstanceKey> also) {
  Delivery delivery;
  delivery.changed = std::move(placed.changed);
  for (const PlacedVersion& version : delivery.changed)
    also.push_back(version.instance);
  std::ranges::sort(also);
  const auto repeated = std::ranges::unique(also);
  also.erase(repeated.begin(), repeated.end());

  delivery.standings.reserve(also.size());
  for (const InstanceKey instance : also) {
    auto standing = store.standing(instance);
    if (!standing) return std::move(standing).error();
    if (standing->placement != 0 && !delivery.contents.contains(standing->placement)) {
      auto content = read_placement(store, standing->placement);
      if (!content) return std::move(content).error();
      delivery.contents.emplace(standing->placement, std::move(*content));
    }
    delivery.standings.push_back(std::move(*standing));
  }
  return delivery;
}

}  // namespace backend
