// The modules that an app's recipes, or a recipe, can use: what `opsctl module` shows.
#include <algorithm>

#include "backend/api/access.hpp"
#include "backend/api/callers/visibility.hpp"
#include "backend/api/context.hpp"
#include "backend/api/routes/recipe_checks.hpp"
#include "base/text.hpp"
#include "states/schema.hpp"

namespace backend::api {

namespace modules_resource {

namespace {

using domain::ModuleSource;
using repositories::Looked;

base::Error no_repository(const std::string& what) {
  return {base::ErrorCode::not_found, what + " names no module repository"};
}

// Of what the path begins with: an app, or a revision of a recipe (?revision=; the newest without it).
Task<base::Result<ModuleSource>> find_source(Context& context, const Call& call, bool is_app) {
  const std::string& name = call.captured[0];
  const std::string given(call.http.parameter("revision"));
  std::optional<std::int64_t> revision;
  if (!given.empty()) {
    revision = base::parse_integer(given);
    if (!revision || *revision < 1)
      co_return base::Error(base::ErrorCode::invalid, "revisions are numbers from 1");
  }
  auto reading = context.store.read(
      call.caller.token_id,
      [name, revision, is_app, scope = call.caller.scope](store::Store& store) -> base::Result<ModuleSource> {
        if (is_app) {
          auto app = find_visible_app(store, scope, name);
          if (!app) return std::move(app).error();
          if (app->module.repo.empty()) return no_repository("the app '" + name + "'");
          return app->module;
        }
        auto found = find_readable(store, scope, name, revision);
        if (!found) return std::move(found).error();
        if (found->module.repo.empty()) return no_repository("the recipe '" + name + "'");
        return found->module;
      });
  co_return co_await std::move(reading);
}

// What is there is shown; the server is asked for what is not.
Task<base::Result<Looked>> look(Context& context, const Call& call, bool is_app) {
  auto finding = find_source(context, call, is_app);
  const auto source = co_await std::move(finding);
  if (!source) co_return source.error();
  auto looking = context.repositories->look(call.caller.token_id, *source, repositories::Ask::if_missing);
  Looked looked = co_await std::move(looking);
  if (looked.modules) co_return looked;
  co_return base::Error(
      base::ErrorCode::invalid,
      domain::describe(looked.source) + ": " + (looked.refusal.empty() ? looked.unknown : looked.refusal));
}

void begin_module(base::JsonText& json, const ::modules::Module& module) {
  const ::modules::Manifest& manifest = *module.manifest;
  json.begin_object().member("name", manifest.name).member("version", manifest.version);
  json.member("summary", manifest.summary).member("supports_plan", manifest.supports_plan);
}

Task<HttpResponse> list_of(Context& context, const Call& call, bool is_app) {
  auto looking = look(context, call, is_app);
  const auto looked = co_await std::move(looking);
  if (!looked) co_return problem_of(looked.error());
  base::JsonText json;
  json.begin_object();
  add_module(json, looked->source, "");
  json.optional("warning", looked->warning).key("items").begin_list();
  for (const ::modules::Module& module : looked->modules->set.modules()) {
    begin_module(json, module);
    json.end_object();
  }
  json.end_list();
  co_return json_reply(kOk, json.end_object());
}

void add_texts(base::JsonText& json, std::string_view name, const std::vector<std::string>& texts) {
  json.key(name).begin_list();
  for (const std::string& text : texts)
    json.value(text);
  json.end_list();
}

void add_parameters(base::JsonText& json, const ::modules::Manifest& manifest) {
  json.key("parameters").begin_list();
  for (const states::Param& param : manifest.schema()) {
    json.begin_object().member("name", param.name).member("type", states::wire_name(param.wire));
    json.member("required", param.is_required).member("secret", param.is_secret);
    json.optional("default", std::string(param.fallback_text)).member("doc", param.doc);
    json.key("choices").begin_list();
    for (const std::string_view choice : param.choices)
      json.value(choice);
    json.end_list().end_object();
  }
  json.end_list();
}

Task<HttpResponse> one_of(Context& context, const Call& call, bool is_app) {
  auto looking = look(context, call, is_app);
  const auto looked = co_await std::move(looking);
  if (!looked) co_return problem_of(looked.error());
  const std::string& name = call.captured[1];
  const ::modules::Module* module = looked->modules->set.find(name);
  if (!module) {
    std::vector<std::string_view> known;
    for (const ::modules::Module& each : looked->modules->set.modules())
      known.push_back(each.manifest->name);
    co_return problem(kNotFound, "there is no module '" + name + "' in " + domain::describe(looked->source) +
                                     base::did_you_mean(name, known));
  }
  const ::modules::Manifest& manifest = *module->manifest;
  base::JsonText json;
  begin_module(json, *module);
  add_module(json, looked->source, "");
  json.member("timeout", manifest.timeout.count()).optional("run_as", manifest.run_as);
  if (manifest.plan_network) json.member("plan_needs_network", *manifest.plan_network);
  add_parameters(json, manifest);
  json.key("schema").json(states::json_schema(manifest.name, manifest.summary, manifest.schema()));
  add_texts(json, "example_parameters", manifest.examples);
  json.member("page", module->page);
  co_return json_reply(kOk, json.end_object());
}

Task<HttpResponse> list_of_app(Context& context, const Call& call) {
  return list_of(context, call, true);
}
Task<HttpResponse> list_of_recipe(Context& context, const Call& call) {
  return list_of(context, call, false);
}
Task<HttpResponse> one_of_app(Context& context, const Call& call) {
  return one_of(context, call, true);
}
Task<HttpResponse> one_of_recipe(Context& context, const Call& call) {
  return one_of(context, call, false);
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/apps/{app}/modules",
     .summary = "The modules of an app's repository",
     .handler = list_of_app},
    {.method = "GET",
     .pattern = "/apps/{app}/modules/{module}",
     .summary = "One of them, with its parameters and its page",
     .handler = one_of_app},
    {.method = "GET",
     .pattern = "/recipes/{name}/modules",
     .summary = "The modules of a recipe's repository",
     .handler = list_of_recipe,
     .queries = "revision"},
    {.method = "GET",
     .pattern = "/recipes/{name}/modules/{module}",
     .summary = "One of them, with its parameters and its page",
     .handler = one_of_recipe,
     .queries = "revision"},
};

}  // namespace

}  // namespace modules_resource

std::span<const Route> module_routes() {
  return modules_resource::kRoutes;
}

}  // namespace backend::api
