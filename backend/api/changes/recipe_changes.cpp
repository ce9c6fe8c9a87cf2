#include "backend/api/changes/recipe_changes.hpp"

#include <algorithm>
#include <iterator>

#include "backend/api/callers/scope.hpp"
#include "backend/domain/access/ownership.hpp"
#include "backend/store/inventory/recipes.hpp"

namespace backend::api {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<std::string> check_push(store::Store& store, const Scope& scope, const std::string& recipe,
                               const std::string& confirmed) {
  const std::string own = scope ? scope->text() : "";
  std::string owner = own;
  if (auto known = store.find_revision_row(recipe, std::nullopt)) {
    auto present = store.recipe_owner(recipe);
    if (!present) return present;
    owner = std::move(*present);
  } else if (known.error().code() != ErrorCode::not_found) {
    return std::move(known).error();
  }
  if (owner != own && !domain::owns(scope, owner))
    return Error(ErrorCode::permission,
                 "the recipe '" + recipe + "' belongs to others: push it under another name");
  if (owner != (confirmed.empty() ? own : confirmed))
    return Error(ErrorCode::exists,
                 "the recipe '" + recipe + "' belongs to " + domain::describe_owner(owner) +
                     (owner.empty() ? ": push it without an owner"
                                    : ", whose tokens read every revision of it: push it under another "
                                      "name, take it over first ('opsctl recipe owner'), or confirm whose "
                                      "it is: --owner '" +
                                          owner + "' (owner=… in the query)"));
  if (auto own_machines = check_followers(store, scope, recipe); !own_machines)
    return std::move(own_machines).error();
  return owner;
}

Result<PushedRecipe> push_recipe(store::Store& store, const Scope& scope, const Actor& actor,
                                 const RecipePush& push, const domain::RecipeQuota& quota) {
  const domain::NewRevision& revision = push.revision;
  auto owner = check_push(store, scope, revision.name, push.confirmed_owner);
  if (!owner) return std::move(owner).error();
  auto put = store::put_revision(store, revision, domain::now_millis(), quota);
  if (!put) return std::move(put).error();
  if (put->is_new) {
    auto noted = audit(store, actor, push.action, revision.name,
                       "revision " + std::to_string(put->revision.revision) + " " + revision.digest +
                           (push.why.empty() ? "" : " " + push.why));
    if (!noted) return std::move(noted).error();
  }
  return PushedRecipe{std::move(*put), std::move(*owner)};
}

Result<fleet::Delivery> place_followers(store::Store& store, const std::string& recipe) {
  auto apps = store.apps_that_follow(recipe);
  if (!apps) return std::move(apps).error();
  fleet::Placed all;
  for (const std::string& app : *apps) {
    auto placed = fleet::place_app(store, app, {.assignment = {}, .recipe = recipe});
    if (!placed) return as_conflict(std::move(placed).error());
    all.matched += placed->matched;
    std::ranges::move(placed->changed, std::back_inserter(all.changed));
    std::ranges::move(placed->rejected, std::back_inserter(all.rejected));
  }
  return fleet::prepare_delivery(store, std::move(all));
}

}  // namespace backend::api
