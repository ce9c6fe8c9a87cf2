// Several changes in one call, placed as one: what the body says, and what is answered.
#include <algorithm>
#include <map>
#include <memory>
#include <ranges>

#include "backend/api/access.hpp"
#include "backend/api/callers/scope.hpp"
#include "backend/api/callers/self_reports.hpp"
#include "backend/api/changes/apply_changes.hpp"
#include "backend/api/changes/assignment_changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/api/routes/recipe_checks.hpp"
#include "base/text.hpp"

namespace backend::api {

namespace apply_resource {

namespace {

constexpr std::string_view kKinds = "recipe assignment app variables";

// The single call that an item stands for: who may make that one may have the item applied.
const Route& single_route(std::span<const Route> routes, std::string_view method, std::string_view pattern) {
  return *std::ranges::find_if(
      routes, [&](const Route& each) { return each.method == method && each.pattern == pattern; });
}
const Route& route_of(std::string_view kind) {
  if (kind == "recipe") return single_route(recipe_push_routes(), "POST", "/recipes/{name}/revisions");
  if (kind == "assignment") return single_route(assignment_routes(), "POST", "/assignments");
  if (kind == "variables") return single_route(variable_routes(), "POST", "/variables");
  return single_route(app_routes(), "PUT", "/apps/{app}");
}

// Reads the items; what is wrong with them is collected.
class ItemReader {
 public:
  ItemReader(const Caller& caller, ApplyRequest& request) : caller_(caller), request_(request) {}

  void read(std::size_t index, const base::Value& value) {
    place_ = "items." + std::to_string(index);
    source_.clear();
    if (!value.is_object()) {
      complain({.message = "the item must be an object"});
      return;
    }
    Fields fields(value);
    source_ = fields.text_or("source", "");
    constexpr std::size_t kLongestSource = 1024;
    if (const auto hidden = protocol::problem_of_id(source_); !source_.empty() && !hidden.empty()) {
      fields.complain("source", std::string(hidden));
      source_.clear();
    } else if (source_.size() > kLongestSource) {
      fields.complain("source", "has at most 1024 bytes");
      source_.clear();
    }
    const std::string kind = fields.text_or("kind", "");
    if (kind == "recipe")
      read_recipe(fields);
    else if (kind == "assignment")
      request_.assignments.push_back({read_assignment(fields, caller_.scope), source_});
    else if (kind == "app")
      request_.apps.push_back({read_app_edit(fields, fields.text("app_id")), source_});
    else if (kind == "variables")
      read_layer(fields);
    else
      return complain_of_kind(kind);
    for (ProblemItem& item : fields.problem_items())
      complain(placed(std::move(item)));
    if (const std::string why = why_refused(route_of(kind), caller_); !why.empty()) refuse(kind + ": " + why);
  }

  std::vector<ApplyProblem> take() { return std::move(problems_); }

 private:
  void read_layer(Fields& fields) {
    VariablesItem item{.wanted = read_layer_name(fields, caller_.scope), .source = source_};
    if (const base::Value* values = fields.object("values"))
      item.wanted.edits.set = read_values(fields, "values", *values);
    if (!item.wanted.order && item.wanted.name.kind == domain::LayerKind::selector) item.wanted.order = 0;
    request_.variables.push_back(std::move(item));
  }

  void read_recipe(Fields& fields) {
    RecipeItem item;
    domain::NewRevision& revision = item.push.revision;
    revision.name = fields.text("name");
    check_name(fields, "name", revision.name);
    revision.content = fields.text("content");
    if (revision.content.size() > kRecipeBody)
      fields.complain("content", "may have " + std::to_string(kRecipeBody) + " bytes at most");
    revision.message = fields.text_or("message", "");
    check_message(fields, revision.message);
    item.push.confirmed_owner = fields.text_or("owner", "");
    item.content_source = fields.text_or("content_source", "");
    item.source = source_;
    request_.recipes.push_back(std::move(item));
  }

