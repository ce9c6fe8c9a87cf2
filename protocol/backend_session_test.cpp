#include "protocol/backend_session.hpp"

#include <doctest/doctest.h>

#include "protocol/capabilities.hpp"
#include "protocol/message_samples.hpp"

namespace protocol {

using namespace at_backend;

namespace {

using Actions = std::vector<Action>;

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

BackendSession accepted(int version = 2, std::uint64_t ack_seq = 10) {
  BackendSession session;
  did(session, Opened{});
  heard(session, hello(version));
  did(session, Accepted{Welcome{.ack_seq = ack_seq}});
  REQUIRE(session.is_accepted());
  REQUIRE(session.version() == version);
  return session;
}

StateLog report(std::optional<std::uint64_t> seq, std::string instance_id = {}) {
  return {.instance_id = std::move(instance_id), .recipe_version = 7, .id = "s", .seq = seq};
}

}  // namespace

TEST_CASE("a peer has little time and little room until its handshake") {
  BackendSession session;
  CHECK(did(session, Opened{}) == Actions{SetMaxMessage{64 * 1024}, StartTimer{Timer::handshake, 10'000}});
  CHECK(did(session, TimerFired{}) == Actions{Close{1008, "no handshake in time"}});
  CHECK(heard(session, hello()).empty());
}

TEST_CASE("an agent of version 2 is welcomed, one of version 1 is accepted without a word") {
  BackendSession session;
  did(session, Opened{});
  CHECK(heard(session, hello()) == Actions{StopTimer{}, Judge{hello(), 2}});
  CHECK(did(session, Accepted{Welcome{.protocol_version = 0, .session = "s", .epoch = 3}}) ==
        Actions{SetMaxMessage{4 * 1024 * 1024}, says(Welcome{.session = "s", .epoch = 3})});
  CHECK(did(session, TimerFired{}).empty());

  BackendSession old;
  did(old, Opened{});
  CHECK(heard(old, hello(1)) == Actions{StopTimer{}, Judge{hello(1), 1}});
  CHECK(did(old, Accepted{Welcome{.max_message = 99}}) == Actions{SetMaxMessage{99}});
  BackendSession newer;
  did(newer, Opened{});
  CHECK(heard(newer, hello(3)).back() == Action{Judge{hello(3), 2}});
}

TEST_CASE("a backend that must not speak version 1 refuses such an agent, and says why") {
  BackendSession session(2);
  did(session, Opened{});
  const std::string why = "protocol version 1 is not accepted here, and i-1 offers no other";
  CHECK(session.step(Received{AgentMessage{hello(1)}}) ==
        Actions{Log{Log::Level::warning, why}, Close{1008, why}});
  BackendSession other(2);
  did(other, Opened{});
  CHECK(heard(other, hello(2)).size() == 2);
}

TEST_CASE("a handshake may be repeated after AppNotReady") {
  BackendSession session;
  did(session, Opened{});
  heard(session, hello(1));
  CHECK(did(session, NotReady{"no such app", {}}) ==
        Actions{says(AppNotReady{.reason = "no such app"}, 1), StartTimer{Timer::handshake, 40'000}});
  CHECK(heard(session, hello(1)) == Actions{StopTimer{}, Judge{hello(1), 1}});
  CHECK(did(session, NotReady{"", 90'000}) ==
        Actions{says(AppNotReady{.retry_after_ms = 90'000}, 1), StartTimer{Timer::handshake, 100'000}});
  CHECK(did(session, TimerFired{}) == Actions{Close{1008, "no handshake in time"}});
}

TEST_CASE("a handshake that is refused, or comes twice, closes the connection") {
  BackendSession session;
  did(session, Opened{});
  heard(session, hello());
  CHECK(did(session, Refused{"revoked"}) == Actions{Close{1008, "revoked"}});
  BackendSession again = accepted();
  CHECK(heard(again, hello()) == Actions{Close{1002, "a second handshake on one connection"}});
  BackendSession hasty;
  did(hasty, Opened{});
  heard(hasty, hello());
  CHECK(heard(hasty, hello()) == Actions{Close{1002, "Handshake before the handshake was accepted"}});
}

TEST_CASE("nothing but a handshake or an enrolment is handled for a stranger") {
  const auto is_closed = [](const Actions& actions) {
    const auto* close = actions.size() == 1 ? std::get_if<Close>(&actions[0]) : nullptr;
    return close != nullptr && close->code == 1002;
  };
  for (const AgentMessage& message : agent_samples()) {
    CAPTURE(code_of(message.body));
    const bool opens = std::holds_alternative<Handshake>(message.body);
    const bool enrols = std::holds_alternative<CertRequest>(message.body);
    BackendSession fresh;
    did(fresh, Opened{});
    CHECK(is_closed(did(fresh, Received{message})) == !(opens || enrols));
    BackendSession judged;
    did(judged, Opened{});
    heard(judged, hello());
    CHECK(is_closed(did(judged, Received{message})));
    BackendSession not_ready;
    did(not_ready, Opened{});
    heard(not_ready, hello());
    did(not_ready, NotReady{});
    CHECK(is_closed(did(not_ready, Received{message})) == !opens);
  }
}

TEST_CASE("a stranger may enrol once, with a token, and be told only the answer") {
  const CertRequest request = sample<CertRequest>();
  BackendSession session;
  did(session, Opened{});
  CHECK(heard(session, request, "m") == Actions{SignCertificate{request, "m", true}});
  CHECK(did(session, Tell{sample<RecipeMetadata>()}).size() == 1);
  CHECK(did(session, Tell{sample<CertIssued>(), "", "m"}) == Actions{says(sample<CertIssued>(), 2, "", "m")});
  CHECK(heard(session, request) == Actions{Close{1002, "CertRequest before the handshake was accepted"}});
  BackendSession without;
  did(without, Opened{});
  CHECK(heard(without, CertRequest{.csr = "x"}) ==
        Actions{Close{1002, "CertRequest before the handshake was accepted"}});
  BackendSession renewal = accepted();
  CHECK(heard(renewal, CertRequest{.csr = "x"}, "r") ==
        Actions{SignCertificate{CertRequest{.csr = "x"}, "r", false}});
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

TEST_CASE("who speaks in another machine's name is closed and audited") {
  BackendSession session = accepted();
  CHECK(heard(session, report(11, "i-2")) ==
        Actions{Impostor{"i-2"}, Close{1008, "spoke in the name of i-2"}});
  BackendSession other = accepted();
  CHECK(heard(other, WaitQuery{.instance_id = "i-2", .recipe_version = 1}).front() ==
        Action{Impostor{"i-2"}});
}

TEST_CASE("what the agent says reaches the shell") {
  BackendSession session = accepted();
  CHECK(heard(session, sample<WaitQuery>(), "m") == Actions{AnswerWaits{7, "m"}});
  CHECK(heard(session, sample<Facts>()) == Actions{StoreFacts{sample<Facts>()}});
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
  CHECK(did(session, Tell{plan, "m"}) == Actions{says(plan, 2, "m")});
  CHECK(did(session, Tell{sample<Query>(), "q"}) == Actions{says(sample<Query>(), 2, "q")});
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

  BackendSession early;
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
