#include "backend/api/callers/self_reports.hpp"
#include "backend/api/changes.hpp"
#include "backend/api/changes/app_changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/routes/visible_pages.hpp"

namespace backend::api {

namespace apps_resource {

namespace {

// Without the closing bracket.
void begin_app(base::JsonText& json, const domain::App& app) {
  json.begin_object().member("app_id", app.app_id).member("report", app.report);
  json.member("agent_version", app.agent_version);
  json.member("trust_self_reported", domain::name_of(app.trust));
  add_app_rings(json, app);
  add_app_module(json, app);
  add_app_compat(json, app);
  domain::add_instant(json, "created", app.created);
}

void add_app(base::JsonText& json, const domain::App& app) {
  begin_app(json, app);
  json.end_object();
}

HttpResponse app_reply(unsigned status, const domain::App& app, const fleet::Delivery* delivery = nullptr) {
  base::JsonText json;
  begin_app(json, app);
  add_warnings(json, domain::trust_warnings(app.trust));
  if (delivery) {
    json.member("changed", delivery->changed.size());
    add_rejected(json, *delivery);
  }
  HttpResponse response = json_reply(status, json.end_object());
  response.headers.push_back({"ETag", etag(app.edit, response.body)});
  return response;
}

base::Result<domain::Page<domain::App>> list_seen(store::Store& store, const Scope& scope,
                                                  const domain::PageRequest& page) {
  const auto sees = [&](const domain::App& app) { return is_app_visible(store, scope, app.app_id); };
  return read_visible<domain::App>(
      scope, page, [&](const domain::PageRequest& part) { return store.list_apps(part); },
      [&](std::vector<domain::App> apps) { return only(std::move(apps), sees); },
      [](const domain::App& app) { return app.app_id; });
}

Task<HttpResponse> list(Context& context, const Call& call) {
  const auto page = visible_page_of(context, call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read(call.caller.token_id,
                                    [wanted = std::get<domain::PageRequest>(page), scope = call.caller.scope](
                                        store::Store& store) { return list_seen(store, scope, wanted); });
  auto apps = co_await std::move(reading);
  if (!apps) co_return problem_of(apps.error());
  apps->next = next_for(context, call, apps->next);
  co_return list_reply(*apps, add_app);
}

Task<HttpResponse> show(Context& context, const Call& call) {
  auto reading = context.store.read(call.caller.token_id,
                                    [id = call.captured[0], scope = call.caller.scope](store::Store& store) {
                                      return find_visible_app(store, scope, id);
                                    });
  const auto app = co_await std::move(reading);
  if (!app) co_return problem_of(app.error());
  co_return app_reply(kOk, *app);
}

struct PlacedApp {
  PutApp put;
  fleet::Delivery delivery;
};

// What the machines of an app are given, after it relies on them more or less than before.
base::Result<fleet::Delivery> place_anew(store::Store& store, const std::string& app_id) {
  auto placed = fleet::place_app(store, app_id);
  if (!placed) return as_conflict(std::move(placed).error());
  auto all = machines_of(store, app_id);  // waits look at the tags of all of them again
  if (!all) return std::move(all).error();
  return fleet::prepare_delivery(store, std::move(*placed), std::move(*all));
}

base::Result<PlacedApp> put_and_place(store::Store& store, const AppEdit& wanted,
                                      const std::string& default_report, std::optional<domain::Edit> edit,
                                      const Actor& actor) {
  auto put = api::put_app(store, wanted, default_report, edit, actor, PutAlways::yes);
  if (!put) return std::move(put).error();
  PlacedApp done{std::move(*put), {}};
  if (done.put.has_other_trust) {
    auto delivery = place_anew(store, wanted.app_id);
    if (!delivery) return std::move(delivery).error();
    done.delivery = std::move(*delivery);
  }
  return done;
}

Task<HttpResponse> put(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body.empty() ? std::string_view("{}") : call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  const auto expected = expected_edit(call);
  if (const auto* refused = std::get_if<HttpResponse>(&expected)) co_return *refused;
  const auto edit = std::get<std::optional<domain::Edit>>(expected);

  Fields fields(std::get<JsonBody>(body).root());
  const AppEdit app = read_app_edit(fields, call.captured[0]);
  if (fields.text_or("app_id", app.app_id) != app.app_id)
    fields.complain("app_id", "differs from the path's");
  // As they were read; not to be changed.
  for (const std::string_view read_only : {"created", "warnings", "changed", "rejected", "rejections"})
    fields.value(read_only);
  if (auto refused = fields.problems()) co_return std::move(*refused);

  const std::string report = context.report_changes_only ? "changes" : "all";
  auto writing = context.store.write([app, report, edit, actor = call.actor](store::Store& store) {
    return put_and_place(store, app, report, edit, actor);
  });
  const auto put = co_await std::move(writing);
  if (!put) co_return problem_of(put.error(), edit ? kPreconditionFailed : kConflict);
  context.fleet.deliver(put->delivery);
  context.fleet.use_app(put->put.app);
  co_return app_reply(put->put.is_new ? kCreated : kOk, put->put.app, &put->delivery);
}

// ---- what rests on the word of its machines

struct Dependence {
  std::string kind, recipe, selector;
  std::int64_t assignment = 0;
  domain::SelfReportEffect effect;
};

// Assignments, and waits of the recipes that they give.
base::Result<std::vector<Dependence>> find_dependences(store::Store& store, const std::string& app_id) {
  if (auto app = store.find_app(app_id); !app) return std::move(app).error();
  auto assignments = store.assignments_in_order(app_id);
  if (!assignments) return std::move(assignments).error();
  std::vector<Dependence> all;
  for (const domain::Assignment& each : *assignments) {
    all.push_back(
        {.kind = "assignment", .recipe = each.recipe, .selector = each.selector, .assignment = each.id});
    auto revision = store.find_revision(each.recipe, each.revision);
    if (!revision) return std::move(revision).error();
    auto states = domain::read_states(revision->states);
    if (!states) return std::move(states).error();
    for (const domain::WaitState& wait : (*states)->waits)
      for (const domain::WaitTarget& target : wait.targets)
        if (target.selector)
          all.push_back({.kind = "wait",
                         .recipe = each.recipe + "/" + (*states)->ids[wait.index],
                         .selector = target.selector->text(),
                         .assignment = each.id});
  }
  std::vector<Dependence> found;
  for (Dependence& each : all) {
    auto selector = domain::Selector::parse(each.selector);
    if (!selector) return std::move(selector).error();
    auto effect = study(store, {}, app_id, *selector);
    if (!effect) return std::move(effect).error();
    each.effect = std::move(*effect);
    const bool depends = !each.effect.loses.empty() || !each.effect.gains.empty() ||
                         !each.effect.claims.empty() || selector->uses_self_reported();
    if (depends) found.push_back(std::move(each));
  }
  return found;
}

void add_dependence(base::JsonText& json, const Dependence& each) {
  json.begin_object().member("kind", each.kind).member("assignment", each.assignment);
  json.member("recipe", each.recipe).member("selector", each.selector);
  json.member("matched", each.effect.matched).member("matched_if_off", each.effect.matched_if_off);
  for (const auto& [name, instances] :
       {std::pair("loses", &each.effect.loses), std::pair("gains", &each.effect.gains),
        std::pair("claims", &each.effect.claims)}) {
    json.key(name).begin_list();
    for (const std::string& instance : *instances)
      json.value(instance);
    json.end_list();
  }
  json.end_object();
}

Task<HttpResponse> self_reported(Context& context, const Call& call) {
  auto reading = context.store.read(call.caller.token_id, [id = call.captured[0]](store::Store& store) {
    return find_dependences(store, id);
  });
  auto found = co_await std::move(reading);
  if (!found) co_return problem_of(found.error());
  co_return list_reply(domain::Page<Dependence>{std::move(*found), ""}, add_dependence);
}

constexpr Route kRoutes[] = {
    {.method = "GET", .pattern = "/apps", .summary = "All apps", .handler = list, .queries = "limit after"},
    {.method = "GET", .pattern = "/apps/{app}", .summary = "One app", .handler = show},
    {.method = "GET",
     .pattern = "/apps/{app}/self-reported",
     .summary = "What rests on the word of its machines, and what would change without it",
     .handler = self_reported,
     .reach = Reach::everything},
    {.method = "PUT",
     .pattern = "/apps/{app}",
     .summary = "Create or edit an app",
     .role = Role::admin,
     .body = Body::json,
     .handler = put,
     .reach = Reach::everything},
};

}  // namespace

}  // namespace apps_resource

std::span<const Route> app_routes() {
  return apps_resource::kRoutes;
}

}  // namespace backend::api
