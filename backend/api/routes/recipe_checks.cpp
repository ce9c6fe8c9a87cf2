#include "backend/api/routes/recipe_checks.hpp"

#include <algorithm>
#include <memory>

#include "backend/api/callers/visibility.hpp"
#include "backend/repositories/repositories.hpp"

namespace backend::api {

using base::Result;
using domain::CheckedRecipe;
using domain::ModuleSource;
using domain::RecipeModules;

namespace {

CheckedRecipe check(const RecipeToCheck& wanted, const RecipeModules* modules) {
  return wanted.is_single_state ? domain::check_single_state(wanted.content, modules)
                                : domain::check_recipe(wanted.content, modules, wanted.compat_v1);
}

void refuse(CheckedRecipe& checked, std::string message, recipe::Position position = {}) {
  checked.problems.push_back({.message = std::move(message), .state_id = "", .position = position});
}

// As far as it goes without a look at any repository.
struct FirstLook {
  CheckedRecipe recipe;
  domain::NamedModules named;
};

FirstLook look_first(const RecipeToCheck& wanted) {
  FirstLook first{check(wanted, nullptr), {}};
  if (wanted.is_single_state) return first;
  first.named = domain::read_named_modules(wanted.content);
  std::ranges::copy(first.named.problems, std::back_inserter(first.recipe.problems));
  return first;
}

// What the recipe's modules come from; no repository: from nowhere. Refuses apps that do not agree.
ModuleSource source_of(const RecipeToCheck& wanted, FirstLook& first) {
  if (!first.named.problems.empty()) return {};
  if (first.named.source) {
    ModuleSource source = *first.named.source;
    const bool is_same = source.repo == wanted.pinned.repo && source.tag == wanted.pinned.tag;
    if (is_same && source.commit.empty()) source.commit = wanted.pinned.commit;
    return source;
  }
  if (first.recipe.foreign.empty()) return {};
  if (!wanted.pinned.repo.empty()) return wanted.pinned;
  if (wanted.of_apps.size() == 1) return wanted.of_apps.front();
  if (wanted.of_apps.size() > 1)
    // Which, is not said: they may be apps that the caller does not see.
    refuse(first.recipe,
           "the apps that follow the recipe have different module repositories; name one at "
           "the top of the recipe, as module: { repo: …, tag: … }");
  return {};
}

// Where nobody says where modules come from, a wrong name may just as well be one of a module.
void explain_missing_repository(CheckedRecipe& checked) {
  if (checked.foreign.empty() || checked.problems.empty()) return;
  checked.problems.back().message +=
      " (a recipe that uses modules names their repository: module: { repo: …, tag: … }, or its app does)";
}

std::string moved(const ModuleSource& before, const ModuleSource& now) {
  const bool has_moved = before.repo == now.repo && before.tag == now.tag && !before.commit.empty() &&
                         !now.commit.empty() && before.commit != now.commit;
  if (!has_moved) return {};
  return "the tag '" + now.tag + "' of " + now.repo + " has moved since the last push: it was " +
         before.commit + " and is now " + now.commit;
}

void warn(CheckedRecipe& checked, std::string message) {
  if (!message.empty())
    checked.warnings.push_back({.message = std::move(message), .state_id = "", .position = {}});
}

}  // namespace

transport::Task<Result<CheckedContent>> check_content(Context& context, std::string asker,
                                                      RecipeToCheck wanted) {
  const auto shared = std::make_shared<const RecipeToCheck>(std::move(wanted));
  auto looking = context.store.work(asker, [shared]() -> Result<FirstLook> { return look_first(*shared); });
  auto first = co_await std::move(looking);
  if (!first) co_return std::move(first).error();
  const ModuleSource source = source_of(*shared, *first);
  if (source.repo.empty()) {
    if (first->named.problems.empty()) explain_missing_repository(first->recipe);
    co_return CheckedContent{.recipe = std::move(first->recipe)};
  }

  auto asking = context.repositories->look(
      asker, source, shared->pinned.repo.empty() ? repositories::Ask::server : repositories::Ask::if_missing);
  repositories::Looked looked = co_await std::move(asking);
  // It was taken once: going back must not depend on what has become of a repository.
  if (!looked.refusal.empty() && !shared->pinned.repo.empty())
    looked.unknown = std::exchange(looked.refusal, {});
  if (!looked.refusal.empty()) {
    CheckedContent refused;
    refuse(refused.recipe, "module: " + looked.refusal, first->named.position);
    co_return refused;
  }
  auto checking =
      context.store.work(asker,
                         [shared, looked, winners = context.repositories->winners(),
                          version = context.version]() -> Result<CheckedRecipe> {
                           const RecipeModules modules{.set = looked.modules ? &looked.modules->set : nullptr,
                                                       .why = looked.unknown,
                                                       .winners = winners,
                                                       .agent_version = version};
                           return check(*shared, &modules);
                         });
  auto checked = co_await std::move(checking);
  if (!checked) co_return std::move(checked).error();
  if (checked->foreign.empty() && !looked.unknown.empty())
    warn(*checked, "the module repository was not looked at: " + looked.unknown);
  warn(*checked, looked.warning.empty() ? "" : "module: " + looked.warning);
  warn(*checked, moved(shared->before, looked.source));
  co_return CheckedContent{
      .recipe = std::move(*checked), .module = looked.source, .unchecked = looked.unknown};
}

Result<std::vector<ModuleSource>> modules_of_apps(store::Store& store, const std::vector<std::string>& apps) {
  std::vector<ModuleSource> found;
  for (const std::string& name : apps) {
    auto app = store.find_app(name);
    if (!app && app.error().code() == base::ErrorCode::not_found) continue;
    if (!app) return std::move(app).error();
    if (!app->module.repo.empty() && std::ranges::find(found, app->module) == found.end())
      found.push_back(app->module);
  }
  return found;
}

Result<void> find_modules(store::Store& store, const Scope& scope, const std::string& recipe,
                          const std::string& app, RecipeToCheck& wanted) {
  if (auto newest = store.find_revision_row(recipe, std::nullopt))
    wanted.before = newest->module;
  else if (newest.error().code() != base::ErrorCode::not_found)
    return std::move(newest).error();
  std::vector<std::string> apps{app};
  if (app.empty()) {
    auto following = store.apps_that_follow(recipe);
    if (!following) return std::move(following).error();
    apps = std::move(*following);
  } else if (auto visible = find_visible_app(store, scope, app); !visible) {
    return std::move(visible).error();
  }
  auto modules = modules_of_apps(store, apps);
  if (!modules) return std::move(modules).error();
  wanted.of_apps = std::move(*modules);
  // All of them: what one takes as it is may be a mistake to another.
  wanted.compat_v1 = !apps.empty();
  for (const std::string& name : apps) {
    auto each = store.find_app(name);
    if (!each && each.error().code() != base::ErrorCode::not_found) return std::move(each).error();
    wanted.compat_v1 = wanted.compat_v1 && each && each->compat_v1;
  }
  return {};
}

void add_module(base::JsonText& json, const ModuleSource& module, const std::string& unchecked) {
  if (module.repo.empty()) return;
  json.key("module").begin_object().member("repo", module.repo).member("tag", module.tag);
  json.optional("commit", module.commit).member("checked", unchecked.empty());
  json.optional("unchecked", unchecked).end_object();
}

}  // namespace backend::api
