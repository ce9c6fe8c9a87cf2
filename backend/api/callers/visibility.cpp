#include "backend/api/callers/visibility.hpp"

#include <algorithm>

#include "backend/domain/access/ownership.hpp"
#include "backend/store/inventory/variables.hpp"

namespace backend::api {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// One that only the machines can decide.
struct Undecided {
  std::size_t index = 0;
  domain::Selector selector;
};

bool uses_facts(const std::vector<Undecided>& undecided) {
  return std::ranges::any_of(undecided, [](const Undecided& each) { return each.selector.uses_facts(); });
}

// Takes out those that match.
void decide(const domain::Instance& instance, std::vector<Undecided>& undecided, std::vector<bool>& visible) {
  std::erase_if(undecided, [&](const Undecided& each) {
    const bool matches = each.selector.matches(instance);
    if (matches) visible[each.index] = true;
    return matches;
  });
}

Result<void> decide_by_machines(store::Store& store, const domain::Selector& scope, const std::string& app_id,
                                std::vector<Undecided> undecided, std::vector<bool>& visible) {
  domain::PageRequest page{.after = "", .limit = domain::kLargestPage};
  do {
    // One that is given nothing shows nothing: whoever waits to be approved has chosen its name itself.
    auto some =
        store.list_instances({.app_id = app_id, .without_out = true}, &scope, page, uses_facts(undecided));
    if (!some) return std::move(some).error();
    for (const domain::Instance& instance : some->items) {
      decide(instance, undecided, visible);
      if (undecided.empty()) return {};
    }
    page.after = std::move(some->next);
  } while (!page.after.empty());
  return {};
}

Result<std::vector<domain::Assignment>> all_assignments(store::Store& store, const std::string& recipe) {
  std::vector<domain::Assignment> all;
  domain::PageRequest page{.after = "", .limit = domain::kLargestPage};
  do {
    auto some = store.list_assignments("", page);
    if (!some) return std::move(some).error();
    for (domain::Assignment& each : some->items)
      if (recipe.empty() || each.recipe == recipe) all.push_back(std::move(each));
    page.after = std::move(some->next);
  } while (!page.after.empty());
  return all;
}

Error no_recipe(const std::string& recipe, std::optional<std::int64_t> revision) {
  return Error(ErrorCode::not_found, "there is no recipe '" + recipe + "'" +
                                         (revision ? " with revision " + std::to_string(*revision) : ""));
}

}  // namespace

Result<std::vector<bool>> visible_sets(store::Store& store, const Scope& scope,
                                       std::span<const MachineSet> sets) {
  std::vector<bool> visible(sets.size(), !scope);
  if (!scope) return visible;
  std::map<std::string, std::vector<Undecided>> undecided;  // by app
  for (std::size_t i = 0; i < sets.size(); ++i) {
    auto selector = domain::Selector::parse(sets[i].selector);
    if (!selector) continue;  // what is not understood is not shown
    // As placement and rollouts take it: a machine that only claims to be meant is not given anything.
    domain::Selector strict = selector->strict();
    if (strict.is_within(*scope))
      visible[i] = true;
    else
      undecided[sets[i].app_id].push_back({i, std::move(strict)});
  }
  for (auto& [app_id, some] : undecided)
    if (auto decided = decide_by_machines(store, *scope, app_id, std::move(some), visible); !decided)
      return std::move(decided).error();
  return visible;
}

Result<bool> is_visible(store::Store& store, const Scope& scope, const MachineSet& set) {
  auto visible = visible_sets(store, scope, std::span(&set, 1));
  if (!visible) return std::move(visible).error();
  return static_cast<bool>(visible->front());
}

Result<bool> is_app_visible(store::Store& store, const Scope& scope, const std::string& app_id) {
  if (!scope) return true;
  const auto whole = domain::Selector::parse("app=\"" + app_id + "\"");
  if (whole && whole->strict().is_within(*scope)) return true;
  auto one =
      store.list_instances({.app_id = app_id, .without_out = true}, &*scope, {.after = "", .limit = 1});
  if (!one) return std::move(one).error();
  return !one->items.empty();
}

