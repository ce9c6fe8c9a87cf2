// Variables: set, listed, with their history, and what they come to on a machine.
#include "backend/api/callers/scope.hpp"
#include "backend/api/callers/self_reports.hpp"
#include "backend/api/callers/visibility.hpp"
#include "backend/api/changes/variable_changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/api/routes/visible_pages.hpp"
#include "backend/domain/variables/merge.hpp"
#include "backend/domain/variables/recipe_inputs.hpp"
#include "base/text.hpp"

namespace backend::api {

namespace variables_resource {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

struct Wanted {
  store::LayerEdit edit;
  rollouts::ChangeTerms terms = {};
  bool is_dry = false;
};
struct Done {
  VariableChange change;
  ChangeEffect effect;
};

// Writes and places. A change that nothing differs by is placed no more than it is written.
Result<Done> set_and_place(store::Store& store, const Scope& scope, const Actor& actor,
                           const Wanted& wanted) {
  auto change = put_variables(store, scope, actor, wanted.edit);
  if (!change) return std::move(change).error();
  Done done{.change = std::move(*change), .effect = {}};
  if (!done.change.put.is_changed) return done;
  const domain::VariableLayer& layer = done.change.put.layer;
  auto reach = domain::Selector::parse(domain::reach_of(layer));
  if (reach) reach = narrowed(scope, *reach);
  if (!reach) return std::move(reach).error();
  const rollouts::ChangeOrder order{.app_id = layer.app_id,
                                    .selector = reach->text(),
                                    .change = {.layer = layer.id, .layer_before = done.change.put.before},
                                    .created_by = actor.name,
                                    .owner = scope ? scope->text() : "",
                                    .terms = wanted.terms,
                                    .now = domain::now_millis()};
  fleet::Placed placed;
  if (auto noted = place_noted(store, actor, order, placed, done.effect); !noted)
    return std::move(noted).error();
  auto delivery = fleet::prepare_delivery(store, std::move(placed));
  if (!delivery) return std::move(delivery).error();
  done.effect.delivery = std::move(*delivery);
  return done;
}

Result<Done> set_or_look(store::Store& store, const Scope& scope, const Actor& actor, const Wanted& wanted) {
  if (!wanted.is_dry) return set_and_place(store, scope, actor, wanted);
  std::optional<Result<Done>> looked;
  auto undone = store.transact([&]() -> Result<void> {
    looked.emplace(set_and_place(store, scope, actor, wanted));
    return Error(ErrorCode::cancelled, "it was only looked at");
  });
  if (!looked) return std::move(undone).error();
  return std::move(*looked);
}

void add_changes(base::JsonText& json, const std::vector<domain::VariableChange>& changes) {
  json.key("changes").begin_list();
  for (const domain::VariableChange& each : changes) {
    json.begin_object().member("name", each.name);
    if (each.before) json.key("before").json(*each.before);
    if (each.after) json.key("after").json(*each.after);
    json.end_object();
  }
  json.end_list();
}

Task<HttpResponse> set(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  const auto expected = expected_edit(call);
  if (const auto* refused = std::get_if<HttpResponse>(&expected)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  Wanted wanted{.edit = read_layer_name(fields, call.caller.scope)};
  wanted.edit.expected = std::get<std::optional<domain::Edit>>(expected);
  const base::Value* values = fields.value("set");
  if (values && values->is_object())
    wanted.edit.edits.set = read_values(fields, "set", *values);
  else if (values)
    fields.complain("set", R"(must be an object: {"port": 80})");
  for (std::string& name : fields.texts("unset"))
    wanted.edit.edits.unset.push_back(std::move(name));
  wanted.edit.edits.replaces_all = fields.flag_or("replace", false);
  wanted.is_dry = fields.flag_or("dry_run", false);
  wanted.terms = read_change_terms(fields, fields.value("rollout"), call.caller.scope);
  // Setting values again is the way back, also while others are on their way.
  wanted.terms.supersedes = true;
  if (auto refused = fields.problems()) co_return std::move(*refused);
  const bool has_edit = wanted.edit.expected.has_value();
  const bool is_dry = wanted.is_dry;
  auto writing =
      context.store.write([wanted = std::move(wanted), actor = call.actor, scope = call.caller.scope](
                              store::Store& store) { return set_or_look(store, scope, actor, wanted); });
  const auto done = co_await std::move(writing);
  if (!done) {
    if (done.error().code() == ErrorCode::not_found)
      co_return problem(kUnprocessable, done.error().message());
    co_return problem_of(done.error(), has_edit ? kPreconditionFailed : kConflict);
  }
  if (!is_dry) {
    context.fleet.deliver(done->effect.delivery);
    for (const domain::Rollout& rollout : done->effect.rollouts)
      context.rollouts.publish(rollout);
    if (!done->effect.rollouts.empty()) context.rollouts.wake();
  }
  const domain::VariableLayer& layer = done->change.put.layer;
  base::JsonText json;
  json.begin_object();
  add_layer(json, layer);
  json.member("dry_run", is_dry);
  add_changes(json, done->change.put.changes);
  json.member("changed", done->effect.affected);
  add_rejected(json, done->effect.rejected);
  add_rollouts(json, is_dry ? std::vector<domain::Rollout>() : done->effect.rollouts);
  add_warnings(json, done->change.warnings);
  HttpResponse response = json_reply(kOk, json.end_object());
  if (!is_dry && layer.edit > 0) response.headers.push_back({"ETag", etag(layer.edit, response.body)});
  co_return response;
}

// Those with variables that the caller sees.
Result<std::vector<domain::VariableLayer>> only_seen(store::Store& store, const Scope& scope,
                                                     std::vector<domain::VariableLayer> rows) {
  std::erase_if(rows, [](const domain::VariableLayer& each) { return each.variables.empty(); });
  auto visible = visible_layers(store, scope, rows);
  if (!visible) return std::move(visible).error();
  std::vector<domain::VariableLayer> seen;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if ((*visible)[i]) seen.push_back(std::move(rows[i]));
  return seen;
}

Task<HttpResponse> list(Context& context, const Call& call) {
  const auto page = visible_page_of(context, call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read(call.caller.token_id, [app = std::string(call.http.parameter("app")),
                                                           wanted = std::get<domain::PageRequest>(page),
                                                           scope = call.caller.scope](store::Store& store) {
    return read_visible<domain::VariableLayer>(
        scope, wanted, [&](const domain::PageRequest& part) { return store.list_layers(app, part); },
        [&](std::vector<domain::VariableLayer> rows) { return only_seen(store, scope, std::move(rows)); },
        [](const domain::VariableLayer& each) { return std::to_string(each.id); });
  });
  auto layers = co_await std::move(reading);
  if (!layers) co_return problem_of(layers.error());
  std::erase_if(layers->items, [](const domain::VariableLayer& each) { return each.variables.empty(); });
  layers->next = next_for(context, call, layers->next);
  co_return list_reply(*layers, [](base::JsonText& json, const domain::VariableLayer& layer) {
    json.begin_object();
    add_layer(json, layer);
    json.end_object();
  });
}

Task<HttpResponse> show(Context& context, const Call& call) {
  const auto id = base::parse_integer(call.captured[0]);
  const std::string none = "there are no variables with the number " + call.captured[0];
  if (!id || *id < 1) co_return problem(kNotFound, none);
  auto reading = context.store.read(
      call.caller.token_id,
      [wanted = *id, none, scope = call.caller.scope](store::Store& store) -> Result<domain::VariableLayer> {
        auto layer = store.find_layer(wanted);
        if (!layer) return layer;
        auto visible = is_layer_visible(store, scope, *layer);
        if (!visible) return std::move(visible).error();
        if (!*visible || layer->variables.empty()) return Error(ErrorCode::not_found, none);
        return layer;
      });
  const auto layer = co_await std::move(reading);
  if (!layer) co_return problem_of(layer.error());
  base::JsonText json;
  json.begin_object();
  add_layer(json, *layer);
  HttpResponse response = json_reply(kOk, json.end_object());
  response.headers.push_back({"ETag", etag(layer->edit, response.body)});
  co_return response;
}

// ---- history

Result<std::vector<domain::VariableChange>> only_seen_changes(store::Store& store, const Scope& scope,
                                                              std::vector<domain::VariableChange> rows) {
  // As whose they were then: what another scope had set stays with that, whoever has set more since.
  std::vector<domain::VariableLayer> layers;
  for (const domain::VariableChange& each : rows)
    layers.push_back({.app_id = each.app_id, .kind = each.kind, .target = each.target, .owner = each.owner});
  auto visible = visible_layers(store, scope, layers);
  if (!visible) return std::move(visible).error();
  std::vector<domain::VariableChange> seen;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if ((*visible)[i]) seen.push_back(std::move(rows[i]));
  return seen;
}

Task<HttpResponse> history(Context& context, const Call& call) {
  const auto page = visible_page_of(context, call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  store::VariableHistoryFilter filter{.app_id = std::string(call.http.parameter("app"))};
  const std::string selector(call.http.parameter("selector")), machine(call.http.parameter("instance"));
  filter.name = call.http.parameter("name");
  if (!selector.empty() && !machine.empty())
    co_return problem(kBadRequest, "of 'selector' and 'instance' one at most");
  if (!machine.empty()) {
    filter.kind = domain::LayerKind::machine;
    filter.target = machine;
  } else if (!selector.empty()) {
    auto parsed = domain::Selector::parse(selector);
    if (parsed) parsed = narrowed(call.caller.scope, *parsed);
    if (!parsed) co_return problem(kBadRequest, "selector: " + parsed.error().message());
    filter.kind = domain::LayerKind::selector;
    filter.target = parsed->text();
  }
  auto reading = context.store.read(
      call.caller.token_id, [filter = std::move(filter), wanted = std::get<domain::PageRequest>(page),
                             scope = call.caller.scope](store::Store& store) {
        return read_visible<domain::VariableChange>(
            scope, wanted,
            [&](const domain::PageRequest& part) { return store.list_variable_changes(filter, part); },
            [&](std::vector<domain::VariableChange> rows) {
              return only_seen_changes(store, scope, std::move(rows));
            },
            [](const domain::VariableChange& each) { return std::to_string(each.id); });
      });
  auto changes = co_await std::move(reading);
  if (!changes) co_return problem_of(changes.error());
  changes->next = next_for(context, call, changes->next);
  co_return list_reply(*changes, [](base::JsonText& json, const domain::VariableChange& each) {
    json.begin_object();
    domain::add_instant(json, "at", each.at);
    json.member("author", each.author).member("app_id", each.app_id);
    json.member("kind", domain::name_of(each.kind));
    if (each.kind == domain::LayerKind::selector) json.member("selector", each.target);
    if (each.kind == domain::LayerKind::machine) json.member("instance_id", each.target);
    json.member("name", each.name);
    if (each.before) json.key("before").json(*each.before);
    if (each.after) json.key("after").json(*each.after);
    json.end_object();
  });
}

// ---- one machine

struct Explained {
  domain::Instance instance;
  std::vector<domain::VariableLayer> layers;
  std::string given;  // to the machine, of what its recipes use
};

Task<HttpResponse> explain(Context& context, const Call& call) {
  auto reading = context.store.read(
      call.caller.token_id,
      [app = call.captured[0], id = call.captured[1],
       scope = call.caller.scope](store::Store& store) -> Result<Explained> {
        auto instance = find_covered(store, scope, app, id);
        if (!instance) return std::move(instance).error();
        // One that is given nothing shows nothing: whoever waits to be approved has chosen its name itself.
        auto layers = instance->is_out()
                          ? Result<std::vector<domain::VariableLayer>>(std::vector<domain::VariableLayer>())
                          : store::layers_for(store, *instance);
        if (!layers) return std::move(layers).error();
        Explained explained{.instance = std::move(*instance), .layers = std::move(*layers)};
        if (explained.instance.placement != 0) {
          auto placement = store.find_placement(explained.instance.placement);
          if (!placement) return std::move(placement).error();
          explained.given = std::move(placement->vars);
        }
        return explained;
      });
  const auto explained = co_await std::move(reading);
  if (!explained) co_return problem_of(explained.error());
  std::vector<const domain::VariableLayer*> layers;
  for (const domain::VariableLayer& each : explained->layers)
    layers.push_back(&each);
  const auto leaves = domain::explain_variables(layers, call.http.parameter("name"));
  if (!leaves) co_return problem(kUnprocessable, leaves.error().message());
  base::JsonText json;
  json.begin_object().member("app_id", explained->instance.app_id);
  json.member("instance_id", explained->instance.instance_id);
  json.member("recipe_version", explained->instance.recipe_version);
  json.key("given").json(explained->given.empty() ? "{}" : explained->given);
  json.key("values").begin_list();
  for (const domain::ExplainedLeaf& leaf : *leaves) {
    const domain::VariableLayer& layer = *layers[leaf.layer];
    json.begin_object().member("path", leaf.path).key("value").json(leaf.value);
    json.member("kind", domain::name_of(layer.kind));
    if (layer.kind == domain::LayerKind::selector)
      json.member("selector", layer.target).member("order", layer.order);
    json.member("author", leaf.author);
    domain::add_instant(json, "at", leaf.at);
    json.end_object();
  }
  json.end_list().key("tags").begin_object();
  for (const auto& [name, value] : explained->instance.operator_tags)
    json.member(name, value);
  json.end_object();
  co_return json_reply(kOk, json.end_object());
}

// ---- one recipe

Task<HttpResponse> of_recipe(Context& context, const Call& call) {
  std::optional<std::int64_t> number;
  if (const std::string given(call.http.parameter("revision")); !given.empty()) {
    number = base::parse_integer(given);
    if (!number || *number < 1) co_return problem(kBadRequest, "revisions are numbers from 1");
  }
  auto reading = context.store.read(
      call.caller.token_id, [name = call.captured[0], number, scope = call.caller.scope](
                                store::Store& store) { return find_readable(store, scope, name, number); });
  const auto revision = co_await std::move(reading);
  if (!revision) co_return problem_of(revision.error());
  const domain::RecipeInputs inputs = domain::read_recipe_inputs(revision->inputs);
  base::JsonText json;
  json.begin_object().member("name", revision->name).member("revision", revision->revision);
  json.key("variables").begin_list();
  for (const domain::RecipeVariable& each : inputs.variables) {
    json.begin_object().member("name", each.name).member("used", each.is_used);
    json.member("required", each.is_required);
    if (!each.declaration.empty()) json.key("declaration").json(each.declaration);
    if (!each.fallback.empty()) json.key("default").json(each.fallback);
    json.end_object();
  }
  json.end_list().member("uses_all_variables", inputs.uses_all_variables);
  json.key("tags").begin_list();
  for (const std::string& tag : inputs.tags)
    json.value(tag);
  json.end_list().member("uses_all_tags", inputs.uses_all_tags);
  co_return json_reply(kOk, json.end_object());
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/variables",
     .summary = "All variables, by what they are set for",
     .handler = list,
     .queries = "app limit after"},
    {.method = "POST",
     .pattern = "/variables",
     .summary = "Set and unset variables of an app, a selector or a machine",
     .role = Role::operator_,
     .body = Body::json,
     .handler = set},
    {.method = "GET",
     .pattern = "/variables/history",
     .summary = "Who has changed which variable, newest first",
     .handler = history,
     .queries = "app selector instance name limit after"},
    {.method = "GET", .pattern = "/variables/{id}", .summary = "The variables of one layer", .handler = show},
    {.method = "GET",
     .pattern = "/instances/{app}/{id}/variables",
     .summary = "Every value that a machine has, where it comes from and who has set it",
     .handler = explain,
     .queries = "name"},
    {.method = "GET",
     .pattern = "/recipes/{name}/variables",
     .summary = "The variables that a recipe uses, with their types and defaults",
     .handler = of_recipe,
     .queries = "revision"},
};

}  // namespace

}  // namespace variables_resource

std::span<const Route> variable_routes() {
  return variables_resource::kRoutes;
}

}  // namespace backend::api
