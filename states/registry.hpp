// Registry: the state types that a recipe may name. Constant after construction.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "states/state.hpp"

namespace states {

class Registry {
 public:
  Registry(std::initializer_list<std::span<const RegistryEntry>> sources);

  // By name or alias; null if there is none.
  const RegistryEntry* find(std::string_view name) const;

  // The name that was probably meant.
  std::optional<std::string_view> nearest(std::string_view name) const;

  // All of them, by name.
  std::span<const RegistryEntry> entries() const { return entries_; }

 private:
  std::vector<RegistryEntry> entries_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

}  // namespace states
