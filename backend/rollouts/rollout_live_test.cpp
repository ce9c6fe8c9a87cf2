// Rollouts with agents on real sockets, over a real database.
//
// Compiled alone: its names are those of other tests.
#include <thread>

#include "tests/support/live_backend.hpp"
#include "tests/support/operators.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/update_fleet.hpp"

using tests::call_as;
using tests::JsonView;
using tests::LiveBackend;
using tests::make_token;
using tests::TestAgent;
using tests::UpdateFleet;
using namespace std::chrono_literals;

namespace {

template <class Condition>
bool comes_true(Condition condition, std::chrono::milliseconds within = 40s) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

std::string start(const LiveBackend& backend, const std::string& more = {}) {
  const auto reply =
      backend.call("POST", "/rollouts", R"({"version":"2.0.0","pause_s":0,"jitter_s":0)" + more + "}");
  REQUIRE_MESSAGE(reply.status == 201, reply.body);
  return JsonView(reply.body).text("id");
}

JsonView show(const LiveBackend& backend, const std::string& id, const std::string& query = {}) {
  return JsonView(backend.call("GET", "/rollouts/" + id + query).body);
}

std::string state(const LiveBackend& backend, const std::string& id) {
  return show(backend, id).text("state");
}

std::size_t in_phase(const LiveBackend& backend, const std::string& id, const std::string& phase) {
  return show(backend, id, "?limit=1000&phase=" + phase).size("items");
}

}  // namespace

TEST_CASE("200 machines are updated ring by ring") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  UpdateFleet fleet(200, [](std::size_t) { return "confirmed"; });
  fleet.connect(backend.port());
  REQUIRE(comes_true([&] { return fleet.online() == 200; }));
  const std::string id = start(backend);
  CHECK(comes_true([&] { return state(backend, id) == "done"; }));
  const JsonView shown = show(backend, id);
  CHECK(shown.number("rings.0.size") == 5);
  CHECK(shown.number("rings.1.back") == 15);
  CHECK(shown.number("rings.2.confirmed") == 80);
  CHECK(shown.number("rings.3.size") == 100);
  CHECK(in_phase(backend, id, "confirmed") == 200);
  for (std::size_t i = 0; i < 200; ++i)
    CHECK(fleet.begun(i) == 1);
  const auto again = backend.call("POST", "/rollouts", R"({"version":"2.0.0"})");
  CHECK(JsonView(again.body).number("already") == 200);
  CHECK(JsonView(again.body).text("state") == "done");
  transport::HttpClient client(backend.client_options(false));
  CHECK(client.request({.target = "/metrics"})
            ->body.find("opsbackend_rollouts{state=\"done\",kind=\"version\"}") != std::string::npos);
}

TEST_CASE("with one of ten machines bad a rollout to 200 stops in the first rings") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  UpdateFleet fleet(200, [](std::size_t number) { return number % 10 == 3 ? "rolled_back" : "confirmed"; });
  fleet.connect(backend.port());
  REQUIRE(comes_true([&] { return fleet.online() == 200; }));
  const std::string id = start(backend);
  CHECK(comes_true([&] { return state(backend, id) == "stopped"; }));
  const JsonView shown = show(backend, id);
  CHECK(shown.number("ring") <= 2);
  CHECK_FALSE(shown.text("reason").empty());
  std::this_thread::sleep_for(300ms);
  CHECK(fleet.told() <= 20);
  CHECK(JsonView(backend.call("GET", "/audit").body).text("items.0.action") == "rollout.stop");
}

TEST_CASE("a rollout goes on while the backend is started again and again, and nobody updates twice") {
  const tests::ScratchFolder scratch;
  auto backend = std::make_unique<LiveBackend>(scratch / "data");
  UpdateFleet fleet(60, [](std::size_t) { return "confirmed"; });
  fleet.connect(backend->port());
  REQUIRE(comes_true([&] { return fleet.online() == 60; }));
  const std::string id = start(*backend, R"(,"rings":[20,40,60,80,100])");
  for (int restart = 0; restart < 4; ++restart) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60 + 70 * restart));
    backend.reset();
    backend = std::make_unique<LiveBackend>(scratch / "data");
    fleet.connect(backend->port());
  }
  CHECK(comes_true([&] { return state(*backend, id) == "done"; }));
  INFO("state: ", state(*backend, id), ", told: ", fleet.told(), ", online: ", fleet.online());
  CHECK(in_phase(*backend, id, "confirmed") == 60);
  for (std::size_t i = 0; i < 60; ++i)
    CHECK(fleet.begun(i) == 1);
}

