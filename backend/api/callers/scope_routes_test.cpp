// Every route with a token without a scope and with three that have one, each with something inside of the
// scope and something outside. A route without a row here fails the test.
#include <functional>
#include <set>
#include <thread>

#include "backend/api/route.hpp"
#include "tests/support/live_backend.hpp"
#include "tests/support/operators.hpp"
#include "tests/support/scratch_folder.hpp"

using tests::call_as;
using tests::JsonView;
using tests::LiveBackend;
using tests::make_token;
using tests::TestAgent;
using namespace std::chrono_literals;

namespace {

enum class Side { inside, outside };

constexpr const char* kScope = "role=web";
constexpr const char* kSecret = "hunter2-";

std::string state(const std::string& id, const std::string& comment) {
  return R"({"id":")" + id + R"(","module":"meta.comment","parameter":{"comment":")" + comment + "\"}}";
}

// A backend, and what is made on it for each call: nothing is used twice.
class World {
 public:
  explicit World(const std::string& data)
      : backend(data),
        viewer(make_token(backend, "viewer", "viewer", kScope)),
        operator_(make_token(backend, "operator", "operator", kScope)),
        admin(make_token(backend, "admin-of-web", "admin", kScope)) {
    must(backend.call("PUT", "/apps/elsewhere", "{}"));
    TestAgent far("far", "elsewhere");
    far.connect(backend);
  }

  // A machine that was here once and has reported; its tag is the operator's.
  std::string machine(Side side) {
    const std::string name = next(side == Side::inside ? "web" : "db");
    {
      TestAgent agent(name);
      agent.connect(backend);
      must(backend.call("PATCH", "/instances/default/" + name,
                        side == Side::inside ? R"({"tags":{"role":"web"}})" : R"({"tags":{"role":"db"}})"));
      agent.report(1, "s", 1);
      REQUIRE(agent.acked(1));
    }
    for (int i = 0; i < 1000; ++i) {
      if (!JsonView(backend.call("GET", "/instances/default/" + name).body)
               .at("online")
               .as_bool()
               .value_or(true))
        return name;
      std::this_thread::sleep_for(10ms);
    }
    FAIL("it is still connected");
    return name;
  }
  // A recipe of tokens without a scope, which only that side's machines get; it holds a secret.
  std::string placed_recipe(Side side) {
    const std::string name = next("placed");
    backend.push(name, "[" + state(name, kSecret + name) + "]");
    backend.assign(name, "instance=" + machine(side));
    return name;
  }
  // One that belongs to the side: to the scope, or to those without one.
  std::string own_recipe(Side side) {
    const std::string name = next("own");
    must(call_as(backend, side == Side::inside ? operator_ : backend.token(), "POST",
                 "/recipes/" + name + "/revisions", R"({"states":[)" + state(name, kSecret + name) + "]}"));
    return name;
  }
  // An assignment of the side's own.
  std::string assignment(Side side) {
    const std::string recipe = own_recipe(side);
    const std::string name = machine(side);
    const auto made = call_as(backend, side == Side::inside ? operator_ : backend.token(), "POST",
                              "/assignments", body_of_assignment(recipe, name));
    must(made);
    return JsonView(made.body).text("recipe") == recipe ? std::to_string(JsonView(made.body).number("id"))
                                                        : "";
  }
  // A machine with a variable that somebody without a scope has set, which has its name in it.
  std::string variables(Side side) {
    const std::string name = machine(side);
    const auto made = backend.call(
        "POST", "/variables", R"({"instance_id":")" + name + R"(","set":{"a":")" + kSecret + name + "\"}}");
    must(made);
    last_variables_ = std::to_string(JsonView(made.body).number("id"));
    return name;
  }
  std::string last_variables() const { return last_variables_; }
  std::string rollout(Side side, bool paused = false) {
    const auto made = call_as(backend, side == Side::inside ? admin : backend.token(), "POST", "/rollouts",
                              R"({"version":"9.9.9","selector":"instance=)" + machine(side) + "\"}");
    must(made);
    const std::string id = JsonView(made.body).text("id");
    if (paused) must(backend.call("POST", "/rollouts/" + id + "/pause"));
    return id;
  }
  static std::string body_of_assignment(const std::string& recipe, const std::string& machine) {
    return R"({"recipe":")" + recipe + R"(","selector":"instance=)" + machine + "\"}";
  }
  std::string next(const std::string& prefix) { return prefix + "-" + std::to_string(++number_); }
  static void must(const transport::HttpReply& reply) { REQUIRE_MESSAGE(reply.status < 300, reply.body); }

  LiveBackend backend;
  const std::string viewer, operator_, admin;

 private:
  int number_ = 0;
  std::string last_variables_;
};

