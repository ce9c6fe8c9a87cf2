// States of a recipe whose modules are not native, as they are written: for a check without their schemas.
// Pure; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/document.hpp"
#include "states/registry.hpp"
#include "states/state.hpp"

namespace backend::domain {

// Module names of a recipe that the registry does not know, and that a module of a repository may have; each
// once, sorted. Of a recipe that cannot be read there are none.
std::vector<std::string> foreign_modules(std::string_view content, const states::Registry& registry);

// State types that take any parameter: for each foreign module one, with the names that the recipe gives it.
class UncheckedTypes {
 public:
  UncheckedTypes(std::string_view content, const states::Registry& registry);
  ~UncheckedTypes();
  UncheckedTypes(const UncheckedTypes&) = delete;
  UncheckedTypes& operator=(const UncheckedTypes&) = delete;

  const std::vector<states::RegistryEntry>& entries() const { return entries_; }
  std::size_t states() const { return states_; }  // how many states there are of them

 private:
  class Type;
  struct Module;

  std::vector<std::unique_ptr<Module>> modules_;
  std::vector<states::RegistryEntry> entries_;
  std::size_t states_ = 0;
};

}  // namespace backend::domain
