// One filled-in example of every message, for tests and fuzzers. A new message without one does not link.
#pragma once

#include "protocol/messages.hpp"

namespace protocol {

template <class M>
M sample();

// One message per alternative of the variant.
template <class Message, class... M>
std::vector<Message> samples_of(const std::variant<M...>*) {
  return {Message{.body = sample<M>(),
                  .envelope = {.mid = "m-1",
                               .re = "m-0",
                               .ts = "2024-05-01T10:00:00Z",
                               .valid_until = "2024-05-01T10:01:00Z"}}...};
}
inline std::vector<AgentMessage> agent_samples() {
  return samples_of<AgentMessage>(static_cast<const AgentBody*>(nullptr));
}
inline std::vector<BackendMessage> backend_samples() {
  return samples_of<BackendMessage>(static_cast<const BackendBody*>(nullptr));
}

inline std::vector<Change> sample_changes() {
  return {{.what = "mode", .before = "0600", .after = "0644", .diff = ""},
          {.what = "content", .before = "", .after = "", .diff = "-a\n+b \"q\" \\ \t\n"}};
}

template <>
inline Handshake sample<Handshake>() {
  return {.instance_id = "i-1",
          .app_id = "app-1",
          .agent_version = "1.2.3",
          .protocol_version = 1,
          .instance_token = "secret",
          .init_errors = "no space; no clock",
          .protocol_max = 2,
          .capabilities = {"plan", "output"},
          .agent_uid = "u-1",
          .boot_id = "b-1",
          .tags = {{"role", "web"}, {"zone", "b"}},
          .facts_hash = "f00",
          .recipe_version = 7,
          .recipe_digest = "d1",
          .last_seq = 41,
          .running = RunningState{.id = "nginx", .since = "2024-05-01T10:00:00Z"},
          .os = "debian 12",
          .arch = "x86_64",
          .authorities = {"a1", "b2"},
          .history = "h-1",
          .holds = {{.is_local = true,
                     .by = "root",
                     .reason = "incident 7",
                     .since = "2024-05-01T10:00:00Z",
                     .until = "2024-05-01T18:00:00Z"}}};
}
template <>
inline StateLog sample<StateLog>() {
  return {.instance_id = "i-1",
          .app_id = "app-1",
          .recipe_version = 7,
          .id = "nginx",
          .state_result = true,
          .state_comment = "installed\nä",
          .state_stdout = "out",
          .seq = 42,
          .run_id = "r-1",
          .round = 3,
          .outcome = "changed",
          .cause = ChangeCause::drift,
          .changes = sample_changes(),
          .attempt = 2,
          .exit_code = -1,
          .started = "2024-05-01T10:00:00Z",
          .duration_ms = 1500,
          .cpu_ms = 20,
          .max_rss_kb = 4096,
          .truncated = true};
}
template <>
inline WaitQuery sample<WaitQuery>() {
  return {.instance_id = "i-1", .app_id = "app-1", .recipe_version = 7};
}
template <>
inline RecipeStatus sample<RecipeStatus>() {
  return {.seq = 43,
          .recipe_version = 7,
          .status = RecipeProgress::failed,
          .errors = {"no such module"},
          .progress = "fetching modules"};
}
template <>
inline StateOutput sample<StateOutput>() {
  return {.run_id = "r-1", .id = "nginx", .stream = "stderr", .offset = 65536, .data = "line\n"};
}
template <>
inline RoundEnd sample<RoundEnd>() {
  return {.seq = 44,
          .run_id = "r-1",
          .recipe_version = 7,
          .round = 3,
          .counts = {{"kept", 9}, {"failed", 1}},
          .not_reached = 2,
          .duration_ms = 12,
          .drift = {"nginx"}};
}
template <>
inline PlanResult sample<PlanResult>() {
  return {.recipe_version = 8,
          .states = {{.id = "nginx",
                      .module = "linux.file",
                      .verdict = "change",
                      .message = "mode",
                      .changes = sample_changes()},
                     {.id = "b", .verdict = "kept"}},
          .errors = {"state c: unknown module"}};
}
template <>
inline UpdateStatus sample<UpdateStatus>() {
  return {.seq = 45,
          .action_id = "a-1",
          .version = "1.3.0",
          .phase = UpdatePhase::downloading,
          .progress = 0.5,
          .error = "slow"};
}
template <>
inline Facts sample<Facts>() {
  return {.hash = "f01", .full = Json{R"({"cpu":{"count":4}})"}, .patch = Json{R"({"cpu":null})"}};
}
template <>
inline QueryResult sample<QueryResult>() {
  return {.data = Json{R"([1,-2.5,"x",true,null])"}, .more = true};
}
template <>
inline CertRequest sample<CertRequest>() {
  return {.csr = "-----BEGIN", .token = "join", .app_id = "app-1", .instance_id = "i-1"};
}
template <>
inline HoldStatus sample<HoldStatus>() {
  return {.holds = {{.is_local = false, .by = "alice", .until = "2024-05-01T18:00:00Z"},
                    {.is_local = true, .by = "root", .reason = "disk", .until = "2024-05-01T12:00:00Z"}}};
}
template <>
inline TestAnswer sample<TestAnswer>() {
  return {.handshake = sample<Handshake>()};
}
template <>
inline Ack sample<Ack>() {
  return {.ack_seq = 45, .history = "h-2"};
}
template <>
inline Nack sample<Nack>() {
  return {.error = "not now", .retryable = true};
}
template <>
inline Goodbye sample<Goodbye>() {
  return {.reason = "draining", .retry_after_ms = 2000, .alternatives = {"wss://b2:8963/agent/"}};
}
template <>
inline Unknown sample<Unknown>() {
  return {.code = "Hologram"};
}
template <>
inline Welcome sample<Welcome>() {
  return {.protocol_version = 2,
          .capabilities = {"plan"},
          .session = "s-1",
          .epoch = 5,
          .ack_seq = 41,
          .heartbeat_s = 20,
          .max_message = 1048576,
          .report_changes_only = true,
          .server_time = "2024-05-01T10:00:00Z",
          .facts_hash = "f00",
          .history = "h-1"};
}
template <>
inline AppNotReady sample<AppNotReady>() {
  return {.reason = "unknown app", .retry_after_ms = 5000};
}
template <>
inline RecipeMetadata sample<RecipeMetadata>() {
  return {.recipe_version = 8,
          .module = ModuleSource{.repo = "https://git/m", .tag = "v1", .commit = "c0ffee"},
          .states = Json{R"([{"id":"a","module":"linux.file","parameter":{"path":"/a"}}])"},
          .digest = "d2",
          .plan_only = true,
          .kill_on_change = true,
          .round_delay_s = 60,
          .vars = Json{R"({"port":81,"sites":[{"name":"shop"}]})"},
          .tags = {{"role", "web"}}};
}
template <>
inline WaitList sample<WaitList>() {
  return {.recipe_version = 8, .waited = {{.instance_id = "i-2", .state_id = "db"}}};
}
template <>
inline WaitDone sample<WaitDone>() {
  return {.recipe_version = 8, .id = "wait-db", .satisfied_at = "2024-05-01T10:00:00Z"};
}
template <>
inline AgentUpdate sample<AgentUpdate>() {
  return {.version = "1.3.0", .url = "https://releases/", .action_id = "a-1"};
}
template <>
inline Query sample<Query>() {
  return {.kind = "unit", .args = Json{R"({"name":"nginx"})"}, .limit = 100};
}
template <>
inline Run sample<Run>() {
  return {.run_id = "r-9", .state = Json{R"({"id":"x","module":"linux.cmd"})"}};
}
template <>
inline Cancel sample<Cancel>() {
  return {.run_id = "r-9", .force = true};
}
template <>
inline OutputSubscribe sample<OutputSubscribe>() {
  return {.run_id = "r-9", .id = "x", .on = false};
}
template <>
inline Settings sample<Settings>() {
  return {.ws_uris = {"wss://b2:8963/agent/"}, .heartbeat_s = 60, .round_delay_s = 300};
}
template <>
inline Hold sample<Hold>() {
  return {.on = true, .by = "alice", .reason = "incident 7", .left_s = 7200, .is_now = true};
}
template <>
inline RunNow sample<RunNow>() {
  return {};
}
template <>
inline CertIssued sample<CertIssued>() {
  return {.chain = "-----BEGIN", .expires = "2024-05-08T10:00:00Z"};
}
template <>
inline Authorities sample<Authorities>() {
  return {.roots = {"-----BEGIN", "-----BEGIN"}, .issuer = std::string(64, 'a'), .within_ms = 5000};
}
template <>
inline Test sample<Test>() {
  return {};
}

}  // namespace protocol
