// Pushing recipes: who may, and what a push writes. For the writer thread, inside the transaction of the
// change; check_push() for a reader, too.
#pragma once

#include <string>

#include "backend/api/callers/caller.hpp"
#include "backend/api/changes.hpp"
#include "backend/domain/limits/recipe_quota.hpp"
#include "backend/store/store.hpp"

namespace backend::api {

// Whose the recipe is that is about to be pushed, if the caller may. Who owns a recipe reads all of it: of
// one that is not the caller's very own, `confirmed` has to say whose it is. Somebody else may have made it
// before, and waits for what is pushed into it. Nor may machines outside of the scope follow it.
base::Result<std::string> check_push(store::Store& store, const Scope& scope, const std::string& recipe,
                                     const std::string& confirmed);

struct RecipePush {
  domain::NewRevision revision;
  std::string confirmed_owner;
  std::string action = "recipe.push";  // in the audit
  std::string why = {};                // behind the revision and the digest there
};

struct PushedRecipe {
  domain::PutRevision put;
  std::string owner;
};

// A new revision with its audit row, unless the newest one has this very content. Placing is up to the
// caller.
base::Result<PushedRecipe> push_recipe(store::Store& store, const Scope& scope, const Actor& actor,
                                       const RecipePush& push, const domain::RecipeQuota& quota);

// All apps with an assignment that follows the recipe get it, or none.
base::Result<fleet::Delivery> place_followers(store::Store& store, const std::string& recipe);

}  // namespace backend::api
