#include "backend/api/changes/recipe_changes.hpp"

#include <vector>

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

namespace {

// Whom a push reaches in an app: the machines of all assignments that follow the recipe.
Result<std::string> followers_of(store::Store& store, const Scope& scope, const std::string& app,
                                 const std::string& recipe) {
  auto assignments = store.assignments_in_order(app);
  if (!assignments) return std::move(assignments).error();
  std::vector<std::string> selectors;
  for (const domain::Assignment& each : *assignments)
    if (each.recipe == recipe && !each.revision) selectors.push_back(each.selector);
  std::string all;
  for (const std::string& each : selectors)
    all += (all.empty() ? "" : " or ") + (selectors.size() == 1 ? each : "(" + each + ")");
  auto parsed = domain::Selector::parse(all);
  auto own = parsed ? narrowed(scope, *parsed) : std::move(parsed);
  // Too long to be said: everybody in the scope.
  return own ? own->text() : scope ? scope->text() : "*";
}

}  // namespace

Result<ChangeEffect> place_followers(store::Store& store, const Scope& scope, const Actor& actor,
                                     const domain::Revision& pushed, const rollouts::ChangeTerms& terms) {
  auto apps = store.apps_that_follow(pushed.name);
  if (!apps) return std::move(apps).error();
  fleet::Placed all;
  ChangeEffect effect;
  for (const std::string& app : *apps) {
    auto selector = followers_of(store, scope, app, pushed.name);
    if (!selector) return std::move(selector).error();
    const rollouts::ChangeOrder order{.app_id = app,
                                      .selector = std::move(*selector),
                                      .change = {.recipe = pushed.name,
                                                 .from_revision = pushed.revision - 1,
                                                 .to_revision = pushed.revision},
                                      .created_by = actor.name,
                                      .owner = scope ? scope->text() : "",
                                      .terms = terms,
                                      .now = domain::now_millis()};
    if (auto placed = place_noted(store, actor, order, all, effect); !placed)
      return std::move(placed).error();
  }
  auto delivery = fleet::prepare_delivery(store, std::move(all));
  if (!delivery) return std::move(delivery).error();
  effect.delivery = std::move(*delivery);
  return effect;
}

}  // namespace backend::api
