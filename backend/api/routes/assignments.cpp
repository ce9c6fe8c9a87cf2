#include "backend/api/callers/scope.hpp"
#include "backend/api/callers/self_reports.hpp"
#include "backend/api/changes.hpp"
#include "backend/api/changes/assignment_changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/routes/visible_pages.hpp"
#include "backend/store/inventory/recipes.hpp"
#include "base/text.hpp"

namespace backend::api {

namespace assignments_resource {

namespace {

// Without the closing bracket.
void begin_assignment(base::JsonText& json, const domain::Assignment& assignment) {
  const auto add_optional = [&](std::string_view name, const std::optional<std::int64_t>& value) {
    json.key(name);
    if (value)
      json.value(*value);
    else
      json.null();
  };
  json.begin_object().member("id", assignment.id).member("app_id", assignment.app_id);
  json.member("selector", assignment.selector).member("recipe", assignment.recipe);
  add_optional("revision", assignment.revision);
  json.member("order", assignment.order);
  json.member("on_change", assignment.kill_on_change ? "kill" : "finish");
  add_optional("round_delay_s", assignment.round_delay_s);
  domain::add_instant(json, "created", assignment.created);
  add_owner(json, assignment.owner);
  json.optional("set", assignment.set);
}

MachineSet set_of(const domain::Assignment& assignment) {
  return {assignment.app_id, assignment.selector};
}

struct Assigned {
  domain::Assignment assignment;
  std::size_t matched = 0;
  std::vector<std::string> warnings;
  fleet::Delivery delivery;
  std::string notice = {};  // why it was pinned, if it was
};

// The end of every change of an assignment, on the writer thread.
base::Result<Assigned> place_and_note(store::Store& store, const Scope& scope, domain::Assignment assignment,
                                      const Actor& actor, std::string action, std::string notice = {}) {
  auto placed = fleet::place_app(store, assignment.app_id, {.assignment = assignment.id, .recipe = ""});
  if (!placed) return as_conflict(std::move(placed).error());
  auto selector = domain::Selector::parse(assignment.selector);
  if (!selector) return std::move(selector).error();
  auto app = store.find_app(assignment.app_id);
  if (!app) return std::move(app).error();
  auto effect = study(store, scope, assignment.app_id, *selector);
  if (!effect) return std::move(effect).error();
  auto warnings = domain::self_report_warnings(*selector, *app, *effect);
  auto delivery = fleet::prepare_delivery(store, std::move(*placed));
  if (!delivery) return std::move(delivery).error();
  auto noted = audit(store, actor, std::move(action), assignment.app_id + "/" + std::to_string(assignment.id),
                     describe(assignment));
  if (!noted) return std::move(noted).error();
  return Assigned{std::move(assignment), effect->matched, std::move(warnings), std::move(*delivery),
                  std::move(notice)};
}

HttpResponse assigned_reply(Context& context, unsigned status, const Assigned& assigned) {
  context.fleet.deliver(assigned.delivery);
  base::JsonText json;
  begin_assignment(json, assigned.assignment);
  json.member("matched", assigned.matched).member("changed", assigned.delivery.changed.size());
  json.member("pinned", !assigned.notice.empty()).optional("notice", assigned.notice);
  add_rejected(json, assigned.delivery);
  add_warnings(json, assigned.warnings);
  HttpResponse response = json_reply(status, json.end_object());
  response.headers.push_back({"ETag", etag(assigned.assignment.edit, response.body)});
  return response;
}

base::Result<domain::Page<domain::Assignment>> list_seen(store::Store& store, const Scope& scope,
                                                         const std::string& app,
                                                         const domain::PageRequest& page) {
  return read_visible<domain::Assignment>(
      scope, page, [&](const domain::PageRequest& part) { return store.list_assignments(app, part); },
      [&](std::vector<domain::Assignment> rows) {
        return only_visible(store, scope, std::move(rows), set_of);
      },
      [](const domain::Assignment& each) { return std::to_string(each.id); });
}

Task<HttpResponse> list(Context& context, const Call& call) {
  const auto page = visible_page_of(context, call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read(
      call.caller.token_id,
      [app = std::string(call.http.parameter("app")), wanted = std::get<domain::PageRequest>(page),
       scope = call.caller.scope](store::Store& store) { return list_seen(store, scope, app, wanted); });
  auto assignments = co_await std::move(reading);
  if (!assignments) co_return problem_of(assignments.error());
  assignments->next = next_for(context, call, assignments->next);
  co_return list_reply(*assignments, [](base::JsonText& json, const domain::Assignment& assignment) {
    begin_assignment(json, assignment);
    json.end_object();
  });
}

// The number in the path; nothing when it is none.
std::optional<std::int64_t> id_of(const Call& call) {
  const auto id = base::parse_integer(call.captured[0]);
  return id && *id > 0 ? id : std::nullopt;
}
HttpResponse no_such(const Call& call) {
  return problem(kNotFound, "there is no assignment " + call.captured[0]);
}

Task<HttpResponse> show(Context& context, const Call& call) {
  const auto id = id_of(call);
  if (!id) co_return no_such(call);
  auto reading = context.store.read(
      call.caller.token_id,
      [wanted = *id, scope = call.caller.scope](
          store::Store& store) -> base::Result<std::pair<domain::Assignment, std::size_t>> {
        auto assignment = find_visible_assignment(store, scope, wanted);
        if (!assignment) return std::move(assignment).error();
        auto selector = domain::Selector::parse(assignment->selector);
        if (selector) selector = narrowed(scope, selector->strict());
        if (!selector) return std::move(selector).error();
        auto matched = fleet::count_matches(store, assignment->app_id, *selector);
        if (!matched) return std::move(matched).error();
        return std::pair(std::move(*assignment), *matched);
      });
  const auto found = co_await std::move(reading);
  if (!found) co_return problem_of(found.error());
  base::JsonText json;
  begin_assignment(json, found->first);
  HttpResponse response = json_reply(kOk, json.member("matched", found->second).end_object());
  response.headers.push_back({"ETag", etag(found->first.edit, response.body)});
  co_return response;
}

// A recipe or app that is not there is the body's mistake, not the path's.
HttpResponse refused_change(const base::Error& error, bool has_edit, bool in_body) {
  if (in_body && error.code() == base::ErrorCode::not_found) return problem(kUnprocessable, error.message());
  return problem_of(error, has_edit ? kPreconditionFailed : kConflict);
}

Task<HttpResponse> add(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  domain::Assignment wanted = read_assignment(fields, call.caller.scope);
  if (auto refused = fields.problems()) co_return std::move(*refused);
  auto writing = context.store.write([wanted = std::move(wanted), actor = call.actor,
                                      scope =
                                          call.caller.scope](store::Store& store) -> base::Result<Assigned> {
    domain::Assignment settled = wanted;
    auto notice = settle_revision(store, scope, settled);
    if (!notice) return std::move(notice).error();
    auto added = store::add_assignment(store, settled, domain::now_millis());
    if (!added) return std::move(added).error();
    return place_and_note(store, scope, std::move(*added), actor, "assignment.create", std::move(*notice));
  });
  const auto assigned = co_await std::move(writing);
  if (!assigned) co_return refused_change(assigned.error(), false, true);
  HttpResponse response = assigned_reply(context, kCreated, *assigned);
  response.headers.push_back(
      {"Location", std::string(kPrefix) + "/assignments/" + std::to_string(assigned->assignment.id)});
  co_return response;
}

Task<HttpResponse> edit(Context& context, const Call& call) {
  const auto id = id_of(call);
  if (!id) co_return no_such(call);
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  const auto expected = expected_edit(call);
  if (const auto* refused = std::get_if<HttpResponse>(&expected)) co_return *refused;
  const auto seen = std::get<std::optional<domain::Edit>>(expected);
  Fields fields(std::get<JsonBody>(body).root());
  domain::Assignment wanted = read_assignment(fields, call.caller.scope);
  wanted.id = *id;
  if (auto refused = fields.problems()) co_return std::move(*refused);
  auto writing =
      context.store.write([wanted = std::move(wanted), seen, actor = call.actor,
                           scope = call.caller.scope](store::Store& store) -> base::Result<Assigned> {
        auto before = find_own(store, scope, wanted.id);
        if (!before) return std::move(before).error();
        if (before->app_id != wanted.app_id)
          return base::Error(base::ErrorCode::invalid, "an assignment stays in its app, " + before->app_id);
        domain::Assignment settled = wanted;
        auto notice = settle_revision(store, scope, settled);
        if (!notice) return std::move(notice).error();
        auto edited = store::edit_assignment(store, settled, seen);
        if (!edited) return std::move(edited).error();
        return place_and_note(store, scope, std::move(*edited), actor, "assignment.edit", std::move(*notice));
      });
  const auto assigned = co_await std::move(writing);
  if (!assigned) co_return refused_change(assigned.error(), seen.has_value(), false);
  co_return assigned_reply(context, kOk, *assigned);
}

Task<HttpResponse> remove(Context& context, const Call& call) {
  const auto id = id_of(call);
  if (!id) co_return no_such(call);
  const auto expected = expected_edit(call);
  if (const auto* refused = std::get_if<HttpResponse>(&expected)) co_return *refused;
  const auto seen = std::get<std::optional<domain::Edit>>(expected);
  auto writing = context.store.write([wanted = *id, seen, actor = call.actor, scope = call.caller.scope](
                                         store::Store& store) -> base::Result<Assigned> {
    auto before = find_own(store, scope, wanted);
    if (!before) return std::move(before).error();
    auto removed = store::remove_assignment(store, wanted, seen);
    if (!removed) return std::move(removed).error();
    return place_and_note(store, scope, std::move(*before), actor, "assignment.remove");
  });
  const auto assigned = co_await std::move(writing);
  if (!assigned) co_return refused_change(assigned.error(), seen.has_value(), false);
  co_return assigned_reply(context, kOk, *assigned);
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/assignments",
     .summary = "All assignments, or those of an app",
     .handler = list,
     .queries = "app limit after"},
    {.method = "POST",
     .pattern = "/assignments",
     .summary = "Assign a recipe to the instances that a selector matches",
     .role = Role::operator_,
     .body = Body::json,
     .handler = add},
    {.method = "GET", .pattern = "/assignments/{id}", .summary = "One assignment", .handler = show},
    {.method = "PUT",
     .pattern = "/assignments/{id}",
     .summary = "Edit an assignment",
     .role = Role::operator_,
     .body = Body::json,
     .handler = edit},
    {.method = "DELETE",
     .pattern = "/assignments/{id}",
     .summary = "Remove an assignment",
     .role = Role::operator_,
     .handler = remove},
};

}  // namespace

}  // namespace assignments_resource

std::span<const Route> assignment_routes() {
  return assignments_resource::kRoutes;
}

}  // namespace backend::api