Result<domain::App> find_visible_app(store::Store& store, const Scope& scope, const std::string& app_id) {
  auto app = store.find_app(app_id);
  if (!app || !scope) return app;
  auto visible = is_app_visible(store, scope, app_id);
  if (!visible) return std::move(visible).error();
  if (!*visible) return Error(ErrorCode::not_found, "there is no app '" + app_id + "'");
  return app;
}

Result<ReadableRecipes> ReadableRecipes::load(store::Store& store, const Scope& scope,
                                              const std::string& recipe) {
  ReadableRecipes readable(scope);
  if (!scope) return readable;
  auto assignments = all_assignments(store, recipe);
  if (!assignments) return std::move(assignments).error();
  std::vector<MachineSet> sets;
  for (const domain::Assignment& each : *assignments)
    sets.push_back({each.app_id, each.selector});
  auto visible = visible_sets(store, scope, sets);
  if (!visible) return std::move(visible).error();
  for (std::size_t i = 0; i < assignments->size(); ++i) {
    if (!(*visible)[i]) continue;
    ReadableRevisions& revisions = readable.assigned_[(*assignments)[i].recipe];
    if ((*assignments)[i].revision)
      revisions.numbers.insert(*(*assignments)[i].revision);
    else
      revisions.newest = true;
  }
  return readable;
}

ReadableRevisions ReadableRecipes::of(const std::string& recipe, std::string_view owner) const {
  if (domain::owns(scope_, owner)) return {.all = true};
  const auto found = assigned_.find(recipe);
  return found == assigned_.end() ? ReadableRevisions() : found->second;
}

Result<domain::Revision> find_readable(store::Store& store, const Scope& scope, const std::string& recipe,
                                       std::optional<std::int64_t> revision) {
  auto found = store.find_revision(recipe, revision);
  if (!found || !scope) return found;
  auto owner = store.recipe_owner(recipe);
  if (!owner) return std::move(owner).error();
  auto recipes = ReadableRecipes::load(store, scope, recipe);
  if (!recipes) return std::move(recipes).error();
  const ReadableRevisions readable = recipes->of(recipe, *owner);
  if (readable.all || readable.numbers.contains(found->revision)) return found;
  if (readable.newest) {
    if (!revision) return found;
    auto newest = store.find_revision_row(recipe, std::nullopt);
    if (!newest) return std::move(newest).error();
    if (newest->revision == found->revision) return found;
  }
  if (revision || readable.numbers.empty()) return no_recipe(recipe, revision);
  return Error(ErrorCode::not_found, "the newest revision of '" + recipe +
                                         "' is not for the machines in your scope: name revision " +
                                         std::to_string(*readable.numbers.rbegin()) + ", which is");
}

Result<void> check_nothing_new(store::Store& store, const Scope& scope, const domain::Instance& instance) {
  if (!scope) return {};
  auto assignments = store.assignments_in_order(instance.app_id);
  if (!assignments) return std::move(assignments).error();
  std::vector<MachineSet> given;
  for (const domain::Assignment& each : *assignments)
    if (const auto selector = domain::Selector::parse(each.selector);
        selector && selector->strict().matches(instance))
      given.push_back({each.app_id, each.selector});
  auto layers = store::layers_for(store, instance);
  if (!layers) return std::move(layers).error();
  for (const domain::VariableLayer& each : *layers)
    given.push_back({each.app_id, domain::reach_of(each)});
  auto visible = visible_sets(store, scope, given);
  if (!visible) return std::move(visible).error();
  if (std::ranges::find(*visible, false) == visible->end()) return {};
  return Error(ErrorCode::permission, "'" + instance.instance_id +
                                          "' would be given what no machine in the scope " + scope->text() +
                                          " has: somebody with a token without a scope has to approve it");
}

}  // namespace backend::api
