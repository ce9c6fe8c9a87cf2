#include "backend/api/callers/scope.hpp"

namespace backend::api {

using base::Error;
using base::ErrorCode;
using base::Result;

base::Result<domain::Selector> narrowed(const Scope& scope, const domain::Selector& selector) {
  if (!scope) return selector;
  if (selector.text() == "*" || selector.text() == scope->text()) return *scope;
  // It has the scope's text, and not how strict the scope is: a machine that only claims to be in it is not.
  if (is_narrowed(scope, selector.text())) return selector.inside(*scope);
  return domain::Selector::both(*scope, selector);
}

bool is_narrowed(const Scope& scope, std::string_view selector) {
  if (!scope || selector == scope->text()) return true;
  const std::string start = "(" + scope->text() + ") and (";
  if (!selector.starts_with(start) || !selector.ends_with(')')) return false;
  // What stands between must be whole in itself: "x) or (y" is not.
  const std::string_view inner = selector.substr(start.size(), selector.size() - start.size() - 1);
  return static_cast<bool>(domain::Selector::parse(inner));
}

Result<domain::Instance> find_covered(store::Store& store, const Scope& scope, const std::string& app_id,
                                      const std::string& instance_id) {
  auto instance = store.find_instance(app_id, instance_id);
  if (!instance || covers(scope, *instance)) return instance;
  return Error(ErrorCode::not_found, "there is no instance '" + instance_id + "' in app '" + app_id + "'");
}

Result<bool> is_covered(store::Store& store, const Scope& scope, const std::string& app_id,
                        const std::string& instance_id) {
  if (!scope) return true;
  auto instance = find_covered(store, scope, app_id, instance_id);
  if (instance) return true;
  if (instance.error().code() == ErrorCode::not_found) return false;
  return std::move(instance).error();
}

Result<bool> CoveredNames::has(const std::string& app_id, const std::string& instance_id) {
  if (!scope_) return true;
  const auto name = std::pair(app_id, instance_id);
  if (const auto found = known_.find(name); found != known_.end()) return found->second;
  auto covered = is_covered(store_, scope_, app_id, instance_id);
  if (covered) known_.emplace(name, *covered);
  return covered;
}

Result<void> check_followers(store::Store& store, const Scope& scope, const std::string& recipe) {
  if (!scope) return {};
  auto apps = store.apps_that_follow(recipe);
  if (!apps) return std::move(apps).error();
  for (const std::string& app : *apps) {
    auto assignments = store.assignments_in_order(app);
    if (!assignments) return std::move(assignments).error();
    for (const domain::Assignment& each : *assignments) {
      if (each.recipe != recipe || each.revision) continue;
      const auto selector = domain::Selector::parse(each.selector);
      if (!selector || !selector->strict().is_within(*scope))
        return Error(ErrorCode::permission, "machines outside of the scope " + scope->text() +
                                                " follow the recipe, too (assignment " +
                                                std::to_string(each.id) + ")");
    }
  }
  return {};
}

}  // namespace backend::api
