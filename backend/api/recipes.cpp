#include "backend/store/recipes.hpp"

#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/domain/recipe_check.hpp"
#include "base/text.hpp"

namespace backend::api {

namespace recipes_resource {

namespace {

void begin_revision(base::JsonText& json, const domain::Revision& revision) {
  json.begin_object().member("revision", revision.revision).member("digest", revision.digest);
  domain::add_instant(json, "created", revision.created);
  json.member("states", revision.state_count).member("syntax", revision.syntax);
}

Task<HttpResponse> list(Context& context, const Call& call) {
  const auto page = page_of(call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read([wanted = std::get<domain::PageRequest>(page)](store::Store& store) {
    return store.list_recipes(wanted);
  });
  const auto recipes = co_await std::move(reading);
  if (!recipes) co_return problem_of(recipes.error());
  co_return list_reply(*recipes, [](base::JsonText& json, const domain::RecipeSummary& recipe) {
    json.begin_object().member("name", recipe.name).member("newest", recipe.newest);
    json.member("digest", recipe.digest).member("states", recipe.state_count);
    domain::add_instant(json, "created", recipe.created);
    json.end_object();
  });
}

Task<HttpResponse> show(Context& context, const Call& call) {
  const auto page = page_of(call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read([name = call.captured[0], wanted = std::get<domain::PageRequest>(page)](
                                        store::Store& store) { return store.list_revisions(name, wanted); });
  const auto revisions = co_await std::move(reading);
  if (!revisions) co_return problem_of(revisions.error());
  if (revisions->items.empty() && call.http.parameter("after").empty())
    co_return problem(kNotFound, "there is no recipe '" + call.captured[0] + "'");
  base::JsonText json;
  json.begin_object().member("name", call.captured[0]).key("revisions").begin_list();
  for (const domain::Revision& revision : revisions->items) {
    begin_revision(json, revision);
    json.end_object();
  }
  json.end_list().key("next");
  if (revisions->next.empty())
    json.null();
  else
    json.value(revisions->next);
  co_return json_reply(kOk, json.end_object());
}

Task<HttpResponse> show_revision(Context& context, const Call& call) {
  const auto number = base::parse_integer(call.captured[1]);
  if (!number || *number < 1) co_return problem(kNotFound, "revisions are numbers from 1");
  auto reading = context.store.read([name = call.captured[0], wanted = *number](store::Store& store) {
    return store.find_revision(name, wanted);
  });
  const auto revision = co_await std::move(reading);
  if (!revision) co_return problem_of(revision.error());
  base::JsonText json;
  begin_revision(json, *revision);
  json.member("name", revision->name).member("content", revision->content);
  co_return json_reply(kOk, json.end_object());
}

// All apps with an assignment that follows the recipe get it, or none.
base::Result<fleet::Delivery> place_followers(store::Store& store, const std::string& recipe) {
  auto apps = store.apps_that_follow(recipe);
  if (!apps) return std::move(apps).error();
  fleet::Placed all;
  for (const std::string& app : *apps) {
    auto placed = fleet::place_app(store, app);
    if (!placed) return as_conflict(std::move(placed).error());
    all.matched += placed->matched;
    all.changed.insert(all.changed.end(), std::make_move_iterator(placed->changed.begin()),
                       std::make_move_iterator(placed->changed.end()));
  }
  return fleet::prepare_delivery(store, std::move(all));
}

struct Pushed {
  domain::PutRevision put;
  fleet::Delivery delivery;
};

Task<HttpResponse> push(Context& context, const Call& call) {
  const std::string name = call.captured[0];
  Fields fields{base::Value()};
  check_name(fields, "name", name);
  if (auto refused = fields.problems()) co_return std::move(*refused);
  auto checking =
      context.store.read([content = call.http.body](store::Store&) -> base::Result<domain::CheckedRecipe> {
        return domain::check_recipe(content);
      });
  auto checked = co_await std::move(checking);
  if (!checked) co_return problem_of(checked.error());
  if (!checked->problems.empty())
    co_return problem(kUnprocessable,
                      "the recipe has " + std::to_string(checked->problems.size()) +
                          (checked->problems.size() == 1 ? " problem" : " problems"),
                      items_of(checked->problems));

  domain::NewRevision revision{.name = name,
                               .content = call.http.body,
                               .syntax = checked->syntax,
                               .digest = checked->digest,
                               .states = std::move(checked->states),
                               .state_count = checked->state_count};
  auto writing =
      context.store.write([revision = std::move(revision), actor = call.actor,
                           scope = call.caller.scope](store::Store& store) -> base::Result<Pushed> {
        if (auto own = check_followers(store, scope, revision.name); !own) return std::move(own).error();
        auto put = store::put_revision(store, revision, domain::now_millis());
        if (!put) return std::move(put).error();
        if (!put->is_new) return Pushed{std::move(*put), {}};
        auto delivery = place_followers(store, revision.name);
        if (!delivery) return std::move(delivery).error();
        auto noted = audit(store, actor, "recipe.push", revision.name,
                           "revision " + std::to_string(put->revision.revision) + " " + revision.digest);
        if (!noted) return std::move(noted).error();
        return Pushed{std::move(*put), std::move(*delivery)};
      });
  const auto pushed = co_await std::move(writing);
  if (!pushed) co_return problem_of(pushed.error());
  context.fleet.deliver(pushed->delivery);

  const domain::Revision& stored = pushed->put.revision;
  base::JsonText json;
  begin_revision(json, stored);
  json.member("name", stored.name).member("affected", pushed->delivery.changed.size());
  json.key("warnings").begin_list();
  for (const recipe::Problem& warning : checked->warnings)
    json.value(recipe::describe(warning, name));
  json.end_list();
  HttpResponse response = json_reply(pushed->put.is_new ? kCreated : kOk, json.end_object());
  response.headers.push_back({"Location", std::string(kPrefix) + "/recipes/" +
                                              transport::percent_encode(name) + "/revisions/" +
                                              std::to_string(stored.revision)});
  co_return response;
}

constexpr Route kRoutes[] = {
    {.method = "GET",
     .pattern = "/recipes",
     .summary = "All recipes",
     .handler = list,
     .queries = "limit after"},
    {.method = "GET",
     .pattern = "/recipes/{name}",
     .summary = "The revisions of a recipe, newest first",
     .handler = show,
     .queries = "limit after"},
    {.method = "GET",
     .pattern = "/recipes/{name}/revisions/{revision}",
     .summary = "One revision with its content as uploaded",
     .handler = show_revision},
    {.method = "POST",
     .pattern = "/recipes/{name}/revisions",
     .summary = "Upload a recipe; instances that follow the newest get it",
     .role = Role::operator_,
     .body = Body::recipe,
     .handler = push},
};

}  // namespace

}  // namespace recipes_resource

std::span<const Route> recipe_routes() {
  return recipes_resource::kRoutes;
}

}  // namespace backend::api
