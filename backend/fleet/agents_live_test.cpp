// Agents and the backend on real sockets, over a real database.
#include "protocol/codec.hpp"
#include "tests/support/live_backend.hpp"
#include "tests/support/loopback.hpp"
#include "tests/support/scratch_folder.hpp"

using tests::JsonView;
using tests::LiveBackend;
using tests::TestAgent;
using namespace std::chrono_literals;

namespace {

constexpr const char* kOneState = R"([{"id":"a","module":"meta.comment","parameter":{"comment":"x"}}])";
constexpr const char* kTwoStates =
    R"([{"id":"a","module":"meta.comment","parameter":{"comment":"x"}},{"id":"b","module":"meta.comment","parameter":{"comment":"y"}}])";

std::string comment_state(const std::string& id, const std::string& comment) {
  return R"([{"id":")" + id + R"(","module":"meta.comment","parameter":{"comment":")" + comment + "\"}}]";
}

std::size_t count_results(const LiveBackend& backend, const std::string& instance) {
  return JsonView(backend.call("GET", "/results?app=default&instance=" + instance).body).size("items");
}

bool is_online(const LiveBackend& backend, const std::string& instance) {
  const auto reply = backend.call("GET", "/instances/default/" + instance);
  return reply.status == 200 && JsonView(reply.body).at("online").as_bool() == true;
}

template <class Condition>
bool comes_true(Condition condition, std::chrono::milliseconds within = 20s) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

}  // namespace

TEST_CASE("an agent is welcomed, gets its recipe, and its result is stored once, however often it is sent") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  backend.push("web", kOneState);
  backend.assign("web");

  TestAgent agent("web1");
  const auto first = agent.connect(backend);
  CHECK(first.ack_seq == 0);
  const auto recipe = agent.next<protocol::RecipeMetadata>();
  REQUIRE(recipe);
  CHECK(recipe->recipe_version == 1);
  REQUIRE(recipe->states);
  CHECK(recipe->states->text.find("meta.comment") != std::string::npos);
  agent.report(1, "a", 1);
  agent.report(2, "a", 1, "kept");
  CHECK(agent.acked(2));

  // The acknowledgement was lost: the agent comes again and repeats itself.
  agent.leave();
  const auto second = agent.connect(backend);
  CHECK(second.ack_seq == 2);
  CHECK(second.epoch > first.epoch);
  agent.report(1, "a", 1);
  agent.report(2, "a", 1, "kept");
  agent.report(3, "a", 1, "kept");
  CHECK(agent.acked(3));
  CHECK(count_results(backend, "web1") == 3);
}

TEST_CASE("only what differs is sent at the handshake") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  backend.push("web", kOneState);
  backend.assign("web");
  TestAgent agent("web1");
  agent.connect(backend);
  REQUIRE(agent.next<protocol::RecipeMetadata>());
  backend.push("web", kTwoStates);
  const auto recipe = agent.next<protocol::RecipeMetadata>();
  REQUIRE(recipe);
  agent.leave();

  agent.hello.recipe_version = recipe->recipe_version;
  agent.hello.recipe_digest = recipe->digest;
  agent.connect(backend);
  CHECK(agent.hears_no<protocol::RecipeMetadata>());
  agent.leave();

  agent.hello.recipe_version = recipe->recipe_version - 1;  // the same states under another version
  agent.connect(backend);
  const auto header = agent.next<protocol::RecipeMetadata>();
  REQUIRE(header);
  CHECK(header->recipe_version == recipe->recipe_version);
  CHECK_FALSE(header->states);
  agent.leave();

  agent.hello.recipe_digest = "another";
  agent.connect(backend);
  const auto whole = agent.next<protocol::RecipeMetadata>();
  REQUIRE(whole);
  CHECK(whole->states);
}

