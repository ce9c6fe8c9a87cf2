#include "protocol/agent_session.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "protocol/message_samples.hpp"

namespace protocol {

using namespace at_agent;

namespace {

using Actions = std::vector<Action>;

Handshake hello() {
  return {.instance_id = "i-1",
          .app_id = "app",
          .agent_version = "1.0",
          .instance_token = "t",
          .facts_hash = "f1",
          .recipe_version = 7,
          .recipe_digest = "d7",
          .last_seq = 10};
}

Handshake offered() {
  Handshake sent = hello();
  sent.protocol_max = 2;
  return sent;
}

// What the session does about an event, but for what it logs.
Actions did(AgentSession& session, Event event) {
  Actions actions = session.step(std::move(event));
  std::erase_if(actions, [](const Action& action) { return std::holds_alternative<Log>(action); });
  return actions;
}

// With a shell that notes every command as a new one.
Actions heard(AgentSession& session, BackendBody body, std::string mid = {}) {
  Actions actions = did(session, Received{BackendMessage{std::move(body), {.mid = std::move(mid)}}});
  const bool notes = actions.size() == 1 && std::holds_alternative<NoteCommand>(actions.front());
  return notes ? did(session, CommandNoted{}) : actions;
}

Send send_2(AgentBody body, std::string re = {}) {
  return {AgentMessage{std::move(body), {.re = std::move(re)}}, 2};
}
Send send_1(AgentBody body) {
  return {AgentMessage{std::move(body)}, 1};
}

StateLog result(std::string id = "s") {
  return {.recipe_version = 7, .id = std::move(id), .state_result = true};
}
StateLog numbered(std::uint64_t seq, StateLog log = result()) {
  log.seq = seq;
  return log;
}
// As version 1 has it.
StateLog named(std::uint64_t seq) {
  StateLog log = numbered(seq);
  log.instance_id = "i-1";
  log.app_id = "app";
  return log;
}

Welcome welcome(std::uint64_t ack_seq = 10) {
  return {.ack_seq = ack_seq, .facts_hash = "f1"};
}

AgentSession opened(Handshake who = hello(), int protocol_min = 1) {
  AgentSession session(std::move(who), protocol_min);
  CHECK(did(session, Opened{}).size() == 3);
  return session;
}
AgentSession welcomed(std::uint64_t ack_seq = 10) {
  AgentSession session = opened();
  heard(session, welcome(ack_seq));
  REQUIRE(session.version() == 2);
  return session;
}
// A backend of version 1 sends the recipe that the agent has.
AgentSession with_version_1() {
  AgentSession session = opened();
  heard(session, RecipeMetadata{.recipe_version = 7, .states = Json{"[]"}});
  REQUIRE(session.version() == 1);
  return session;
}

}  // namespace

TEST_CASE("the agent says hello first, and offers version 2") {
  AgentSession session(hello());
  CHECK(did(session, Opened{}) ==
        Actions{WatchOutput{}, send_1(offered()), StartTimer{Timer::answer, kAnswerMs}});
}

TEST_CASE("a message before the handshake was sent closes the connection") {
  AgentSession session(hello());
  CHECK(heard(session, welcome()) == Actions{Close{1002, "a message came before the handshake"}});
  CHECK(heard(session, welcome()).empty());
}

TEST_CASE("Welcome makes it version 2, with what it asks for") {
  AgentSession session = opened();
  CHECK(heard(session, Welcome{.ack_seq = 4,
                               .heartbeat_s = 1,
                               .max_message = 1,
                               .report_changes_only = true,
                               .facts_hash = "f1"}) ==
        Actions{ConfirmSettings{}, SetHeartbeat{5}, SetMaxMessage{64 * 1024}, ReportChangesOnly{true},
                AcknowledgeReports{4}, ReadReports{4, 64}});
  CHECK(session.version() == 2);
  CHECK(heard(session, welcome()) == Actions{Close{1002, "a second Welcome"}});
}

TEST_CASE("reports are resent after what the backend has, and acknowledged cumulatively") {
  AgentSession session = welcomed(8);
  CHECK(did(session, ReportsRead{{{9, result("a")}, {10, RoundEnd{.recipe_version = 7}}}}) ==
        Actions{send_2(numbered(9, result("a"))), send_2(RoundEnd{.seq = 10, .recipe_version = 7})});
  CHECK(heard(session, Ack{.ack_seq = 10}) == Actions{AcknowledgeReports{10}});
  CHECK(heard(session, Ack{.ack_seq = 9}).empty());
  CHECK(did(session, ReportsAvailable{11}).empty());  // the last ones are still in the send queue
  CHECK(did(session, ReportsWritten{10}) == Actions{ReadReports{10, 64}});
}

TEST_CASE("no more reports are in flight than the window holds") {
  Handshake who = hello();
  who.last_seq = 1000;
  AgentSession session = opened(who);
  Actions actions = heard(session, welcome(0));
  std::uint64_t sent = 0;
  while (!actions.empty()) {
    const auto reading = std::get<ReadReports>(actions.back());
    REQUIRE(reading.after == sent);
    std::vector<Report> reports;
    for (std::size_t i = 0; i < reading.how_many; ++i)
      reports.push_back({++sent, result()});
    did(session, ReportsRead{std::move(reports)});
    actions = did(session, ReportsWritten{sent});
  }
  CHECK(sent == 256);
  CHECK(heard(session, Ack{.ack_seq = 3}) == Actions{AcknowledgeReports{3}, ReadReports{256, 3}});
}

TEST_CASE("reports that the spool has dropped leave a gap and stop nothing") {
  AgentSession session = welcomed(5);
  CHECK(did(session, ReportsRead{{{9, result()}}}) == Actions{send_2(numbered(9))});
  CHECK(did(session, ReportsWritten{9}) == Actions{ReadReports{9, 64}});
  CHECK(did(session, ReportsRead{}).empty());
  CHECK(did(session, ReportsAvailable{11}) == Actions{ReadReports{10, 64}});
}

TEST_CASE("what was never sent cannot be acknowledged") {
  AgentSession session = welcomed(8);
  did(session, ReportsRead{{{9, result()}}});
  CHECK(heard(session, Ack{.ack_seq = 10}) ==
        Actions{Close{1002, "report 10 was acknowledged and never sent"}});
}

TEST_CASE(
    "an agent whose numbers have been used says nothing under them, and takes nothing for acknowledged") {
  AgentSession session = opened();
  const Actions actions = heard(session, welcome(50));
  CHECK(actions.back() == Action{ResetReportStream{50}});
  for (const Action& action : actions) {
    CHECK_FALSE(std::holds_alternative<AcknowledgeReports>(action));
    CHECK_FALSE(std::holds_alternative<ReadReports>(action));
  }
}

TEST_CASE("attack: numbers that were used are noticed also when the spool has grown beyond them since") {
  Handshake who = hello();
  who.last_seq = 160;
  AgentSession grown(who, 1, 100);  // put back to 100, and then 60 were made
  did(grown, Opened{});
  const Actions actions = heard(grown, welcome(150));
  CHECK(actions.back() == Action{ResetReportStream{150}});
  CHECK(std::ranges::find(actions, Action{AcknowledgeReports{150}}) == actions.end());
  // What was sent before, on this connection or another, may be acknowledged.
  for (const std::uint64_t ack : {std::uint64_t{0}, std::uint64_t{99}, std::uint64_t{100}}) {
    AgentSession same(who, 1, 100);
    did(same, Opened{});
    CHECK(heard(same, welcome(ack)).back() == Action{ReadReports{ack, 64}});
  }
  AgentSession session = welcomed(8);
  did(session, ReportsAvailable{11});
  did(session, ReportsRead{{{9, result()}, {10, result()}, {11, result()}}, 11});
  heard(session, AppNotReady{});
  did(session, TimerFired{Timer::repeat_handshake});
  did(session, IdentityRead{hello()});
  const Actions again = heard(session, welcome(11));
  CHECK(std::ranges::find(again, Action{AcknowledgeReports{11}}) != again.end());
  CHECK(std::ranges::find(again, Action{ResetReportStream{11}}) == again.end());
}

TEST_CASE("with a version 1 backend only results are sent, and count as stored once written") {
  AgentSession session = opened();
  CHECK(heard(session, RecipeMetadata{.recipe_version = 7, .states = Json{"[]"}}) ==
        Actions{ReportChangesOnly{false}, ReadReports{0, 64}});
  CHECK(did(session, ReportsRead{{{8, result()},
                                  {9, RoundEnd{.recipe_version = 7}},
                                  {10, RecipeStatus{.recipe_version = 7}}}}) == Actions{send_1(named(8))});
  CHECK(did(session, ReportsWritten{8}) == Actions{AcknowledgeReports{10}});
  CHECK(did(session, ReportsAvailable{11}) == Actions{ReadReports{10, 64}});
  CHECK(did(session, ReportsRead{{{11, RoundEnd{.recipe_version = 7}}}}) == Actions{AcknowledgeReports{11}});
}

TEST_CASE("a backend that does not answer is left, and no report is written to it") {
  AgentSession session = opened();
  CHECK(did(session, TimerFired{Timer::answer}) ==
        Actions{Close{1001, "the backend does not answer the handshake"}});
  AgentSession answered = opened();
  heard(answered, welcome(9));
  CHECK(did(answered, TimerFired{Timer::answer}).empty());
}

TEST_CASE("a backend that has spoken version 1 before is version 1 when it is silent, too") {
  const auto silent = [](int protocol_min) {
    AgentSession session(hello(), protocol_min, std::nullopt, true);
    did(session, Opened{});
    did(session, RecipeInForce{7, "d7", {{"w", {{"i-2", "db"}}}}});
    return session;
  };
  AgentSession session = silent(1);
  const Actions actions = did(session, TimerFired{Timer::answer});
  CHECK(session.version() == 1);
  CHECK(actions == Actions{ReportChangesOnly{false}, ReadReports{0, 64},
                           send_1(WaitQuery{.instance_id = "i-1", .app_id = "app", .recipe_version = 7})});
  CHECK(did(session, ReportsRead{{{8, result()}}}) == Actions{send_1(named(8))});
  // It may have become one of version 2 meanwhile.
  AgentSession newer = silent(1);
  heard(newer, welcome(9));
  CHECK(newer.version() == 2);
  AgentSession strict = silent(2);
  CHECK(did(strict, TimerFired{Timer::answer}) ==
        Actions{Close{1001, "the backend does not answer the handshake"}});
}

TEST_CASE("what cannot be understood is dropped in version 1, and ends the connection in version 2") {
  const NotUnderstood garbled{.code = "RecipeMetadata",
                              .problem = "RecipeMetadata.state: a list is expected"};
  const std::string why = "the backend sent something that is not a message: " + garbled.problem;
  AgentSession old = with_version_1();
  CHECK(old.step(garbled) == std::vector<Action>{Log{Log::Level::warning, why + "; it is dropped"}});
  CHECK(heard(old, RecipeMetadata{.recipe_version = 8, .states = Json{"[]"}}).size() == 1);
  // It shows that the backend is of version 1, as a right one would.
  AgentSession first = opened();
  CHECK(did(first, garbled) == Actions{ReportChangesOnly{false}, ReadReports{0, 64}});
  CHECK(first.version() == 1);
  AgentSession newer = welcomed();
  CHECK(did(newer, garbled) == Actions{Close{1002, why}});
  AgentSession unknown = opened();
  CHECK(did(unknown, NotUnderstood{.code = "Welcome", .problem = "p"}).front() ==
        Action{Close{1002, "the backend sent something that is not a message: p"}});
  // Text that is not JSON is no message of any version.
  AgentSession noise = with_version_1();
  CHECK(did(noise, NotUnderstood{.problem = "p", .close_code = kCloseNotJson}) ==
        Actions{Close{1007, "the backend sent something that is not a message: p"}});
  AgentSession strict = opened(hello(), 2);
  did(strict, garbled);
  CHECK(strict.version() == 0);
}

TEST_CASE("waits with equal ids are told apart by what they wait for; State means all of them") {
  AgentSession session = with_version_1();
  const std::vector<OpenWait> waits{{.id = "w", .targets = {{"i-2", "a"}}},
                                    {.id = "w", .targets = {{"i-2", "b"}}, .key = "w (2)"}};
  did(session, RecipeInForce{7, "", waits});
  CHECK(heard(session, WaitList{.recipe_version = 7, .waited = {{"i-2", "b"}}}) ==
        Actions{at_agent::WaitDone{7, "w"}, WaitsMissing{7, {"w (2)"}}});
  AgentSession other = with_version_1();
  did(other, RecipeInForce{7, "", waits});
  CHECK(heard(other, protocol::WaitDone{.recipe_version = 7, .id = "w"}) ==
        Actions{at_agent::WaitDone{7, "w (2)"}, at_agent::WaitDone{7, "w"}});
}

TEST_CASE("a recipe of a version 1 backend is taken as far as it can be, and so is one that says compat") {
  AgentSession old = with_version_1();
  CHECK(heard(old, RecipeMetadata{.recipe_version = 8, .states = Json{"[]"}}) ==
        Actions{TakeRecipe{{.recipe_version = 8, .states = Json{"[]"}, .compat_v1 = true}}});
  AgentSession newer = welcomed();
  CHECK(heard(newer, RecipeMetadata{.recipe_version = 8, .states = Json{"[]"}}) ==
        Actions{TakeRecipe{{.recipe_version = 8, .states = Json{"[]"}}}});
}

TEST_CASE("reports that cannot be understood do not take those behind them along") {
  AgentSession session = welcomed();
  CHECK(did(session, ReportsAvailable{200}) == Actions{ReadReports{10, 64}});
  CHECK(did(session, ReportsRead{{}, 74}) == Actions{ReadReports{74, 64}});
}

TEST_CASE("an agent that must not speak version 1 closes, and says why") {
  AgentSession session = opened(hello(), 2);
  const Actions actions = session.step(Received{BackendMessage{RecipeMetadata{.recipe_version = 8}}});
  const std::string why = "the backend speaks protocol version 1, and protocol_min is 2";
  CHECK(actions == Actions{Log{Log::Level::warning, "closing the connection: " + why}, Close{1008, why}});
}

TEST_CASE("an app that is not ready is asked again, with the identity read anew") {
  AgentSession session = opened();
  CHECK(heard(session, AppNotReady{}) == Actions{StartTimer{Timer::repeat_handshake, 30'000}});
  CHECK(did(session, TimerFired{Timer::answer}).empty());
  CHECK(did(session, TimerFired{Timer::repeat_handshake}) == Actions{ReadIdentityAgain{}});
  Handshake other = offered();
  other.app_id = "app-2";
  CHECK(did(session, IdentityRead{other}) == Actions{send_1(other), StartTimer{Timer::answer, kAnswerMs}});
  CHECK(heard(session, AppNotReady{.reason = "no such app", .retry_after_ms = 500}) ==
        Actions{StartTimer{Timer::repeat_handshake, 500}});
}

TEST_CASE("another recipe version is taken, also a lower one; the same is a no-op") {
  AgentSession session = welcomed();
  const RecipeMetadata same{.recipe_version = 7, .states = Json{"[]"}, .digest = "d7"};
  CHECK(heard(session, same).empty());
  RecipeMetadata lower = same;
  lower.recipe_version = 6;
  lower.digest = "d6";
  CHECK(heard(session, lower) == Actions{TakeRecipe{lower}});
  CHECK(did(session, RecipeInForce{6, "d6", {}}).empty());
  CHECK(heard(session, lower).empty());
  RecipeMetadata differs = lower;
  differs.digest = "other";
  CHECK(heard(session, differs) == Actions{TakeRecipe{differs}});
}

TEST_CASE("a recipe without states moves the version") {
  AgentSession session = welcomed();
  CHECK(heard(session, RecipeMetadata{.recipe_version = 9}) == Actions{MoveVersion{9, "", {}}});
  CHECK(did(session, RecipeInForce{9, "d7", {}}).empty());
  CHECK(heard(session, RecipeMetadata{.recipe_version = 9}).empty());
  // Also one that was taken a moment before.
  const RecipeMetadata next{.recipe_version = 10, .states = Json{"[]"}};
  CHECK(heard(session, next) == Actions{TakeRecipe{next}});
  did(session, RecipeInForce{10, "", {}});
  CHECK(heard(session, RecipeMetadata{.recipe_version = 11, .digest = "d11"}) ==
        Actions{MoveVersion{11, "d11", {}}});

  Handshake nothing = hello();
  nothing.recipe_version.reset();
  AgentSession empty = opened(nothing);
  heard(empty, welcome());
  CHECK(heard(empty, RecipeMetadata{.recipe_version = 2}).empty());
}

TEST_CASE("after a recipe that was refused the old one is in force, and the new one may come again") {
  AgentSession session = welcomed();
  const RecipeMetadata bad{.recipe_version = 8, .states = Json{"[1]"}};
  CHECK(heard(session, bad) == Actions{TakeRecipe{bad}});
  CHECK(did(session, RecipeInForce{7, "d7", {}}).empty());
  CHECK(heard(session, RecipeMetadata{.recipe_version = 7, .states = Json{"[]"}}).empty());
  CHECK(heard(session, bad) == Actions{TakeRecipe{bad}});
}

TEST_CASE("of recipes that replace each other the last one counts") {
  AgentSession session = welcomed();
  heard(session, RecipeMetadata{.recipe_version = 8, .states = Json{"[]"}});
  did(session, RecipeInForce{8, "", {}});
  heard(session, RecipeMetadata{.recipe_version = 9, .states = Json{"[]"}});
  did(session, RecipeInForce{9, "", {}});
  CHECK(heard(session, RecipeMetadata{.recipe_version = 9, .states = Json{"[]"}}).empty());
  CHECK(heard(session, RecipeMetadata{.recipe_version = 8, .states = Json{"[]"}}).size() == 1);
}

TEST_CASE("a plan is asked for and answered, in version 2 only, and never applied") {
  const RecipeMetadata plan{.recipe_version = 8, .states = Json{"[]"}, .plan_only = true};
  AgentSession session = welcomed();
  CHECK(heard(session, plan, "m-5") == Actions{PlanRecipe{plan, "m-5"}});
  CHECK(did(session, PlanReady{"m-5", PlanResult{.recipe_version = 8}}) ==
        Actions{send_2(PlanResult{.recipe_version = 8}, "m-5")});
  AgentSession old = with_version_1();
  CHECK(heard(old, plan).empty());
}

TEST_CASE("open waits are asked about on every connection and after every recipe that has some") {
  const WaitQuery ask{.instance_id = "i-1", .app_id = "app", .recipe_version = 7};
  AgentSession session = opened();
  CHECK(did(session, RecipeInForce{7, "d7", {{"w", {}}}}).empty());  // nobody to ask yet
  const Actions actions = heard(session, welcome());
  CHECK(actions.back() == Action{send_2(ask)});
  heard(session, RecipeMetadata{.recipe_version = 8, .states = Json{"[]"}});
  WaitQuery next = ask;
  next.recipe_version = 8;
  CHECK(did(session, RecipeInForce{8, "", {{"w", {}}}}) == Actions{send_2(next)});
  heard(session, RecipeMetadata{.recipe_version = 9, .states = Json{"[1]"}});
  CHECK(did(session, RecipeInForce{8, "", {{"w", {}}}}).empty());  // refused: asked about already
  heard(session, RecipeMetadata{.recipe_version = 9, .states = Json{"[]"}});
  CHECK(did(session, RecipeInForce{9, "", {}}).empty());
  // A version that moves is asked about once.
  next.recipe_version = 10;
  CHECK(heard(session, RecipeMetadata{.recipe_version = 10}) == Actions{MoveVersion{10, "", {}}});
  CHECK(did(session, RecipeInForce{10, "", {{"w", {}}}}) == Actions{send_2(next)});

  const Actions begins{ReportChangesOnly{false}, ReadReports{0, 64}};
  AgentSession old = opened();
  did(old, RecipeInForce{7, "d7", {{"w", {}}}});
  CHECK(heard(old, RecipeMetadata{.recipe_version = 7}) == Actions{begins[0], begins[1], send_1(ask)});
  // A first message with a recipe is answered before the question, also when it is refused.
  AgentSession refusing = opened();
  did(refusing, RecipeInForce{7, "d7", {{"w", {}}}});
  const RecipeMetadata bad{.recipe_version = 8, .states = Json{"[1]"}};
  RecipeMetadata taken = bad;
  taken.compat_v1 = true;
  CHECK(heard(refusing, bad) == Actions{begins[0], begins[1], TakeRecipe{taken}});
  CHECK(did(refusing, RecipeInForce{7, "d7", {{"w", {}}}}) == Actions{send_1(ask)});
}

TEST_CASE("attack: a wait is done when the backend says so, and not because a list does not name it") {
  AgentSession session = welcomed();
  did(session, RecipeInForce{7, "d7", {{"first", {{"i-2", "db"}}}, {"second", {{"i-3", "web"}}}}});
  CHECK(heard(session, WaitList{7, {{"i-2", "db"}}}) == Actions{WaitsMissing{7, {"first", "second"}}});
  CHECK(heard(session, WaitList{7, {}}) == Actions{WaitsMissing{7, {"first", "second"}}});
  CHECK(heard(session, protocol::WaitDone{7, "second", ""}) == Actions{at_agent::WaitDone{7, "second"}});
  CHECK(heard(session, WaitList{7, {}}) == Actions{WaitsMissing{7, {"first"}}});
}

TEST_CASE("a wait is done when a backend of version 1 no longer lists what it waits for") {
  AgentSession session = with_version_1();
  did(session, RecipeInForce{7,
                             "d7",
                             {{"by-target", {{"i-2", "db"}}},
                              {"by-any-machine", {{"", "cache"}}},
                              {"by-own-id", {}},
                              {"done", {{"i-2", "web"}}}}});
  CHECK(
      heard(session, WaitList{7, {{"i-2", "db"}, {"i-9", "cache"}, {"i-1", "by-own-id"}, {"i-3", "web"}}}) ==
      Actions{at_agent::WaitDone{7, "done"}, WaitsMissing{7, {"by-target", "by-any-machine", "by-own-id"}}});
  CHECK(heard(session, protocol::WaitDone{7, "by-target", ""}) ==
        Actions{at_agent::WaitDone{7, "by-target"}});
  CHECK(heard(session, WaitList{7, {}}) == Actions{at_agent::WaitDone{7, "by-any-machine"},
                                                   at_agent::WaitDone{7, "by-own-id"}, WaitsMissing{7, {}}});
}

TEST_CASE("waits of another recipe version are ignored") {
  AgentSession session = welcomed();
  did(session, RecipeInForce{7, "d7", {{"w", {}}}});
  CHECK(heard(session, protocol::WaitDone{6, "w", ""}).empty());
  CHECK(heard(session, WaitList{8, {}}).empty());
}

TEST_CASE("facts are sent in full when the backend has others, then as patches") {
  AgentSession session = opened();
  Welcome stale = welcome();
  stale.facts_hash = "f0";
  CHECK(heard(session, stale).back() == Action{ReadFacts{}});
  CHECK(did(session, FactsChanged{"f2", {}, Json{"{}"}}).empty());  // a patch on top of nothing
  CHECK(did(session, FactsChanged{"f2", Json{"{}"}, {}}) ==
        Actions{send_2(Facts{.hash = "f2", .full = Json{"{}"}})});
  CHECK(did(session, FactsChanged{"f3", Json{"{}"}, Json{"{\"a\":1}"}}) ==
        Actions{send_2(Facts{.hash = "f3", .patch = Json{"{\"a\":1}"}})});
  AgentSession old = with_version_1();
  CHECK(did(old, FactsChanged{"f3", Json{"{}"}, {}}).empty());
}

TEST_CASE("output is sent only while someone watches it") {
  AgentSession session = welcomed();
  const StateOutput output{.run_id = "r", .id = "s", .stream = "stdout", .data = "x"};
  CHECK(did(session, Output{output}).empty());
  CHECK(heard(session, OutputSubscribe{.id = "s"}) == Actions{WatchOutput{"", "s", true}});
  CHECK(did(session, Output{output}) == Actions{send_2(output)});
  StateOutput other = output;
  other.id = "t";
  CHECK(did(session, Output{other}).empty());
  CHECK(heard(session, OutputSubscribe{.id = "s", .on = false}) == Actions{WatchOutput{"", "s", false}});
  CHECK(did(session, Output{output}).empty());
  for (int i = 0; i < 64; ++i)
    heard(session, OutputSubscribe{.id = "w" + std::to_string(i)});
  CHECK(heard(session, OutputSubscribe{.id = "one more"}, "m") ==
        Actions{send_2(Nack{.error = "too many are watching already", .retryable = true}, "m")});
}

TEST_CASE("what reaches past the recipe is asked of the shell, and its answer carries the request's mid") {
  AgentSession session = welcomed();
  CHECK(heard(session, sample<Query>(), "q") == Actions{AnswerQuery{sample<Query>(), "q"}});
  CHECK(did(session, QueryAnswered{"q", sample<QueryResult>()}) ==
        Actions{send_2(sample<QueryResult>(), "q")});
  CHECK(heard(session, sample<Run>(), "r") == Actions{RunState{sample<Run>(), "r"}});
  CHECK(did(session, RequestDone{"r"}) == Actions{send_2(Ack{}, "r")});
  CHECK(heard(session, sample<Cancel>(), "c") == Actions{CancelRun{sample<Cancel>(), "c"}});
  CHECK(did(session, RequestRefused{"c", "not allowed"}) ==
        Actions{send_2(Nack{.error = "not allowed"}, "c")});
  CHECK(heard(session, sample<Settings>(), "s") == Actions{TrySettings{sample<Settings>(), "s"}});
  CHECK(heard(session, sample<Hold>(), "h") == Actions{TakeHold{sample<Hold>(), "h"}});
  CHECK(heard(session, sample<RunNow>(), "n") == Actions{BeginRound{"n"}});
  CHECK(heard(session, sample<AgentUpdate>()) == Actions{UpdateAsked{sample<AgentUpdate>()}});
  CHECK(did(session, CertificateWanted{sample<CertRequest>()}) == Actions{send_2(sample<CertRequest>())});
  CHECK(heard(session, sample<CertIssued>()) == Actions{CertificateIssued{sample<CertIssued>(), ""}});
  CHECK(heard(session, sample<CertIssued>(), "k") == Actions{CertificateIssued{sample<CertIssued>(), "k"}});
  CHECK(did(session, RequestDone{"k"}) == Actions{send_2(Ack{}, "k")});
  CHECK(heard(session, sample<Authorities>(), "a") == Actions{TrustAuthorities{sample<Authorities>(), "a"}});
  CHECK(did(session, RequestRefused{"a", "a stranger"}) == Actions{send_2(Nack{.error = "a stranger"}, "a")});
}

TEST_CASE("holds are told in the handshake, and when they change to a backend that knows of them") {
  const std::vector<MachineHold> one = sample<HoldStatus>().holds;
  for (const bool knows : {false, true}) {
    CAPTURE(knows);
    AgentSession session(Handshake{.instance_id = "i-1", .agent_version = "1", .holds = one});
    const Actions hello = did(session, Opened{});
    CHECK(std::ranges::any_of(hello, [&](const Action& action) {
      const auto* send = std::get_if<Send>(&action);
      const auto* said = send ? std::get_if<Handshake>(&send->message.body) : nullptr;
      return said && said->holds == one;
    }));
    const auto tells = [](const Actions& actions) {
      return std::ranges::any_of(actions, [](const Action& action) {
        const auto* send = std::get_if<Send>(&action);
        return send && std::holds_alternative<HoldStatus>(send->message.body);
      });
    };
    // Between the handshake and its answer.
    CHECK_FALSE(tells(did(session, HoldsChanged{})));
    Welcome welcome;
    if (knows) welcome.capabilities = {"hold"};
    CHECK(tells(heard(session, welcome)) == knows);
    CHECK(tells(did(session, HoldsChanged{one})) == knows);
  }
}

TEST_CASE("a backend that never said Welcome cannot use version 2") {
  for (const BackendMessage& message : backend_samples()) {
    if (since_version(message.body) == 1 || std::holds_alternative<Welcome>(message.body) ||
        std::holds_alternative<Goodbye>(message.body))
      continue;
    CAPTURE(code_of(message.body));
    AgentSession old = with_version_1();
    CHECK(did(old, Received{message}).empty());
    AgentSession undecided = opened();
    CHECK(did(undecided, Received{message}).empty());
  }
}

TEST_CASE("of what a backend says in many words a line has the beginning") {
  const std::string long_text(4'000'000, 'x');
  for (const BackendBody& body :
       {BackendBody(Nack{.error = long_text}), BackendBody(AppNotReady{.reason = long_text}),
        BackendBody(Goodbye{.reason = long_text})}) {
    AgentSession session = welcomed();
    int lines = 0;
    for (const Action& action : session.step(Received{BackendMessage{body}}))
      if (const auto* line = std::get_if<Log>(&action)) {
        ++lines;
        CHECK(line->text.size() < 400);
      }
    CHECK(lines >= 1);
  }
}

TEST_CASE("the agent answers Test with its handshake, and an unknown code in version 2 with Nack") {
  AgentSession session = welcomed();
  CHECK(heard(session, Test{}, "m") == Actions{send_2(TestAnswer{offered()}, "m")});
  CHECK(heard(session, Unknown{"Hologram"}, "m") ==
        Actions{send_2(Nack{.error = "unknown code 'Hologram'"}, "m")});
  AgentSession old = with_version_1();
  CHECK(heard(old, Test{}) == Actions{send_1(TestAnswer{offered()})});
  CHECK(heard(old, Unknown{"Hologram"}).empty());
}

TEST_CASE("both sides can end the conversation") {
  AgentSession session = welcomed();
  CHECK(heard(session, Goodbye{"draining", 500, {"wss://b2/agent/"}}) ==
        Actions{Disconnect{500, {"wss://b2/agent/"}}});
  CHECK(did(session, ReportsAvailable{11}).empty());
  AgentSession other = welcomed();
  CHECK(did(other, Closing{"stopping"}) ==
        Actions{send_2(Goodbye{.reason = "stopping"}), Close{1001, "stopping"}});
  AgentSession old = with_version_1();
  CHECK(did(old, Closing{"stopping"}) == Actions{Close{1001, "stopping"}});
}

}  // namespace protocol
