// Every code by every role, on both sides, against tables that are written out here a second time on purpose:
// whoever changes what a peer may say has to say so twice.
#include "protocol/permissions.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include <doctest/doctest.h>

#include "protocol/agent_session.hpp"
#include "protocol/backend_session.hpp"
#include "protocol/message_samples.hpp"

namespace protocol {

namespace {

// What a session does about a message: 'h' it handles it, '-' it drops it, 'x' it closes the connection.
template <class Close, class Log, class Actions>
char seen(const Actions& actions) {
  for (const auto& action : actions) {
    if (const auto* close = std::get_if<Close>(&action); close != nullptr && close->code != kCloseNormal)
      return 'x';
    if (const auto* log = std::get_if<Log>(&action);
        log != nullptr && log->text.find("was ignored") != std::string::npos)
      return '-';
  }
  return 'h';
}

using Table = std::map<std::string, std::string>;

// ---- at the backend

using AgentColumn = std::pair<AgentRole, std::function<BackendSession()>>;

Handshake hello(int protocol_max) {
  return {.instance_id = "i-1", .app_id = "app-1", .agent_version = "1", .protocol_max = protocol_max};
}

BackendSession opened(bool accepts_tokens, bool has_certificate = false) {
  BackendSession session(BackendPolicy{.accepts_tokens = accepts_tokens});
  at_backend::Opened event;
  if (has_certificate) event.certificate = CertifiedName{"app-1", "i-1"};
  session.step(std::move(event));
  return session;
}
BackendSession judged(bool has_certificate = false, int protocol_max = 2) {
  BackendSession session = opened(!has_certificate, has_certificate);
  session.step(at_backend::Received{AgentMessage{hello(protocol_max)}});
  return session;
}
BackendSession not_ready(bool has_certificate) {
  BackendSession session = judged(has_certificate);
  session.step(at_backend::NotReady{});
  return session;
}
BackendSession accepted(bool has_certificate, int protocol_max) {
  BackendSession session = judged(has_certificate, protocol_max);
  session.step(at_backend::Accepted{});
  REQUIRE(session.is_accepted());
  return session;
}
BackendSession enrolling() {
  BackendSession session = opened(true);
  session.step(at_backend::Received{AgentMessage{sample<CertRequest>()}});
  return session;
}
BackendSession answered() {
  BackendSession session = enrolling();
  session.step(at_backend::Tell{sample<CertIssued>()});
  return session;
}

// In the order of the strings below.
const std::vector<AgentColumn> kAgents = {
    {AgentRole::stranger, [] { return opened(false); }},
    {AgentRole::claimant, [] { return opened(true); }},
    {AgentRole::known, [] { return opened(false, true); }},
    {AgentRole::known, [] { return not_ready(false); }},
    {AgentRole::known, [] { return not_ready(true); }},
    {AgentRole::judged, [] { return judged(); }},
    {AgentRole::judged, [] { return judged(true); }},
    {AgentRole::enrolling, [] { return enrolling(); }},
    {AgentRole::enrolling, [] { return answered(); }},
    {AgentRole::version_1, [] { return accepted(false, 1); }},
    {AgentRole::version_1, [] { return accepted(true, 1); }},
    {AgentRole::version_2, [] { return accepted(false, 2); }},
    {AgentRole::certified, [] { return accepted(true, 2); }},
};

// clang-format off
const Table kFromAgents = {
    //                  stranger
    //                  |claimant
    //                  ||certificate shown
    //                  |||not ready: by token, by certificate
    //                  |||| judged: by token, by certificate
    //                  |||| | enrolling, answered
    //                  |||| | | version 1: by token, by certificate
    //                  |||| | | | version 2
    //                  |||| | | | |certified
    {"Handshake",      "xhhhhxxxxxxxx"},
    {"CertRequest",    "hhxxxxxxx--xx"},  // with a join token
    {"CertRequest-",   "xxxxxxxxx--xh"},  // without
    {"StateLog",       "xxxxxxxxxhhhh"},
    {"WaitQuery",      "xxxxxxxxxhhhh"},
    {"TestAns",        "xxxxxxxxxhhhh"},
    {"RecipeStatus",   "xxxxxxxxx--hh"},
    {"StateOutput",    "xxxxxxxxx--hh"},
    {"RoundEnd",       "xxxxxxxxx--hh"},
    {"PlanResult",     "xxxxxxxxx--hh"},
    {"UpdateStatus",   "xxxxxxxxx--hh"},
    {"Facts",          "xxxxxxxxx--hh"},
    {"QueryResult",    "xxxxxxxxx--hh"},
    {"HoldStatus",     "xxxxxxxxx--hh"},
    {"Ack",            "xxxxxxxxx--hh"},
    {"Nack",           "xxxxxxxxx--hh"},
    {"Goodbye",        "xxxxxxxxx--hh"},
    {"Hologram",       "xxxxxxxxxhhhh"},  // a code that nobody knows
};
// clang-format on

// ---- at the agent

AgentSession said_hello() {
  AgentSession session(Handshake{.instance_id = "i-1",
                                 .app_id = "app-1",
                                 .agent_version = "1",
                                 .recipe_version = 8,
                                 .recipe_digest = "d8",
                                 .last_seq = 45});
  session.step(at_agent::Opened{});
  return session;
}
AgentSession hearing(BackendBody body) {
  AgentSession session = said_hello();
  session.step(at_agent::Received{BackendMessage{std::move(body)}});
  return session;
}
AgentSession welcomed() {
  AgentSession session = hearing(Welcome{.ack_seq = 44, .server_time = "2024-05-01T10:00:00Z"});
  session.step(at_agent::ReportsRead{{{45, StateLog{.recipe_version = 8, .id = "s"}}}, 45});
  REQUIRE(session.version() == 2);
  return session;
}

const std::vector<std::function<AgentSession()>> kBackends = {
    [] { return AgentSession(Handshake{}); },
    [] { return said_hello(); },
    [] { return hearing(AppNotReady{}); },
    [] { return hearing(WaitList{.recipe_version = 8}); },
    [] { return welcomed(); },
};

// clang-format off
const Table kFromBackends = {
    //                  before our handshake
    //                  |after it
    //                  ||after AppNotReady
    //                  |||version 1
    //                  ||||version 2
    {"Welcome",        "xhhhx"},
    {"AppNotReady",    "xhhhh"},
    {"RecipeMetadata", "xhhhh"},
    {"WaitList",       "xhhhh"},
    {"State",          "xhhhh"},
    {"AgentUpdate",    "xhhhh"},
    {"Test",           "xhhhh"},
    {"Query",          "x---h"},
    {"Run",            "x---h"},
    {"Cancel",         "x---h"},
    {"OutputSubscribe","x---h"},
    {"Settings",       "x---h"},
    {"Hold",           "x---h"},
    {"RunNow",         "x---h"},
    {"CertIssued",     "x---h"},
    {"Authorities",    "x---h"},
    {"Ack",            "x---h"},
    {"Nack",           "xhhhh"},
    {"Goodbye",        "xhhhh"},
    {"Hologram",       "xhhhh"},
};
// clang-format on

std::vector<AgentMessage> all_from_agents() {
  std::vector<AgentMessage> all = agent_samples();
  all.push_back({CertRequest{.csr = "-----BEGIN"}, {.mid = "m-1"}});
  return all;
}
std::string row_of(const AgentBody& body) {
  const auto* const request = std::get_if<CertRequest>(&body);
  return std::string(code_of(body)) + (request != nullptr && request->token.empty() ? "-" : "");
}

std::vector<BackendMessage> all_from_backends() {
  std::vector<BackendMessage> all = backend_samples();
  for (BackendMessage& message : all)
    if (auto* recipe = std::get_if<RecipeMetadata>(&message.body)) recipe->plan_only = false;
  return all;
}

}  // namespace

TEST_CASE("the backend handles, drops or refuses each code from each kind of peer as the table says") {
  CHECK(kFromAgents.size() == std::variant_size_v<AgentBody::variant> + 1);  // CertRequest has two rows
  for (const AgentMessage& message : all_from_agents()) {
    const std::string row = row_of(message.body);
    CAPTURE(row);
    std::string found;
    for (const auto& [role, make] : kAgents) {
      BackendSession session = make();
      found += seen<at_backend::Close, at_backend::Log>(session.step(at_backend::Received{message}));
    }
    REQUIRE(kFromAgents.contains(row));
    CHECK(found == kFromAgents.at(row));
  }
}

TEST_CASE("every role of an agent has its sessions here, and the table knows nothing else") {
  for (std::size_t role = 0; role < kAgentRoles; ++role)
    CHECK(std::ranges::any_of(kAgents, [&](const AgentColumn& c) { return c.first == AgentRole(role); }));
  for (const AgentMessage& message : all_from_agents())
    for (std::size_t column = 0; column < kAgents.size(); ++column) {
      const Verdict verdict = verdict_on(message.body, kAgents[column].first);
      const char expected = kFromAgents.at(row_of(message.body))[column];
      CHECK((verdict == Verdict::no) == (expected == 'x'));
      CHECK((verdict == Verdict::skip) == (expected == '-'));
    }
}

TEST_CASE("the agent handles, drops or refuses each code at each time as the table says") {
  CHECK(kFromBackends.size() == std::variant_size_v<BackendBody::variant>);
  for (const BackendMessage& message : all_from_backends()) {
    const std::string row(code_of(message.body));
    CAPTURE(row);
    std::string found;
    for (const auto& make : kBackends) {
      AgentSession session = make();
      found += seen<at_agent::Close, at_agent::Log>(session.step(at_agent::Received{message}));
    }
    REQUIRE(kFromBackends.contains(row));
    CHECK(found == kFromBackends.at(row));
  }
}

TEST_CASE("of a connection that has ended nothing is heard, on either side") {
  using Ends = std::vector<at_backend::Event>;
  const Ends ends = {at_backend::Superseded{}, at_backend::Drain{}, at_backend::Revoked{"revoked"},
                     at_backend::Refused{"no"}, at_backend::Received{AgentMessage{Goodbye{}}}};
  for (const auto& end : ends)
    for (const AgentMessage& message : all_from_agents()) {
      BackendSession session = accepted(true, 2);
      session.step(end);
      CHECK(session.step(at_backend::Received{message}).empty());
    }
  for (const BackendMessage& message : all_from_backends()) {
    AgentSession left = welcomed();
    left.step(at_agent::Received{BackendMessage{Goodbye{}}});
    CHECK(left.step(at_agent::Received{message}).empty());
    AgentSession stopping = welcomed();
    stopping.step(at_agent::Closing{"stopping"});
    CHECK(stopping.step(at_agent::Received{message}).empty());
  }
}

}  // namespace protocol
