// Compiled alone: its names are those of other tests.
#include "protocol/backend_session.hpp"

#include <doctest/doctest.h>

#include "base/utc_text.hpp"
#include "protocol/capabilities.hpp"
#include "protocol/message_samples.hpp"

namespace protocol {

using namespace at_backend;

namespace {

using Actions = std::vector<Action>;

constexpr BackendPolicy kTokensToo{.accepts_tokens = true};
constexpr BackendPolicy kCertificatesOnly{};
const std::chrono::system_clock::time_point kNow = *base::parse_utc("2024-05-01T10:00:00Z");

Handshake hello(int protocol_max = 2) {
  return {.instance_id = "i-1",
          .app_id = "app",
          .agent_version = "1.0",
          .protocol_max = protocol_max,
          .capabilities = {std::string(kCanPlan), std::string(kCanQuery)}};
}

// What the session does about an event, but for what it logs.
Actions did(BackendSession& session, Event event) {
  Actions actions = session.step(std::move(event));
  std::erase_if(actions, [](const Action& action) { return std::holds_alternative<Log>(action); });
  return actions;
}

Actions heard(BackendSession& session, AgentBody body, std::string mid = {}, std::string re = {}) {
  return did(session, Received{AgentMessage{std::move(body), {.mid = std::move(mid), .re = std::move(re)}}});
}

Send says(BackendBody body, int version = 2, std::string mid = {}, std::string re = {}) {
  return {BackendMessage{std::move(body), {.mid = std::move(mid), .re = std::move(re)}}, version};
}
Send says_until(BackendBody body, std::string mid, std::string until) {
  Send send = says(std::move(body), 2, std::move(mid));
  send.message.envelope.valid_until = std::move(until);
  return send;
}

BackendSession accepted(int version = 2, std::uint64_t ack_seq = 10) {
  BackendSession session(kTokensToo);
  did(session, Opened{});
  heard(session, hello(version));
  did(session, Accepted{Welcome{.ack_seq = ack_seq}});
  REQUIRE(session.is_accepted());
  REQUIRE(session.version() == version);
  return session;
}

BackendSession certified() {
  BackendSession session(kCertificatesOnly);
  did(session, Opened{CertifiedName{"app", "i-1"}});
  heard(session, hello());
  did(session, Accepted{Welcome{.ack_seq = 10}});
  REQUIRE(session.is_accepted());
  return session;
}

StateLog report(std::optional<std::uint64_t> seq, std::string instance_id = {}) {
  return {.instance_id = std::move(instance_id), .recipe_version = 7, .id = "s", .seq = seq};
}

}  // namespace

TEST_CASE("a peer has little time and little room until its handshake") {
  BackendSession session(kTokensToo);
  CHECK(did(session, Opened{}) == Actions{SetMaxMessage{64 * 1024}, StartTimer{Timer::handshake, 10'000}});
  CHECK(did(session, TimerFired{}) == Actions{Close{1008, "no handshake in time"}});
  CHECK(heard(session, hello()).empty());
}

TEST_CASE("an agent of version 2 is welcomed, one of version 1 is accepted without a word") {
  BackendSession session(kTokensToo);
  did(session, Opened{});
  CHECK(heard(session, hello()) == Actions{StopTimer{}, DecideHandshake{hello(), 2}});
  CHECK(did(session, Accepted{Welcome{.protocol_version = 0, .session = "s", .epoch = 3}}) ==
        Actions{SetMaxMessage{4 * 1024 * 1024}, says(Welcome{.session = "s", .epoch = 3})});
  CHECK(did(session, TimerFired{}).empty());

  BackendSession old(kTokensToo);
  did(old, Opened{});
  CHECK(heard(old, hello(1)) == Actions{StopTimer{}, DecideHandshake{hello(1), 1}});
  CHECK(did(old, Accepted{Welcome{.max_message = 99}}) == Actions{SetMaxMessage{99}});
  BackendSession newer(kTokensToo);
  did(newer, Opened{});
  CHECK(heard(newer, hello(3)).back() == Action{DecideHandshake{hello(3), 2}});
}

TEST_CASE("a backend that must not speak version 1 refuses such an agent, and says why") {
  const BackendPolicy strict{.protocol_min = 2, .accepts_tokens = true};
  BackendSession session(strict);
  did(session, Opened{});
  const std::string why = "protocol version 1 is not accepted here, and i-1 offers no other";
  CHECK(session.step(Received{AgentMessage{hello(1)}}) ==
        Actions{Log{Log::Level::warning, why}, Close{1008, why}});
  BackendSession other(strict);
  did(other, Opened{});
  CHECK(heard(other, hello(2)).size() == 2);
}

TEST_CASE("a connection is for one machine: after AppNotReady another name closes it") {
  for (const bool other_app : {false, true}) {
    BackendSession session(kTokensToo);
    did(session, Opened{});
    heard(session, hello());
    did(session, NotReady{"wait", {}});
    CHECK(heard(session, hello()).back() == Action{DecideHandshake{hello(), 2}});
    did(session, NotReady{"wait", {}});
    Handshake another = hello();
    (other_app ? another.app_id : another.instance_id) = "x";
    CHECK(heard(session, another) ==
          Actions{Close{kClosePolicy, "one connection is for one machine: it was app/i-1"}});
  }
}

TEST_CASE("of what an agent says in many words a line has the beginning") {
  BackendSession session = accepted();
  const auto actions =
      session.step(Received{AgentMessage{Nack{.error = std::string(4'000'000, 'x')}, {.re = "m"}}});
  REQUIRE(actions.size() == 2);
  CHECK(std::get<Log>(actions[0]).text.size() < 400);
  CHECK(std::get<Nack>(std::get<Answered>(actions[1]).answer).error.size() == 4'000'000);
}

TEST_CASE("a handshake may be repeated after AppNotReady") {
  BackendSession session(kTokensToo);
  did(session, Opened{});
  heard(session, hello(1));
  CHECK(did(session, NotReady{"no such app", {}}) ==
        Actions{says(AppNotReady{.reason = "no such app"}, 1), StartTimer{Timer::handshake, 40'000}});
  CHECK(heard(session, hello(1)) == Actions{StopTimer{}, DecideHandshake{hello(1), 1}});
  CHECK(did(session, NotReady{"", 90'000}) ==
        Actions{says(AppNotReady{.retry_after_ms = 90'000}, 1), StartTimer{Timer::handshake, 100'000}});
  CHECK(did(session, TimerFired{}) == Actions{Close{1008, "no handshake in time"}});
}

TEST_CASE("a handshake that is refused, or comes twice, closes the connection") {
  BackendSession session(kTokensToo);
  did(session, Opened{});
  heard(session, hello());
  CHECK(did(session, Refused{"revoked"}) == Actions{Close{1008, "revoked"}});
  BackendSession again = accepted();
  CHECK(heard(again, hello()) == Actions{Close{1002, "a second handshake on one connection"}});
  BackendSession hasty(kTokensToo);
  did(hasty, Opened{});
  heard(hasty, hello());
  CHECK(heard(hasty, hello()) == Actions{Close{1002, "Handshake before the handshake was accepted"}});
}

TEST_CASE("a stranger may enrol once, with a token, and be told only the answer") {
  const CertRequest request = sample<CertRequest>();
  BackendSession session(kCertificatesOnly);
  did(session, Opened{});
  CHECK(heard(session, request, "m") ==
        Actions{StopTimer{Timer::handshake}, SignCertificate{request, "m", true}});
  CHECK(did(session, Tell{sample<RecipeMetadata>()}).size() == 1);
  CHECK(did(session, Tell{sample<CertIssued>(), "", "m"}) ==
        Actions{says(sample<CertIssued>(), 2, "", "m"), StartTimer{Timer::handshake, kHandshakeMs}});
  CHECK(heard(session, request) == Actions{Close{1002, "CertRequest before the handshake was accepted"}});
  BackendSession without(kCertificatesOnly);
  did(without, Opened{});
  CHECK(heard(without, CertRequest{.csr = "x"}) ==
        Actions{Close{1002, "CertRequest before the handshake was accepted"}});
}

TEST_CASE("where only certificates count, a handshake without one is refused, and says what to do") {
  BackendSession session(kCertificatesOnly);
  did(session, Opened{});
  const std::string why = "a certificate is needed here: enrol the agent with a join token";
  CHECK(session.step(Received{AgentMessage{hello()}}) ==
        Actions{Log{Log::Level::warning, why}, Close{1008, why}});
}

TEST_CASE("a certificate is renewed on an accepted connection, by the agent that has it") {
  const CertRequest request{.csr = "x"};
  BackendSession session = certified();
  CHECK(heard(session, request, "r") == Actions{SignCertificate{request, "r", false}});
  CHECK(did(session, Tell{sample<CertIssued>(), "", "r"}) == Actions{says(sample<CertIssued>(), 2, "", "r")});
  CHECK(heard(session, sample<CertRequest>()) ==
        Actions{Close{1002, "CertRequest is not allowed to this agent"}});  // it has a join token in it
  BackendSession by_token = accepted();
  CHECK(heard(by_token, request) == Actions{Close{1002, "CertRequest is not allowed to this agent"}});
}

TEST_CASE("only an agent that knows of authorities is told of them, and its answer is handed on") {
  BackendSession old = certified();
  CHECK(did(old, Tell{sample<Authorities>(), "a"}) ==
        Actions{TellFailed{"a", "the agent does not offer 'authorities'"}});
  BackendSession session(kCertificatesOnly);
  did(session, Opened{CertifiedName{"app", "i-1"}});
  Handshake able = hello();
  able.capabilities = {"authorities"};
  heard(session, able);
  did(session, Accepted{});
  CHECK(did(session, Tell{sample<Authorities>(), "a"}) == Actions{says(sample<Authorities>(), 2, "a")});
  CHECK(session.step(Received{AgentMessage{Ack{}, {.re = "a"}}}) == Actions{Answered{"a", Ack{}}});
}

TEST_CASE("a report is stored once; repeated ones are dropped, gaps accepted") {
  BackendSession session = accepted(2, 10);
  CHECK(heard(session, report(10)).empty());
  CHECK(heard(session, report(11)) == Actions{Store{11, report(11)}});
  CHECK(heard(session, report(11)).empty());
  CHECK(heard(session, RoundEnd{.seq = 15, .recipe_version = 7}) ==
        Actions{Store{15, RoundEnd{.seq = 15, .recipe_version = 7}}});
  CHECK(heard(session, report(12)).empty());
  CHECK(heard(session, sample<UpdateStatus>()) == Actions{Store{45, sample<UpdateStatus>()}});
  CHECK(heard(session, report({})) == Actions{Close{1002, "StateLog without a seq"}});
}

TEST_CASE("reports of version 1 have no number, and only results exist") {
  BackendSession session = accepted(1);
  CHECK(heard(session, report({}, "i-1")) == Actions{Store{{}, report({}, "i-1")}});
  CHECK(heard(session, report({}, "i-1")) == Actions{Store{{}, report({}, "i-1")}});
  for (const AgentMessage& message : agent_samples())
    if (since_version(message.body) == 2) CHECK(did(session, Received{message}).empty());
  CHECK(did(session, Stored{12}).empty());
}

TEST_CASE("a report is acknowledged when it is stored, and not before this connection has brought it") {
  BackendSession session = accepted(2, 10);
  heard(session, report(11));
  heard(session, report(12));
  CHECK(did(session, Stored{11}) == Actions{says(Ack{.ack_seq = 11})});
  CHECK(did(session, Stored{11}).empty());
  CHECK(did(session, Stored{20}) == Actions{says(Ack{.ack_seq = 12})});
}

TEST_CASE("who speaks in another machine's or app's name is closed and audited") {
  BackendSession session = accepted();
  CHECK(heard(session, report(11, "i-2")) ==
        Actions{Impostor{"", "i-2"}, Close{1008, "spoke in the name of i-2"}});
  BackendSession other = accepted();
  CHECK(heard(other, WaitQuery{.instance_id = "i-2", .recipe_version = 1}).front() ==
        Action{Impostor{"", "i-2"}});
  BackendSession of_app = accepted();
  CHECK(heard(of_app, WaitQuery{.instance_id = "i-1", .app_id = "app-2", .recipe_version = 1}) ==
        Actions{Impostor{"app-2", "i-1"}, Close{1008, "spoke in the name of i-1 of app app-2"}});
  BackendSession renewing = certified();
  CHECK(heard(renewing, CertRequest{.csr = "x", .app_id = "app-2"}) ==
        Actions{Impostor{"app-2", ""}, Close{1008, "spoke in the name of app app-2"}});
  BackendSession tested = certified();
  CHECK(heard(tested, TestAnswer{{.instance_id = "i-2"}}).front() == Action{Impostor{"", "i-2"}});
}

TEST_CASE("a certificate says who the agent is, and a handshake cannot say otherwise") {
  const auto met = [](Handshake who) {
    BackendSession session(kCertificatesOnly);
    did(session, Opened{CertifiedName{"app", "i-1"}});
    return heard(session, std::move(who));
  };
  CHECK(met(hello()) == Actions{StopTimer{}, DecideHandshake{hello(), 2}});
  Handshake without_app = hello();
  without_app.app_id.clear();
  CHECK(met(without_app) == Actions{StopTimer{}, DecideHandshake{hello(), 2}});
  Handshake other = hello();
  other.instance_id = "i-2";
  CHECK(met(other) == Actions{Impostor{"app", "i-2"}, Close{1008, "spoke in the name of i-2"}});
  other = hello();
  other.app_id = "app-2";
  CHECK(met(other) ==
        Actions{Impostor{"app-2", "i-1"}, Close{1008, "spoke in the name of i-1 of app app-2"}});
  // Nor can one that is repeated.
  BackendSession session(kCertificatesOnly);
  did(session, Opened{CertifiedName{"app", "i-1"}});
  heard(session, hello());
  did(session, NotReady{});
  CHECK(heard(session, other).front() == Action{Impostor{"app-2", "i-1"}});
}

TEST_CASE("what is asked for beyond the recipe is asked for until a certain time") {
  const auto until = [](BackendBody body, int version = 2) {
    BackendSession session(kTokensToo);
    did(session, Opened{});
    Handshake able = hello(version);
    able.capabilities = {"plan", "query", "run", "output", "settings", "hold"};
    heard(session, able);
    did(session, Accepted{});
    const Actions actions = did(session, Tell{.body = std::move(body), .mid = "m", .now = kNow});
    return std::get<Send>(actions.at(0)).message.envelope.valid_until;
  };
  RecipeMetadata apply = sample<RecipeMetadata>();
  apply.plan_only = false;
  const std::string in_a_minute = "2024-05-01T10:01:00.000Z";
  CHECK(until(sample<Run>()) == in_a_minute);
  CHECK(until(sample<Cancel>()) == in_a_minute);
  CHECK(until(sample<Query>()) == in_a_minute);
  CHECK(until(sample<Settings>()) == in_a_minute);
  CHECK(until(sample<OutputSubscribe>()) == in_a_minute);
  CHECK(until(sample<RunNow>()) == in_a_minute);
  CHECK(until(sample<Hold>()) == "");
  CHECK(until(sample<RecipeMetadata>()) == in_a_minute);
  CHECK(until(sample<AgentUpdate>()) == "2024-05-01T10:10:00.000Z");
  CHECK(until(apply) == "");
  CHECK(until(sample<WaitList>()) == "");
  CHECK(until(sample<AgentUpdate>(), 1) == "");
}

TEST_CASE("an agent that is too old to know pauses is told neither of them nor to begin a round") {
  for (const BackendBody& body : {BackendBody(sample<Hold>()), BackendBody(sample<RunNow>())}) {
    BackendSession session(kTokensToo);
    did(session, Opened{});
    Handshake old = hello(2);
    old.capabilities = {"plan", "vars"};
    heard(session, old);
    did(session, Accepted{});
    const Actions actions = did(session, Tell{.body = body, .mid = "m", .now = kNow});
    REQUIRE(actions.size() == 1);
    CHECK(std::get<TellFailed>(actions[0]).error.find("too old") != std::string::npos);
  }
}

TEST_CASE("what the agent says reaches the shell") {
  BackendSession session = accepted();
  CHECK(heard(session, WaitQuery{"i-1", "app", 7}, "m") == Actions{AnswerWaits{7, "m"}});
  CHECK(heard(session, sample<Facts>()) == Actions{StoreFacts{sample<Facts>()}});
  CHECK(heard(session, sample<HoldStatus>()) == Actions{HoldsChanged{sample<HoldStatus>().holds}});
  CHECK(heard(session, sample<StateOutput>()) == Actions{OutputArrived{sample<StateOutput>()}});
  CHECK(heard(session, sample<PlanResult>(), "", "p") == Actions{Answered{"p", sample<PlanResult>()}});
  CHECK(heard(session, sample<QueryResult>(), "", "q") == Actions{Answered{"q", sample<QueryResult>()}});
  CHECK(heard(session, Ack{}, "", "a") == Actions{Answered{"a", Ack{}}});
  CHECK(heard(session, sample<Nack>(), "", "n") == Actions{Answered{"n", sample<Nack>()}});
  CHECK(heard(session, Unknown{"Hologram"}, "u") ==
        Actions{says(Nack{.error = "unknown code 'Hologram'"}, 2, "", "u")});
  CHECK(heard(session, Goodbye{"stopping", {}, {}}) == Actions{AgentLeaves{"stopping"}, Close{1000, ""}});
  BackendSession old = accepted(1);
  CHECK(heard(old, Unknown{"Hologram"}).empty());
}

TEST_CASE("an agent is told only what its version and its capabilities allow") {
  RecipeMetadata plan = sample<RecipeMetadata>();
  RecipeMetadata apply = plan;
  apply.plan_only = false;
  BackendSession session = accepted();
  CHECK(did(session, Tell{apply}) == Actions{says(apply)});
  const std::string until = "2024-05-01T10:01:00.000Z";
  CHECK(did(session, Tell{plan, "m", "", kNow}) == Actions{says_until(plan, "m", until)});
  CHECK(did(session, Tell{sample<Query>(), "q", "", kNow}) ==
        Actions{says_until(sample<Query>(), "q", until)});
  CHECK(did(session, Tell{sample<Run>(), "r"}) ==
        Actions{TellFailed{
            "r", "the agent does not offer 'run'; it must be allowed on the machine (--allow run)"}});
  CHECK(did(session, Tell{Welcome{}, "w"}) ==
        Actions{TellFailed{"w", "Welcome is said by the session itself"}});

  BackendSession old = accepted(1);
  const std::string cannot = "the agent speaks protocol version 1, which cannot do this";
  CHECK(did(old, Tell{apply}) == Actions{says(apply, 1)});
  CHECK(did(old, Tell{sample<WaitDone>()}) == Actions{says(sample<WaitDone>(), 1)});
  CHECK(did(old, Tell{plan, "m"}) == Actions{TellFailed{"m", cannot}});
  CHECK(did(old, Tell{sample<Query>(), "q"}) == Actions{TellFailed{"q", cannot}});

  BackendSession early(kTokensToo);
  did(early, Opened{});
  CHECK(did(early, Tell{apply, "e"}) ==
        Actions{TellFailed{"e", "the agent's handshake is not accepted yet"}});
}

TEST_CASE("nothing is stored from a connection that was superseded, revoked or drained") {
  BackendSession session = accepted();
  CHECK(did(session, Superseded{}) ==
        Actions{Close{4001, "a newer connection of the same agent has taken over"}});
  CHECK(heard(session, report(11)).empty());
  BackendSession revoked = accepted();
  CHECK(did(revoked, Revoked{"revoked"}) == Actions{Close{1008, "revoked"}});
  CHECK(heard(revoked, report(11)).empty());
  BackendSession drained = accepted();
  CHECK(did(drained, Drain{500, {"wss://b2/agent/"}}) ==
        Actions{says(Goodbye{"draining", 500, {"wss://b2/agent/"}}), Close{1001, "draining"}});
  CHECK(heard(drained, report(11)).empty());
  BackendSession old = accepted(1);
  CHECK(did(old, Drain{}) == Actions{Close{1001, "draining"}});
}

}  // namespace protocol