TEST_CASE("a recipe that uses no modules any more says so: the agent's last repository must not stay") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const std::string with_modules =
      "module: { repo: https://git.example.com/m.git, tag: v1 }\n"
      "states: [ { id: a, module: meta.comment, parameter: { comment: x } } ]\n";
  REQUIRE(backend.call("POST", "/recipes/web/revisions", with_modules, {{"Content-Type", "application/yaml"}})
              .status == 201);
  backend.assign("web");
  TestAgent agent("web1");
  agent.connect(backend);
  const auto first = agent.next<protocol::RecipeMetadata>();
  REQUIRE(first);
  REQUIRE(first->module);
  CHECK(first->module->repo == "https://git.example.com/m.git");
  backend.push("web", kTwoStates);
  const auto second = agent.next<protocol::RecipeMetadata>();
  REQUIRE(second);
  REQUIRE(second->module);
  CHECK(*second->module == protocol::ModuleSource());
}

TEST_CASE("a pushed recipe reaches the connected at once and the others when they come") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent here("here"), away("away");
  here.connect(backend);
  away.connect(backend);
  away.leave();
  REQUIRE(comes_true([&] { return !is_online(backend, "away"); }));
  backend.push("web", kOneState);
  backend.assign("web");
  const auto first = here.next<protocol::RecipeMetadata>();
  REQUIRE(first);
  backend.push("web", kTwoStates);  // assigned as "newest": goes out by itself
  const auto second = here.next<protocol::RecipeMetadata>();
  REQUIRE(second);
  CHECK(second->recipe_version > first->recipe_version);

  away.connect(backend);
  const auto late = away.next<protocol::RecipeMetadata>();
  REQUIRE(late);
  CHECK(late->digest == second->digest);
}

TEST_CASE("a newer connection of the same agent ends the older one, whose reports are not stored") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent old("web1"), young("web1");
  old.connect(backend);
  young.connect(backend);
  CHECK(old.close_code() == protocol::kCloseSuperseded);
  young.report(1, "a", 1);
  CHECK(young.acked(1));
  CHECK(is_online(backend, "web1"));
  CHECK(count_results(backend, "web1") == 1);
}

TEST_CASE("a wrong token is refused and noted, and the right one still works") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent right("web1"), wrong("web1");
  right.connect(backend);
  wrong.hello.instance_token = "guessed";
  wrong.open(backend);
  wrong.send(wrong.hello);
  CHECK(wrong.close_code() == protocol::kClosePolicy);
  right.report(1, "a", 1);
  CHECK(right.acked(1));
  const JsonView audit(backend.call("GET", "/audit").body);
  CHECK(audit.text("items.0.action") == "agent.refused");
  CHECK(audit.text("items.0.object") == "default/web1");
}

TEST_CASE("an app that nobody knows is not ready, and the reason says what to do") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1", "shop");
  agent.open(backend);
  agent.send(agent.hello);
  const auto not_ready = agent.next<protocol::AppNotReady>();
  REQUIRE(not_ready);
  CHECK(not_ready->reason.find("opsctl app create shop") != std::string::npos);
  CHECK(backend.call("PUT", "/apps/shop", "{}").status == 201);
  agent.send(agent.hello);
  CHECK(agent.next<protocol::Welcome>());
}

TEST_CASE("agents of version 1 are refused unless that is allowed") {
  const tests::ScratchFolder scratch;
  TestAgent agent("old1");
  agent.hello.protocol_max = 1;
  agent.hello.capabilities.clear();
  agent.hello.agent_uid.clear();
  {
    LiveBackend backend(scratch / "data");
    agent.open(backend);
    agent.send(agent.hello);
    CHECK(agent.close_code() == protocol::kClosePolicy);
    agent.leave();
  }
  LiveBackend backend(scratch / "data", {.allow_v1 = true});
  backend.push("web", kOneState);
  backend.assign("web");
  agent.open(backend);
  agent.send(agent.hello);
  const auto recipe = agent.next<protocol::RecipeMetadata>();
  REQUIRE(recipe);
  CHECK(recipe->states);
  agent.report(0, "a", 1);
  agent.report(0, "a", 1);
  CHECK(comes_true([&] { return count_results(backend, "old1") == 2; }));
  CHECK(agent.hears_no<protocol::Ack>(100ms));
}

