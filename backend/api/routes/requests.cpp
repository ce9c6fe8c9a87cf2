// Questions to connected agents: plan, run, query, settings.
#include "backend/api/callers/visibility.hpp"
#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/api/routes/reads.hpp"
#include "backend/api/routes/recipe_checks.hpp"
#include "backend/api/routes/targets.hpp"
#include "backend/domain/json_text.hpp"
#include "backend/domain/variables/recipe_inputs.hpp"
#include "backend/fleet/delivery.hpp"
#include "backend/store/inventory/variables.hpp"
#include "base/token.hpp"
#include "base/values/json.hpp"

namespace backend::api {

namespace requests_resource {

namespace {

using std::chrono::seconds;

constexpr std::int64_t kDefaultTimeout = 60;
constexpr std::int64_t kLongestTimeout = 3600;

seconds read_timeout(Fields& fields) {
  return seconds(fields.integer_or("timeout_s", kDefaultTimeout, 1, kLongestTimeout));
}

void add_names(base::JsonText& json, std::string_view name, const std::vector<std::string>& names) {
  json.key(name).begin_list();
  for (const std::string& one : names)
    json.value(one);
  json.end_list();
}

void add_changes(base::JsonText& json, const std::vector<protocol::Change>& changes) {
  json.key("changes").begin_list();
  for (const protocol::Change& change : changes)
    json.begin_object()
        .member("what", change.what)
        .member("before", change.before)
        .member("after", change.after)
        .optional("diff", change.diff)
        .end_object();
  json.end_list();
}

// One item per target: what `add` writes, or the error.
template <class Add>
void add_answers(base::JsonText& json, const std::vector<Target>& targets,
                 const std::vector<base::Result<fleet::Answer>>& answers, Add add) {
  json.key("items").begin_list();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    json.begin_object().member("instance_id", targets[i].instance_id);
    if (answers[i])
      add(json, *answers[i]);
    else
      json.member("error", answers[i].error().message());
    json.end_object();
  }
  json.end_list();
}

// ---- plan

// The states to plan: of a recipe that came along, of a stored one, or what each instance has been given.
struct PlanSource {
  std::string content;
  std::string name;
  std::optional<std::int64_t> revision;
  bool is_own() const { return content.empty() && name.empty(); }
};

PlanSource read_source(Fields& fields) {
  PlanSource source;
  const base::Value* recipe = fields.value("recipe");
  if (!recipe) return source;
  if (recipe->is_text() && !recipe->text().empty()) {
    source.content = recipe->text();
  } else if (recipe->is_object()) {
    Fields inner(*recipe);
    source.name = inner.text("name");
    source.revision = inner.integer("revision", 1, 1'000'000'000);
    if (inner.problems()) fields.complain("recipe", "must be the text of a recipe or {name, revision}");
  } else {
    fields.complain("recipe", "must be the text of a recipe or {name, revision}");
  }
  return source;
}

using Contents = std::unordered_map<domain::PlacementKey, protocol::RecipeMetadata>;

protocol::RecipeMetadata plan_of(std::string states, std::string digest, const domain::ModuleSource& module) {
  protocol::RecipeMetadata recipe;
  recipe.module = module;  // also none: else the agent would plan with what its own recipe uses
  recipe.states = protocol::Json{std::move(states)};
  recipe.digest = std::move(digest);
  recipe.plan_only = true;
  return recipe;
}

void add_inputs(protocol::RecipeMetadata& recipe, const domain::FilledInputs& inputs) {
  if (!inputs.vars.empty()) recipe.vars = protocol::Json{inputs.vars};
  recipe.tags = domain::read_tags(inputs.tags);
}

// What a recipe that is only planned is filled in with on each target, or why it cannot be.
using PlannedInputs = std::unordered_map<domain::InstanceKey, base::Result<domain::FilledInputs>>;

base::Result<PlannedInputs> fill_for(store::Store& store, const std::vector<Target>& targets,
                                     const domain::RecipeInputs& wanted) {
  PlannedInputs inputs;
  for (const Target& target : targets) {
    auto instance = store.find_instance(target.key);
    if (!instance) return std::move(instance).error();
    if (!instance->takes_inputs) {
      inputs.emplace(target.key,
                     base::Error(base::ErrorCode::unsupported,
                                 "its agent knows nothing of expressions and variables: update it"));
      continue;
    }
    auto layers = store::layers_for(store, *instance);
    if (!layers) return std::move(layers).error();
    std::vector<const domain::VariableLayer*> all;
    for (const domain::VariableLayer& each : *layers)
      all.push_back(&each);
    const domain::RecipeInputs* const recipe = &wanted;
    inputs.emplace(target.key, domain::fill_inputs(std::span(&recipe, 1), all, instance->operator_tags));
  }
  return inputs;
}

Task<base::Result<fleet::Answer>> answer_with(base::Error error) {
  co_return error;
}

// What each distinct placement among the targets says.
base::Result<Contents> read_contents(store::Store& store, const std::vector<Target>& targets) {
  Contents contents;
  for (const Target& target : targets) {
    if (contents.contains(target.placement)) continue;
    if (target.placement == 0) {
      contents.emplace(0, plan_of("[]", "", {}));
      continue;
    }
    auto content = fleet::read_placement(store, target.placement);
    if (!content) return std::move(content).error();
    const domain::Placement& placement = (*content)->placement;
    protocol::RecipeMetadata recipe = plan_of(*(*content)->text, placement.digest, placement.module);
    add_inputs(recipe, {.vars = placement.vars, .tags = placement.tags});
    contents.emplace(target.placement, std::move(recipe));
  }
  return contents;
}

// With the modules of the app whose machines it is for, unless it names others.
Task<base::Result<CheckedContent>> check_for_app(Context& context, const Call& call, std::string app_id,
                                                 RecipeToCheck wanted) {
  auto finding =
      context.store.read(call.caller.token_id,
                         [app_id = std::move(app_id), scope = call.caller.scope](
                             store::Store& store) -> base::Result<std::vector<domain::ModuleSource>> {
                           auto app = find_visible_app(store, scope, app_id);
                           if (app) return modules_of_apps(store, {app_id});
                           // Whoever it is asked of is looked for later, and is not there.
                           if (app.error().code() == base::ErrorCode::not_found)
                             return std::vector<domain::ModuleSource>();
                           return std::move(app).error();
                         });
  auto modules = co_await std::move(finding);
  if (!modules) co_return std::move(modules).error();
  wanted.of_apps = std::move(*modules);
  auto checking = check_content(context, call.caller.token_id, std::move(wanted));
  co_return co_await std::move(checking);
}

Task<HttpResponse> plan(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  const std::string app_id = fields.text_or("app_id", "default");
  domain::Selector selector = read_selector(fields, "selector", call.caller.scope);
  const PlanSource source = read_source(fields);
  const seconds timeout = read_timeout(fields);
  if (auto refused = fields.problems()) co_return std::move(*refused);

  protocol::RecipeMetadata given;
  domain::RecipeInputs wanted;
  if (!source.content.empty()) {
    auto checking = check_for_app(context, call, app_id, {.content = source.content});
    auto checked = co_await std::move(checking);
    if (!checked) co_return problem_of(checked.error());
    domain::CheckedRecipe& recipe = checked->recipe;
    if (!recipe.problems.empty())
      co_return problem(kUnprocessable, "the recipe has problems", items_of(recipe.problems));
    wanted = domain::read_recipe_inputs(recipe.inputs);
    given = plan_of(std::move(recipe.states), std::move(recipe.digest), checked->module);
  } else if (!source.name.empty()) {
    auto reading =
        context.store.read(call.caller.token_id, [source, scope = call.caller.scope](store::Store& store) {
          return find_readable(store, scope, source.name, source.revision);
        });
    auto revision = co_await std::move(reading);
    if (!revision) co_return problem_of(revision.error());
    // The answers show what the recipe says.
    auto noting = note_read(context, call, revision->name, revision->revision, "plan");
    const auto noted = co_await std::move(noting);
    if (!noted) co_return problem_of(noted.error());
    wanted = domain::read_recipe_inputs(revision->inputs);
    given = plan_of(std::move(revision->states), std::move(revision->digest), revision->module);
  }

  auto finding = find_targets(context, call.caller, app_id, std::move(selector));
  const auto targets = co_await std::move(finding);
  if (!targets) co_return problem_of(targets.error());
  Contents contents;
  if (source.is_own()) {
    auto reading = context.store.read(
        call.caller.token_id,
        [connected = targets->connected](store::Store& store) { return read_contents(store, connected); });
    auto read = co_await std::move(reading);
    if (!read) co_return problem_of(read.error());
    contents = std::move(*read);
  }
  PlannedInputs inputs;
  if (wanted.are_needed) {
    auto reading = context.store.read(call.caller.token_id,
                                      [connected = targets->connected, wanted](store::Store& store) {
                                        return fill_for(store, connected, wanted);
                                      });
    auto read = co_await std::move(reading);
    if (!read) co_return problem_of(read.error());
    inputs = std::move(*read);
  }
  AskOne ask = [&](const Target& target) {
    protocol::RecipeMetadata recipe = source.is_own() ? contents.at(target.placement) : given;
    if (const auto filled = inputs.find(target.key); filled != inputs.end()) {
      if (!filled->second) return answer_with(filled->second.error());
      add_inputs(recipe, *filled->second);
    }
    recipe.recipe_version = std::max<std::int64_t>(target.recipe_version, 1);
    return context.fleet.ask(target.key, protocol::BackendBody(std::move(recipe)), timeout);
  };
  auto asking = ask_all(context, targets->connected, std::move(ask));
  const auto answers = co_await std::move(asking);

  base::JsonText json;
  json.begin_object();
  add_answers(json, targets->connected, answers, [](base::JsonText& out, const fleet::Answer& answer) {
    const auto* result = std::get_if<protocol::PlanResult>(&answer);
    if (!result) {
      out.member("error", "the agent answered something else than a plan");
      return;
    }
    if (!result->errors.empty()) add_names(out, "errors", result->errors);
    out.key("states").begin_list();
    for (const protocol::PlannedState& state : result->states) {
      out.begin_object().member("id", state.id).member("module", state.module);
      out.member("verdict", state.verdict).member("message", state.message);
      add_changes(out, state.changes);
      out.end_object();
    }
    out.end_list();
  });
  add_names(json, "not_connected", targets->not_connected);
  co_return json_reply(kOk, json.end_object());
}

// ---- run

Task<HttpResponse> run(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  const std::string app_id = fields.text_or("app_id", "default");
  domain::Selector selector = read_selector(fields, "selector", call.caller.scope);
  const base::Value* state = fields.object("state");
  const std::string run_id = fields.text_or("run_id", base::random_hex(8));
  const seconds timeout = read_timeout(fields);
  check_name(fields, "run_id", run_id);
  if (auto refused = fields.problems()) co_return std::move(*refused);
  auto checking =
      check_for_app(context, call, app_id, {.content = base::to_json(*state), .is_single_state = true});
  auto looked = co_await std::move(checking);
  if (!looked) co_return problem_of(looked.error());
  domain::CheckedRecipe* const checked = &looked->recipe;
  if (!checked->problems.empty())
    co_return problem(kUnprocessable, "the state has problems", items_of(checked->problems));

  auto finding = find_targets(context, call.caller, app_id, std::move(selector));
  const auto targets = co_await std::move(finding);
  if (!targets) co_return problem_of(targets.error());
  // Noted before it is done: what reaches past the recipe leaves a trace even if we die on the way. Without
  // parameters, which may be secrets.
  const base::Value* module = state->find("module");
  auto writing =
      context.store.write([run_id, app_id, actor = call.actor, count = targets->connected.size(),
                           what = module ? std::string(module->text()) : std::string()](store::Store& store) {
        return audit(store, actor, "run", app_id + "/" + run_id, what + " on " + std::to_string(count),
                     domain::kBegun);
      });
  const auto noted = co_await std::move(writing);
  if (!noted) co_return problem_of(noted.error());

  AskOne ask = [&](const Target& target) {
    protocol::Run question{.run_id = run_id, .state = {checked->states}};
    return context.fleet.run(target.key, std::move(question), timeout);
  };
  auto asking = ask_all(context, targets->connected, std::move(ask));
  const auto answers = co_await std::move(asking);
  base::JsonText json;
  json.begin_object().member("run_id", run_id);
  add_answers(json, targets->connected, answers, [](base::JsonText& out, const fleet::Answer& answer) {
    const auto* log = std::get_if<protocol::StateLog>(&answer);
    if (!log) {
      out.member("error", "the agent answered something else than a result");
      return;
    }
    out.member("outcome", log->outcome).member("comment", log->state_comment);
    out.member("output", log->state_stdout.value_or(""));
    add_changes(out, log->changes);
    if (log->exit_code) out.member("exit_code", *log->exit_code);
    out.member("duration_ms", log->duration_ms);
  });
  add_names(json, "not_connected", targets->not_connected);
  co_return json_reply(kOk, json.end_object());
}

Task<HttpResponse> cancel(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body.empty() ? std::string_view("{}") : call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  const std::string app_id = fields.text_or("app_id", "default");
  domain::Selector selector = read_selector(fields, "selector", call.caller.scope);
  const bool force = fields.flag_or("force", false);
  check_name(fields, "run_id", call.captured[0]);
  if (auto refused = fields.problems()) co_return std::move(*refused);
  auto finding = find_targets(context, call.caller, app_id, std::move(selector));
  const auto targets = co_await std::move(finding);
  if (!targets) co_return problem_of(targets.error());
  base::JsonText json;
  if (targets->connected.empty())  // it reaches nobody: nothing to note
    co_return json_reply(kOk, json.begin_object().member("sent", 0).end_object());
  auto writing =
      context.store.write([id = app_id + "/" + call.captured[0], actor = call.actor](store::Store& store) {
        return audit(store, actor, "run.cancel", id, {}, domain::kBegun);
      });
  const auto noted = co_await std::move(writing);
  if (!noted) co_return problem_of(noted.error());
  std::size_t sent = 0;
  for (const Target& target : targets->connected)
    if (context.fleet.tell(target.key, protocol::Cancel{.run_id = call.captured[0], .force = force})) ++sent;
  co_return json_reply(kOk, json.begin_object().member("sent", sent).end_object());
}

// ---- query

Task<HttpResponse> query(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  const std::string app_id = fields.text_or("app_id", "default");
  const std::string instance_id = fields.text("instance_id");
  protocol::Query question;
  question.kind = fields.text("kind");
  const base::Value* args = fields.value("args");
  question.args.text = args ? base::to_json(*args) : "{}";
  question.limit = static_cast<std::uint64_t>(fields.integer_or("limit", 0, 0, 1'000'000));
  const seconds timeout = read_timeout(fields);
  if (auto refused = fields.problems()) co_return std::move(*refused);

  auto reading = context.store.read(call.caller.token_id,
                                    [app_id, instance_id, scope = call.caller.scope](store::Store& store) {
                                      return find_covered(store, scope, app_id, instance_id);
                                    });
  const auto instance = co_await std::move(reading);
  if (!instance) co_return problem_of(instance.error());
  if (!context.fleet.is_connected(instance->key))
    co_return problem(kConflict, app_id + "/" + instance_id + " is not connected");
  auto writing = context.store.write(
      [what = app_id + "/" + instance_id, kind = question.kind, actor = call.actor](store::Store& store) {
        return audit(store, actor, "query", what, kind, domain::kBegun);
      });
  const auto noted = co_await std::move(writing);
  if (!noted) co_return problem_of(noted.error());
  auto asking = context.fleet.ask(instance->key, protocol::BackendBody(std::move(question)), timeout);
  const auto answer = co_await std::move(asking);
  if (!answer) co_return problem_of(answer.error());
  const auto* result = std::get_if<protocol::QueryResult>(&*answer);
  if (!result) co_return problem(kInternal, "the agent answered something else than was asked");
  base::JsonText json;
  json.begin_object().key("data").json(result->data.text).member("more", result->more);
  co_return json_reply(kOk, json.end_object());
}

// ---- settings

Task<HttpResponse> settings(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  const std::string app_id = fields.text_or("app_id", "default");
  domain::Selector selector = read_selector(fields, "selector", call.caller.scope);
  const seconds timeout = read_timeout(fields);
  protocol::Settings wanted;
  std::string detail;
  if (const base::Value* given = fields.object("settings")) {
    Fields inner(*given);
    wanted.ws_uris = inner.texts("ws_uris");
    if (const auto heartbeat = inner.integer("heartbeat_s", 5, 3600))
      wanted.heartbeat_s = static_cast<int>(*heartbeat);
    wanted.round_delay_s = inner.integer("round_delay_s", 1, 30LL * 24 * 3600);
    if (auto refused = inner.problems()) co_return std::move(*refused);
    if (wanted == protocol::Settings{}) fields.complain("settings", "sets nothing");
    detail = base::to_json(*given);
  }
  if (auto refused = fields.problems()) co_return std::move(*refused);
  const std::string reached = selector.text();
  auto finding = find_targets(context, call.caller, app_id, std::move(selector));
  const auto targets = co_await std::move(finding);
  if (!targets) co_return problem_of(targets.error());
  auto writing =
      context.store.write([app_id, detail, selector = reached, actor = call.actor](store::Store& store) {
        return audit(store, actor, "settings", app_id, selector + " " + detail, domain::kBegun);
      });
  const auto noted = co_await std::move(writing);
  if (!noted) co_return problem_of(noted.error());
  AskOne ask = [&](const Target& target) {
    return context.fleet.ask(target.key, protocol::BackendBody(wanted), timeout);
  };
  auto asking = ask_all(context, targets->connected, std::move(ask));
  const auto answers = co_await std::move(asking);
  base::JsonText json;
  json.begin_object().member("sent", targets->connected.size());
  add_answers(json, targets->connected, answers,
              [](base::JsonText& out, const fleet::Answer&) { out.member("accepted", true); });
  add_names(json, "not_connected", targets->not_connected);
  co_return json_reply(kOk, json.end_object());
}

constexpr Route kRoutes[] = {
    {.method = "POST",
     .pattern = "/plan",
     .summary = "Ask connected instances what a recipe would change",
     .role = Role::operator_,
     .body = Body::json,
     .handler = plan},
    {.method = "POST",
     .pattern = "/run",
     .summary = "Run one state at once, outside the recipe",
     .role = Role::operator_,
     .body = Body::json,
     .handler = run},
    {.method = "POST",
     .pattern = "/runs/{run_id}/cancel",
     .summary = "Cancel such a run",
     .role = Role::operator_,
     .body = Body::json,
     .handler = cancel},
    {.method = "POST",
     .pattern = "/query",
     .summary = "Ask one instance about its machine",
     .role = Role::operator_,
     .body = Body::json,
     .handler = query},
    {.method = "POST",
     .pattern = "/settings",
     .summary = "Give connected instances settings to try",
     .role = Role::admin,
     .body = Body::json,
     .handler = settings},
};

}  // namespace

}  // namespace requests_resource

std::span<const Route> request_routes() {
  return requests_resource::kRoutes;
}

}  // namespace backend::api
