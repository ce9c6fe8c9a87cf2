// Recovery: what becomes of the changes that a killed run had begun and nobody has heard of.
#pragma once

#include <string>
#include <vector>

#include "agent/engine/messages.hpp"
#include "agent/engine/records/journal.hpp"
#include "recipe/recipe.hpp"

namespace agent::engine {

struct Recovery {
  // Of this recipe, one per state: planned again when the round gets there, then reported.
  std::vector<Journal::Entry> begun;
  // All others: nobody will look at them again, so they are reported as far as the journal tells.
  std::vector<StateResult> others;
};

// What is reported of a change that nobody will look at again, of whose end nothing is known.
StateResult as_uncertain(const Journal::Entry& entry, std::string_view why);

// `unfinished`: in the order in which it was begun. `recipe` null: there is none.
Recovery recover(std::vector<Journal::Entry> unfinished, const recipe::Recipe* recipe,
                 const std::string& root);

}  // namespace agent::engine