TEST_CASE("malformed frames close their connection with the right code, and nobody else's") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent good("good");
  good.connect(backend);
  const std::pair<std::string, unsigned> frames[] = {
      {"not json", 1007},
      {R"({"code":"Handshake","code":"Handshake"})", 1007},
      {std::string(100'000, '['), 1009},
      {std::string(200, '['), 1007},
      {R"({"code":"StateLog","recipe_version":1,"id":"a"})", 1002},
      {R"({"nothing":1})", 1002},
      {R"({"code":"Handshake","instance_id":7})", 1002},
  };
  for (const auto& [frame, code] : frames) {
    TestAgent bad("bad");
    bad.open(backend);
    bad.send_text(frame);
    const unsigned got = bad.close_code();
    // Who is still sending when the other side closes may find the connection reset instead.
    CHECK_MESSAGE((got == code || (code == 1009 && bad.is_closed())), frame.substr(0, 60));
  }
  good.report(1, "a", 1);
  CHECK(good.acked(1));
  // After the welcome, too.
  good.send_text(R"({"code":"RoundEnd","seq":"two"})");
  CHECK(good.close_code() == 1002);
  CHECK(backend.metrics().messages_malformed.value() >= 6);
}

TEST_CASE("an agent that does not read holds nobody up, and finds the newest recipe when it comes again") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent slow("slow"), quick("quick");
  slow.connect(backend);
  quick.connect(backend);
  backend.push("web", kOneState);
  backend.assign("web");
  std::int64_t version = 0;
  for (int i = 0; i < 8; ++i) {
    backend.push("web", comment_state("a", std::string(900'000, static_cast<char>('a' + i))));
    const auto recipe = quick.next<protocol::RecipeMetadata>();
    REQUIRE(recipe);
    version = std::max(version, recipe->recipe_version);
  }
  while (const auto recipe = quick.next<protocol::RecipeMetadata>(300ms))
    version = std::max(version, recipe->recipe_version);
  // Whatever the slow one still gets, the newest is among it, and not every one in between.
  std::int64_t newest = 0;
  while (newest < version) {
    const auto recipe = slow.next<protocol::RecipeMetadata>();
    REQUIRE(recipe);
    CHECK(recipe->recipe_version > newest);
    newest = recipe->recipe_version;
  }
  CHECK(newest == version);
}

TEST_CASE("a wait comes true when the awaited state has succeeded, also for an agent that was away") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent web("web1"), db("db1");
  db.connect(backend);
  web.connect(backend);
  backend.push("db", kOneState);
  backend.assign("db", "instance=db1");
  backend.push("web", R"([{"id":"wait","module":"meta.wait","parameter":{"state":["db1/a"]}}])");
  backend.assign("web", "instance=web1");
  const auto recipe = web.next<protocol::RecipeMetadata>();
  REQUIRE(recipe);
  web.send(protocol::WaitQuery{"web1", "default", recipe->recipe_version});
  const auto list = web.next<protocol::WaitList>();
  REQUIRE(list);
  CHECK(list->waited == std::vector<protocol::StateRef>{{"web1", "wait"}, {"db1", "a"}});
  CHECK(JsonView(backend.call("GET", "/waits").body).text("items.0.waiting_for.0.instance_id") == "db1");

  const auto placed = db.next<protocol::RecipeMetadata>();
  REQUIRE(placed);
  db.report(1, "a", placed->recipe_version);
  const auto done = web.next<protocol::WaitDone>();
  REQUIRE(done);
  CHECK(done->id == "wait");
  CHECK(done->recipe_version == recipe->recipe_version);

  web.leave();
  web.connect(backend);
  CHECK(web.next<protocol::WaitDone>());
}

TEST_CASE("attack: waits of a version that the backend does not have are not answered, until it has it") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent web("web1"), db("db1");
  db.connect(backend);
  web.connect(backend);
  backend.push("db", kOneState);
  backend.assign("db", "instance=db1");
  const auto placed = db.next<protocol::RecipeMetadata>();
  REQUIRE(placed);
  db.report(1, "a", placed->recipe_version);
  REQUIRE(db.acked(1));
  backend.push("web", kOneState);
  backend.assign("web", "instance=web1");
  const auto first = web.next<protocol::RecipeMetadata>();
  REQUIRE(first);
  const std::int64_t later = first->recipe_version + 1;
  for (const std::int64_t version : {first->recipe_version + 5, later}) {
    web.send(protocol::WaitQuery{"web1", "default", version});
    CHECK(web.hears_no<protocol::WaitList>());
  }
  // As if its handshake had come between the commit of the version and its delivery.
  backend.push("web", R"([{"id":"open","module":"meta.wait","parameter":{"state":["nobody/a"]}},
                          {"id":"done","module":"meta.wait","parameter":{"state":["db1/a"]}}])");
  const auto list = web.next<protocol::WaitList>();
  REQUIRE(list);
  CHECK(list->recipe_version == later);
  CHECK(list->waited == std::vector<protocol::StateRef>{{"web1", "open"}, {"nobody", "a"}});
  const auto done = web.next<protocol::WaitDone>();
  REQUIRE(done);
  CHECK(done->id == "done");
}

TEST_CASE("plans, runs, queries and settings are answered by the agents that were asked") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  const auto in_background = [&](const std::string& target, const std::string& body) {
    auto reply = std::make_shared<transport::HttpReply>();
    return std::pair(
        std::jthread([&backend, reply, target, body] { *reply = backend.call("POST", target, body); }),
        reply);
  };

  auto [planning, plan] = in_background(
      "/plan", R"({"recipe":"states: [{id: a, module: meta.comment, parameter: {comment: x}}]"})");
  const auto asked = agent.next_message<protocol::RecipeMetadata>();
  REQUIRE(asked);
  CHECK(std::get<protocol::RecipeMetadata>(asked->body).plan_only);
  CHECK(std::get<protocol::RecipeMetadata>(asked->body).module == protocol::ModuleSource());
  agent.send(protocol::PlanResult{.recipe_version = 1,
                                  .states = {{.id = "a", .module = "meta.comment", .verdict = "kept"}}},
             asked->envelope.mid);
  planning.join();
  CHECK(plan->status == 200);
  CHECK_MESSAGE(JsonView(plan->body).text("items.0.states.0.verdict") == "kept", plan->body);

  auto [running, run] = in_background(
      "/run",
      R"({"state":{"module":"meta.comment","parameter":{"comment":"x"}},"selector":"instance=web1"})");
  const auto order = agent.next_message<protocol::Run>();
  if (!order) running.join();
  REQUIRE_MESSAGE(order, run->body);
  const std::string run_id = std::get<protocol::Run>(order->body).run_id;
  agent.send(protocol::Ack{}, order->envelope.mid);
  agent.report(1, "now", 0, "changed", run_id);
  running.join();
  CHECK(JsonView(run->body).text("items.0.outcome") == "changed");
  CHECK(JsonView(run->body).text("run_id") == run_id);

  auto [refusing, refused] = in_background("/run", R"({"state":{"module":"meta.comment"}})");
  const auto second = agent.next_message<protocol::Run>();
  REQUIRE(second);
  agent.send(protocol::Nack{.error = "run is not allowed here"}, second->envelope.mid);
  refusing.join();
  CHECK(JsonView(refused->body).text("items.0.error") == "run is not allowed here");

  auto [querying, answer] = in_background("/query", R"({"instance_id":"web1","kind":"facts"})");
  const auto question = agent.next_message<protocol::Query>();
  REQUIRE(question);
  agent.send(protocol::QueryResult{.data = {R"({"cores":2})"}, .more = false}, question->envelope.mid);
  querying.join();
  CHECK(JsonView(answer->body).number("data.cores") == 2);

  // Not 403: whoever asks may, and opsctl would advise another token.
  auto [curious, unanswered] = in_background("/query", R"({"instance_id":"web1","kind":"journal"})");
  const auto unwanted = agent.next_message<protocol::Query>();
  REQUIRE(unwanted);
  agent.send(protocol::Nack{.error = "this agent's configuration does not allow it"}, unwanted->envelope.mid);
  curious.join();
  CHECK(unanswered->status == 409);

  auto [setting, accepted] = in_background("/settings", R"({"settings":{"round_delay_s":60}})");
  const auto settings = agent.next_message<protocol::Settings>();
  REQUIRE(settings);
  agent.send(protocol::Ack{}, settings->envelope.mid);
  setting.join();
  CHECK(JsonView(accepted->body).at("items.0.accepted").as_bool() == true);

  auto [hurried, silent] = in_background("/query", R"({"instance_id":"web1","kind":"facts","timeout_s":1})");
  hurried.join();
  CHECK(silent->status == 504);
  CHECK(backend.call("POST", "/query", R"({"instance_id":"web2","kind":"facts"})").status == 404);
}

