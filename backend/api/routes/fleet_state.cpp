// The fleet as a whole: waits, audit, counts.
#include <unordered_set>

#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/routes/visible_pages.hpp"
#include "base/text.hpp"

namespace backend::api {

namespace fleet_state_resource {

namespace {

// So many of those that hold up others are named.
constexpr std::size_t kMostHolders = 20;

// A page of the instances that have wait states; which wait for what is in the index.
struct Waiting {
  std::vector<domain::Instance> page;
  std::string next;
  std::unordered_set<domain::InstanceKey> covered;  // of a scope: all that it reaches
};

base::Result<std::unordered_set<domain::InstanceKey>> covered_keys(store::Store& store, const Scope& scope,
                                                                   const std::string& app) {
  std::unordered_set<domain::InstanceKey> keys;
  domain::PageRequest page{.limit = domain::kLargestPage};
  do {
    auto some = store.list_instances({.app_id = app}, &*scope, page);
    if (!some) return std::move(some).error();
    for (const domain::Instance& each : some->items)
      keys.insert(each.key);
    page.after = some->next;
  } while (!page.after.empty());
  return keys;
}

// `keys`: of all that have wait states, in their order.
base::Result<Waiting> read_waiting(store::Store& store, const Scope& scope, const std::string& app,
                                   const std::vector<domain::InstanceKey>& keys, std::int64_t after,
                                   std::size_t limit) {
  Waiting found;
  if (scope) {
    auto covered = covered_keys(store, scope, app);
    if (!covered) return std::move(covered).error();
    found.covered = std::move(*covered);
  }
  std::size_t looked = 0;
  domain::InstanceKey last = after;
  for (const domain::InstanceKey key : keys) {
    if (key <= after || (scope && !found.covered.contains(key))) continue;
    if (found.page.size() == limit || looked++ == kMostLookedThrough) {
      found.next = std::to_string(last);
      break;
    }
    last = key;
    auto instance = store.find_instance(key);
    if (!instance && instance.error().code() == base::ErrorCode::not_found) continue;
    if (!instance) return std::move(instance).error();
    if (app.empty() || instance->app_id == app) found.page.push_back(std::move(*instance));
  }
  return found;
}

// Those that the caller may see.
base::Result<std::vector<domain::Instance>> read_holders(store::Store& store, const Scope& scope,
                                                         const std::string& app,
                                                         const std::vector<domain::WaitHolder>& holders) {
  std::vector<domain::Instance> found;
  for (const domain::WaitHolder& holder : holders) {
    auto instance = store.find_instance(holder.instance);
    if (!instance && instance.error().code() == base::ErrorCode::not_found) continue;
    if (!instance) return std::move(instance).error();
    if ((app.empty() || instance->app_id == app) && covers(scope, *instance))
      found.push_back(std::move(*instance));
  }
  return found;
}

void add_holders(Context& context, base::JsonText& json, const std::vector<domain::WaitHolder>& holders,
                 const std::vector<domain::Instance>& instances) {
  json.key("held_up_by").begin_list();
  for (const domain::WaitHolder& holder : holders) {
    const auto found = std::ranges::find(instances, holder.instance, &domain::Instance::key);
    if (found == instances.end()) continue;
    json.begin_object().member("app_id", found->app_id).member("instance_id", found->instance_id);
    json.member("waiting", holder.waiting).member("online", context.fleet.is_connected(found->key));
    domain::add_instant(json, "last_seen", found->last_seen);
    json.member("status", found->status).end_object();
  }
  json.end_list();
}

Task<HttpResponse> waits(Context& context, const Call& call) {
  const auto asked = visible_page_of(context, call);
  if (const auto* refused = std::get_if<HttpResponse>(&asked)) co_return *refused;
  const domain::PageRequest page = std::get<domain::PageRequest>(asked);
  const auto after = page.after.empty() ? std::optional<std::int64_t>(0) : base::parse_integer(page.after);
  if (!after) co_return problem(kBadRequest, "after is not what 'next' said");

  const std::string app(call.http.parameter("app"));
  auto reading = context.store.read(call.caller.token_id,
                                    [keys = context.fleet.waits().waiting_instances(), app, from = *after,
                                     limit = page.limit, scope = call.caller.scope](store::Store& store) {
                                      return read_waiting(store, scope, app, keys, from, limit);
                                    });
  const auto found = co_await std::move(reading);
  if (!found) co_return problem_of(found.error());
  // A machine outside of the scope neither is shown as held up nor counts as that.
  const std::vector<domain::WaitHolder> holders =
      context.fleet.waits().holders(kMostHolders, call.caller.scope ? &found->covered : nullptr);
  auto looking = context.store.read(call.caller.token_id,
                                    [app, holders, scope = call.caller.scope](store::Store& store) {
                                      return read_holders(store, scope, app, holders);
                                    });
  const auto holding = co_await std::move(looking);
  if (!holding) co_return problem_of(holding.error());

  base::JsonText json;
  json.begin_object();
  add_holders(context, json, holders, *holding);
  json.key("items").begin_list();
  for (const domain::Instance& instance : found->page)
    for (const domain::WaitStatus& wait : context.fleet.waits().waits_of(instance.key)) {
      json.begin_object().member("app_id", instance.app_id).member("instance_id", instance.instance_id);
      json.member("state_id", wait.state_id).member("recipe_version", instance.recipe_version);
      json.key("waiting_for").begin_list();
      for (const protocol::StateRef& open : wait.open)
        json.begin_object()
            .member("instance_id", open.instance_id)
            .member("state_id", open.state_id)
            .end_object();
      json.end_list();
      domain::add_instant(json, "satisfied_at", wait.satisfied_at.value_or(0));
      json.end_object();
    }
  json.end_list().key("next");
  if (const std::string next = next_for(context, call, found->next); next.empty())
    json.null();
  else
    json.value(next);
  co_return json_reply(kOk, json.end_object());
}

using AuditPage = std::pair<domain::Page<domain::AuditRow>, domain::AuditHead>;

Task<HttpResponse> audit_rows(Context& context, const Call& call) {
  const auto page = page_of(call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  const std::string_view order = call.http.parameter("order");
  if (!order.empty() && order != "newest" && order != "oldest")
    co_return problem(kBadRequest, "order must be newest or oldest");
  // With the writer, because rows and head must be of one moment: a false alarm would be worse than a
  // moment's wait.
  auto reading =
      context.store.write([wanted = std::get<domain::PageRequest>(page),
                           oldest = order == "oldest"](store::Store& store) -> base::Result<AuditPage> {
        auto rows = store.list_audit(
            wanted, oldest ? store::Store::Order::oldest_first : store::Store::Order::newest_first);
        if (!rows) return std::move(rows).error();
        auto head = store.audit_head();
        if (!head) return std::move(head).error();
        return AuditPage(std::move(*rows), std::move(*head));
      });
  const auto read = co_await std::move(reading);
  if (!read) co_return problem_of(read.error());
  const auto& [rows, head] = *read;
  base::JsonText json;
  json.begin_object().key("items").begin_list();
  for (const domain::AuditRow& row : rows.items) {
    json.begin_object().member("id", row.id);
    domain::add_instant(json, "at", row.at);
    json.member("actor", row.actor).member("from", row.from).member("action", row.action);
    json.member("object", row.object).member("detail", row.detail).member("result", row.result);
    json.member("chain", row.chain).end_object();
  }
  json.end_list().key("head").begin_object().member("id", head.id).member("chain", head.chain).end_object();
  json.key("next");
  if (rows.next.empty())
    json.null();
  else
    json.value(rows.next);
  co_return json_reply(kOk, json.end_object());
}

HttpResponse fleet_reply(Context& context, const domain::FleetCounts& counts, std::uint64_t waiting) {
  base::JsonText json;
  json.begin_object().member("instances", counts.instances).member("online", counts.online);
  json.member("converged", counts.converged).member("failed", counts.failed);
  json.member("rejected", counts.rejected).member("running", counts.running);
  json.member("waiting", waiting).member("draining", context.fleet.draining());
  json.member("changed_last_hour", counts.changed_last_hour);
  json.member("results", counts.results).member("rounds", counts.rounds);
  json.member("results_stored", context.metrics.reports_stored.value());
  return json_reply(kOk, json.end_object());
}

// What a token with a scope may know: counted from its machines. Results are not counted: there may be
// millions.
struct ScopedCounts {
  domain::FleetCounts counts;
  std::vector<domain::InstanceKey> instances;
};

base::Result<ScopedCounts> count_covered(store::Store& store, const std::string& app_id,
                                         const domain::Selector& scope) {
  ScopedCounts found;
  domain::FleetCounts& counts = found.counts;
  domain::PageRequest page{.limit = domain::kLargestPage};
  do {
    auto some = store.list_instances({.app_id = app_id}, &scope, page);
    if (!some) return std::move(some).error();
    for (const domain::Instance& each : some->items) {
      found.instances.push_back(each.key);
      ++counts.instances;
      if (each.online) ++counts.online;
      if (each.status == "converged") ++counts.converged;
      if (each.status == "failed") ++counts.failed;
      if (each.status == "rejected") ++counts.rejected;
      if (each.status == "accepted" || each.status == "running") ++counts.running;
    }
    page.after = some->next;
  } while (!page.after.empty());
  return found;
}

HttpResponse scoped_reply(Context& context, const ScopedCounts& found) {
  std::uint64_t waiting = 0;
  for (const domain::InstanceKey key : found.instances)
    for (const domain::WaitStatus& wait : context.fleet.waits().waits_of(key))
      if (!wait.satisfied_at) ++waiting;
  const domain::FleetCounts& counts = found.counts;
  base::JsonText json;
  json.begin_object().member("instances", counts.instances).member("online", counts.online);
  json.member("converged", counts.converged).member("failed", counts.failed);
  json.member("rejected", counts.rejected).member("running", counts.running);
  json.member("waiting", waiting).member("draining", context.fleet.draining());
  for (const std::string_view unknown : {"changed_last_hour", "results", "rounds", "results_stored"})
    json.key(unknown).null();
  return json_reply(kOk, json.end_object());
}

Task<HttpResponse> fleet(Context& context, const Call& call) {
  const std::string app(call.http.parameter("app"));
  if (call.caller.scope) {
    auto counting = context.store.read(
        call.caller.token_id,
        [app, scope = *call.caller.scope](store::Store& store) { return count_covered(store, app, scope); });
    const auto found = co_await std::move(counting);
    if (!found) co_return problem_of(found.error());
    co_return scoped_reply(context, *found);
  }
  auto reading = context.store.read(
      call.caller.token_id, [app](store::Store& store) { return store.fleet(app, domain::now_millis()); });
  const auto counts = co_await std::move(reading);
  if (!counts) co_return problem_of(counts.error());
  co_return fleet_reply(context, *counts, context.fleet.waits().open_count(app));
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/waits",
     .summary = "Wait states and what they wait for",
     .handler = waits,
     .queries = "app limit after"},
    {.method = "GET",
     .pattern = "/audit",
     .summary = "Who changed what, and what was refused",
     .role = Role::admin,
     .handler = audit_rows,
     .queries = "limit after order",
     .reach = Reach::everything},
    {.method = "GET",
     .pattern = "/fleet",
     .summary = "Counts at a glance",
     .handler = fleet,
     .queries = "app"},
};

}  // namespace

}  // namespace fleet_state_resource

std::span<const Route> fleet_routes() {
  return fleet_state_resource::kRoutes;
}

}  // namespace backend::api
