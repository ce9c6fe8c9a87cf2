#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/api/targets.hpp"
#include "base/token.hpp"

namespace backend::api {

namespace {

Task<HttpResponse> start(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  UpdateAction action;
  action.action_id = base::random_hex(8);
  action.app_id = fields.text_or("app_id", "default");
  Selector selector = read_selector(fields, "selector", call.caller.scope);
  action.selector = selector.text();
  action.version = fields.text("version");
  action.url = fields.text_or("url", "");
  action.created = now_millis();
  if (const auto wrong = protocol::problem_of_id(action.version); !wrong.empty())
    fields.complain("version", std::string(wrong));
  if (auto refused = fields.problems()) co_return std::move(*refused);

  auto finding = find_targets(context, action.app_id, std::move(selector));
  const auto targets = co_await std::move(finding);
  if (!targets) co_return problem_of(targets.error());
  std::vector<InstanceKey> keys;
  for (const Target& target : targets->connected)
    keys.push_back(target.key);
  auto writing = context.store.write([action, keys, actor = call.actor](Store& store) -> base::Result<void> {
    if (auto added = store.add_update(action, keys); !added) return added;
    return audit(store, actor, "update", action.app_id + "/" + action.action_id,
                 action.version + " to " + action.selector);
  });
  const auto written = co_await std::move(writing);
  if (!written) co_return problem_of(written.error());
  std::size_t sent = 0;
  for (const InstanceKey key : keys)
    if (context.fleet.tell(key, protocol::AgentUpdate{action.version, action.url, action.action_id})) ++sent;
  base::JsonText json;
  json.begin_object().member("action_id", action.action_id).member("sent", sent);
  json.key("not_connected").begin_list();
  for (const std::string& name : targets->not_connected)
    json.value(name);
  HttpResponse response = json_reply(kCreated, json.end_list().end_object());
  response.headers.push_back({"Location", std::string(kPrefix) + "/updates/" + action.action_id});
  co_return response;
}

using Status = std::pair<UpdateAction, Page<UpdateTarget>>;

Task<HttpResponse> show(Context& context, const Call& call) {
  const auto page = page_of(call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read([id = call.captured[0], wanted = std::get<PageRequest>(page),
                                     scope = call.caller.scope](Store& store) -> base::Result<Status> {
    auto action = store.find_update(id);
    if (!action) return std::move(action).error();
    auto targets = store.list_update_targets(id, wanted);
    if (!targets) return std::move(targets).error();
    CoveredNames covered(store, scope);
    std::vector<UpdateTarget> seen;
    for (UpdateTarget& target : targets->items) {
      auto has = covered.has(action->app_id, target.instance_id);
      if (!has) return std::move(has).error();
      if (*has) seen.push_back(std::move(target));
    }
    targets->items = std::move(seen);
    return Status(std::move(*action), std::move(*targets));
  });
  const auto status = co_await std::move(reading);
  if (!status) co_return problem_of(status.error());
  const auto& [action, targets] = *status;
  base::JsonText json;
  json.begin_object().member("action_id", action.action_id).member("app_id", action.app_id);
  json.member("selector", action.selector).member("version", action.version).member("url", action.url);
  add_instant(json, "created", action.created);
  json.key("items").begin_list();
  for (const UpdateTarget& target : targets.items) {
    json.begin_object().member("instance_id", target.instance_id).member("phase", target.phase);
    json.member("error", target.error);
    add_instant(json, "at", target.at);
    json.end_object();
  }
  json.end_list().key("next");
  if (targets.next.empty())
    json.null();
  else
    json.value(targets.next);
  co_return json_reply(kOk, json.end_object());
}

constexpr Route kRoutes[] = {
    {.method = "POST",
     .pattern = "/updates",
     .summary = "Tell connected instances to update themselves",
     .role = Role::admin,
     .body = Body::json,
     .handler = start},
    {.method = "GET",
     .pattern = "/updates/{action_id}",
     .summary = "How far each instance is with an update",
     .handler = show,
     .queries = "limit after"},
};

}  // namespace

std::span<const Route> update_routes() {
  return kRoutes;
}

}  // namespace backend::api