struct Made {
  std::string target;
  std::string body = {};
  std::string needle = {};  // what a good answer has of the thing, if the caller may know of it
};

struct Statuses {
  unsigned inside, outside;
};

struct Row {
  std::string route;
  std::function<Made(World&, Side)> make;
  Statuses viewer, operator_, admin, root;
};

constexpr Statuses kFine{200, 200}, kHidden{200, 404}, kNo{403, 403};

std::string machine_path(World& world, Side side) {
  return "/instances/default/" + world.machine(side);
}
std::string selector_body(const std::string& machine, const std::string& more) {
  return R"({"selector":"instance=)" + machine + "\"" + more + "}";
}

// The backend looks at no repository (422), and says so to those alone who may know of the app or the recipe.
constexpr Statuses kNotLooked{422, 422}, kNotLookedOrHidden{422, 404};
constexpr const char* kModule = R"({"repo":"https://git.example.com/m","tag":"v1"})";

Made modules_of_app(World& world, Side side, const std::string& below) {
  world.machine(Side::inside);
  const std::string app = side == Side::inside ? "/apps/default" : "/apps/elsewhere";
  World::must(world.backend.call("PUT", app, std::string(R"({"module":)") + kModule + "}"));
  return {app + "/modules" + below};
}
Made modules_of_recipe(World& world, Side side, const std::string& below) {
  const std::string name = world.placed_recipe(side);
  World::must(world.backend.call(
      "POST", "/recipes/" + name + "/revisions",
      std::string(R"({"module":)") + kModule + R"(,"states":[)" + state(name, "with modules") + "]}"));
  return {"/recipes/" + name + "/modules" + below};
}

