#include "backend/fleet/delivery.hpp"

#include <algorithm>

namespace backend::fleet {

base::Result<std::shared_ptr<const PlacementContent>> read_placement(store::Store& store,
                                                                     domain::PlacementKey key) {
  PlacementContents contents;
  if (auto read = add_placement(store, key, contents); !read) return std::move(read).error();
  return contents[key];
}

base::Result<void> add_placement(store::Store& store, domain::PlacementKey key, PlacementContents& contents) {
  if (contents.contains(key)) return {};
  auto placement = store.find_placement(key);
  if (!placement) return std::move(placement).error();
  PlacementContent content{.shared = key};
  if (placement->base != 0) {
    content.shared = placement->base;
    if (auto read = add_placement(store, content.shared, contents); !read) return read;
    content.text = contents[content.shared]->text;
    content.states = contents[content.shared]->states;
  } else {
    auto states = domain::read_states(placement->states);
    if (!states) return std::move(states).error();
    content.states = std::move(*states);
    content.text = std::make_shared<const std::string>(std::move(placement->states));
    placement->states.clear();
  }
  content.placement = std::move(*placement);
  contents.emplace(key, std::make_shared<const PlacementContent>(std::move(content)));
  return {};
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
    if (progress->placement != 0)
      if (auto read = add_placement(store, progress->placement, delivery.contents); !read)
        return std::move(read).error();
    delivery.progress.push_back(std::move(*progress));
  }
  return delivery;
}

}  // namespace backend::fleet