TEST_CASE("a question ends with its connection") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  transport::HttpReply reply;
  std::thread asking(
      [&] { reply = backend.call("POST", "/query", R"({"instance_id":"web1","kind":"facts"})"); });
  CHECK(agent.next<protocol::Query>());
  agent.leave();
  asking.join();
  CHECK(reply.status == 503);
}

TEST_CASE("facts are kept, and the next welcome names them") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  agent.send(protocol::Facts{.hash = "h1", .full = protocol::Json{R"({"os":{"id":"debian"}})"}});
  agent.report(1, "a", 1);
  CHECK(agent.acked(1));
  CHECK(JsonView(backend.call("GET", "/instances/default/web1").body).text("facts.os.id") == "debian");
  const JsonView found(backend.call("GET", "/instances?selector=fact.os.id%3Ddebian").body);
  CHECK(found.size("items") == 1);
  agent.leave();
  CHECK(agent.connect(backend).facts_hash == "h1");
}

TEST_CASE("facts that come without end are stored now and then, and the latest wins") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  const auto facts = [](int number) { return protocol::Json{R"({"n":)" + std::to_string(number) + "}"}; };
  for (int i = 0; i < 60; ++i)
    agent.send(protocol::Facts{.hash = "h" + std::to_string(i), .full = facts(i)});
  for (int i = 60; i < 90; ++i)
    agent.send(protocol::Facts{.hash = "h" + std::to_string(i), .patch = facts(i)});
  agent.report(1, "a", 1);
  CHECK(agent.acked(1));
  CHECK(backend.metrics().facts_stored.value() == 4);
  CHECK(backend.metrics().messages_over.value() == 86);
  const auto stored = [&] {
    return JsonView(backend.call("GET", "/instances/default/web1").body).number("facts.n");
  };
  CHECK(stored() == 3);
  CHECK(comes_true([&] { return stored() == 89; }));
  CHECK(backend.metrics().facts_stored.value() == 5);

  // More than can wait: they are left out, with a word, and asked for again.
  for (int i = 0; i < 70; ++i)
    agent.send(protocol::Facts{.hash = "p" + std::to_string(i), .patch = facts(i)});
  const auto refused = agent.next<protocol::Nack>();
  REQUIRE(refused);
  CHECK(refused->error.find("facts come faster than they are stored") != std::string::npos);
  agent.leave();
  CHECK(agent.connect(backend).facts_hash == "h89");
}

