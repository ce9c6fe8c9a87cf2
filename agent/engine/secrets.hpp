// Which parts of a recipe are secret, and how results lose them on the way out.
//
// Secret are the parameters that a schema calls so (passwords), and of a state that the recipe calls
// sensitive all that may be content: texts, lists and the values of pairs, unless the schema says that they
// name things. They count as they are read, in whatever shape they were written.
//
// Values that are short or common words ("true") cannot be searched for everywhere: all output would be full
// of holes. They are hidden in what their own state says, and whoever wrote the recipe is told.
#pragma once

#include <string>
#include <vector>

#include "agent/engine/messages.hpp"
#include "base/values/redactor.hpp"
#include "recipe/recipe.hpp"

namespace agent::engine {

std::vector<std::string> secrets_of(const recipe::Recipe& recipe);

// A recipe takes the place of another: its secrets are registered, older ones than those of the one before it
// are forgotten. (What that one has left on the machine is seen once more, when it is replaced.)
// Answers warnings, one for each state with a secret that is hidden in its own texts only.
std::vector<std::string> follow_secrets(const recipe::Recipe* before, const recipe::Recipe& now,
                                        base::Redactor& redactor);
// The same for one that is looked at besides: `owner` is whose secrets these are from now on.
std::vector<std::string> follow_secrets(std::string_view owner, const recipe::Recipe& now,
                                        base::Redactor& redactor);

// A state that is marked sensitive shows that something changed, never what.
void hide(const recipe::State& state, const base::Redactor& redactor, std::vector<states::Change>& changes);
std::string hide(const recipe::State& state, const base::Redactor& redactor, std::string output);
// What a state says in its own words: a plan's message, a result's comment.
std::string hide_in_text(const recipe::State& state, const base::Redactor& redactor, std::string text);

}  // namespace agent::engine
