// Who owns a recipe, an assignment, a rollout or a tag, and what follows from it. docs/backend.md, "Recipes
// and their owners", has the rules.
//
// A recipe belongs to the scope of the token that made it; "" is everybody's machines: a token without a
// scope. Scopes and what assignments match do not rest on the word of machines (Selector::strict()). Pure;
// any thread.
#pragma once

#include <optional>
#include <string_view>

#include "backend/domain/selectors/selector.hpp"

namespace backend::domain {

// Whether a token with this scope (nothing: without one) reaches every machine of the owner's. Only then may
// it push: a narrower one would write what the owner's next assignment runs on machines that it does not
// reach.
bool owns(const std::optional<Selector>& scope, std::string_view owner);

// "the scope role=web", "tokens without a scope".
std::string describe_owner(std::string_view owner);

// Whether everybody who may push the recipe reaches every machine of the selector anyway. Only then may an
// assignment follow the newest revision: otherwise a push would run where its author reaches nothing.
bool may_follow(std::string_view owner, const Selector& selector);

// What an assignment that names no revision gets: it follows the recipe, or is pinned to the newest of now.
// One that does not own the recipe is pinned, too: what it sees of it is what it has been shown.
inline bool is_to_pin(const std::optional<Selector>& scope, std::string_view owner,
                      const Selector& selector) {
  return !owns(scope, owner) || !may_follow(owner, selector);
}

}  // namespace backend::domain
