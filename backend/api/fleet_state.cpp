// The fleet as a whole: waits, audit, counts.
#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "base/text.hpp"

namespace backend::api {

namespace {

// The waits of some instances, as the index has them; names come from the store.
struct Waiting {
  Instance instance;
  std::vector<WaitStanding> waits;
};

Task<HttpResponse> waits(Context& context, const Call& call) {
  const auto asked = page_of(call);
  if (const auto* refused = std::get_if<HttpResponse>(&asked)) co_return *refused;
  const PageRequest page = std::get<PageRequest>(asked);
  const auto after = page.after.empty() ? std::optional<std::int64_t>(0) : base::parse_integer(page.after);
  if (!after) co_return problem(kBadRequest, "after is not what 'next' said");

  std::vector<InstanceKey> keys;
  std::string next;
  for (const InstanceKey key : context.fleet.waits().waiting_instances()) {
    if (key <= *after) continue;
    if (keys.size() == page.limit) {
      next = std::to_string(keys.back());
      break;
    }
    keys.push_back(key);
  }
  auto reading = context.store.read([keys, app = std::string(call.http.parameter("app"))](
                                        Store& store) -> base::Result<std::vector<Instance>> {
    std::vector<Instance> found;
    for (const InstanceKey key : keys) {
      auto instance = store.find_instance(key);
      if (!instance && instance.error().code() == base::ErrorCode::not_found) continue;
      if (!instance) return std::move(instance).error();
      if (app.empty() || instance->app_id == app) found.push_back(std::move(*instance));
    }
    return found;
  });
  const auto instances = co_await std::move(reading);
  if (!instances) co_return problem_of(instances.error());

  base::JsonText json;
  json.begin_object().key("items").begin_list();
  for (const Instance& instance : *instances)
    for (const WaitStanding& wait : context.fleet.waits().waits_of(instance.key)) {
      json.begin_object().member("app_id", instance.app_id).member("instance_id", instance.instance_id);
      json.member("state_id", wait.state_id).member("recipe_version", instance.recipe_version);
      json.key("waiting_for").begin_list();
      for (const protocol::StateRef& open : wait.open)
        json.begin_object()
            .member("instance_id", open.instance_id)
            .member("state_id", open.state_id)
            .end_object();
      json.end_list();
      add_instant(json, "satisfied_at", wait.satisfied_at.value_or(0));
      json.end_object();
    }
  json.end_list().key("next");
  if (next.empty())
    json.null();
  else
    json.value(next);
  co_return json_reply(kOk, json.end_object());
}

Task<HttpResponse> audit_rows(Context& context, const Call& call) {
  const auto page = page_of(call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read(
      [wanted = std::get<PageRequest>(page)](Store& store) { return store.list_audit(wanted); });
  const auto rows = co_await std::move(reading);
  if (!rows) co_return problem_of(rows.error());
  co_return list_reply(*rows, [](base::JsonText& json, const AuditRow& row) {
    json.begin_object().member("id", row.id);
    add_instant(json, "at", row.at);
    json.member("actor", row.actor).member("action", row.action).member("object", row.object);
    json.member("detail", row.detail).end_object();
  });
}

Task<HttpResponse> fleet(Context& context, const Call& call) {
  auto reading = context.store.read([app = std::string(call.http.parameter("app"))](Store& store) {
    return store.fleet(app, now_millis());
  });
  const auto counts = co_await std::move(reading);
  if (!counts) co_return problem_of(counts.error());
  base::JsonText json;
  json.begin_object().member("instances", counts->instances).member("online", counts->online);
  json.member("converged", counts->converged).member("failed", counts->failed);
  json.member("rejected", counts->rejected).member("running", counts->running);
  json.member("waiting", context.fleet.waits().open_count());
  json.member("changed_last_hour", counts->changed_last_hour);
  json.member("results", counts->results).member("rounds", counts->rounds);
  json.member("results_stored", context.metrics.reports_stored.value());
  json.member("draining", context.fleet.draining());
  co_return json_reply(kOk, json.end_object());
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/waits",
     .summary = "Wait states and what they wait for",
     .handler = waits,
     .queries = "app limit after"},
    {.method = "GET",
     .pattern = "/audit",
     .summary = "Changes made over the API, newest first",
     .role = Role::admin,
     .handler = audit_rows,
     .queries = "limit after"},
    {.method = "GET",
     .pattern = "/fleet",
     .summary = "Counts at a glance",
     .handler = fleet,
     .queries = "app"},
};

}  // namespace

std::span<const Route> fleet_routes() {
  return kRoutes;
}

}  // namespace backend::api
