// Commands that come late, twice, or from a recording: the agent's side.
//
// Compiled alone: its names are those of other tests.
#include <doctest/doctest.h>

#include "base/utc_text.hpp"
#include "protocol/agent_session.hpp"
#include "protocol/backend_session.hpp"
#include "protocol/command_memory.hpp"
#include "protocol/lifetimes.hpp"
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

// A shell that remembers commands, as the agent's does.
Actions stepped(AgentSession& session, Event event, CommandMemory& memory) {
  Actions actions = session.step(std::move(event));
  std::erase_if(actions, [](const Action& action) { return std::holds_alternative<Log>(action); });
  if (actions.size() != 1 || !std::holds_alternative<NoteCommand>(actions.front())) return actions;
  const NoteCommand& asked = std::get<NoteCommand>(actions.front());
  const CommandMemory::Command command{asked.key, asked.until};
  std::string problem = memory.problem(command);
  if (problem.empty()) memory.add(command);
  return stepped(session, CommandNoted{std::move(problem)}, memory);
}

Actions heard(AgentSession& session, BackendBody body, std::string mid, std::string until,
              std::chrono::seconds after, CommandMemory& memory) {
  return stepped(
      session,
      Received{BackendMessage{std::move(body), {.mid = std::move(mid), .valid_until = std::move(until)}},
               kWelcomed + after},
      memory);
}
Actions heard(AgentSession& session, BackendBody body, std::string mid, std::string until,
              std::chrono::seconds after) {
  CommandMemory nothing;
  return heard(session, std::move(body), std::move(mid), std::move(until), after, nothing);
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

TEST_CASE("a command that comes twice is carried out once, on whichever connection it comes") {
  CommandMemory memory;
  AgentSession session = welcomed();
  CHECK(heard(session, sample<Run>(), "m", "", 0s, memory) == kDone);
  CHECK(heard(session, sample<Run>(), "m", "", 0s, memory) == nack("this command has come before"));
  CHECK(heard(session, sample<Query>(), "m", "", 0s, memory) == nack("this command has come before"));
  AgentSession next = welcomed();
  CHECK(heard(next, sample<Run>(), "m", "", 0s, memory) == nack("this command has come before"));
}

TEST_CASE("every command is noted before it is done, and what changes something must last") {
  const std::string until = "2024-05-01T10:01:00Z";
  constexpr std::int64_t kUntil = 1'714'557'660'000;
  for (const BackendMessage& message : backend_samples()) {
    CAPTURE(code_of(message.body));
    if (!lifetime_of(message.body)) continue;
    AgentSession session = welcomed();
    const Actions asked =
        session.step(Received{BackendMessage{message.body, {.mid = "m", .valid_until = until}}, kWelcomed});
    REQUIRE(asked.size() == 1);
    const bool only_looks = std::holds_alternative<Query>(message.body) ||
                            std::holds_alternative<OutputSubscribe>(message.body) ||
                            std::holds_alternative<RecipeMetadata>(message.body);
    CHECK(std::get<NoteCommand>(asked[0]) == NoteCommand{"mid m", kUntil, !only_looks});
    // One that could not be noted is not done.
    const Actions refused = session.step(CommandNoted{"no room"});
    CHECK(std::get<Nack>(std::get<Send>(refused.back()).message.body).error == "no room");
    CHECK(session.step(CommandNoted{}).empty());
  }
}

TEST_CASE("an order without a mid is known by all of it, and an order that is said anew is another") {
  CommandMemory memory;
  AgentSession session = welcomed();
  const Actions asked = {UpdateAsked{sample<AgentUpdate>()}};
  CHECK(heard(session, sample<AgentUpdate>(), "", "2024-05-01T10:01:00.000Z", 0s, memory) == asked);
  AgentSession next = welcomed();
  CHECK(heard(next, sample<AgentUpdate>(), "", "2024-05-01T10:01:00.000Z", 0s, memory) ==
        nack("this command has come before", ""));
  CHECK(heard(next, sample<AgentUpdate>(), "", "2024-05-01T10:01:00.001Z", 0s, memory) == asked);
}

TEST_CASE("a command that was forgotten is refused even by a clock that was set back to its time") {
  CommandMemory memory;
  memory.forget_until(1'714'557'660'000);
  AgentSession session = welcomed();
  const Actions actions = heard(session, sample<Run>(), "m", "2024-05-01T10:01:00Z", 0s, memory);
  CHECK(actions == nack("this command is older than those that are remembered, and may have come before"));
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
