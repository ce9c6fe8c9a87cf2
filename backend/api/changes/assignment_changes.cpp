#include "backend/api/changes/assignment_changes.hpp"

#include "backend/api/callers/visibility.hpp"
#include "backend/api/names.hpp"
#include "backend/domain/access/ownership.hpp"

namespace backend::api {

std::string describe(const domain::Assignment& assignment) {
  return assignment.selector + " -> " + assignment.recipe +
         (assignment.revision ? " revision " + std::to_string(*assignment.revision) : "");
}

domain::Assignment read_assignment(Fields& fields, const Scope& scope) {
  constexpr std::int64_t kLargest = 1'000'000'000;
  domain::Assignment assignment;
  assignment.app_id = fields.text_or("app_id", "default");
  assignment.selector = read_selector(fields, "selector", scope).text();
  assignment.recipe = fields.text("recipe");
  assignment.revision = fields.integer("revision", 1, kLargest);
  assignment.order = fields.integer_or("order", 0, -kLargest, kLargest);
  assignment.kill_on_change = fields.one_of("on_change", "finish kill", "finish") == "kill";
  assignment.round_delay_s = fields.integer("round_delay_s", 1, 30LL * 24 * 3600);
  // As they were read; not to be changed.
  assignment.owner = scope ? scope->text() : "";
  for (const std::string_view read_only : {"id", "created", "owner", "set", "matched", "changed", "pinned",
                                           "notice", "rejected", "rejections", "warnings"})
    fields.value(read_only);
  return assignment;
}

base::Result<domain::Assignment> find_visible_assignment(store::Store& store, const Scope& scope,
                                                         std::int64_t id) {
  auto assignment = store.find_assignment(id);
  if (!assignment || !scope) return assignment;
  auto seen = is_visible(store, scope, {assignment->app_id, assignment->selector});
  if (!seen) return std::move(seen).error();
  if (!*seen) return base::Error(base::ErrorCode::not_found, "there is no assignment " + std::to_string(id));
  return assignment;
}

base::Result<domain::Assignment> find_own(store::Store& store, const Scope& scope, std::int64_t id) {
  auto assignment = find_visible_assignment(store, scope, id);
  if (!assignment || domain::owns(scope, assignment->owner)) return assignment;
  return base::Error(base::ErrorCode::permission, "assignment " + std::to_string(id) + " belongs to " +
                                                      domain::describe_owner(assignment->owner) +
                                                      ", and is changed with such a token");
}

base::Result<std::string> settle_revision(store::Store& store, const Scope& scope,
                                          domain::Assignment& wanted) {
  if (auto app = find_visible_app(store, scope, wanted.app_id); !app) return std::move(app).error();
  auto revision = find_readable(store, scope, wanted.recipe, wanted.revision);
  if (!revision) return std::move(revision).error();
  if (wanted.revision) return std::string();
  auto owner = store.recipe_owner(wanted.recipe);
  if (!owner) return std::move(owner).error();
  auto selector = domain::Selector::parse(wanted.selector);
  if (!selector) return std::move(selector).error();
  if (!domain::is_to_pin(scope, *owner, *selector)) return std::string();
  wanted.revision = revision->revision;
  return "pinned to revision " + std::to_string(revision->revision) + ": the recipe belongs to " +
         domain::describe_owner(*owner) +
         ", and what is pushed there later must not run here unseen; look at a later revision, then edit the "
         "assignment to it";
}

}  // namespace backend::api
