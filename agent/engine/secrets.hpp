// Which parts of a recipe are secret, and how results lose them on the way out.
#pragma once

#include <string>
#include <vector>

#include "agent/engine/messages.hpp"
#include "base/redactor.hpp"
#include "recipe/recipe.hpp"

namespace agent::engine {

// The values of all parameters that the schemas or the states themselves call secret.
std::vector<std::string> secrets_of(const recipe::Recipe& recipe);

// A recipe takes the place of another: its secrets are registered, older ones than those of the one before it
// are forgotten. (What that one has left on the machine is seen once more, when it is replaced.)
void follow_secrets(const recipe::Recipe* before, const recipe::Recipe& now, base::Redactor& redactor);

// A state that is marked sensitive shows that something changed, never what.
void hide(const recipe::State& state, const base::Redactor& redactor, std::vector<states::Change>& changes);
std::string hide(const recipe::State& state, const base::Redactor& redactor, std::string output);

}  // namespace agent::engine