TEST_CASE("attack: a restart of the backend stops no rollout whose machines are in the middle of it") {
  const tests::ScratchFolder scratch;
  auto backend = std::make_unique<LiveBackend>(scratch / "data");
  UpdateFleet fleet(8, [](std::size_t) { return "draining"; });  // their states take long
  fleet.connect(backend->port());
  REQUIRE(comes_true([&] { return fleet.online() == 8; }));
  const std::string id = start(*backend, R"(,"timeout_s":2)");
  REQUIRE(comes_true([&] { return in_phase(*backend, id, "draining") == 5; }));
  std::this_thread::sleep_for(2500ms);
  backend.reset();
  backend = std::make_unique<LiveBackend>(scratch / "data");
  std::this_thread::sleep_for(500ms);  // nobody is back yet, and rollouts are looked at
  CHECK(in_phase(*backend, id, "lost") == 0);
  fleet.connect(backend->port());
  REQUIRE(comes_true([&] { return fleet.online() == 8; }));
  std::this_thread::sleep_for(2500ms);
  CHECK(state(*backend, id) == "running");
  CHECK(in_phase(*backend, id, "draining") == 5);
}

TEST_CASE("machines that say nothing are lost, and stop it") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  UpdateFleet fleet(8, [](std::size_t) { return ""; });
  fleet.connect(backend.port());
  REQUIRE(comes_true([&] { return fleet.online() == 8; }));
  const std::string id = start(backend, R"(,"timeout_s":1)");
  CHECK(comes_true([&] { return state(backend, id) == "stopped"; }));
  CHECK(in_phase(backend, id, "lost") == 5);
  CHECK(fleet.told() == 5);
}

TEST_CASE("pause, resume and abort do what they say, and events tell of it") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  UpdateFleet fleet(7, [](std::size_t) { return "confirmed"; });
  fleet.connect(backend.port());
  REQUIRE(comes_true([&] { return fleet.online() == 7; }));
  const auto reply = backend.call("POST", "/rollouts", R"({"version":"2.0.0","pause_s":1,"jitter_s":0})");
  const std::string id = JsonView(reply.body).text("id");
  CHECK(comes_true([&] { return show(backend, id).number("rings.0.back") == 5; }));
  CHECK(backend.call("POST", "/rollouts/" + id + "/pause").status == 200);
  CHECK(backend.call("POST", "/rollouts/" + id + "/pause").status == 409);
  std::this_thread::sleep_for(1500ms);
  CHECK(fleet.told() == 5);
  CHECK(state(backend, id) == "paused");
  CHECK(backend.call("POST", "/rollouts", R"({"version":"3.0.0"})").status == 409);  // it still has them
  CHECK(backend.call("POST", "/rollouts/" + id + "/resume").status == 200);
  CHECK(comes_true([&] { return state(backend, id) == "done"; }));

  std::string seen;
  transport::HttpClient client(backend.client_options());
  (void)client.stream({.target = "/api/v1/events?types=rollout"}, "0",
                      [&](const transport::ServerEvent& event) {
                        seen += JsonView(event.data).text("state") + " ";
                        return !seen.ends_with("done ");
                      });
  CHECK(seen == "running paused running running done ");
  CHECK(backend.call("POST", "/rollouts/" + id + "/abort").status == 200);
  CHECK(backend.call("POST", "/rollouts/" + id + "/abort").status == 409);
  CHECK(JsonView(backend.call("GET", "/rollouts?app=default").body).text("items.0.state") == "aborted");
}