// Lists: both kinds of thing are there, and the needle is that of the side.
Made listed(const std::string& target, std::string needle) {
  return {.target = target, .needle = std::move(needle)};
}

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows{
      {"GET /openapi.json", [](World&, Side) { return Made{"/openapi.json"}; }, kFine, kFine, kFine, kFine},
      {"GET /apps",
       [](World& world, Side side) {
         world.machine(Side::inside);
         return listed("/apps?limit=1000", side == Side::inside ? R"("default")" : "elsewhere");
       },
       kFine, kFine, kFine, kFine},
      {"GET /apps/{app}",
       [](World& world, Side side) {
         world.machine(Side::inside);
         return Made{side == Side::inside ? "/apps/default" : "/apps/elsewhere"};
       },
       kHidden, kHidden, kHidden, kFine},
      {"GET /apps/{app}/self-reported",
       [](World&, Side side) {
         return Made{side == Side::inside ? "/apps/default/self-reported" : "/apps/elsewhere/self-reported"};
       },
       kNo, kNo, kNo, kFine},
      {"GET /apps/{app}/modules", [](World& world, Side side) { return modules_of_app(world, side, ""); },
       kNotLookedOrHidden, kNotLookedOrHidden, kNotLookedOrHidden, kNotLooked},
      {"GET /apps/{app}/modules/{module}",
       [](World& world, Side side) { return modules_of_app(world, side, "/acme.motd"); }, kNotLookedOrHidden,
       kNotLookedOrHidden, kNotLookedOrHidden, kNotLooked},
      {"PUT /apps/{app}",
       [](World&, Side side) {
         return Made{side == Side::inside ? "/apps/default" : "/apps/elsewhere", "{}"};
       },
       kNo, kNo, kNo, kFine},
      {"GET /instances",
       [](World& world, Side side) {
         return listed("/instances?limit=1000", "\"" + world.machine(side) + "\"");
       },
       kFine, kFine, kFine, kFine},
      {"GET /instances/{app}/{id}", [](World& world, Side side) { return Made{machine_path(world, side)}; },
       kHidden, kHidden, kHidden, kFine},
      {"PATCH /instances/{app}/{id}",
       [](World& world, Side side) {
         return Made{machine_path(world, side), R"({"tags":{"x":"y"}})"};
       },
       kNo, kHidden, kHidden, kFine},
      {"DELETE /instances/{app}/{id}",
       [](World& world, Side side) { return Made{machine_path(world, side)}; },
       kNo,
       kNo,
       {204, 404},
       {204, 204}},
      {"POST /instances/{app}/{id}/revoke",
       [](World& world, Side side) {
         return Made{machine_path(world, side) + "/revoke", "{}"};
       },
       kNo, kHidden, kHidden, kFine},
      // It does not wait to be let in; who may not know of it does not learn that either.
      {"POST /instances/{app}/{id}/approve",
       [](World& world, Side side) {
         return Made{machine_path(world, side) + "/approve", "{}"};
       },
       kNo,
       {409, 404},
       {409, 404},
       {409, 409}},
      {"POST /instances/{app}/{id}/expect",
       [](World& world, Side) {
         return Made{"/instances/default/" + world.next("expected") + "/expect",
                     R"({"token_hash":")" + std::string(64, 'a') + "\"}"};
       },
       kNo, kNo, kNo, kFine},
      {"POST /instances/{app}/{id}/exclude",
       [](World& world, Side side) {
         return Made{machine_path(world, side) + "/exclude", "{}"};
       },
       kNo, kHidden, kHidden, kFine},
      {"POST /instances/{app}/{id}/include",
       [](World& world, Side side) {
         return Made{machine_path(world, side) + "/include", "{}"};
       },
       kNo, kHidden, kHidden, kFine},
      {"GET /recipes",
       [](World& world, Side side) {
         return listed("/recipes?limit=1000", "\"" + world.placed_recipe(side) + "\"");
       },
       kFine, kFine, kFine, kFine},
      {"GET /recipes/{name}",
       [](World& world, Side side) { return Made{"/recipes/" + world.placed_recipe(side)}; }, kHidden,
       kHidden, kHidden, kFine},
      {"GET /recipes/{name}/modules",
       [](World& world, Side side) { return modules_of_recipe(world, side, ""); }, kNotLookedOrHidden,
       kNotLookedOrHidden, kNotLookedOrHidden, kNotLooked},
      {"GET /recipes/{name}/modules/{module}",
       [](World& world, Side side) { return modules_of_recipe(world, side, "/acme.motd"); },
       kNotLookedOrHidden, kNotLookedOrHidden, kNotLookedOrHidden, kNotLooked},
      {"GET /recipes/{name}/revisions/{revision}",
       [](World& world, Side side) {
         const std::string name = world.placed_recipe(side);
         return Made{"/recipes/" + name + "/revisions/1", "", kSecret + name};
       },
       kHidden, kHidden, kHidden, kFine},
      {"POST /recipes/{name}/revisions",
       [](World& world, Side side) {
         return Made{"/recipes/" + world.own_recipe(side) + "/revisions",
                     R"({"states":[)" + state("other", "x") + "]}"};
       },
       kNo,
       {201, 403},
       {201, 403},
       {409, 201}},  // whose it is was not confirmed
      {"POST /recipes/{name}/rollback",
       [](World& world, Side side) {
         return Made{"/recipes/" + world.own_recipe(side) + "/rollback", R"({"to":1})"};
       },
       kNo,
       {200, 403},  // it is the newest
       {200, 403},
       {409, 200}},  // whose it is was not confirmed
      {"PUT /recipes/{name}/owner",
       [](World& world, Side side) {
         return Made{"/recipes/" + world.own_recipe(side) + "/owner", R"({"owner":"role=web"})"};
       },
       kNo, kNo, kNo, kFine},
      {"GET /assignments",
       [](World& world, Side side) {
         return listed("/assignments?limit=1000", R"("recipe":")" + world.placed_recipe(side) + "\"");
       },
       kFine, kFine, kFine, kFine},
      {"POST /assignments",
       [](World& world, Side side) {
         const std::string recipe = world.own_recipe(side);
         return Made{"/assignments", World::body_of_assignment(recipe, world.machine(side))};
       },
       kNo,
       {201, 422},
       {201, 422},
       {201, 201}},
      {"POST /apply",
       [](World& world, Side side) {
         return Made{"/apply", R"({"set":"s","items":[{"kind":"assignment","recipe":")" +
                                   world.own_recipe(side) + R"(","selector":"instance=)" +
                                   world.machine(side) + "\"}]}"};
       },
       kNo,
       {200, 422},
       {200, 422},
       {200, 200}},
      {"GET /assignments/{id}",
       [](World& world, Side side) { return Made{"/assignments/" + world.assignment(side)}; }, kHidden,
       kHidden, kHidden, kFine},
      {"PUT /assignments/{id}",
       [](World& world, Side side) {
         const std::string recipe = world.own_recipe(Side::inside);
         return Made{"/assignments/" + world.assignment(side), World::body_of_assignment(recipe, "web-0")};
       },
       kNo, kHidden, kHidden, kFine},
      {"DELETE /assignments/{id}",
       [](World& world, Side side) { return Made{"/assignments/" + world.assignment(side)}; }, kNo, kHidden,
       kHidden, kFine},
      {"GET /variables",
       [](World& world, Side side) {
         return listed("/variables?limit=1000", kSecret + world.variables(side));
       },
       kFine, kFine, kFine, kFine},
      {"POST /variables",
       [](World& world, Side side) {
         return Made{"/variables", R"({"set":{"a":1},"instance_id":")" + world.machine(side) + "\"}"};
       },
       kNo,
       {200, 422},
       {200, 422},
       kFine},
      {"GET /variables/history",
       [](World& world, Side side) {
         return listed("/variables/history?limit=1000", kSecret + world.variables(side));
       },
       kFine, kFine, kFine, kFine},
      {"GET /variables/{id}",
       [](World& world, Side side) {
         const std::string name = world.variables(side);
         return Made{"/variables/" + world.last_variables(), "", kSecret + name};
       },
       kHidden, kHidden, kHidden, kFine},
      {"GET /instances/{app}/{id}/variables",
       [](World& world, Side side) {
         const std::string name = world.variables(side);
         return Made{"/instances/default/" + name + "/variables", "", kSecret + name};
       },
       kHidden, kHidden, kHidden, kFine},
      {"GET /recipes/{name}/variables",
       [](World& world, Side side) { return Made{"/recipes/" + world.placed_recipe(side) + "/variables"}; },
       kHidden, kHidden, kHidden, kFine},
      {"POST /plan",
       [](World& world, Side side) {
         const std::string name = world.machine(side);
         return Made{"/plan", selector_body(name, ""), "\"" + name + "\""};
       },
       kNo, kFine, kFine, kFine},
      {"POST /run",
       [](World& world, Side side) {
         const std::string name = world.machine(side);
         return Made{"/run", selector_body(name, R"(,"state":)" + state("s", "x")), "\"" + name + "\""};
       },
       kNo, kFine, kFine, kFine},
      {"POST /runs/{run_id}/cancel",
       [](World& world, Side side) {
         return Made{
             "/runs/some/cancel",
             selector_body(world.machine(side), side == Side::inside ? "" : R"(,"app_id":"elsewhere")")};
       },
       kNo, kHidden, kHidden, kFine},
      {"POST /pause",
       [](World& world, Side side) {
         const std::string name = world.machine(side);
         return Made{"/pause", selector_body(name, R"(,"for_s":60)"), "\"" + name + "\""};
       },
       kNo, kFine, kFine, kFine},
      {"POST /resume",
       [](World& world, Side side) {
         const std::string name = world.machine(side);
         return Made{"/resume", selector_body(name, ""), "\"" + name + "\""};
       },
       kNo, kFine, kFine, kFine},
      {"POST /run-now",
       [](World& world, Side side) {
         const std::string name = world.machine(side);
         return Made{"/run-now", selector_body(name, ""), "\"" + name + "\""};
       },
       kNo, kFine, kFine, kFine},
      {"POST /query",
       [](World& world, Side side) {
         return Made{"/query", R"({"kind":"facts","instance_id":")" + world.machine(side) + "\"}"};
       },
       kNo,
       {409, 404},
       {409, 404},
       {409, 409}},  // it is not connected
      {"POST /settings",
       [](World& world, Side side) {
         const std::string name = world.machine(side);
         return Made{"/settings", selector_body(name, R"(,"settings":{"heartbeat_s":60})"),
                     "\"" + name + "\""};
       },
       kNo, kNo, kFine, kFine},
      {"GET /rollouts",
       [](World& world, Side side) { return listed("/rollouts?limit=1000", world.rollout(side)); }, kFine,
       kFine, kFine, kFine},
      {"POST /rollouts",
       [](World& world, Side side) {
         return Made{"/rollouts", selector_body(world.machine(side), R"(,"version":"9.9.8")")};
       },
       kNo,
       kNo,
       {201, 422},
       {201, 201}},
      {"GET /rollouts/{id}", [](World& world, Side side) { return Made{"/rollouts/" + world.rollout(side)}; },
       kHidden, kHidden, kHidden, kFine},
      {"POST /rollouts/{id}/pause",
       [](World& world, Side side) { return Made{"/rollouts/" + world.rollout(side) + "/pause"}; }, kNo,
       kHidden, kHidden, kFine},
      {"POST /rollouts/{id}/resume",
       [](World& world, Side side) { return Made{"/rollouts/" + world.rollout(side, true) + "/resume"}; },
       kNo,
       {403, 404},
       kHidden,
       kFine},  // of a version: an admin's
      {"POST /rollouts/{id}/exclude",
       [](World& world, Side side) {
         const std::string id = world.rollout(side);
         const JsonView shown(world.backend.call("GET", "/rollouts/" + id).body);
         return Made{"/rollouts/" + id + "/exclude",
                     R"({"instances":[")" + shown.text("items.0.instance_id") + "\"]}"};
       },
       kNo,
       {403, 404},
       kHidden,
       kFine},
      {"POST /rollouts/{id}/abort",
       [](World& world, Side side) { return Made{"/rollouts/" + world.rollout(side) + "/abort"}; }, kNo,
       kHidden, kHidden, kFine},
      {"GET /results",
       [](World& world, Side side) { return Made{"/results?app=default&instance=" + world.machine(side)}; },
       kHidden, kHidden, kHidden, kFine},
      {"GET /rounds",
       [](World& world, Side side) { return Made{"/rounds?app=default&instance=" + world.machine(side)}; },
       kHidden, kHidden, kHidden, kFine},
      {"GET /waits",
       [](World& world, Side side) {
         const std::string recipe = world.next("wait"), name = world.machine(side);
         world.backend.push(recipe, "[" + state(recipe, "x") + R"(,{"id":"w)" + recipe +
                                        R"(","module":"meta.wait","parameter":{"state":["nobody/)" + recipe +
                                        R"("]}}])");
         world.backend.assign(recipe, "instance=" + name);
         return listed("/waits?limit=1000", R"("instance_id":")" + name + "\"");
       },
       kFine, kFine, kFine, kFine},
      {"GET /audit", [](World&, Side) { return Made{"/audit"}; }, kNo, kNo, kNo, kFine},
      {"GET /failures",
       [](World& world, Side side) {
         const std::string name = world.machine(side);
         TestAgent agent(name);
         agent.connect(world.backend);
         agent.send(protocol::RecipeStatus{
             .seq = 2, .recipe_version = 1, .status = protocol::RecipeProgress::failed, .errors = {}});
         REQUIRE(agent.acked(2));
         return listed("/failures?limit=1000", "\"" + name + "\"");
       },
       kFine, kFine, kFine, kFine},
      {"GET /fleet", [](World&, Side) { return Made{"/fleet"}; }, kFine, kFine, kFine, kFine},
      {"GET /installation", [](World&, Side) { return Made{"/installation"}; }, kNo, kNo, kNo, kFine},
      {"GET /events",
       [](World& world, Side side) {
         return Made{"/events?output=1&app=default&instance=" + world.machine(side)};
       },
       kHidden, kHidden, kHidden, kFine},
      {"GET /tokens", [](World&, Side) { return Made{"/tokens"}; }, kNo, kNo, kNo, kFine},
      {"POST /tokens",
       [](World& world, Side) {
         return Made{"/tokens", R"({"name":")" + world.next("token") + "\"}"};
       },
       kNo,
       kNo,
       kNo,
       {201, 201}},
      {"DELETE /tokens/{name}",
       [](World& world, Side) {
         const std::string name = world.next("token");
         make_token(world.backend, name, "viewer");
         return Made{"/tokens/" + name};
       },
       kNo,
       kNo,
       kNo,
       {204, 204}},
      // Without TLS there are none of these; who may not is told so first.
      {"GET /authorities",
       [](World&, Side) { return Made{"/authorities"}; },
       {409, 409},
       {409, 409},
       {409, 409},
       {409, 409}},
      {"GET /authorities/status",
       [](World&, Side) { return Made{"/authorities/status"}; },
       kNo,
       kNo,
       kNo,
       {409, 409}},
      {"POST /authorities/rotate",
       [](World&, Side) { return Made{"/authorities/rotate"}; },
       kNo,
       kNo,
       kNo,
       {409, 409}},
      {"POST /authorities/retire",
       [](World&, Side) {
         return Made{"/authorities/retire", "{}"};
       },
       kNo,
       kNo,
       kNo,
       {409, 409}},
      {"GET /join-tokens", [](World&, Side) { return Made{"/join-tokens"}; }, kNo, kNo, kNo, kFine},
      {"POST /join-tokens",
       [](World&, Side) {
         return Made{"/join-tokens", "{}"};
       },
       kNo,
       kNo,
       kNo,
       {409, 409}},
      {"DELETE /join-tokens/{id}",
       [](World&, Side) { return Made{"/join-tokens/0123"}; },
       kNo,
       kNo,
       kNo,
       {404, 404}},
  };
  return kRows;
}

