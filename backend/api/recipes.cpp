#include "backend/store/recipes.hpp"

#include "backend/api/access.hpp"
#include "backend/api/changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/api/reads.hpp"
#include "backend/api/visible_pages.hpp"
#include "backend/domain/ownership.hpp"
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
  co_return list_reply(*recipes, [](base::JsonText& json, const domain::RecipeSummary& recipe) {
    json.begin_object().member("name", recipe.name).member("newest", recipe.newest);
    json.member("digest", recipe.digest).member("states", recipe.state_count);
    domain::add_instant(json, "created", recipe.created);
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
    begin_revision(json, revision);
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
  begin_revision(json, *revision);
  json.member("name", revision->name).member("content", revision->content);
  HttpResponse response = json_reply(kOk, json.end_object());
  response.headers.push_back({"Cache-Control", "no-store"});  // it may hold secrets
  co_return response;
}

// All apps with an assignment that follows the recipe get it, or none.
base::Result<fleet::Delivery> place_followers(store::Store& store, const std::string& recipe) {
  auto apps = store.apps_that_follow(recipe);
  if (!apps) return std::move(apps).error();
  fleet::Placed all;
  for (const std::string& app : *apps) {
    auto placed = fleet::place_app(store, app, {.assignment = {}, .recipe = recipe});
    if (!placed) return as_conflict(std::move(placed).error());
    all.matched += placed->matched;
    all.changed.insert(all.changed.end(), std::make_move_iterator(placed->changed.begin()),
                       std::make_move_iterator(placed->changed.end()));
    std::ranges::move(placed->rejected, std::back_inserter(all.rejected));
  }
  return fleet::prepare_delivery(store, std::move(all));
}

// Whose the recipe is that is about to be pushed, if the caller may. Who owns a recipe reads all of it: of
// one that is not the caller's very own, `confirmed` has to say whose it is. Somebody else may have made it
// before, and waits for what is pushed into it.
base::Result<std::string> check_owner(store::Store& store, const Scope& scope, const std::string& recipe,
                                      const std::string& confirmed) {
  const std::string own = scope ? scope->text() : "";
  std::string owner = own;
  if (auto known = store.find_revision_row(recipe, std::nullopt)) {
    auto present = store.recipe_owner(recipe);
    if (!present) return present;
    owner = std::move(*present);
  } else if (known.error().code() != base::ErrorCode::not_found) {
    return std::move(known).error();
  }
  if (owner != own && !domain::owns(scope, owner))
    return base::Error(base::ErrorCode::permission,
                       "the recipe '" + recipe + "' belongs to others: push it under another name");
  if (owner == (confirmed.empty() ? own : confirmed)) return owner;
  return base::Error(
      base::ErrorCode::exists,
      "the recipe '" + recipe + "' belongs to " + domain::describe_owner(owner) +
          (owner.empty() ? ": push it without an owner"
                         : ", whose tokens read every revision of it: push it under another "
                           "name, take it over first ('opsctl recipe owner'), or confirm whose "
                           "it is: --owner '" +
                               owner + "' (owner=… in the query)"));
}

struct Pushed {
  domain::PutRevision put;
  std::string owner;
  fleet::Delivery delivery;
};

Task<HttpResponse> push(Context& context, const Call& call) {
  const std::string name = call.captured[0];
  Fields fields{base::Value()};
  check_name(fields, "name", name);
  if (auto refused = fields.problems()) co_return std::move(*refused);
  const std::string maker = call.caller.scope ? call.caller.scope->text() : "";
  const std::string confirmed(call.http.parameter("owner"));
  // Before the recipe is looked at, which takes longer than all of this.
  auto asking =
      context.store.read(call.caller.token_id,
                         [name, maker, confirmed, scope = call.caller.scope, bytes = call.http.body.size(),
                          quota = context.recipe_quota](store::Store& store) -> base::Result<void> {
                           if (auto own = check_owner(store, scope, name, confirmed); !own)
                             return std::move(own).error();
                           if (auto own = check_followers(store, scope, name); !own) return own;
                           return store::check_quota(store, name, maker, bytes, quota);
                         });
  const auto allowed = co_await std::move(asking);
  if (!allowed) co_return problem_of(allowed.error());
  auto checking = context.store.work(call.caller.token_id,
                                     [content = call.http.body]() -> base::Result<domain::CheckedRecipe> {
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
                               .state_count = checked->state_count,
                               .owner = maker};
  auto writing = context.store.write(
      [revision = std::move(revision), actor = call.actor, confirmed, scope = call.caller.scope,
       quota = context.recipe_quota](store::Store& store) -> base::Result<Pushed> {
        auto owner = check_owner(store, scope, revision.name, confirmed);
        if (!owner) return std::move(owner).error();
        if (auto own = check_followers(store, scope, revision.name); !own) return std::move(own).error();
        auto put = store::put_revision(store, revision, domain::now_millis(), quota);
        if (!put) return std::move(put).error();
        if (!put->is_new) return Pushed{std::move(*put), std::move(*owner), {}};
        auto delivery = place_followers(store, revision.name);
        if (!delivery) return std::move(delivery).error();
        auto noted = audit(store, actor, "recipe.push", revision.name,
                           "revision " + std::to_string(put->revision.revision) + " " + revision.digest);
        if (!noted) return std::move(noted).error();
        return Pushed{std::move(*put), std::move(*owner), std::move(*delivery)};
      });
  const auto pushed = co_await std::move(writing);
  if (!pushed) co_return problem_of(pushed.error());
  context.fleet.deliver(pushed->delivery);

  const domain::Revision& stored = pushed->put.revision;
  base::JsonText json;
  begin_revision(json, stored);
  json.member("name", stored.name).member("affected", pushed->delivery.changed.size());
  add_owner(json, pushed->owner);
  add_rejected(json, pushed->delivery);
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
    {.method = "POST",
     .pattern = "/recipes/{name}/revisions",
     .summary = "Upload a recipe; instances that follow the newest get it",
     .role = Role::operator_,
     .body = Body::recipe,
     .handler = push,
     .queries = "owner"},
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
