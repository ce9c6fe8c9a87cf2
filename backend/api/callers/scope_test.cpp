// What tokens with a scope see and reach.
#include <thread>

#include "tests/support/live_backend.hpp"
#include "tests/support/operators.hpp"
#include "tests/support/scratch_folder.hpp"

using tests::call_as;
using tests::JsonView;
using tests::LiveBackend;
using tests::make_token;
using tests::TestAgent;

namespace {

constexpr const char* kSomeState = R"([{"id":"a","module":"meta.comment","parameter":{"comment":"x"}}])";

}  // namespace

TEST_CASE("a token with a scope sees its machines only, and the others are not there for it") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent web("web1"), db("db1");
  web.connect(backend);
  db.connect(backend);
  backend.tag("web1", "role", "web");
  backend.tag("db1", "role", "db");
  web.report(1, "s", 1);
  db.report(1, "s", 1);
  CHECK(web.acked(1));
  CHECK(db.acked(1));
  const std::string ann = make_token(backend, "ann", "admin", "role=web");
  const auto get = [&](const std::string& target) {
    return JsonView(call_as(backend, ann, "GET", target).body);
  };
  const auto status = [&](const std::string& method, const std::string& target,
                          const std::string& body = {}) {
    return call_as(backend, ann, method, target, body).status;
  };
  CHECK(get("/instances").size("items") == 1);
  CHECK(get("/instances").text("items.0.instance_id") == "web1");
  CHECK(get("/instances?selector=role%3Dweb%20or%20role%3Ddb").size("items") == 1);
  CHECK(get("/results").size("items") == 1);
  CHECK(get("/rounds").size("items") == 0);
  CHECK(get("/fleet").number("instances") == 1);
  CHECK(get("/fleet").at("results").is_null());
  CHECK(get("/apps").size("items") == 1);
  CHECK(status("GET", "/instances/default/web1") == 200);
  CHECK(status("GET", "/results?app=default&instance=web1") == 200);
  CHECK(status("GET", "/events?app=default&instance=db1&output=1") == 404);
  for (const char* outside : {"/instances/default/db1", "/results?app=default&instance=db1"})
    CHECK_MESSAGE(status("GET", outside) == 404, outside);
  CHECK(status("PATCH", "/instances/default/db1", R"({"tags":{"x":"y"}})") == 404);
  CHECK(status("DELETE", "/instances/default/db1") == 404);
  CHECK(status("POST", "/instances/default/db1/revoke", "{}") == 404);
  CHECK(status("POST", "/query", R"({"instance_id":"db1","kind":"facts"})") == 404);
  CHECK(status("PATCH", "/instances/default/web1", R"({"tags":{"x":"y"}})") == 200);
  CHECK(status("PATCH", "/instances/default/web1", R"({"tags":{"role":"db"}})") == 403);  // out of its reach
  CHECK(get("/instances").size("items") == 1);

  const auto update =
      call_as(backend, ann, "POST", "/rollouts", R"({"version":"2.0","selector":"*","jitter_s":0})");
  REQUIRE(update.status == 201);
  CHECK(JsonView(update.body).number("machines") == 1);
  CHECK(web.next<protocol::AgentUpdate>());
  CHECK(db.hears_no<protocol::AgentUpdate>());
}

TEST_CASE("what a token with a scope assigns reaches its machines only, and is stored so") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent web("web1"), db("db1");
  web.connect(backend);
  db.connect(backend);
  backend.tag("web1", "role", "web");
  backend.tag("db1", "role", "db");
  const std::string ann = make_token(backend, "ann", "operator", "role=web");
  const auto as_ann = [&](const std::string& method, const std::string& target, const std::string& body) {
    return call_as(backend, ann, method, target, body);
  };
  const std::string recipe = std::string(R"({"states":)") + kSomeState + "}";
  CHECK(as_ann("POST", "/recipes/mine/revisions", recipe).status == 201);
  const auto assigned =
      as_ann("POST", "/assignments", R"({"recipe":"mine","selector":"instance=* or role=db"})");
  REQUIRE(assigned.status == 201);
  CHECK(JsonView(assigned.body).text("selector") == "(role=web) and (instance=* or role=db)");
  CHECK(JsonView(assigned.body).number("matched") == 1);
  CHECK(web.next<protocol::RecipeMetadata>());
  CHECK(db.hears_no<protocol::RecipeMetadata>());

  // As it was read: it does not grow.
  const auto edit = [&](const std::string& selector) {
    const auto edited =
        as_ann("PUT", "/assignments/1", R"({"recipe":"mine","selector":")" + selector + "\"}");
    return JsonView(edited.body).text("selector");
  };
  const std::string narrowed = "(role=web) and (instance=* or role=db)";
  CHECK(edit(narrowed) == narrowed);
  // What only looks narrowed is narrowed all the same.
  const std::string tricky = "(role=web) and (app=x) or (app=default)";
  CHECK(edit(tricky) == "(role=web) and (" + tricky + ")");
  CHECK(edit("*") == "role=web");

  // Assignments of others that reach machines inside can be read, and not be changed; others are not there.
  backend.push("theirs", kSomeState);
  backend.assign("theirs", "role=db");
  CHECK(db.next<protocol::RecipeMetadata>());
  CHECK(call_as(backend, ann, "GET", "/assignments/2").status == 404);
  CHECK(as_ann("DELETE", "/assignments/2", "").status == 404);
  backend.push("of-all", R"([{"id":"b","module":"meta.comment","parameter":{"comment":"x"}}])");
  backend.assign("of-all", "*");
  CHECK(call_as(backend, ann, "GET", "/assignments/3").status == 200);
  CHECK(as_ann("PUT", "/assignments/3", R"({"recipe":"mine","selector":"*"})").status == 403);
  CHECK(as_ann("DELETE", "/assignments/3", "").status == 403);
  CHECK(as_ann("POST", "/recipes/theirs/revisions", recipe).status == 403);
  CHECK(as_ann("DELETE", "/assignments/1", "").status == 200);
}

TEST_CASE("an event stream shows a token's machines only, and ends when the token does") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent web("web1"), db("db1");
  web.connect(backend);
  db.connect(backend);
  backend.tag("web1", "role", "web");
  db.report(1, "theirs", 1);
  CHECK(db.acked(1));
  web.report(1, "ours", 1);
  CHECK(web.acked(1));
  const std::string ann = make_token(backend, "ann", "viewer", "role=web");
  auto options = backend.client_options(false);
  options.headers.push_back({"Authorization", "Bearer " + ann});
  transport::HttpClient client(options);
  std::vector<std::string> seen;
  std::thread killer;
  const auto ended = client.stream({.target = "/api/v1/events?types=result"}, "0", [&](const auto& event) {
    seen.push_back(JsonView(event.data).text("state_id"));
    killer = std::thread([&] { backend.call("DELETE", "/tokens/ann"); });
    return true;
  });
  REQUIRE(killer.joinable());
  killer.join();
  CHECK(seen == std::vector<std::string>{"ours"});
}
