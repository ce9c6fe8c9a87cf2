// Which parts of a recipe are secret, and how results lose them on the way out.
#pragma once

#include "agent/messages.hpp"
#include "base/redactor.hpp"
#include "recipe/recipe.hpp"

namespace agent {

// Registers the values of all parameters that the schemas or the states themselves call secret.
void register_secrets(const recipe::Recipe& recipe, base::Redactor& redactor);

// A state that is marked sensitive shows that something changed, never what.
void hide(const recipe::State& state, const base::Redactor& redactor, std::vector<states::Change>& changes);
std::string hide(const recipe::State& state, const base::Redactor& redactor, std::string output);

}  // namespace agent