TEST_CASE("a machine that comes later is told then, and its app's pinned version at any handshake") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent here("here"), away("away");
  here.connect(backend);
  away.connect(backend);
  away.leave();
  REQUIRE(comes_true([&] {
    return JsonView(backend.call("GET", "/instances/default/away").body).at("online").as_bool() == false;
  }));
  const std::string id = start(backend);
  const auto told = here.next<protocol::AgentUpdate>();
  REQUIRE(told);
  CHECK(told->version == "2.0.0");
  CHECK(told->action_id == id);
  away.connect(backend);
  const auto late = away.next<protocol::AgentUpdate>();
  REQUIRE(late);
  CHECK(late->action_id == id);
  backend.call("POST", "/rollouts/" + id + "/abort");

  CHECK(backend.call("PUT", "/apps/default", R"({"agent_version":"../etc"})").status == 422);
  REQUIRE(backend.call("PUT", "/apps/default", R"({"agent_version":"3.0.0"})").status == 200);
  CHECK(here.hears_no<protocol::AgentUpdate>());
  CHECK(backend.call("POST", "/rollouts", R"({"version":"2.0.0"})").status == 409);
  here.leave();
  here.connect(backend);
  const auto pinned = here.next<protocol::AgentUpdate>();
  REQUIRE(pinned);
  CHECK(pinned->version == "3.0.0");
  here.send(protocol::UpdateStatus{.seq = 1,
                                   .action_id = pinned->action_id,
                                   .version = "3.0.0",
                                   .phase = protocol::UpdatePhase::refused,
                                   .error = "no"});
  CHECK(here.acked(1));
  here.leave();
  here.connect(backend);
  CHECK(here.hears_no<protocol::AgentUpdate>());
}

TEST_CASE("what a rollout is asked for is checked whole") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("m1");
  agent.connect(backend);
  const auto status = [&](const std::string& body) { return backend.call("POST", "/rollouts", body).status; };
  CHECK(status("{}") == 422);
  CHECK(status(R"({"version":"a b"})") == 422);
  CHECK(status(R"({"version":"2","rings":[50,10,100]})") == 422);
  CHECK(status(R"({"version":"2","rings":[10,50]})") == 422);
  CHECK(status(R"({"version":"2","rings":[]})") == 422);
  CHECK(status(R"({"version":"2","pause_s":-1})") == 422);
  CHECK(status(R"({"version":"2","canary":"("})") == 422);
  CHECK(status(R"({"version":"2","canary":"role=none"})") == 422);
  CHECK(status(R"({"version":"2","selector":"role=none"})") == 422);
  CHECK(status(R"({"version":"2","app_id":"none"})") == 404);
  CHECK(status(R"({"version":"2","nonsense":1})") == 422);
  CHECK(agent.hears_no<protocol::AgentUpdate>());
}

TEST_CASE("a token with a scope rolls out to its machines, and sees and stops no other rollout") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent web("web1"), db("db1");
  web.connect(backend);
  db.connect(backend);
  backend.tag("web1", "role", "web");
  backend.tag("db1", "role", "db");
  const std::string ann = make_token(backend, "ann", "admin", "role=web");
  const std::string all = start(backend, R"(,"selector":"role=db")");
  CHECK(call_as(backend, ann, "POST", "/rollouts/" + all + "/abort").status == 404);
  CHECK(call_as(backend, ann, "GET", "/rollouts/" + all).status == 404);
  CHECK(JsonView(call_as(backend, ann, "GET", "/rollouts").body).size("items") == 0);
  const auto own = call_as(backend, ann, "POST", "/rollouts", R"({"version":"2.0.0","jitter_s":0})");
  REQUIRE(own.status == 201);
  CHECK(JsonView(own.body).number("machines") == 1);
  const std::string id = JsonView(own.body).text("id");
  CHECK(JsonView(call_as(backend, ann, "GET", "/rollouts/" + id).body).size("rings") == 1);
  CHECK(call_as(backend, ann, "POST", "/rollouts/" + id + "/abort").status == 200);
  const std::string viewer = make_token(backend, "bob", "viewer");
  CHECK(call_as(backend, viewer, "POST", "/rollouts/" + all + "/pause").status == 403);

  // One that reaches her machines and others: she sees hers, without the counts of all.
  CHECK(backend.call("POST", "/rollouts/" + all + "/abort").status == 200);
  const std::string wide = start(backend, R"(,"selector":"*")");
  CHECK(call_as(backend, ann, "POST", "/rollouts/" + wide + "/abort").status == 403);
  const JsonView seen(call_as(backend, ann, "GET", "/rollouts/" + wide).body);
  CHECK(seen.at("rings").is_null());
  CHECK(seen.at("machines").is_null());
  CHECK(seen.size("items") == 1);
  CHECK(seen.text("items.0.instance_id") == "web1");
}
