// Commands that come late, twice, or from a recording: the agent's side.
#include <doctest/doctest.h>

#include "base/utc_text.hpp"
#include "protocol/agent_session.hpp"
#include "protocol/backend_session.hpp"
#include "protocol/message_samples.hpp"

namespace protocol {

using namespace at_agent;
using namespace std::chrono_literals;

namespace {

using Actions = std::vector<Action>;
using Steady = std::chrono::steady_clock::time_point;

const Steady kWelcomed = Steady(5000s);  // whatever the agent's clock says then
constexpr const char* kServerTime = "2024-05-01T10:00:00Z";

AgentSession welcomed(std::string server_time = kServerTime) {
  AgentSession session(Handshake{.instance_id = "i-1", .agent_version = "1"});
  session.step(Opened{});
  session.step(Received{BackendMessage{Welcome{.server_time = std::move(server_time)}}, kWelcomed});
  REQUIRE(session.version() == 2);
  return session;
}

Actions heard(AgentSession& session, BackendBody body, std::string mid, std::string until,
              std::chrono::seconds after) {
  Actions actions = session.step(
      Received{BackendMessage{std::move(body), {.mid = std::move(mid), .valid_until = std::move(until)}},
               kWelcomed + after});
  std::erase_if(actions, [](const Action& action) { return std::holds_alternative<Log>(action); });
  return actions;
}

Actions nack(std::string error, std::string re = "m") {
  return {Send{AgentMessage{Nack{.error = std::move(error)}, {.re = std::move(re)}}, 2}};
}

const Actions kDone = {RunState{sample<Run>(), "m"}};
const std::string kExpired = "expired: it was to be done until ";

}  // namespace

TEST_CASE("a command is carried out until its time is over by the backend's clock") {
  AgentSession session = welcomed();
  const std::string until = "2024-05-01T10:01:00Z";
  CHECK(heard(session, sample<Run>(), "m", until, 60s) == kDone);
  CHECK(heard(session, sample<Run>(), "n", until, 61s) == nack(kExpired + until, "n"));
  CHECK(heard(session, sample<Run>(), "o", "2024-05-01T12:01:00+02:00", 61s).size() == 1);  // the same time
  // What cannot be judged is not done.
  CHECK(heard(session, sample<Run>(), "p", "tomorrow", 0s) == nack("valid_until is not a time", "p"));
  AgentSession timeless = welcomed("");
  CHECK(heard(timeless, sample<Run>(), "m", until, 0s) ==
        nack("valid_until means nothing without the server_time of Welcome"));
}

TEST_CASE("a command without a time is carried out: older backends send none") {
  AgentSession session = welcomed();
  CHECK(heard(session, sample<Run>(), "m", "", 9999s) == kDone);
}

TEST_CASE("every command that is over is refused, and nothing of it is done") {
  for (const BackendMessage& message : backend_samples()) {
    AgentSession session = welcomed();
    CAPTURE(code_of(message.body));
    if (std::holds_alternative<Welcome>(message.body)) continue;
    const std::string until = "2024-05-01T09:59:59Z";
    CHECK(heard(session, message.body, "m", until, 0s) == nack(kExpired + until));
  }
}

TEST_CASE("a command that comes twice is carried out once") {
  AgentSession session = welcomed();
  CHECK(heard(session, sample<Run>(), "m", "", 0s) == kDone);
  CHECK(heard(session, sample<Run>(), "m", "", 0s) == nack("this command has come before"));
  CHECK(heard(session, sample<Query>(), "m", "", 0s) == nack("this command has come before"));
  // As many are remembered as a backend says within their time, and no more.
  for (int i = 0; i < 1023; ++i)
    heard(session, sample<Query>(), "q" + std::to_string(i), "", 0s);
  CHECK(heard(session, sample<Run>(), "m", "", 0s) == nack("this command has come before"));
  heard(session, sample<Query>(), "one more", "", 0s);
  CHECK(heard(session, sample<Run>(), "m", "", 0s) == kDone);
}

TEST_CASE("what a backend told yesterday is refused when it is played back to another connection") {
  const auto yesterday = *base::parse_utc("2024-04-30T10:00:00Z");
  BackendSession backend(BackendPolicy{.accepts_tokens = true});
  backend.step(at_backend::Opened{});
  backend.step(at_backend::Received{AgentMessage{Handshake{.instance_id = "i-1",
                                                           .agent_version = "1",
                                                           .protocol_max = 2,
                                                           .capabilities = {"run", "query", "settings"}}}});
  backend.step(at_backend::Accepted{});
  for (const BackendBody& body :
       {BackendBody(sample<Run>()), BackendBody(sample<Cancel>()), BackendBody(sample<Query>()),
        BackendBody(sample<Settings>()), BackendBody(sample<AgentUpdate>())}) {
    CAPTURE(code_of(body));
    const auto told = backend.step(at_backend::Tell{.body = body, .mid = "m", .now = yesterday});
    const auto recorded = parse_backend_message(encode(std::get<at_backend::Send>(told.at(0)).message));
    REQUIRE(recorded);
    AgentSession later = welcomed();
    const Actions actions = later.step(Received{*recorded, kWelcomed});
    REQUIRE(actions.size() == 2);  // a line in the log, and the answer
    CHECK(std::get<Nack>(std::get<Send>(actions[1]).message.body).error.starts_with("expired"));
    AgentSession in_time = welcomed("2024-04-30T10:00:01Z");
    CHECK(!std::holds_alternative<Send>(in_time.step(Received{*recorded, kWelcomed}).at(0)));
  }
}

}  // namespace protocol
