// Rollouts of recipes with agents on real sockets, over a real database and the API.
#include <thread>

#include "tests/support/live_backend.hpp"
#include "tests/support/operators.hpp"
#include "tests/support/recipe_fleet.hpp"
#include "tests/support/scratch_folder.hpp"

using tests::call_as;
using tests::JsonView;
using tests::LiveBackend;
using tests::make_token;
using tests::RecipeFleet;
using namespace std::chrono_literals;

namespace {

template <class Condition>
bool soon(Condition condition, std::chrono::milliseconds within = 60s) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

std::string text_recipe(const std::string& text) {
  return R"({"states":[{"id":"a","module":"meta.comment","parameter":{"comment":")" + text + "\"}}]}";
}

// {"rings":[10,50,100],"pause_s":0,"jitter_s":0} in a query.
constexpr const char* kQuick =
    "?rollout=%7B%22rings%22%3A%5B10%2C50%2C100%5D%2C%22pause_s%22%3A0%2C%22jitter_s%22%3A0%7D";

JsonView push(const LiveBackend& backend, const std::string& text, const std::string& query = {}) {
  const auto reply = backend.call("POST", "/recipes/web/revisions" + query, text_recipe(text));
  REQUIRE_MESSAGE(reply.status == 201, reply.body);
  return JsonView(reply.body);
}

std::string state(const LiveBackend& backend, const std::string& id) {
  return JsonView(backend.call("GET", "/rollouts/" + id).body).text("state");
}

}  // namespace

TEST_CASE(
    "live: of 200 machines one in ten fails with a revision: it stops in the first ring, and comes back") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  RecipeFleet fleet(200, [](std::size_t number, const std::string& states) {
    return number % 10 != 3 || states.find("\"two\"") == std::string::npos;
  });
  push(backend, "one");
  backend.assign("web");
  fleet.connect(backend.port());
  REQUIRE(soon([&] { return fleet.running("one") == 200; }));

  // A new installation: changes of its apps go ring by ring without being asked.
  const JsonView pushed = push(backend, "two");
  CHECK(pushed.number("affected") == 200);
  REQUIRE(pushed.size("rollouts") == 1);
  const std::string id = pushed.text("rollouts.0.id");
  const auto start = std::chrono::steady_clock::now();
  REQUIRE(soon([&] { return state(backend, id) == "stopped"; }));
  const auto took = std::chrono::steady_clock::now() - start;
  std::this_thread::sleep_for(500ms);
  const JsonView shown(backend.call("GET", "/rollouts/" + id).body);
  MESSAGE("stopped after " << std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms: "
                           << shown.text("reason") << "; machines that have it: " << fleet.running("two"));
  CHECK(shown.text("kind") == "recipe");
  CHECK(shown.text("version") == "web@2");
  CHECK(shown.number("change.from_revision") == 1);
  CHECK(shown.number("ring") == 1);
  CHECK(shown.number("rings.0.size") == 44);
  CHECK(shown.number("rings.0.rolled_back") == 0);
  CHECK(shown.number("rings.0.failed") > 0);
  CHECK(shown.text("evidence.0.error") == "state 'a' failed: this machine does not like it");
  CHECK(fleet.ever_had("two") <= 44);
  CHECK(fleet.running("one") == 200 - fleet.running("two"));

  const auto back = backend.call("POST", "/recipes/web/rollback", "{}");
  REQUIRE_MESSAGE(back.status == 201, back.body);
  CHECK(JsonView(back.body).size("rollouts") == 0);
  REQUIRE(soon([&] { return fleet.running("one") == 200; }));
  CHECK(fleet.ever_had("two") <= 44);
  CHECK(state(backend, id) == "ended");
  CHECK(JsonView(backend.call("GET", "/audit").body).text("items.0.action") == "recipe.rollback");
}

