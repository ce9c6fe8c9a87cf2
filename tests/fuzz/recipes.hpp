// What the targets that read recipes share.
#pragma once

#include "builtins/builtins.hpp"
#include "recipe/recipe.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace fuzz {

inline const states::Registry& all_states() {
  static const states::Registry registry{states::native_states(), builtins::builtin_states()};
  return registry;
}

// Reads it as a recipe of that name: either it is one, or something is said against it, and at a place in the
// text.
inline void load(std::string_view name, std::string_view text) {
  const recipe::Loaded loaded = recipe::load_text(name, std::string(text), all_states());
  require((loaded.recipe != nullptr) == loaded.problems.empty(), "a recipe is read, or there are problems");
  for (const recipe::Problem& problem : loaded.problems) {
    require(!problem.message.empty(), "a problem says what is wrong");
    require(problem.position.line <= text.size() + 1, "a problem is within the text");
    require(!recipe::describe(problem, name).empty(), "a problem can be shown");
  }
  if (!loaded.recipe) return;
  for (const recipe::State& state : loaded.recipe->states())
    require(!state.id.empty() && state.type != nullptr && state.params != nullptr, "a state is whole");
}

}  // namespace fuzz
