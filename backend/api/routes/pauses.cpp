// Pausing machines, and resuming them: a wish that is stored, and told to those that are connected. And
// rounds that begin now.
#include "backend/domain/access/pauses.hpp"

#include <algorithm>

#include "backend/api/callers/visibility.hpp"
#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/api/routes/targets.hpp"
#include "backend/domain/json_text.hpp"
#include "base/utc_text.hpp"
#include "protocol/ids.hpp"

namespace backend::api {

namespace pauses_resource {

namespace {

using std::chrono::seconds;

constexpr std::int64_t kDefaultTimeout = 15;
constexpr std::int64_t kLongestTimeout = 600;

// A machine, what became of the wish, and whether it has heard of it.
struct Item {
  domain::Instance instance;
  std::string refusal;  // why nothing was stored for it; "": it was
  bool was_paused = false;
  std::optional<base::Result<fleet::Answer>> heard;  // nothing: it is not connected, or was not told
};

std::string too_old(const domain::Instance& instance) {
  return "agent " + instance.instance_id + " is too old: version " + instance.agent_version +
         " knows nothing of pauses; update it";
}

// One that was never here may be of any version: it is told when it comes, or shown as too old then.
bool is_too_old(const domain::Instance& instance) {
  return !instance.takes_holds && instance.epoch > 0;
}

using Items = std::vector<Item>;

// Tells those of `items` that are connected and were not refused.
Task<> tell_all(Context& context, Items& items, bool is_now, seconds timeout) {
  std::vector<Target> targets;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const domain::Instance& instance = items[i].instance;
    if (!items[i].refusal.empty() || !instance.takes_holds || !context.fleet.is_connected(instance.key))
      continue;
    targets.push_back({.key = instance.key, .instance_id = instance.instance_id});
    places.push_back(i);
  }
  std::size_t next = 0;
  AskOne ask = [&](const Target& target) {
    const domain::Pause& pause = items[places[next++]].instance.pause;
    return context.fleet.ask(
        target.key, protocol::BackendBody(fleet::hold_of(pause, domain::now_millis(), is_now)), timeout);
  };
  auto asking = ask_all(context, targets, std::move(ask));
  auto answers = co_await std::move(asking);
  for (std::size_t i = 0; i < places.size(); ++i)
    items[places[i]].heard = std::move(answers[i]);
}

void add_heard(base::JsonText& json, const Item& item) {
  if (!item.refusal.empty()) {
    json.member("error", item.refusal);
    return;
  }
  json.member("told", item.heard && *item.heard);
  if (item.heard && !*item.heard) json.member("problem", item.heard->error().message());
}

// What the machine itself holds it by, whatever is wanted here.
void add_own_hold(base::JsonText& json, const Item& item, bool online) {
  std::vector<protocol::MachineHold> own = domain::holds_now(item.instance, online, domain::now_millis());
  std::erase_if(own, [](const protocol::MachineHold& hold) { return !hold.is_local; });
  json.key("own_holds").json(domain::to_json(own));
}

// ---- pause

struct PauseAsked {
  std::string app_id;
  domain::Pause pause;
  bool is_now = false;
};

// When it ends: by our clock.
domain::Millis read_end(Fields& fields, domain::Millis now) {
  constexpr domain::Millis kMillis = 1000;
  const auto for_s = fields.integer("for_s", protocol::kShortestHold, protocol::kLongestHold);
  const std::string until = fields.text_or("until", "");
  if (until.empty()) return now + for_s.value_or(protocol::kDefaultHold) * kMillis;
  if (for_s) fields.complain("until", "says the same as for_s: give one of them");
  const auto end = base::parse_utc(until);
  if (!end) {
    fields.complain("until", "must be an instant like 2026-03-01T12:00:00Z");
    return now;
  }
  const domain::Millis at =
      std::chrono::duration_cast<std::chrono::milliseconds>(end->time_since_epoch()).count();
  if (at <= now) fields.complain("until", "has passed");
  if (at > now + protocol::kLongestHold * kMillis) fields.complain("until", "is more than 30 days away");
  return at;
}

Task<HttpResponse> pause(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  const domain::Millis now = domain::now_millis();
  PauseAsked asked{.app_id = fields.text_or("app_id", "default")};
  domain::Selector selector = read_selector(fields, "selector", call.caller.scope);
  asked.pause = {.by = call.actor.name,
                 .reason = fields.text_or("reason", ""),
                 .since = now,
                 .until = read_end(fields, now)};
  asked.is_now = fields.flag_or("now", false);
  const seconds timeout(fields.integer_or("timeout_s", kDefaultTimeout, 1, kLongestTimeout));
  if (!protocol::problem_of_id(asked.pause.reason).empty())
    fields.complain("reason", "must be one line of 256 bytes at most");
  if (auto refused = fields.problems()) co_return std::move(*refused);

  auto writing = context.store.write([asked, selector, actor = call.actor,
                                      scope = call.caller.scope](store::Store& store) -> base::Result<Items> {
    auto meant = read_meant(store, scope, asked.app_id, selector);
    if (!meant) return std::move(meant).error();
    Items items;
    std::size_t paused = 0;
    for (domain::Instance& instance : *meant) {
      Item& item = items.emplace_back(Item{.instance = std::move(instance)});
      item.was_paused = item.instance.pause.is_on(asked.pause.since);
      if (is_too_old(item.instance)) {
        item.refusal = too_old(item.instance);
        continue;
      }
      item.instance.pause = asked.pause;
      if (auto set = store.set_pause(item.instance.key, asked.pause); !set) return std::move(set).error();
      ++paused;
    }
    const std::string until =
        base::utc_text(std::chrono::system_clock::time_point(std::chrono::milliseconds(asked.pause.until)));
    if (paused == 0) return items;
    auto noted = audit(store, actor, "instance.pause", asked.app_id,
                       selector.text() + ": " + std::to_string(paused) + " machines until " + until +
                           (asked.pause.reason.empty() ? "" : ": " + asked.pause.reason));
    if (!noted) return std::move(noted).error();
    return items;
  });
  auto items = co_await std::move(writing);
  if (!items) co_return problem_of(items.error());
  for (const Item& item : *items)
    if (item.refusal.empty())
      context.fleet.publish_pause(item.instance.app_id, item.instance.instance_id, item.instance.pause);
  context.rollouts.wake();
  auto telling = tell_all(context, *items, asked.is_now, timeout);
  co_await std::move(telling);

  base::JsonText json;
  json.begin_object();
  domain::add_instant(json, "until", asked.pause.until);
  json.key("items").begin_list();
  for (const Item& item : *items) {
    const bool online = context.fleet.is_connected(item.instance.key);
    json.begin_object().member("instance_id", item.instance.instance_id).member("online", online);
    json.member("was_paused", item.was_paused);
    add_heard(json, item);
    json.end_object();
  }
  co_return json_reply(kOk, json.end_list().end_object());
}

// ---- resume

Task<HttpResponse> resume(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  const std::string app_id = fields.text_or("app_id", "default");
  domain::Selector selector = read_selector(fields, "selector", call.caller.scope);
  const seconds timeout(fields.integer_or("timeout_s", kDefaultTimeout, 1, kLongestTimeout));
  if (auto refused = fields.problems()) co_return std::move(*refused);

  auto writing = context.store.write([app_id, selector, actor = call.actor,
                                      scope = call.caller.scope](store::Store& store) -> base::Result<Items> {
    auto meant = read_meant(store, scope, app_id, selector);
    if (!meant) return std::move(meant).error();
    const domain::Millis now = domain::now_millis();
    Items items;
    std::size_t resumed = 0;
    for (domain::Instance& instance : *meant) {
      Item& item = items.emplace_back(Item{.instance = std::move(instance)});
      item.was_paused = item.instance.pause.is_on(now);
      if (!item.was_paused) continue;
      item.instance.pause = {.until = now};
      if (auto set = store.set_pause(item.instance.key, item.instance.pause); !set)
        return std::move(set).error();
      ++resumed;
    }
    if (resumed == 0) return items;
    auto noted = audit(store, actor, "instance.resume", app_id,
                       selector.text() + ": " + std::to_string(resumed) + " machines");
    if (!noted) return std::move(noted).error();
    return items;
  });
  auto items = co_await std::move(writing);
  if (!items) co_return problem_of(items.error());
  for (const Item& item : *items)
    if (item.was_paused)
      context.fleet.publish_pause(item.instance.app_id, item.instance.instance_id, item.instance.pause);
  context.rollouts.wake();
  // Also those that are not paused as far as we know: they may think otherwise.
  auto telling = tell_all(context, *items, false, timeout);
  co_await std::move(telling);

  base::JsonText json;
  json.begin_object().key("items").begin_list();
  for (const Item& item : *items) {
    const bool online = context.fleet.is_connected(item.instance.key);
    json.begin_object().member("instance_id", item.instance.instance_id).member("online", online);
    json.member("was_paused", item.was_paused);
    add_heard(json, item);
    add_own_hold(json, item, online);
    json.end_object();
  }
  co_return json_reply(kOk, json.end_list().end_object());
}

// ---- run-now

Task<HttpResponse> run_now(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  const std::string app_id = fields.text_or("app_id", "default");
  domain::Selector selector = read_selector(fields, "selector", call.caller.scope);
  const seconds timeout(fields.integer_or("timeout_s", kDefaultTimeout, 1, kLongestTimeout));
  if (auto refused = fields.problems()) co_return std::move(*refused);

  auto writing = context.store.write([app_id, selector, actor = call.actor,
                                      scope = call.caller.scope](store::Store& store) -> base::Result<Items> {
    auto meant = read_meant(store, scope, app_id, selector);
    if (!meant) return std::move(meant).error();
    const domain::Millis now = domain::now_millis();
    Items items;
    for (domain::Instance& instance : *meant) {
      Item& item = items.emplace_back(Item{.instance = std::move(instance)});
      if (is_too_old(item.instance))
        item.refusal = too_old(item.instance);
      else if (item.instance.pause.is_on(now))
        item.refusal = domain::pause_text(item.instance.pause) + ": resume it first";
    }
    if (items.empty()) return items;
    // Noted before it is done.
    auto noted = audit(store, actor, "run-now", app_id,
                       selector.text() + ": " + std::to_string(items.size()) + " machines", domain::kBegun);
    if (!noted) return std::move(noted).error();
    return items;
  });
  auto items = co_await std::move(writing);
  if (!items) co_return problem_of(items.error());
  std::vector<Target> targets;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < items->size(); ++i) {
    Item& item = (*items)[i];
    if (!item.refusal.empty()) continue;
    if (!context.fleet.is_connected(item.instance.key)) {
      item.refusal = "it is not connected";
      continue;
    }
    targets.push_back({.key = item.instance.key, .instance_id = item.instance.instance_id});
    places.push_back(i);
  }
  AskOne ask = [&](const Target& target) {
    return context.fleet.ask(target.key, protocol::BackendBody(protocol::RunNow{}), timeout);
  };
  auto asking = ask_all(context, targets, std::move(ask));
  auto answers = co_await std::move(asking);
  for (std::size_t i = 0; i < places.size(); ++i)
    if (!answers[i]) (*items)[places[i]].refusal = answers[i].error().message();

  base::JsonText json;
  json.begin_object().key("items").begin_list();
  for (const Item& item : *items) {
    json.begin_object().member("instance_id", item.instance.instance_id);
    json.member("begun", item.refusal.empty()).optional("error", item.refusal).end_object();
  }
  co_return json_reply(kOk, json.end_list().end_object());
}

constexpr Route kRoutes[] = {
    {.method = "POST",
     .pattern = "/pause",
     .summary = "Let no round begin on machines for a while",
     .role = Role::operator_,
     .body = Body::json,
     .handler = pause},
    {.method = "POST",
     .pattern = "/resume",
     .summary = "Let rounds begin again on machines that are paused",
     .role = Role::operator_,
     .body = Body::json,
     .handler = resume},
    {.method = "POST",
     .pattern = "/run-now",
     .summary = "Begin a round now on machines that are connected",
     .role = Role::operator_,
     .body = Body::json,
     .handler = run_now},
};

}  // namespace

}  // namespace pauses_resource

std::span<const Route> pause_routes() {
  return pauses_resource::kRoutes;
}

}  // namespace backend::api