TEST_CASE("live: a rollout of a recipe goes on while the backend is started again and again") {
  const tests::ScratchFolder scratch;
  auto backend = std::make_unique<LiveBackend>(scratch / "data");
  RecipeFleet fleet(60, [](std::size_t, const std::string&) { return true; });
  push(*backend, "one");
  backend->assign("web");
  fleet.connect(backend->port());
  REQUIRE(soon([&] { return fleet.running("one") == 60; }));
  const std::string id = push(*backend, "two", kQuick).text("rollouts.0.id");
  for (int restart = 0; restart < 4; ++restart) {
    std::this_thread::sleep_for(std::chrono::milliseconds(40 + 50 * restart));
    backend.reset();
    backend = std::make_unique<LiveBackend>(scratch / "data");
    fleet.connect(backend->port());
  }
  CHECK(soon([&] { return state(*backend, id) == "done"; }));
  CHECK(soon([&] { return fleet.running("two") == 60; }));
}

TEST_CASE("attack: with a scope one rolls out inside it, and neither reads nor stops what others roll out") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  RecipeFleet fleet(20, [](std::size_t, const std::string&) { return true; });
  fleet.connect(backend.port());
  REQUIRE(soon([&] { return fleet.online() == 20; }));
  for (std::size_t i = 0; i < 20; ++i)
    backend.tag("m" + std::to_string(i), "team", i < 10 ? "red" : "blue");
  const std::string red = make_token(backend, "red", "operator", "team=red");
  const std::string blue = make_token(backend, "blue", "operator", "team=blue");
  const auto begin = [&](const std::string& token, const std::string& name) {
    REQUIRE(call_as(backend, token, "POST", "/recipes/" + name + "/revisions", text_recipe("one")).status ==
            201);
    const auto assigned =
        call_as(backend, token, "POST", "/assignments",
                R"({"recipe":")" + name + R"(","selector":"*","rollout":{"rings":[50,100],"pause_s":3600}})");
    REQUIRE_MESSAGE(assigned.status == 201, assigned.body);
    const JsonView answer(assigned.body);
    CHECK(answer.number("rollouts.0.machines") == 10);
    return answer.text("rollouts.0.id");
  };
  const std::string of_red = begin(red, "redweb");
  const std::string of_blue = begin(blue, "blueweb");
  CHECK(call_as(backend, red, "GET", "/rollouts/" + of_red).status == 200);
  CHECK(JsonView(call_as(backend, red, "GET", "/rollouts/" + of_red).body).text("kind") == "assignment");
  CHECK(call_as(backend, red, "GET", "/rollouts/" + of_blue).status == 404);
  CHECK(JsonView(call_as(backend, red, "GET", "/rollouts").body).size("items") == 1);
  for (const char* verb : {"pause", "resume", "abort"})
    CHECK(call_as(backend, red, "POST", "/rollouts/" + of_blue + "/" + verb).status == 404);
  CHECK(
      call_as(backend, red, "POST", "/rollouts/" + of_blue + "/exclude", R"({"instances":["m0"]})").status ==
      404);
  // A machine of others cannot be taken out of one's own either.
  CHECK(
      call_as(backend, red, "POST", "/rollouts/" + of_red + "/exclude", R"({"instances":["m15"]})").status ==
      404);
  CHECK(call_as(backend, red, "POST", "/rollouts/" + of_red + "/pause").status == 200);
  CHECK(call_as(backend, red, "POST", "/rollouts/" + of_red + "/resume").status == 200);
  CHECK(call_as(backend, red, "POST", "/rollouts/" + of_red + "/abort").status == 200);
  // Canaries are looked for inside of the scope only.
  CHECK(call_as(backend, red, "POST", "/assignments",
                R"({"recipe":"redweb","selector":"instance=m1","rollout":{"canary":"team=blue"}})")
            .status >= 400);

  // What an administrator rolls out to both is seen, without its numbers, and not stopped.
  REQUIRE(soon([&] { return fleet.running("one") > 0; }));
  backend.push("all", R"([{"id":"b","module":"meta.comment","parameter":{"comment":"for all"}}])");
  const auto assigned =
      backend.call("POST", "/assignments", R"({"recipe":"all","selector":"*","rollout":{"pause_s":3600}})");
  REQUIRE_MESSAGE(assigned.status == 201, assigned.body);
  const std::string of_all = JsonView(assigned.body).text("rollouts.0.id");
  const auto seen = call_as(backend, red, "GET", "/rollouts/" + of_all);
  CHECK(seen.status == 200);
  CHECK(seen.body.find("\"rings\":null") != std::string::npos);
  for (const char* verb : {"pause", "abort"})
    CHECK(call_as(backend, red, "POST", "/rollouts/" + of_all + "/" + verb).status == 403);
  const std::string viewer = make_token(backend, "viewer", "viewer");
  CHECK(call_as(backend, viewer, "POST", "/rollouts/" + of_all + "/pause").status == 403);
  CHECK(call_as(backend, viewer, "POST", "/rollouts/" + of_all + "/resume").status == 403);
}