TEST_CASE("facts that are too large are refused in words") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  agent.send(protocol::Facts{.hash = "h",
                             .full = protocol::Json{"{\"x\":\"" + std::string(2'000'000, 'x') + "\"}"}});
  const auto refused = agent.next<protocol::Nack>();
  REQUIRE(refused);
  CHECK(refused->error.find("facts are larger than 1 MiB") != std::string::npos);
  agent.report(1, "a", 1);
  CHECK(agent.acked(1));
}

TEST_CASE("a result of megabytes is stored with its beginning and its end, and events have no more of it") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  protocol::StateLog log;
  log.seq = 1;
  log.id = "a";
  log.recipe_version = 1;
  log.outcome = "changed";
  log.state_stdout = "begins" + std::string(3'500'000, 'x') + "ends";
  agent.send(log);
  CHECK(agent.acked(1));
  const JsonView page(backend.call("GET", "/results?app=default&instance=web1").body);
  const std::string output = page.text("items.0.output");
  CHECK(output.size() <= 160 * 1024);
  CHECK(output.starts_with("begins"));
  CHECK(output.ends_with("ends"));
  CHECK(output.find(" bytes are not stored ...]") != std::string::npos);
  CHECK(page.at("items.0.truncated").as_bool() == true);
  CHECK(backend.metrics().reports_cut.value() == 1);
}