// A stream is over with its first event.
transport::HttpReply call(const World& world, const std::string& token, const Row& row, const Made& made) {
  if (row.route != "GET /events")
    return call_as(world.backend, token, row.route.substr(0, row.route.find(' ')), made.target, made.body);
  auto options = world.backend.client_options(false);
  options.headers.push_back({"Authorization", "Bearer " + token});
  transport::HttpClient client(options);
  auto reply = client.stream({.target = "/api/v1" + made.target}, "0", [](const auto&) { return false; });
  REQUIRE_MESSAGE(reply, reply.error().message());
  return std::move(*reply);
}

void check(World& world, const Row& row, const std::string& who, const std::string& token,
           const Statuses& expected, bool sees_all) {
  for (const Side side : {Side::outside, Side::inside}) {
    const Made made = row.make(world, side);
    const auto reply = call(world, token, row, made);
    const std::string what =
        row.route + " as " + who + (side == Side::inside ? ", inside" : ", outside") + ": " + reply.body;
    CHECK_MESSAGE(reply.status == (side == Side::inside ? expected.inside : expected.outside), what);
    if (made.needle.empty() || reply.status >= 300) continue;
    const bool is_there = reply.body.find(made.needle) != std::string::npos;
    CHECK_MESSAGE(is_there == (side == Side::inside || sees_all), what);
  }
}

}  // namespace

TEST_CASE("every route shows and changes what is inside of a token's scope, and nothing outside") {
  std::set<std::string> known;
  for (const Row& row : rows())
    CHECK_MESSAGE(known.insert(row.route).second, row.route);
  for (const auto& route : backend::api::all_routes()) {
    const std::string name = std::string(route.method) + " " + std::string(route.pattern);
    CHECK_MESSAGE(known.erase(name) == 1, "this route needs a row: " << name);
  }
  CHECK(known.empty());  // rows of routes that are not there any more

  const tests::ScratchFolder scratch;
  World world(scratch / "data");
  for (const Row& row : rows()) {
    check(world, row, "a viewer with a scope", world.viewer, row.viewer, false);
    check(world, row, "an operator with a scope", world.operator_, row.operator_, false);
    check(world, row, "an admin with a scope", world.admin, row.admin, false);
    check(world, row, "an admin without", world.backend.token(), row.root, true);
  }
}
