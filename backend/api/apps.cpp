#include "backend/store/apps.hpp"

#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"

namespace backend::api {

namespace apps_resource {

namespace {

void add_app(base::JsonText& json, const domain::App& app) {
  json.begin_object().member("app_id", app.app_id).member("report", app.report);
  json.member("agent_version", app.agent_version);
  domain::add_instant(json, "created", app.created);
  json.end_object();
}

HttpResponse app_reply(unsigned status, const domain::App& app) {
  base::JsonText json;
  add_app(json, app);
  HttpResponse response = json_reply(status, json);
  response.headers.push_back({"ETag", etag(app.edit)});
  return response;
}

Task<HttpResponse> list(Context& context, const Call& call) {
  const auto page = page_of(call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read([wanted = std::get<domain::PageRequest>(page)](store::Store& store) {
    return store.list_apps(wanted);
  });
  const auto apps = co_await std::move(reading);
  if (!apps) co_return problem_of(apps.error());
  co_return list_reply(*apps, add_app);
}

Task<HttpResponse> show(Context& context, const Call& call) {
  auto reading =
      context.store.read([id = call.captured[0]](store::Store& store) { return store.find_app(id); });
  const auto app = co_await std::move(reading);
  if (!app) co_return problem_of(app.error());
  co_return app_reply(kOk, *app);
}

struct PutApp {
  domain::App app;
  bool is_new = false;
};

Task<HttpResponse> put(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body.empty() ? std::string_view("{}") : call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  const auto expected = expected_edit(call);
  if (const auto* refused = std::get_if<HttpResponse>(&expected)) co_return *refused;
  const auto edit = std::get<std::optional<domain::Edit>>(expected);

  Fields fields(std::get<JsonBody>(body).root());
  domain::App app{.app_id = call.captured[0]};
  app.report = fields.one_of("report", "all changes", context.report_changes_only ? "changes" : "all");
  app.agent_version = fields.text_or("agent_version", "");
  if (const auto wrong = protocol::problem_of_name(app.agent_version);
      !app.agent_version.empty() && !wrong.empty())
    fields.complain("agent_version", std::string(wrong));
  if (fields.text_or("app_id", app.app_id) != app.app_id)
    fields.complain("app_id", "differs from the path's");
  fields.text_or("created", "");  // as it was read; not to be changed
  check_name(fields, "app_id", app.app_id);
  if (auto refused = fields.problems()) co_return std::move(*refused);

  auto writing =
      context.store.write([app, edit, actor = call.actor](store::Store& store) -> base::Result<PutApp> {
        const auto before = store.find_app(app.app_id);
        auto put = store::put_app(store, app, edit, domain::now_millis());
        if (!put) return std::move(put).error();
        auto noted = audit(store, actor, before ? "app.edit" : "app.create", app.app_id,
                           "report=" + app.report +
                               (app.agent_version.empty() ? "" : " agent_version=" + app.agent_version));
        if (!noted) return std::move(noted).error();
        return PutApp{std::move(*put), !before};
      });
  const auto put = co_await std::move(writing);
  if (!put) co_return problem_of(put.error(), edit ? kPreconditionFailed : kConflict);
  co_return app_reply(put->is_new ? kCreated : kOk, put->app);
}

constexpr Route kRoutes[] = {
    {.method = "GET", .pattern = "/apps", .summary = "All apps", .handler = list, .queries = "limit after"},
    {.method = "GET", .pattern = "/apps/{app}", .summary = "One app", .handler = show},
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
