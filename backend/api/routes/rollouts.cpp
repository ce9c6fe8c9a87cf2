// Rollouts: updates and changes of many machines, ring by ring.
#include "backend/rollouts/rollouts.hpp"

#include <algorithm>
#include <array>

#include "backend/api/callers/self_reports.hpp"
#include "backend/api/callers/visibility.hpp"
#include "backend/api/changes.hpp"
#include "backend/api/changes/change_terms.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/api/routes/visible_pages.hpp"
#include "backend/domain/access/ownership.hpp"
#include "backend/domain/reports/report_json.hpp"
#include "backend/domain/rollouts/rollout_rules.hpp"
#include "backend/rollouts/rollout_step.hpp"
#include "base/token.hpp"

namespace backend::api {

namespace rollouts_resource {

namespace {

constexpr std::int64_t kDay = 24 * 3600;
constexpr std::size_t kMostEvidence = 20;
constexpr std::size_t kMostExcluded = 1000;  // in one call

MachineSet set_of(const domain::Rollout& rollout) {
  return {rollout.app_id, rollout.selector};
}

// One that reaches nobody in the scope is not there.
base::Result<domain::Rollout> find_seen(store::Store& store, const Scope& scope, const std::string& id) {
  auto rollout = store.find_rollout(id);
  if (!rollout || !scope) return rollout;
  auto seen = is_visible(store, scope, set_of(*rollout));
  if (!seen) return std::move(seen).error();
  if (!*seen) return base::Error(base::ErrorCode::not_found, "there is no rollout '" + id + "'");
  return rollout;
}

void add_change(base::JsonText& json, const domain::Rollout& rollout) {
  json.key("change");
  if (!rollout.is_change()) {
    json.null();
    return;
  }
  const domain::HeldChange& change = rollout.change;
  json.begin_object();
  if (change.layer != 0)
    json.member("variables", change.layer);
  else if (change.assignment != 0)
    json.member("assignment", change.assignment);
  else
    json.member("recipe", change.recipe)
        .member("from_revision", change.from_revision)
        .member("to_revision", change.to_revision);
  json.end_object();
}

// A rollout with its rings; without them, and without the number of its machines and what stopped it, where
// they would tell of machines that the caller must not see.
void add_rollout(base::JsonText& json, const domain::Rollout& rollout, const Scope& scope,
                 const std::vector<domain::RingCounts>* rings) {
  const bool sees_all = is_narrowed(scope, rollout.selector);
  if (!sees_all) rings = nullptr;
  json.member("id", rollout.id).member("kind", domain::name_of(rollout.kind));
  json.member("app_id", rollout.app_id).member("selector", rollout.selector);
  json.member("canary", rollout.canary).member("version", rollout.version).member("url", rollout.url);
  json.member("state", domain::name_of(rollout.state)).member("reason", sees_all ? rollout.reason : "");
  json.member("ring", rollout.rings.empty() ? 0 : rollout.ring + 1);
  std::size_t machines = 0;
  for (const std::size_t size : rollout.rings)
    machines += size;
  json.key("machines");
  if (sees_all)
    json.value(machines);
  else
    json.null();
  add_change(json, rollout);
  json.member("may_fail", rollout.may_fail);
  json.member("pause_s", rollout.pause_s).member("jitter_s", rollout.jitter_s);
  json.member("timeout_s", rollout.timeout_s).member("created_by", rollout.created_by);
  domain::add_instant(json, "created", rollout.created);
  domain::add_instant(json, "next_ring_at", rollout.next_at);
  domain::add_instant(json, "ended", rollout.ended);
  json.key("rings");
  if (!rings) {
    json.null();
    return;
  }
  json.begin_list();
  for (std::size_t i = 0; i < rings->size(); ++i) {
    const domain::RingCounts& ring = (*rings)[i];
    json.begin_object().member("size", i < rollout.rings.size() ? rollout.rings[i] : ring.size);
    json.member("away", ring.offline).member("told", ring.ordered).member("confirmed", ring.confirmed);
    json.member("back", ring.reconnected);
    // A machine does not take a change back by itself: it has failed.
    json.member("rolled_back", rollout.is_change() ? 0 : ring.rolled_back);
    json.member("failed", ring.failed + (rollout.is_change() ? ring.rolled_back : 0));
    json.member("lost", ring.lost).member("paused", ring.paused).end_object();
  }
  json.end_list();
}

// ---- start

struct RolloutRequest {
  domain::Rollout rollout;
  domain::Selector selector;
  std::optional<domain::Selector> canary;
  std::vector<int> per_cent;
};

std::vector<int> read_rings(Fields& fields) {
  const base::Value* given = fields.value("rings");
  if (!given) return {10, 50, 100};
  return read_per_cent(fields, "rings", *given);
}

std::variant<RolloutRequest, HttpResponse> read_rollout_request(const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  RolloutRequest request;
  domain::Rollout& rollout = request.rollout;
  rollout.id = base::random_hex(8);
  rollout.app_id = fields.text_or("app_id", "default");
  request.selector = read_selector(fields, "selector", call.caller.scope);
  rollout.selector = request.selector.text();
  rollout.version = fields.text("version");
  rollout.url = fields.text_or("url", "");
  rollout.canary = fields.text_or("canary", "");
  if (!rollout.canary.empty()) {
    auto canary = domain::Selector::parse(rollout.canary);
    if (canary) canary = narrowed(call.caller.scope, *canary);
    if (canary)
      request.canary = canary->strict();
    else
      fields.complain("canary", canary.error().message());
  }
  request.per_cent = read_rings(fields);
  rollout.pause_s = fields.integer_or("pause_s", rollout.pause_s, 0, 30 * kDay);
  rollout.jitter_s = fields.integer_or("jitter_s", rollout.jitter_s, 0, kDay);
  rollout.timeout_s = fields.integer_or("timeout_s", rollout.timeout_s, 1, 30 * kDay);
  rollout.created = domain::now_millis();
  rollout.created_by = call.actor.name;
  rollout.owner = call.caller.scope ? call.caller.scope->text() : "";
  if (const auto wrong = protocol::problem_of_name(rollout.version); !wrong.empty())
    fields.complain("version", std::string(wrong));
  if (auto refused = fields.problems()) return std::move(*refused);
  return request;
}

struct Found {
  std::vector<domain::Candidate> machines;
  std::size_t already = 0;  // have the version
};

base::Result<Found> find_machines(store::Store& store, const RolloutRequest& request) {
  const bool with_facts = request.selector.uses_facts() || (request.canary && request.canary->uses_facts());
  const domain::Selector strict = request.selector.strict();
  Found found;
  domain::PageRequest page{.limit = domain::kLargestPage};
  do {
    auto some = store.list_instances({.app_id = request.rollout.app_id}, &strict, page, with_facts);
    if (!some) return std::move(some).error();
    for (const domain::Instance& instance : some->items) {
      if (instance.is_out()) continue;
      if (instance.agent_version == request.rollout.version) {
        ++found.already;
        continue;
      }
      auto busy = store.active_rollout_of(instance.key);
      if (!busy) return std::move(busy).error();
      if (!busy->empty())
        return base::Error(base::ErrorCode::exists, "rollout " + *busy + " still has " +
                                                        instance.instance_id +
                                                        ": wait until it is done, or abort it");
      found.machines.push_back({.instance = instance.key,
                                .instance_id = instance.instance_id,
                                .is_online = instance.online,
                                .may_be_canary = instance.excluded == 0 &&
                                                 (!request.canary || request.canary->matches(instance))});
    }
    page.after = some->next;
  } while (!page.after.empty());
  return found;
}

struct Started {
  domain::Rollout rollout;
  std::vector<domain::RingCounts> rings;
  std::size_t already = 0;
  std::vector<std::string> warnings;
};

base::Result<Started> start_rollout(store::Store& store, RolloutRequest request, const Actor& actor,
                                    const Scope& scope) {
  domain::Rollout& rollout = request.rollout;
  if (auto app = find_visible_app(store, scope, rollout.app_id); !app) return std::move(app).error();
  if (auto fits = rollouts::check_pin(store, rollout); !fits) return std::move(fits).error();
  if (auto fine = check_self_report(store, rollout.app_id, request.selector); !fine)
    return std::move(fine).error();
  if (request.canary)
    if (auto fine = check_self_report(store, rollout.app_id, *request.canary); !fine)
      return std::move(fine).error().with_context("canary");
  auto app = store.find_app(rollout.app_id);
  if (!app) return std::move(app).error();
  auto effect = study(store, scope, rollout.app_id, request.selector);
  if (!effect) return std::move(effect).error();
  auto found = find_machines(store, request);
  if (!found) return std::move(found).error();
  if (found->machines.empty() && found->already == 0)
    return base::Error(base::ErrorCode::invalid,
                       "no machine of the app " + rollout.app_id + " matches " + rollout.selector);
  const auto may_be = [](const domain::Candidate& machine) { return machine.may_be_canary; };
  if (request.canary && !found->machines.empty() && std::ranges::none_of(found->machines, may_be))
    return base::Error(base::ErrorCode::invalid,
                       "none of the machines matches the canaries, " + rollout.canary);
  const domain::Rings rings =
      domain::make_rings(std::move(found->machines), rollout.version, request.per_cent);
  rollout.rings = rings.sizes;
  if (rings.targets.empty()) {
    rollout.state = domain::RolloutState::done;
    rollout.ended = rollout.created;
  }
  auto added = store.add_rollout(rollout, rings.targets);
  if (!added) return std::move(added).error();
  if (auto begun = store.begin_ring(*added, rollout.created); !begun) return std::move(begun).error();
  auto counts = store.ring_counts(*added, domain::now_millis());
  if (!counts) return std::move(counts).error();
  auto noted = audit(store, actor, "rollout", rollout.app_id + "/" + rollout.id,
                     rollout.version + " to " + rollout.selector);
  if (!noted) return std::move(noted).error();
  return Started{std::move(*added), std::move(*counts), found->already,
                 domain::self_report_warnings(request.selector, *app, *effect)};
}

Task<HttpResponse> start(Context& context, const Call& call) {
  auto read = read_rollout_request(call);
  if (const auto* refused = std::get_if<HttpResponse>(&read)) co_return *refused;
  auto writing = context.store.write([request = std::get<RolloutRequest>(std::move(read)), actor = call.actor,
                                      scope = call.caller.scope](store::Store& store) {
    return start_rollout(store, request, actor, scope);
  });
  const auto started = co_await std::move(writing);
  if (!started) co_return problem_of(started.error());
  context.rollouts.publish(started->rollout);
  context.rollouts.wake();
  base::JsonText json;
  json.begin_object();
  add_rollout(json, started->rollout, call.caller.scope, &started->rings);
  json.member("already", started->already);
  add_warnings(json, started->warnings);
  HttpResponse response = json_reply(kCreated, json.end_object());
  response.headers.push_back({"Location", std::string(kPrefix) + "/rollouts/" + started->rollout.id});
  co_return response;
}

// ---- look

base::Result<domain::Page<domain::Rollout>> list_seen(store::Store& store, const Scope& scope,
                                                      const std::string& app,
                                                      const domain::PageRequest& page) {
  return read_visible<domain::Rollout>(
      scope, page, [&](const domain::PageRequest& part) { return store.list_rollouts(app, part); },
      [&](std::vector<domain::Rollout> rows) { return only_visible(store, scope, std::move(rows), set_of); },
      [](const domain::Rollout& rollout) { return std::to_string(rollout.number); });
}

Task<HttpResponse> list(Context& context, const Call& call) {
  const auto page = visible_page_of(context, call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read(
      call.caller.token_id,
      [app = std::string(call.http.parameter("app")), wanted = std::get<domain::PageRequest>(page),
       scope = call.caller.scope](store::Store& store) { return list_seen(store, scope, app, wanted); });
  auto rollouts = co_await std::move(reading);
  if (!rollouts) co_return problem_of(rollouts.error());
  rollouts->next = next_for(context, call, rollouts->next);
  co_return list_reply(*rollouts, [&](base::JsonText& json, const domain::Rollout& rollout) {
    json.begin_object();
    add_rollout(json, rollout, call.caller.scope, nullptr);
    json.end_object();
  });
}

struct Shown {
  domain::Rollout rollout;
  std::vector<domain::RingCounts> rings;
  std::vector<domain::RolloutTarget> evidence;  // of failures that count
  domain::Page<domain::RolloutTarget> targets;
};

base::Result<Shown> read_shown(store::Store& store, const std::string& id, const std::string& phase,
                               const domain::PageRequest& page, const Scope& scope) {
  auto rollout = find_seen(store, scope, id);
  if (!rollout) return std::move(rollout).error();
  auto rings = store.ring_counts(*rollout, domain::now_millis());
  if (!rings) return std::move(rings).error();
  CoveredNames covered(store, scope);
  const auto sees = [&](const domain::RolloutTarget& target) {
    return covered.has(rollout->app_id, target.instance_id);
  };
  auto targets = read_visible<domain::RolloutTarget>(
      scope, page,
      [&](const domain::PageRequest& part) { return store.list_rollout_targets(*rollout, phase, part); },
      [&](std::vector<domain::RolloutTarget> rows) { return only(std::move(rows), sees); },
      [](const domain::RolloutTarget& target) { return std::to_string(target.position); });
  if (!targets) return std::move(targets).error();
  auto failed = store.failed_targets(*rollout, kMostEvidence);
  if (!failed) return std::move(failed).error();
  auto evidence = only(std::move(*failed), sees);
  if (!evidence) return std::move(evidence).error();
  return Shown{std::move(*rollout), std::move(*rings), std::move(*evidence), std::move(*targets)};
}

void add_target(base::JsonText& json, const domain::RolloutTarget& target) {
  json.begin_object().member("instance_id", target.instance_id).member("ring", target.ring + 1);
  json.member("phase", target.phase);
  domain::add_progress(json, target.progress);
  json.member("error", target.error).member("excluded", target.is_excluded);
  const bool is_paused = target.paused_until > domain::now_millis();
  domain::add_instant(json, "paused_until", is_paused ? target.paused_until : 0);
  domain::add_instant(json, "told", target.told);
  domain::add_instant(json, "at", target.at);
  json.end_object();
}

bool is_phase(std::string_view name) {
  constexpr std::array kOwn{domain::kWaiting, domain::kTold, domain::kLost, domain::kSuperseded,
                            domain::kExcluded};
  return protocol::update_phase_of(name) || std::ranges::find(kOwn, name) != kOwn.end();
}

Task<HttpResponse> show(Context& context, const Call& call) {
  const auto page = visible_page_of(context, call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  if (const std::string_view phase = call.http.parameter("phase"); !phase.empty() && !is_phase(phase))
    co_return problem(kBadRequest, "there is no phase '" + std::string(phase) + "'");
  auto reading = context.store.read(
      call.caller.token_id, [id = call.captured[0], phase = std::string(call.http.parameter("phase")),
                             wanted = std::get<domain::PageRequest>(page), scope = call.caller.scope](
                                store::Store& store) { return read_shown(store, id, phase, wanted, scope); });
  const auto shown = co_await std::move(reading);
  if (!shown) co_return problem_of(shown.error());
  base::JsonText json;
  json.begin_object();
  add_rollout(json, shown->rollout, call.caller.scope, &shown->rings);
  json.key("evidence").begin_list();
  // Of the whole rollout: for those who may see all of it.
  if (is_narrowed(call.caller.scope, shown->rollout.selector))
    for (const domain::RolloutTarget& target : shown->evidence)
      add_target(json, target);
  json.end_list().key("items").begin_list();
  for (const domain::RolloutTarget& target : shown->targets.items)
    add_target(json, target);
  json.end_list().key("next");
  if (const std::string next = next_for(context, call, shown->targets.next); next.empty())
    json.null();
  else
    json.value(next);
  co_return json_reply(kOk, json.end_object());
}

// Who may push a recipe decides how its rollout goes on; of versions an admin does.
base::Result<void> check_admin(Role role, const domain::Rollout& rollout) {
  if (rollout.is_change() || role == Role::admin) return {};
  return base::Error(base::ErrorCode::permission, "this rollout is of a version: that needs an admin token");
}
base::Result<void> check_role(Role role, const domain::Rollout& rollout, rollouts::RolloutCommand what) {
  return what == rollouts::RolloutCommand::resume ? check_admin(role, rollout) : base::Result<void>();
}

// ---- without some machines

struct Excluded {
  domain::Rollout rollout;
  std::size_t count = 0;
};

Task<HttpResponse> exclude(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  const std::vector<std::string> instances = fields.texts("instances");
  if (instances.empty() || instances.size() > kMostExcluded)
    fields.complain("instances", "must name 1 to " + std::to_string(kMostExcluded) + " machines");
  if (auto refused = fields.problems()) co_return std::move(*refused);
  auto writing =
      context.store.write([id = call.captured[0], instances, actor = call.actor, scope = call.caller.scope,
                           role = call.caller.role](store::Store& store) -> base::Result<Excluded> {
        auto found = find_seen(store, scope, id);
        if (!found) return std::move(found).error();
        if (auto may = check_admin(role, *found); !may) return std::move(may).error();
        for (const std::string& instance : instances)
          if (auto covered = find_covered(store, scope, found->app_id, instance); !covered)
            return std::move(covered).error();
        auto count = store.exclude_targets(*found, instances);
        if (!count) return std::move(count).error();
        if (*count < instances.size())
          return base::Error(base::ErrorCode::not_found, "not all of these machines are in the rollout");
        std::string names;
        for (const std::string& instance : instances)
          names += (names.empty() ? "" : ", ") + instance;
        auto noted = audit(store, actor, "rollout.exclude", found->app_id + "/" + id, names);
        if (!noted) return std::move(noted).error();
        return Excluded{std::move(*found), *count};
      });
  const auto excluded = co_await std::move(writing);
  if (!excluded) co_return problem_of(excluded.error());
  context.rollouts.wake();
  base::JsonText json;
  json.begin_object();
  add_rollout(json, excluded->rollout, call.caller.scope, nullptr);
  co_return json_reply(kOk, json.member("excluded", excluded->count).end_object());
}

// ---- pause, resume, abort

Task<HttpResponse> command(Context& context, const Call& call, rollouts::RolloutCommand what,
                           std::string name) {
  auto writing = context.store.write(
      [id = call.captured[0], what, name, actor = call.actor, scope = call.caller.scope,
       role = call.caller.role](store::Store& store) -> base::Result<rollouts::Commanded> {
        auto found = find_seen(store, scope, id);
        if (!found) return std::move(found).error();
        if (!domain::owns(scope, found->owner))
          return base::Error(base::ErrorCode::permission,
                             "the rollout belongs to " + domain::describe_owner(found->owner) +
                                 ", and such a token decides how it goes on; single machines are excluded "
                                 "from it with 'opsctl rollout exclude'");
        if (auto may = check_role(role, *found, what); !may) return std::move(may).error();
        auto done = rollouts::command_rollout(store, id, what, actor.name, domain::now_millis());
        if (!done) return done;
        auto noted = audit(store, actor, "rollout." + name, found->app_id + "/" + id, found->version);
        if (!noted) return std::move(noted).error();
        return done;
      });
  const auto done = co_await std::move(writing);
  if (!done) co_return problem_of(done.error());
  context.rollouts.tell(done->orders);
  context.rollouts.publish(done->rollout);
  context.rollouts.wake();
  base::JsonText json;
  json.begin_object();
  add_rollout(json, done->rollout, call.caller.scope, nullptr);
  co_return json_reply(kOk, json.end_object());
}

Task<HttpResponse> pause(Context& context, const Call& call) {
  return command(context, call, rollouts::RolloutCommand::pause, "pause");
}
Task<HttpResponse> resume(Context& context, const Call& call) {
  return command(context, call, rollouts::RolloutCommand::resume, "resume");
}
Task<HttpResponse> abort(Context& context, const Call& call) {
  return command(context, call, rollouts::RolloutCommand::abort, "abort");
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/rollouts",
     .summary = "Rollouts, newest first",
     .handler = list,
     .queries = "app limit after"},
    {.method = "POST",
     .pattern = "/rollouts",
     .summary = "Update machines, ring by ring",
     .role = Role::admin,
     .body = Body::json,
     .handler = start},
    {.method = "GET",
     .pattern = "/rollouts/{id}",
     .summary = "How far a rollout is, ring by ring and machine by machine",
     .handler = show,
     .queries = "phase limit after"},
    {.method = "POST",
     .pattern = "/rollouts/{id}/pause",
     .summary = "Tell nobody else for now",
     .role = Role::operator_,
     .handler = pause},
    {.method = "POST",
     .pattern = "/rollouts/{id}/resume",
     .summary = "Go on after a pause or a stop",
     .role = Role::operator_,
     .handler = resume},
    {.method = "POST",
     .pattern = "/rollouts/{id}/exclude",
     .summary = "Go on without some machines: what they report does not count",
     .role = Role::operator_,
     .body = Body::json,
     .handler = exclude},
    {.method = "POST",
     .pattern = "/rollouts/{id}/abort",
     .summary = "Tell nobody else, for good",
     .role = Role::operator_,
     .handler = abort},
};

}  // namespace

}  // namespace rollouts_resource

std::span<const Route> rollout_routes() {
  return rollouts_resource::kRoutes;
}

}  // namespace backend::api
