#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/store/recipes.hpp"
#include "base/text.hpp"

namespace backend::api {

namespace assignments_resource {

namespace {

constexpr std::int64_t kLargest = 1'000'000'000;

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
}

std::string describe(const domain::Assignment& assignment) {
  return assignment.selector + " -> " + assignment.recipe +
         (assignment.revision ? " revision " + std::to_string(*assignment.revision) : "");
}

domain::Assignment read_assignment(Fields& fields, const Scope& scope) {
  domain::Assignment assignment;
  assignment.app_id = fields.text_or("app_id", "default");
  assignment.selector = read_selector(fields, "selector", scope).text();
  assignment.recipe = fields.text("recipe");
  assignment.revision = fields.integer("revision", 1, kLargest);
  assignment.order = fields.integer_or("order", 0, -kLargest, kLargest);
  assignment.kill_on_change = fields.one_of("on_change", "finish kill", "finish") == "kill";
  assignment.round_delay_s = fields.integer("round_delay_s", 1, 30LL * 24 * 3600);
  // As they were read; not to be changed.
  for (const std::string_view read_only : {"id", "created", "matched", "changed"})
    fields.value(read_only);
  return assignment;
}

// What somebody with a wider reach has assigned is not theirs to change.
base::Result<domain::Assignment> find_own(store::Store& store, const Scope& scope, std::int64_t id) {
  auto assignment = store.find_assignment(id);
  if (!assignment || is_narrowed(scope, assignment->selector)) return assignment;
  return base::Error(
      base::ErrorCode::permission,
      "assignment " + std::to_string(id) + " reaches machines outside of the scope " + scope->text());
}

struct Assigned {
  domain::Assignment assignment;
  std::size_t matched = 0;
  fleet::Delivery delivery;
};

// The end of every change of an assignment, on the writer thread.
base::Result<Assigned> place_and_note(store::Store& store, domain::Assignment assignment, const Actor& actor,
                                      std::string action) {
  auto placed = fleet::place_app(store, assignment.app_id);
  if (!placed) return as_conflict(std::move(placed).error());
  auto selector = domain::Selector::parse(assignment.selector);
  if (!selector) return std::move(selector).error();
  auto matched = fleet::count_matches(store, assignment.app_id, *selector);
  if (!matched) return std::move(matched).error();
  auto delivery = fleet::prepare_delivery(store, std::move(*placed));
  if (!delivery) return std::move(delivery).error();
  auto noted = audit(store, actor, std::move(action), assignment.app_id + "/" + std::to_string(assignment.id),
                     describe(assignment));
  if (!noted) return std::move(noted).error();
  return Assigned{std::move(assignment), *matched, std::move(*delivery)};
}

HttpResponse assigned_reply(Context& context, unsigned status, const Assigned& assigned) {
  context.fleet.deliver(assigned.delivery);
  base::JsonText json;
  begin_assignment(json, assigned.assignment);
  json.member("matched", assigned.matched).member("changed", assigned.delivery.changed.size());
  HttpResponse response = json_reply(status, json.end_object());
  response.headers.push_back({"ETag", etag(assigned.assignment.edit)});
  return response;
}

Task<HttpResponse> list(Context& context, const Call& call) {
  const auto page = page_of(call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read([app = std::string(call.http.parameter("app")),
                                     wanted = std::get<domain::PageRequest>(page)](store::Store& store) {
    return store.list_assignments(app, wanted);
  });
  const auto assignments = co_await std::move(reading);
  if (!assignments) co_return problem_of(assignments.error());
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
  auto reading = context.store.read([wanted = *id, scope = call.caller.scope](store::Store& store)
                                        -> base::Result<std::pair<domain::Assignment, std::size_t>> {
    auto assignment = store.find_assignment(wanted);
    if (!assignment) return std::move(assignment).error();
    auto selector = domain::Selector::parse(assignment->selector);
    if (selector) selector = narrowed(scope, *selector);
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
  response.headers.push_back({"ETag", etag(found->first.edit)});
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
  auto writing = context.store.write(
      [wanted = std::move(wanted), actor = call.actor](store::Store& store) -> base::Result<Assigned> {
        auto added = store::add_assignment(store, wanted, domain::now_millis());
        if (!added) return std::move(added).error();
        return place_and_note(store, std::move(*added), actor, "assignment.create");
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
        auto edited = store::edit_assignment(store, wanted, seen);
        if (!edited) return std::move(edited).error();
        return place_and_note(store, std::move(*edited), actor, "assignment.edit");
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
    return place_and_note(store, std::move(*before), actor, "assignment.remove");
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
