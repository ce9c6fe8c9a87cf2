#include "backend/store/inventory/recipes.hpp"

#include "backend/domain/access/name_rules.hpp"
#include "backend/domain/selectors/selector.hpp"
#include "backend/domain/selectors/self_report_rules.hpp"
#include "backend/store/transaction.hpp"

namespace backend::store {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

std::string name_of_assignment(std::int64_t id) {
  return "assignment " + std::to_string(id);
}

Result<void> check_assignment(Store& store, const domain::Assignment& assignment) {
  auto app = store.find_app(assignment.app_id);
  if (!app) return std::move(app).error();
  if (auto revision = store.find_revision_row(assignment.recipe, assignment.revision); !revision)
    return std::move(revision).error();
  auto selector = domain::Selector::parse(assignment.selector);
  if (!selector) return std::move(selector).error().with_context("selector");
  if (std::string wrong = domain::problem_of_self_report(*selector, *app); !wrong.empty())
    return Error(ErrorCode::invalid, "selector: " + wrong);
  if (assignment.round_delay_s && *assignment.round_delay_s < 1)
    return Error(ErrorCode::invalid, "'round_delay_s' must be a positive number of seconds");
  return {};
}

// The same recipe twice would be the same states twice, which no machine can run.
Result<void> check_not_assigned(Store& store, const domain::Assignment& assignment) {
  auto present = store.assignments_in_order(assignment.app_id);
  if (!present) return std::move(present).error();
  for (const domain::Assignment& each : *present)
    if (each.id != assignment.id && each.recipe == assignment.recipe && each.selector == assignment.selector)
      return Error(ErrorCode::exists, "already assigned: " + name_of_assignment(each.id) + " gives '" +
                                          each.recipe + "' to " + each.selector + " in " + each.app_id +
                                          "; 'opsctl assign edit " + std::to_string(each.id) +
                                          "' changes it");
  return {};
}

Result<domain::Assignment> find_unedited(Store& store, std::int64_t id,
                                         std::optional<domain::Edit> expected) {
  auto present = store.find_assignment(id);
  if (!present) return present;
  if (auto same = check_edit(expected, present->edit, name_of_assignment(id)); !same)
    return std::move(same).error();
  return present;
}

}  // namespace

Result<void> check_quota(Store& store, const std::string& recipe, const std::string& owner,
                         std::uint64_t bytes, const domain::RecipeQuota& quota) {
  auto known = store.find_revision_row(recipe, std::nullopt);
  if (!known && known.error().code() != ErrorCode::not_found) return std::move(known).error();
  auto whose = known ? store.recipe_owner(recipe) : Result<std::string>(owner);
  if (!whose) return std::move(whose).error();
  auto use = store.recipe_use(*whose);
  if (!use) return std::move(use).error();
  std::string wrong = domain::problem_of_use(*whose, *use, bytes, quota);
  if (!wrong.empty()) return Error(ErrorCode::unsupported, std::move(wrong));
  return {};
}

Result<domain::PutRevision> put_revision(Store& store, const domain::NewRevision& revision,
                                         domain::Millis now, const domain::RecipeQuota& quota) {
  if (auto fine = domain::check_name("a recipe", revision.name); !fine) return std::move(fine).error();
  return in_transaction(store, [&]() -> Result<domain::PutRevision> {
    auto newest = store.find_revision(revision.name, std::nullopt);
    if (!newest && newest.error().code() != ErrorCode::not_found) return std::move(newest).error();
    if (newest && newest->content == revision.content && newest->module == revision.module &&
        newest->unchecked.empty() == revision.unchecked.empty() && newest->inputs == revision.inputs)
      return domain::PutRevision{std::move(*newest), false};
    const std::int64_t number = newest ? newest->revision + 1 : 1;
    const std::uint64_t bytes = revision.content.size() + revision.states.size();
    if (auto room = check_quota(store, revision.name, revision.owner, bytes, quota); !room)
      return std::move(room).error();
    if (!newest)
      if (auto owned = store.set_recipe_owner(revision.name, revision.owner); !owned)
        return std::move(owned).error();
    if (auto added = store.insert_revision(revision, number, now); !added) return std::move(added).error();
    auto stored = store.find_revision(revision.name, number);
    if (!stored) return std::move(stored).error();
    return domain::PutRevision{std::move(*stored), true};
  });
}

Result<domain::Assignment> add_assignment(Store& store, const domain::Assignment& assignment,
                                          domain::Millis now) {
  return in_transaction(store, [&]() -> Result<domain::Assignment> {
    if (auto fine = check_assignment(store, assignment); !fine) return std::move(fine).error();
    if (auto fine = check_not_assigned(store, assignment); !fine) return std::move(fine).error();
    return store.insert_assignment(assignment, now);
  });
}

Result<domain::Assignment> edit_assignment(Store& store, const domain::Assignment& assignment,
                                           std::optional<domain::Edit> expected) {
  return in_transaction(store, [&]() -> Result<domain::Assignment> {
    auto present = find_unedited(store, assignment.id, expected);
    if (!present) return present;
    if (assignment.app_id != present->app_id)
      return Error(ErrorCode::invalid, "an assignment stays in its app: make a new one in the other");
    if (auto fine = check_assignment(store, assignment); !fine) return std::move(fine).error();
    if (auto fine = check_not_assigned(store, assignment); !fine)
      return Error(ErrorCode::unsupported, fine.error().message());  // `exists` is for another edit
    return store.write_assignment(assignment);
  });
}

Result<void> remove_assignment(Store& store, std::int64_t id, std::optional<domain::Edit> expected) {
  return store.transact([&]() -> Result<void> {
    if (auto present = find_unedited(store, id, expected); !present) return std::move(present).error();
    return store.delete_assignment(id);
  });
}

}  // namespace backend::store