TEST_CASE("10,000 results that waited for the end of an outage are stored at once, none delayed") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  for (std::uint64_t seq = 1; seq <= 10'000; ++seq)
    agent.report(seq, "a", 1, "kept");
  CHECK(agent.acked(10'000));
  CHECK(backend.metrics().reports_stored.value() == 10'000);
  CHECK(backend.metrics().messages_delayed.value() == 0);
  CHECK(backend.metrics().messages_over.value() == 0);
}

TEST_CASE("a draining backend sends its agents away, and its restart has lost nothing") {
  const tests::ScratchFolder scratch;
  TestAgent agent("web1"), other("web2");
  {
    LiveBackend backend(scratch / "data");
    backend.push("web", kOneState);
    backend.assign("web");
    agent.connect(backend);
    other.connect(backend);
    for (std::uint64_t seq = 1; seq <= 50; ++seq)
      agent.report(seq, "a", 1);
    CHECK(agent.acked(50));
    backend.begin_drain();
    const auto goodbye = agent.next<protocol::Goodbye>();
    REQUIRE(goodbye);
    REQUIRE(goodbye->retry_after_ms);
    CHECK(*goodbye->retry_after_ms <= 5000);
    CHECK(agent.close_code() == protocol::kCloseGoingAway);
    CHECK(other.close_code() == protocol::kCloseGoingAway);
    backend.drain();
    agent.leave();
    other.leave();
  }
  LiveBackend backend(scratch / "data");
  CHECK_FALSE(is_online(backend, "web1"));
  CHECK(count_results(backend, "web1") == 50);
  CHECK(agent.connect(backend).ack_seq == 50);
  CHECK(agent.next<protocol::RecipeMetadata>());
}

TEST_CASE("live output flows while somebody watches, and only then") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  std::string data;
  std::thread watching([&] {
    transport::HttpClient client(backend.client_options());
    [[maybe_unused]] const auto reply =
        client.stream({.target = "/api/v1/events?app=default&instance=web1&output=1&types=output"}, "",
                      [&](const transport::ServerEvent& event) {
                        data = event.data;
                        return false;
                      });
  });
  const auto on = agent.next<protocol::OutputSubscribe>();
  REQUIRE(on);
  CHECK(on->on);
  agent.send(protocol::StateOutput{.id = "a", .stream = "stdout", .data = "hello\n"});
  watching.join();
  CHECK(JsonView(data).text("data") == "hello\n");
  const auto off = agent.next<protocol::OutputSubscribe>(40s);
  REQUIRE(off);
  CHECK_FALSE(off->on);
}