TEST_CASE("resuming a rollout of a version needs an admin, as before; of a recipe an operator") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  RecipeFleet fleet(6, [](std::size_t, const std::string&) { return true; });
  push(backend, "one");
  backend.assign("web");
  fleet.connect(backend.port());
  REQUIRE(soon([&] { return fleet.running("one") == 6; }));
  const std::string operator_token = make_token(backend, "op", "operator");
  const auto version = backend.call("POST", "/rollouts", R"({"version":"9.9.9","pause_s":3600})");
  REQUIRE(version.status == 201);
  const std::string updating = JsonView(version.body).text("id");
  const std::string pushed = push(backend, "two", kQuick).text("rollouts.0.id");
  for (const std::string& id : {updating, pushed})
    call_as(backend, operator_token, "POST", "/rollouts/" + id + "/pause");
  CHECK(call_as(backend, operator_token, "POST", "/rollouts/" + updating + "/resume").status == 403);
  CHECK(call_as(backend, operator_token, "POST", "/rollouts/" + updating + "/exclude",
                R"({"instances":["m0"]})")
            .status == 403);
  const auto resumed = call_as(backend, operator_token, "POST", "/rollouts/" + pushed + "/resume");
  CHECK((resumed.status == 200 || resumed.status == 409));  // it may have been done before the pause
  CHECK(soon([&] { return state(backend, pushed) == "done"; }));
}

TEST_CASE("wrong terms of a rollout are named, and nothing is pushed") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  for (const char* terms :
       {"%5B%5D", "nonsense", "%7B%22rings%22%3A%5B50%2C10%5D%7D", "%7B%22rings%22%3A%5B%5D%7D",
        "%7B%22now%22%3Atrue%2C%22may_fail%22%3A1%7D", "%7B%22may_fail%22%3A51%7D",
        "%7B%22canaries%22%3A0%7D", "%7B%22canary%22%3A%22role%3D%22%7D", "%7B%22speed%22%3A1%7D"}) {
    CAPTURE(terms);
    const auto reply =
        backend.call("POST", "/recipes/web/revisions?rollout=" + std::string(terms), text_recipe("one"));
    CHECK(reply.status == 422);
    CHECK(reply.body.find("rollout") != std::string::npos);
  }
  CHECK(backend.call("GET", "/recipes/web").status == 404);
  CHECK(backend.call("PUT", "/apps/shop", R"({"rings":[30,20]})").status == 422);
  CHECK(backend.call("PUT", "/apps/shop", R"({"rings":[]})").status == 201);
  CHECK(JsonView(backend.call("PUT", "/apps/other", "{}").body).size("rings") == 3);
}

TEST_CASE(
    "apply is refused where it would reach 50 machines at once in an app with rings, unless asked for") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  RecipeFleet fleet(50, [](std::size_t, const std::string&) { return true; });
  fleet.connect(backend.port());
  REQUIRE(soon([&] { return fleet.online() == 50; }));
  const auto apply = [&](const std::string& more) {
    return backend.call(
        "POST", "/apply",
        R"({"set":"site","items":[{"kind":"recipe","name":"web","content":"states:\n- {id: a, )"
        R"(module: meta.comment, parameter: {comment: one}}\n"},{"kind":"assignment",)"
        R"("recipe":"web","selector":"*"}])" +
            more + "}");
  };
  const auto refused = apply("");
  CHECK(refused.status == 409);
  CHECK(refused.body.find("50 machines would get this at once") != std::string::npos);
  CHECK(backend.call("GET", "/recipes/web").status == 404);
  const auto shown = apply(R"(,"dry_run":true)");
  CHECK(shown.status == 200);
  CHECK(shown.body.find("50 machines would get this at once") != std::string::npos);
  CHECK(apply(R"(,"now":true)").status == 200);
  CHECK(soon([&] { return fleet.running("one") == 50; }));
}
