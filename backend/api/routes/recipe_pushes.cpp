// Pushing recipes, and going back to an earlier revision.
#include <algorithm>
#include <iterator>
#include <ranges>

#include "backend/api/changes/recipe_changes.hpp"
#include "backend/api/context.hpp"
#include "backend/api/fields.hpp"
#include "backend/api/names.hpp"
#include "backend/api/routes/recipe_checks.hpp"
#include "backend/api/routes/recipe_json.hpp"
#include "backend/api/routes/visible_pages.hpp"
#include "backend/store/inventory/recipes.hpp"

namespace backend::api {

namespace recipe_pushes_resource {

namespace {

// Assignments of the recipe that stay with an earlier revision, as the caller may know them.
base::Result<std::vector<domain::Assignment>> find_pinned(store::Store& store, const Scope& scope,
                                                          const std::string& recipe, std::int64_t newest) {
  std::vector<domain::Assignment> pinned;
  domain::PageRequest page{.limit = domain::kLargestPage};
  do {
    auto some = store.list_assignments("", page);
    if (!some) return std::move(some).error();
    std::ranges::copy_if(some->items, std::back_inserter(pinned), [&](const domain::Assignment& each) {
      return each.recipe == recipe && each.revision && *each.revision < newest;
    });
    page.after = std::move(some->next);
  } while (!page.after.empty());
  return only_visible(store, scope, std::move(pinned), [](const domain::Assignment& each) {
    return MachineSet{each.app_id, each.selector};
  });
}

void add_pinned(base::JsonText& json, const std::vector<domain::Assignment>& pinned) {
  constexpr std::size_t kMostNamed = 20;
  json.member("pinned", pinned.size()).key("pinned_assignments").begin_list();
  for (const domain::Assignment& each : pinned | std::views::take(kMostNamed))
    json.begin_object()
        .member("id", each.id)
        .member("app_id", each.app_id)
        .member("selector", each.selector)
        .member("revision", *each.revision)
        .end_object();
  json.end_list();
}

// What is to become the newest revision.
struct Upload {
  std::string name, content, confirmed_owner, message;
  std::string action = "recipe.push";
  std::string why = {};                  // in the audit
  std::optional<std::int64_t> expected;  // the newest revision that the caller has seen
  rollouts::ChangeTerms terms = {};
  std::string app = {};              // whose modules it uses, if it names none; "": of those that follow it
  domain::ModuleSource pinned = {};  // of the revision that it goes back to
};

struct Uploaded {
  PushedRecipe pushed;
  ChangeEffect effect;
};

base::Result<Uploaded> store_upload(store::Store& store, const Scope& scope, const Actor& actor,
                                    const RecipePush& push, std::optional<std::int64_t> expected,
                                    const rollouts::ChangeTerms& terms, const domain::RecipeQuota& quota) {
  if (expected) {
    auto newest = store.find_revision_row(push.revision.name, std::nullopt);
    if (!newest) return std::move(newest).error();
    if (newest->revision != *expected)
      return base::Error(base::ErrorCode::exists, "somebody has pushed revision " +
                                                      std::to_string(newest->revision) +
                                                      " in the meantime: look again, then try again");
  }
  auto pushed = push_recipe(store, scope, actor, push, quota);
  if (!pushed) return std::move(pushed).error();
  if (!pushed->put.is_new) return Uploaded{std::move(*pushed), {}};
  auto effect = place_followers(store, scope, actor, pushed->put.revision, terms);
  if (!effect) return std::move(effect).error();
  return Uploaded{std::move(*pushed), std::move(*effect)};
}

// Checks it as agents do, stores it, and gives it to all who follow the recipe.
Task<HttpResponse> upload(Context& context, const Call& call, Upload wanted) {
  const std::string maker = call.caller.scope ? call.caller.scope->text() : "";
  // Before the recipe is looked at, which takes longer than all of this.
  auto asking = context.store.read(
      call.caller.token_id,
      [wanted, maker, scope = call.caller.scope,
       quota = context.recipe_quota](store::Store& store) -> base::Result<RecipeToCheck> {
        if (auto own = check_push(store, scope, wanted.name, wanted.confirmed_owner); !own)
          return std::move(own).error();
        if (auto room = store::check_quota(store, wanted.name, maker, wanted.content.size(), quota); !room)
          return std::move(room).error();
        RecipeToCheck check{.content = wanted.content, .pinned = wanted.pinned};
        if (auto found = find_modules(store, scope, wanted.name, wanted.app, check); !found)
          return std::move(found).error();
        return check;
      });
  auto allowed = co_await std::move(asking);
  if (!allowed) co_return problem_of(allowed.error());
  auto checking = check_content(context, call.caller.token_id, std::move(*allowed));
  auto done = co_await std::move(checking);
  if (!done) co_return problem_of(done.error());
  domain::CheckedRecipe* const checked = &done->recipe;
  if (!checked->problems.empty())
    co_return problem(kUnprocessable,
                      "the recipe has " + std::to_string(checked->problems.size()) +
                          (checked->problems.size() == 1 ? " problem" : " problems"),
                      items_of(checked->problems));

  RecipePush push{.revision = {.name = wanted.name,
                               .content = std::move(wanted.content),
                               .syntax = checked->syntax,
                               .digest = checked->digest,
                               .states = std::move(checked->states),
                               .state_count = checked->state_count,
                               .owner = maker,
                               .author = call.actor.name,
                               .message = wanted.message,
                               .module = done->module,
                               .unchecked = done->unchecked,
                               .inputs = std::move(checked->inputs)},
                  .confirmed_owner = wanted.confirmed_owner,
                  .action = wanted.action,
                  .why = wanted.why};
  auto writing =
      context.store.write([push = std::move(push), expected = wanted.expected, terms = wanted.terms,
                           actor = call.actor, scope = call.caller.scope,
                           quota = context.recipe_quota](store::Store& store) -> base::Result<Uploaded> {
        return store_upload(store, scope, actor, push, expected, terms, quota);
      });
  const auto uploaded = co_await std::move(writing);
  if (!uploaded) co_return problem_of(uploaded.error());
  context.fleet.deliver(uploaded->effect.delivery);
  for (const domain::Rollout& rollout : uploaded->effect.rollouts)
    context.rollouts.publish(rollout);
  if (!uploaded->effect.rollouts.empty()) context.rollouts.wake();
  const domain::Revision& stored = uploaded->pushed.put.revision;
  auto looking = context.store.read(
      call.caller.token_id, [name = stored.name, newest = stored.revision, scope = call.caller.scope](
                                store::Store& store) { return find_pinned(store, scope, name, newest); });
  const auto pinned = co_await std::move(looking);

  base::JsonText json;
  begin_revision(json, stored, true);
  json.member("name", stored.name).member("affected", uploaded->effect.affected);
  add_owner(json, uploaded->pushed.owner);
  add_rejected(json, uploaded->effect.rejected);
  add_rollouts(json, uploaded->effect.rollouts);
  if (pinned) add_pinned(json, *pinned);  // it is pushed in any case
  json.key("warnings").begin_list();
  for (const recipe::Problem& warning : checked->warnings)
    json.value(recipe::describe(warning, stored.name));
  json.end_list();
  HttpResponse response = json_reply(uploaded->pushed.put.is_new ? kCreated : kOk, json.end_object());
  response.headers.push_back({"Location", std::string(kPrefix) + "/recipes/" +
                                              transport::percent_encode(stored.name) + "/revisions/" +
                                              std::to_string(stored.revision)});
  co_return response;
}

Task<HttpResponse> push(Context& context, const Call& call) {
  Upload wanted{.name = call.captured[0],
                .content = call.http.body,
                .confirmed_owner = std::string(call.http.parameter("owner")),
                .message = std::string(call.http.parameter("message")),
                .app = std::string(call.http.parameter("app"))};
  Fields fields{base::Value()};
  check_name(fields, "name", wanted.name);
  if (!wanted.app.empty()) check_name(fields, "app", wanted.app);
  check_message(fields, wanted.message);
  wanted.terms = terms_of_query(fields, call);
  if (auto refused = fields.problems()) co_return std::move(*refused);
  auto uploading = upload(context, call, std::move(wanted));
  co_return co_await std::move(uploading);
}

struct EarlierRevision {
  domain::Revision revision;
  std::int64_t newest = 0;
};

// Where machines are that have not got the newest revision yet, because it is being rolled out; nothing: it
// is everybody's.
base::Result<std::optional<std::int64_t>> find_start(store::Store& store, const std::string& name,
                                                     std::int64_t newest) {
  std::optional<std::int64_t> start;
  auto apps = store.apps_that_follow(name);
  if (!apps) return std::move(apps).error();
  for (const std::string& app : *apps) {
    auto held = rollouts::find_held(store, app, {.recipe = name});
    if (!held) return std::move(held).error();
    if (!*held || (*held)->change.to_revision != newest) continue;
    const std::int64_t from = (*held)->change.from_revision;
    if (start && *start != from)
      return base::Error(base::ErrorCode::unsupported,
                         "apps have come to this revision from different ones, " + std::to_string(*start) +
                             " and " + std::to_string(from) + ": say which one with --to");
    start = from;
  }
  return start;
}

// `to` nothing: the one before the newest, or from where the newest is being rolled out.
base::Result<EarlierRevision> find_earlier(store::Store& store, const Scope& scope, const std::string& name,
                                           const std::string& confirmed, std::optional<std::int64_t> to) {
  auto newest = store.find_revision_row(name, std::nullopt);
  if (!newest) return std::move(newest).error();
  if (auto own = check_push(store, scope, name, confirmed); !own) return std::move(own).error();
  if (!to && newest->revision == 1)
    return base::Error(base::ErrorCode::unsupported,
                       "the recipe '" + name + "' has one revision only: there is nothing to go back to");
  auto start = to ? base::Result<std::optional<std::int64_t>>(std::optional<std::int64_t>())
                  : find_start(store, name, newest->revision);
  if (!start) return std::move(start).error();
  auto earlier = store.find_revision(name, to.value_or(start->value_or(newest->revision - 1)));
  if (!earlier) return std::move(earlier).error();
  return EarlierRevision{std::move(*earlier), newest->revision};
}

// A revision from before, once more: as a push of its content.
Task<HttpResponse> roll_back(Context& context, const Call& call) {
  const auto body = JsonBody::read(call.http.body.empty() ? std::string_view("{}") : call.http.body);
  if (const auto* refused = std::get_if<HttpResponse>(&body)) co_return *refused;
  constexpr std::int64_t kLargest = 1'000'000'000;
  Fields fields(std::get<JsonBody>(body).root());
  const auto to = fields.integer("to", 1, kLargest);
  Upload wanted{.name = call.captured[0],
                .content = {},
                .confirmed_owner = fields.text_or("owner", ""),
                .message = fields.text_or("message", ""),
                .action = "recipe.rollback"};
  check_message(fields, wanted.message);
  wanted.terms = read_change_terms(fields, fields.value("rollout"), call.caller.scope);
  wanted.terms.supersedes = true;
  if (auto refused = fields.problems()) co_return std::move(*refused);
  auto reading =
      context.store.read(call.caller.token_id, [name = wanted.name, confirmed = wanted.confirmed_owner, to,
                                                scope = call.caller.scope](store::Store& store) {
        return find_earlier(store, scope, name, confirmed, to);
      });
  auto earlier = co_await std::move(reading);
  if (!earlier) co_return problem_of(earlier.error());
  const std::string number = std::to_string(earlier->revision.revision);
  wanted.content = std::move(earlier->revision.content);
  wanted.pinned = earlier->revision.module;
  wanted.why = "back to revision " + number;
  wanted.expected = earlier->newest;
  if (wanted.message.empty()) wanted.message = wanted.why;
  auto uploading = upload(context, call, std::move(wanted));
  co_return co_await std::move(uploading);
}

constexpr Route kRoutes[] = {
    {.method = "POST",
     .pattern = "/recipes/{name}/revisions",
     .summary = "Upload a recipe; instances that follow the newest get it",
     .role = Role::operator_,
     .body = Body::recipe,
     .handler = push,
     .queries = "app owner message rollout"},
    {.method = "POST",
     .pattern = "/recipes/{name}/rollback",
     .summary = "Make an earlier revision the newest; instances that follow the newest get it",
     .role = Role::operator_,
     .body = Body::json,
     .handler = roll_back},
};

}  // namespace

}  // namespace recipe_pushes_resource

std::span<const Route> recipe_push_routes() {
  return recipe_pushes_resource::kRoutes;
}

}  // namespace backend::api