  void complain_of_kind(const std::string& kind) {
    const auto known = base::split_words(kKinds);
    complain({.message = (kind.empty() ? std::string("is missing") : "'" + kind + "' is not known") +
                         "; there are: " + std::string(kKinds) + base::did_you_mean(kind, known),
              .field = place_ + ".kind"});
  }
  ProblemItem placed(ProblemItem item) const {
    item.field = place_ + "." + item.field;
    return item;
  }
  void complain(ProblemItem item) {
    item.source = source_;
    problems_.push_back({base::ErrorCode::invalid, std::move(item)});
  }
  void refuse(std::string why) {
    ProblemItem item{.message = std::move(why)};
    item.source = source_;
    problems_.push_back({base::ErrorCode::permission, std::move(item)});
  }

  const Caller& caller_;
  ApplyRequest& request_;
  std::string place_, source_;
  std::vector<ApplyProblem> problems_;
};

HttpResponse refused(const std::vector<ApplyProblem>& problems) {
  const auto has = [&](std::initializer_list<base::ErrorCode> codes) {
    return std::ranges::any_of(problems, [&](const ApplyProblem& each) {
      return std::ranges::find(codes, each.code) != codes.end();
    });
  };
  const unsigned status = has({base::ErrorCode::permission})                            ? kForbidden
                          : has({base::ErrorCode::invalid, base::ErrorCode::not_found}) ? kUnprocessable
                                                                                        : kConflict;
  constexpr std::size_t kMostNamed = 200;
  std::vector<ProblemItem> items;
  for (const ApplyProblem& each : problems | std::views::take(kMostNamed))
    items.push_back(each.item);
  return problem(status,
                 "nothing was changed: " + std::to_string(problems.size()) +
                     (problems.size() == 1 ? " problem" : " problems") +
                     (problems.size() > kMostNamed ? ", of which the first are named" : ""),
                 items);
}

void refuse_recipe(ApplyRequest& request, RecipeItem& item, base::ErrorCode code, ProblemItem problem) {
  item.is_refused = true;
  request.known.push_back({code, std::move(problem)});
}

// Before recipes are looked at, which takes longer than all of this.
Task<base::Result<void>> check_pushes(Context& context, const Call& call, ApplyRequest& request) {
  using Refusals = std::vector<std::optional<base::Error>>;
  struct Asked {
    std::string name, confirmed;
  };
  std::vector<Asked> asked;
  for (const RecipeItem& each : request.recipes)
    asked.push_back({each.push.revision.name, each.push.confirmed_owner});
  auto asking = context.store.read(
      call.caller.token_id,
      [asked = std::move(asked), scope = call.caller.scope](store::Store& store) -> base::Result<Refusals> {
        Refusals refusals;
        for (const Asked& each : asked) {
          refusals.emplace_back();
          auto own = check_push(store, scope, each.name, each.confirmed);
          if (own) continue;
          const base::ErrorCode code = own.error().code();
          if (code != base::ErrorCode::permission && code != base::ErrorCode::exists)
            return std::move(own).error();
          refusals.back() = std::move(own).error();
        }
        return refusals;
      });
  auto refusals = co_await std::move(asking);
  if (!refusals) co_return std::move(refusals).error();
  for (std::size_t i = 0; i < refusals->size(); ++i) {
    const auto& error = (*refusals)[i];
    if (!error) continue;
    ProblemItem item{.message = error->message()};
    item.source = request.recipes[i].source;
    refuse_recipe(request, request.recipes[i], error->code(), std::move(item));
  }
  co_return base::Result<void>();
}

// A recipe of the call, and the apps that it is about to be assigned in, with what the call makes of them.
struct RecipeInCall {
  std::string name, content;
  std::vector<std::string> apps;
  std::map<std::string, domain::ModuleSource> edited;
};

RecipeInCall recipe_in_call(const ApplyRequest& request, const RecipeItem& item) {
  RecipeInCall recipe{.name = item.push.revision.name, .content = item.push.revision.content};
  for (const AssignmentItem& each : request.assignments)
    if (each.wanted.recipe == recipe.name) recipe.apps.push_back(each.wanted.app_id);
  for (const AppItem& each : request.apps)
    if (each.wanted.module) recipe.edited.emplace(each.wanted.app_id, *each.wanted.module);
  return recipe;
}

// What it takes modules from if it names nothing itself: of the apps that it is, or is to be, assigned in, as
// this call leaves them.
base::Result<RecipeToCheck> find_all_modules(store::Store& store, const RecipeInCall& recipe) {
  RecipeToCheck wanted{.content = recipe.content};
  // Also of apps that the caller may not see: only where modules come from is taken.
  if (auto found = find_modules(store, {}, recipe.name, "", wanted); !found) return std::move(found).error();
  auto following = store.apps_that_follow(recipe.name);
  if (!following) return std::move(following).error();
  std::vector<std::string> apps = recipe.apps;
  std::ranges::move(*following, std::back_inserter(apps));
  std::vector<std::string> kept;
  std::ranges::copy_if(apps, std::back_inserter(kept),
                       [&](const std::string& app) { return !recipe.edited.contains(app); });
  auto known = modules_of_apps(store, kept);
  if (!known) return std::move(known).error();
  wanted.of_apps = std::move(*known);
  for (const std::string& app : apps) {
    const auto edited = recipe.edited.find(app);
    if (edited == recipe.edited.end() || edited->second.repo.empty()) continue;
    if (std::ranges::find(wanted.of_apps, edited->second) == wanted.of_apps.end())
      wanted.of_apps.push_back(edited->second);
  }
  return wanted;
}

// As agents check them.
Task<base::Result<void>> check_contents(Context& context, const Call& call, ApplyRequest& request,
                                        std::vector<std::string>& warnings) {
  for (RecipeItem& item : request.recipes) {
    if (item.is_refused) continue;
    domain::NewRevision& revision = item.push.revision;
    auto finding = context.store.read(call.caller.token_id,
                                      [recipe = recipe_in_call(request, item)](store::Store& store) {
                                        return find_all_modules(store, recipe);
                                      });
    auto wanted = co_await std::move(finding);
    if (!wanted) co_return std::move(wanted).error();
    auto checking = check_content(context, call.caller.token_id, std::move(*wanted));
    auto done = co_await std::move(checking);
    if (!done) co_return std::move(done).error();
    domain::CheckedRecipe* const checked = &done->recipe;
    const std::string where = item.content_source.empty() ? item.source : item.content_source;
    for (ProblemItem& wrong : items_of(checked->problems)) {
      // Lines count from where the content begins, not the file that it stands in.
      if (item.content_source.empty()) {
        wrong.message = "in the content of recipe '" + revision.name + "'" +
                        (wrong.line == 0 ? "" : ", line " + std::to_string(wrong.line)) + ": " +
                        wrong.message;
        wrong.line = 0;
      }
      wrong.source = where;
      refuse_recipe(request, item, base::ErrorCode::invalid, std::move(wrong));
    }
    for (const recipe::Problem& warning : checked->warnings)
      warnings.push_back(recipe::describe(warning, revision.name));
    revision.syntax = std::move(checked->syntax);
    revision.digest = std::move(checked->digest);
    revision.states = std::move(checked->states);
    revision.state_count = checked->state_count;
    revision.module = std::move(done->module);
    revision.unchecked = std::move(done->unchecked);
    revision.inputs = std::move(checked->inputs);
    revision.owner = call.caller.scope ? call.caller.scope->text() : "";
    revision.author = call.actor.name;
    item.push.why = "(set " + request.set + ")";
  }
  co_return base::Result<void>();
}

void add_number_or_null(base::JsonText& json, std::string_view name, std::optional<std::int64_t> value) {
  json.key(name);
  if (value)
    json.value(*value);
  else
    json.null();
}

void add_recipes(base::JsonText& json, const ApplyResult& result,
                 const std::vector<domain::LineCounts>& counts) {
  json.key("recipes").begin_list();
  for (std::size_t i = 0; i < result.recipes.size(); ++i) {
    const AppliedRecipe& each = result.recipes[i];
    json.begin_object().member("name", each.revision.name).member("change", name_of(each.change));
    json.member("revision", each.revision.revision).member("states", each.revision.state_count);
    json.member("lines_added", counts[i].added).member("lines_removed", counts[i].removed);
    add_owner(json, each.owner);
    add_module(json, each.revision.module, each.revision.unchecked);
    json.optional("source", each.source).end_object();
  }
  json.end_list();
}

void add_assignments(base::JsonText& json, const ApplyResult& result, bool is_done) {
  json.key("assignments").begin_list();
  for (const AppliedAssignment& each : result.assignments) {
    const domain::Assignment& assignment = each.assignment;
    json.begin_object().member("change", name_of(each.change));
    // One that was looked at and undone has no number yet.
    if (is_done || each.change != Applied::added)
      json.member("id", assignment.id);
    else
      json.key("id").null();
    json.member("app_id", assignment.app_id).member("selector", assignment.selector);
    json.member("recipe", assignment.recipe);
    add_number_or_null(json, "revision", assignment.revision);
    add_number_or_null(json, "revision_before", each.revision_before);
    json.member("order", assignment.order);
    json.member("on_change", assignment.kill_on_change ? "kill" : "finish");
    add_number_or_null(json, "round_delay_s", assignment.round_delay_s);
    json.optional("notice", each.notice).optional("source", each.source).end_object();
  }
  json.end_list();
}

void add_variables(base::JsonText& json, const ApplyResult& result) {
  json.key("variables").begin_list();
  for (const AppliedVariables& each : result.variables) {
    const domain::VariableLayer& layer = each.layer;
    json.begin_object().member("change", name_of(each.change)).member("app_id", layer.app_id);
    json.member("kind", domain::name_of(layer.kind));
    if (layer.kind == domain::LayerKind::selector)
      json.member("selector", layer.target).member("order", layer.order);
    if (layer.kind == domain::LayerKind::machine) json.member("instance_id", layer.target);
    json.key("names").begin_list();
    for (const domain::VariableChange& change : each.changes)
      json.value(change.name);
    json.end_list().optional("source", each.source).end_object();
  }
  json.end_list();
}

HttpResponse applied_reply(const ApplyRequest& request, const ApplyResult& result,
                           const std::vector<domain::LineCounts>& counts,
                           const std::vector<std::string>& warnings) {
  constexpr std::size_t kMostNamed = 1000;
  base::JsonText json;
  json.begin_object().member("set", request.set).member("dry_run", request.dry_run);
  json.member("changes", result.changes()).member("fingerprint", result.fingerprint);
  json.key("apps").begin_list();
  for (const AppliedApp& each : result.apps) {
    json.begin_object().member("app_id", each.app.app_id).member("change", name_of(each.change));
    json.member("report", each.app.report).member("agent_version", each.app.agent_version);
    json.member("trust_self_reported", domain::name_of(each.app.trust));
    add_app_rings(json, each.app);
    add_app_module(json, each.app);
    add_app_compat(json, each.app);
    json.optional("source", each.source).end_object();
  }
  json.end_list();
  add_recipes(json, result, counts);
  add_assignments(json, result, !request.dry_run);
  add_variables(json, result);
  json.member("affected", result.machines.size()).key("machines").begin_list();
  for (const fleet::PlacedVersion& each : result.machines | std::views::take(kMostNamed))
    json.begin_object()
        .member("app_id", each.app_id)
        .member("instance_id", each.instance_id)
        .member("recipe_version", each.recipe_version)
        .end_object();
  json.end_list();
  add_rejected(json, result.delivery);
  add_warnings(json, warnings);
  return json_reply(kOk, json.end_object());
}

// The body, or the answer to give instead.
std::variant<ApplyRequest, HttpResponse> read_request(const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* wrong = std::get_if<HttpResponse>(&body)) return *wrong;
  ApplyRequest request;
  Fields fields(std::get<JsonBody>(body).root());
  request.set = fields.text("set");
  if (!request.set.empty()) check_name(fields, "set", request.set);
  request.prune = fields.flag_or("prune", false);
  request.dry_run = fields.flag_or("dry_run", false);
  request.now = fields.flag_or("now", false);
  request.expected = fields.text_or("expected", "");
  const base::Value* items = fields.value("items");
  if (!items || !items->is_list())
    fields.complain("items", items ? "must be a list" : "is missing");
  else if (items->items().size() > domain::kMostApplyItems)
    fields.complain("items", "has at most " + std::to_string(domain::kMostApplyItems) + " items");
  if (auto wrong = fields.problems()) return std::move(*wrong);
  ItemReader reader(call.caller, request);
  for (std::size_t i = 0; i < items->items().size(); ++i)
    reader.read(i, items->items()[i]);
  std::vector<ApplyProblem> problems = reader.take();
  std::ranges::move(find_repeated(request), std::back_inserter(problems));
  if (!problems.empty()) return refused(problems);
  return request;
}

Task<HttpResponse> apply(Context& context, const Call& call) {
  auto read = read_request(call);
  if (auto* wrong = std::get_if<HttpResponse>(&read)) co_return std::move(*wrong);
  ApplyRequest wanted = std::get<ApplyRequest>(std::move(read));
  auto pushes = check_pushes(context, call, wanted);
  const auto asked = co_await std::move(pushes);
  if (!asked) co_return problem_of(asked.error());
  std::vector<std::string> warnings;
  auto contents = check_contents(context, call, wanted, warnings);
  const auto checked = co_await std::move(contents);
  if (!checked) co_return problem_of(checked.error());

  const auto request = std::make_shared<const ApplyRequest>(std::move(wanted));
  ApplyCaller caller{.scope = call.caller.scope,
                     .actor = call.actor,
                     .default_report = context.report_changes_only ? "changes" : "all",
                     .quota = context.recipe_quota};
  auto writing = context.store.write([request, caller = std::move(caller)](store::Store& store) {
    return apply_changes(store, *request, caller);
  });
  auto applied = co_await std::move(writing);
  if (!applied) co_return problem_of(applied.error());
  if (!applied->problems.empty()) co_return refused(applied->problems);
  if (applied->is_stale)
    co_return problem(kPreconditionFailed,
                      "something has changed since it was shown, and nothing was applied: look again, then "
                      "try again");
  if (!request->dry_run) {
    context.fleet.deliver(applied->delivery);
    for (const AppliedApp& each : applied->apps)
      context.fleet.use_app(each.app);
  }
  std::ranges::move(applied->warnings, std::back_inserter(warnings));

  const auto result = std::make_shared<const ApplyResult>(std::move(*applied));
  auto counting =
      context.store.work(call.caller.token_id, [result]() -> base::Result<std::vector<domain::LineCounts>> {
        std::vector<domain::LineCounts> counts;
        for (const AppliedRecipe& each : result->recipes)
          counts.push_back(
              domain::count_lines(each.before ? each.before->content : "", each.revision.content));
        return counts;
      });
  auto counts = co_await std::move(counting);
  // It is applied in any case.
  if (!counts) counts = std::vector<domain::LineCounts>(result->recipes.size());
  co_return applied_reply(*request, *result, *counts, warnings);
}

constexpr Route kRoutes[] = {
    {.method = "POST",
     .pattern = "/apply",
     .summary = "Change recipes, assignments and apps together, placed as one",
     .role = Role::operator_,
     .body = Body::changes,
     .handler = apply},
};

}  // namespace

}  // namespace apply_resource

std::span<const Route> apply_routes() {
  return apply_resource::kRoutes;
}

}  // namespace backend::api
