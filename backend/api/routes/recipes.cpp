#include "backend/api/access.hpp"
#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/routes/reads.hpp"
#include "backend/api/routes/recipe_json.hpp"
#include "backend/api/routes/visible_pages.hpp"
#include "backend/domain/access/ownership.hpp"
#include "base/text.hpp"

namespace backend::api {

namespace recipes_resource {

namespace {

// As the caller may know it: of a recipe that is not the caller's the newest revision that is.
base::Result<std::optional<domain::RecipeSummary>> as_seen(store::Store& store,
                                                           const ReadableRecipes& recipes,
                                                           domain::RecipeSummary recipe) {
  const ReadableRevisions readable = recipes.of(recipe.name, recipe.owner);
  if (readable.all || readable.newest) return std::optional(std::move(recipe));
  if (readable.numbers.empty()) return std::optional<domain::RecipeSummary>();
  auto revision = store.find_revision_row(recipe.name, *readable.numbers.rbegin());
  if (!revision) return std::move(revision).error();
  recipe.newest = revision->revision;
  recipe.digest = std::move(revision->digest);
  recipe.state_count = revision->state_count;
  recipe.created = revision->created;
  return std::optional(std::move(recipe));
}

using Recipes = domain::Page<domain::RecipeSummary>;

base::Result<Recipes> list_seen(store::Store& store, const Scope& scope, const domain::PageRequest& page) {
  auto readable = ReadableRecipes::load(store, scope);
  if (!readable) return std::move(readable).error();
  using Rows = std::vector<domain::RecipeSummary>;
  const auto keep = [&](Rows rows) -> base::Result<Rows> {
    Rows seen;
    for (domain::RecipeSummary& each : rows) {
      auto shown = as_seen(store, *readable, std::move(each));
      if (!shown) return std::move(shown).error();
      if (*shown) seen.push_back(std::move(**shown));
    }
    return seen;
  };
  return read_visible<domain::RecipeSummary>(
      scope, page, [&](const domain::PageRequest& part) { return store.list_recipes(part); }, keep,
      [](const domain::RecipeSummary& recipe) { return recipe.name; });
}

Task<HttpResponse> list(Context& context, const Call& call) {
  const auto page = visible_page_of(context, call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read(
      call.caller.token_id,
      [wanted = std::get<domain::PageRequest>(page), scope = call.caller.scope](
          store::Store& store) -> base::Result<Recipes> { return list_seen(store, scope, wanted); });
  auto recipes = co_await std::move(reading);
  if (!recipes) co_return problem_of(recipes.error());
  recipes->next = next_for(context, call, recipes->next);
  co_return list_reply(*recipes, [&](base::JsonText& json, const domain::RecipeSummary& recipe) {
    json.begin_object().member("name", recipe.name).member("newest", recipe.newest);
    json.member("digest", recipe.digest).member("states", recipe.state_count);
    domain::add_instant(json, "created", recipe.created);
    add_author(json, domain::owns(call.caller.scope, recipe.owner), recipe.author, recipe.message);
    add_owner(json, recipe.owner);
    json.end_object();
  });
}

struct Shown {
  domain::Page<domain::Revision> revisions;
  std::string owner;
};

base::Result<Shown> show_seen(store::Store& store, const Scope& scope, const std::string& name,
                              const domain::PageRequest& page) {
  auto newest = store.find_revision_row(name, std::nullopt);
  if (!newest) return std::move(newest).error();
  auto owner = store.recipe_owner(name);
  if (!owner) return std::move(owner).error();
  auto recipes = ReadableRecipes::load(store, scope, name);
  if (!recipes) return std::move(recipes).error();
  const ReadableRevisions readable = recipes->of(name, *owner);
  if (!readable.any()) return base::Error(base::ErrorCode::not_found, "there is no recipe '" + name + "'");
  const auto sees = [&](const domain::Revision& each) -> base::Result<bool> {
    const bool is_newest = readable.newest && each.revision == newest->revision;
    return readable.all || is_newest || readable.numbers.contains(each.revision);
  };
  auto revisions = read_visible<domain::Revision>(
      scope, page, [&](const domain::PageRequest& part) { return store.list_revisions(name, part); },
      [&](std::vector<domain::Revision> rows) { return only(std::move(rows), sees); },
      [](const domain::Revision& each) { return std::to_string(each.revision); });
  if (!revisions) return std::move(revisions).error();
  return Shown{std::move(*revisions), std::move(*owner)};
}

Task<HttpResponse> show(Context& context, const Call& call) {
  const auto page = visible_page_of(context, call);
  if (const auto* refused = std::get_if<HttpResponse>(&page)) co_return *refused;
  auto reading = context.store.read(
      call.caller.token_id,
      [name = call.captured[0], wanted = std::get<domain::PageRequest>(page),
       scope = call.caller.scope](store::Store& store) { return show_seen(store, scope, name, wanted); });
  const auto shown = co_await std::move(reading);
  if (!shown) co_return problem_of(shown.error());
  base::JsonText json;
  json.begin_object().member("name", call.captured[0]);
  add_owner(json, shown->owner);
  json.key("revisions").begin_list();
  for (const domain::Revision& revision : shown->revisions.items) {
    begin_revision(json, revision, domain::owns(call.caller.scope, shown->owner));
    json.end_object();
  }
  json.end_list().key("next");
  if (const std::string next = next_for(context, call, shown->revisions.next); next.empty())
    json.null();
  else
    json.value(next);
  co_return json_reply(kOk, json.end_object());
}

Task<HttpResponse> show_revision(Context& context, const Call& call) {
  const auto number = base::parse_integer(call.captured[1]);
  if (!number || *number < 1) co_return problem(kNotFound, "revisions are numbers from 1");
  auto reading = context.store.read(
      call.caller.token_id, [name = call.captured[0], wanted = *number, scope = call.caller.scope](
                                store::Store& store) { return find_readable(store, scope, name, wanted); });
  const auto revision = co_await std::move(reading);
  if (!revision) {
    if (call.caller.scope && revision.error().code() == base::ErrorCode::not_found) {
      auto refusing = note_refusal(context, call, call.http, "answered 404");
      co_await std::move(refusing);
    }
    co_return problem_of(revision.error());
  }
  auto noting = note_read(context, call, revision->name, revision->revision, {});
  const auto noted = co_await std::move(noting);
  if (!noted) co_return problem_of(noted.error());
  base::JsonText json;
  begin_revision(json, *revision, !call.caller.scope);
  json.member("name", revision->name).member("content", revision->content);
  HttpResponse response = json_reply(kOk, json.end_object());
  response.headers.push_back({"Cache-Control", "no-store"});  // it may hold secrets
  co_return response;
}

// Another owner: a scope, or null for tokens without one.
Task<HttpResponse> set_owner(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  Fields fields(std::get<JsonBody>(body).root());
  if (!std::get<JsonBody>(body).root().find("owner")) fields.complain("owner", "is missing");
  std::string owner = fields.text_or("owner", "");
  if (!owner.empty()) {
    auto scope = domain::Selector::parse(owner);
    if (scope)
      owner = scope->text();
    else
      fields.complain("owner", scope.error().message());
  }
  if (auto refused = fields.problems()) co_return std::move(*refused);
  auto writing = context.store.write(
      [name = call.captured[0], owner, actor = call.actor](store::Store& store) -> base::Result<void> {
        if (auto known = store.find_revision_row(name, std::nullopt); !known) return std::move(known).error();
        auto present = store.recipe_owner(name);
        if (!present) return std::move(present).error();
        if (*present == owner) return {};
        if (auto set = store.set_recipe_owner(name, owner); !set) return set;
        return audit(store, actor, "recipe.owner", name, owner.empty() ? "without a scope" : owner);
      });
  const auto done = co_await std::move(writing);
  if (!done) co_return problem_of(done.error());
  base::JsonText json;
  json.begin_object().member("name", call.captured[0]);
  add_owner(json, owner);
  co_return json_reply(kOk, json.end_object());
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
    {.method = "PUT",
     .pattern = "/recipes/{name}/owner",
     .summary = "Hand a recipe to another scope",
     .role = Role::admin,
     .body = Body::json,
     .handler = set_owner,
     .reach = Reach::everything},
};

}  // namespace

}  // namespace recipes_resource

std::span<const Route> recipe_routes() {
  return recipes_resource::kRoutes;
}

}  // namespace backend::api
