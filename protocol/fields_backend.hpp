// The fields of what the backend says.
#pragma once

#include "protocol/fields_shared.hpp"

namespace protocol {

template <>
inline constexpr Wire kWire<Welcome>{"Welcome"};
template <class Visitor>
void fields(Visitor& v, Is<Welcome> auto& m) {
  v.field("protocol_version", m.protocol_version, kRequired);
  v.field("capabilities", m.capabilities, kAlways);
  v.id("session", m.session, kAlways);
  v.field("epoch", m.epoch, kAlways);
  v.field("ack_seq", m.ack_seq, kAlways);
  v.field("heartbeat_s", m.heartbeat_s, kAlways);
  v.field("max_message", m.max_message, kAlways);
  v.choice("report", m.report_changes_only, {"all", "changes"}, kAlways);
  v.field("server_time", m.server_time, kOptional);
  v.field("facts_hash", m.facts_hash, kOptional);
  v.id("history", m.history, kOptional);
}

template <>
inline constexpr Wire kWire<AppNotReady>{"AppNotReady", 1};
template <class Visitor>
void fields(Visitor& v, Is<AppNotReady> auto& m) {
  v.field("reason", m.reason, kAdded);
  v.field("retry_after_ms", m.retry_after_ms, kAdded);
}

template <class Visitor>
void fields(Visitor& v, Is<ModuleSource> auto& m) {
  v.field("repo", m.repo, kAlways);
  v.field("tag", m.tag, kAlways);
  v.field("commit", m.commit, kAdded);
}

template <>
inline constexpr Wire kWire<RecipeMetadata>{"RecipeMetadata", 1};
template <class Visitor>
void fields(Visitor& v, Is<RecipeMetadata> auto& m) {
  v.version("recipe_version", m.recipe_version, kRequired);
  v.field("module", m.module, kOptional);
  v.json_list("state", m.states, kOptional);
  v.field("digest", m.digest, kAdded);
  v.choice("mode", m.plan_only, {"apply", "plan"}, kAdded);
  v.choice("on_change", m.kill_on_change, {"finish", "kill"}, kAdded);
  v.field("round_delay_s", m.round_delay_s, kAdded);
  v.variables("vars", m.vars, kAdded);
  v.tags("tags", m.tags, kAdded);
  v.choice("compat", m.compat_v1, {"", "v1"}, kAdded);
}

template <class Visitor>
void fields(Visitor& v, Is<StateRef> auto& m) {
  v.name("instance_id", m.instance_id, kRequired);
  v.state_id_of_list(m.state_id);
}

template <>
inline constexpr Wire kWire<WaitList>{"WaitList", 1};
template <class Visitor>
void fields(Visitor& v, Is<WaitList> auto& m) {
  v.version("recipe_version", m.recipe_version, kRequired);
  v.field("waited", m.waited, kAlways);
}

template <>
inline constexpr Wire kWire<WaitDone>{"State", 1};
template <class Visitor>
void fields(Visitor& v, Is<WaitDone> auto& m) {
  v.version("recipe_version", m.recipe_version, kRequired);
  v.state_id(m.id, kRequired);
  v.field("satisfied_at", m.satisfied_at, kAdded);
}

template <>
inline constexpr Wire kWire<AgentUpdate>{"AgentUpdate", 1};
template <class Visitor>
void fields(Visitor& v, Is<AgentUpdate> auto& m) {
  v.field("version", m.version, kRequired);
  v.field("url", m.url, kOptional);
  v.id("action_id", m.action_id, kAdded);
}

template <>
inline constexpr Wire kWire<Query>{"Query"};
template <class Visitor>
void fields(Visitor& v, Is<Query> auto& m) {
  v.field("kind", m.kind, kRequired);
  v.field("args", m.args, kOptional);
  v.field("limit", m.limit, kOptional);
}

template <>
inline constexpr Wire kWire<Run>{"Run"};
template <class Visitor>
void fields(Visitor& v, Is<Run> auto& m) {
  v.id("run_id", m.run_id, kRequired);
  v.field("state", m.state, kRequired);
}

template <>
inline constexpr Wire kWire<Cancel>{"Cancel"};
template <class Visitor>
void fields(Visitor& v, Is<Cancel> auto& m) {
  v.id("run_id", m.run_id, kRequired);
  v.field("force", m.force, kOptional);
}

template <>
inline constexpr Wire kWire<OutputSubscribe>{"OutputSubscribe"};
template <class Visitor>
void fields(Visitor& v, Is<OutputSubscribe> auto& m) {
  v.id("run_id", m.run_id, kOptional);
  v.state_id(m.id, kOptional);
  v.field("on", m.on, kAlways);
}

template <>
inline constexpr Wire kWire<Settings>{"Settings"};
template <class Visitor>
void fields(Visitor& v, Is<Settings> auto& m) {
  v.field("ws_uris", m.ws_uris, kOptional);
  v.field("heartbeat_s", m.heartbeat_s, kOptional);
  v.field("round_delay_s", m.round_delay_s, kOptional);
}

template <>
inline constexpr Wire kWire<Hold>{"Hold"};
template <class Visitor>
void fields(Visitor& v, Is<Hold> auto& m) {
  v.field("on", m.on, kRequired);
  v.id("by", m.by, kOptional);
  v.id("reason", m.reason, kOptional);
  v.field("left_s", m.left_s, kOptional);
  v.field("now", m.is_now, kOptional);
}

template <>
inline constexpr Wire kWire<RunNow>{"RunNow"};
template <class Visitor>
void fields(Visitor&, Is<RunNow> auto&) {}

template <>
inline constexpr Wire kWire<CertIssued>{"CertIssued"};
template <class Visitor>
void fields(Visitor& v, Is<CertIssued> auto& m) {
  v.field("chain", m.chain, kRequired);
  v.field("expires", m.expires, kOptional);
}

template <>
inline constexpr Wire kWire<Authorities>{"Authorities"};
template <class Visitor>
void fields(Visitor& v, Is<Authorities> auto& m) {
  v.field("roots", m.roots, kRequired);
  v.field("issuer", m.issuer, kRequired);
  v.field("within_ms", m.within_ms, kOptional);
}

template <>
inline constexpr Wire kWire<Test>{"Test", 1};
template <class Visitor>
void fields(Visitor&, Is<Test> auto&) {}

}  // namespace protocol
