#include "states/registry.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace states {

Registry::Registry(std::initializer_list<std::span<const RegistryEntry>> sources) {
  for (const auto& source : sources)
    entries_.insert(entries_.end(), source.begin(), source.end());
  std::ranges::sort(entries_, {}, [](const RegistryEntry& entry) { return entry.type->name(); });
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    by_name_.emplace(entries_[i].type->name(), i);
    for (std::string_view alias : entries_[i].type->aliases())
      if (!alias.empty()) by_name_.emplace(alias, i);
  }
}

const RegistryEntry* Registry::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

std::optional<std::string_view> Registry::nearest(std::string_view name) const {
  std::vector<std::string_view> names;
  for (const RegistryEntry& entry : entries_)
    names.push_back(entry.type->name());
  if (const auto close = base::nearest(name, names)) return close;
  // "file" for "linux.file": the right word without its family.
  for (std::string_view candidate : names)
    if (candidate.ends_with(name) && candidate.size() > name.size() &&
        candidate[candidate.size() - name.size() - 1] == '.')
      return candidate;
  return std::nullopt;
}

}  // namespace states
