// The fields of what the agent says.
#pragma once

#include "protocol/fields_shared.hpp"

namespace protocol {

template <class Visitor>
void fields(Visitor& v, Is<RunningState> auto& m) {
  v.state_id(m.id, kRequired);
  v.field("since", m.since, kOptional);
}

template <class Visitor>
void fields(Visitor& v, Is<MachineHold> auto& m) {
  v.choice("origin", m.is_local, {"backend", "machine"}, kAlways);
  v.id("by", m.by, kAlways);
  v.id("reason", m.reason, kOptional);
  v.field("since", m.since, kOptional);
  v.field("until", m.until, kRequired);
}

// What offers version 2 is written in version 1 too: the peer's version is not known yet.
template <>
inline constexpr Wire kWire<Handshake>{"Handshake", 1};
template <class Visitor>
void fields(Visitor& v, Is<Handshake> auto& m) {
  v.name("instance_id", m.instance_id, kRequired);
  v.name("app_id", m.app_id, kAlways);
  v.field("agent_version", m.agent_version, kRequired);
  v.field("protocol_version", m.protocol_version, kRequired);
  v.field("instance_token", m.instance_token, kAlways);
  v.field("init_errors", m.init_errors, kAlways);
  v.field("protocol_max", m.protocol_max, kAlways);
  v.field("capabilities", m.capabilities, kOptional);
  v.id("agent_uid", m.agent_uid, kOptional);
  v.id("boot_id", m.boot_id, kOptional);
  v.tags("tags", m.tags, kOptional);
  v.field("facts_hash", m.facts_hash, kOptional);
  v.version("recipe_version", m.recipe_version, kOptional);
  v.field("recipe_digest", m.recipe_digest, kOptional);
  v.field("last_seq", m.last_seq, kOptional);
  v.field("running", m.running, kOptional);
  v.field("os", m.os, kOptional);
  v.field("arch", m.arch, kOptional);
  v.field("authorities", m.authorities, kOptional);
  v.id("history", m.history, kOptional);
  v.holds("holds", m.holds, kOptional);
}

template <>
inline constexpr Wire kWire<TestAnswer>{.code = "TestAns", .since = 1, .code_in_1 = "Test"};
template <class Visitor>
void fields(Visitor& v, Is<TestAnswer> auto& m) {
  fields(v, m.handshake);
}

// Of version 2 the connection says which machine it is: the two ids may be left out.
template <>
inline constexpr Wire kWire<StateLog>{"StateLog", 1};
template <class Visitor>
void fields(Visitor& v, Is<StateLog> auto& m) {
  v.name("instance_id", m.instance_id, kOptional);
  v.name("app_id", m.app_id, kOptional);
  v.version_or_none("recipe_version", m.recipe_version, kRequired);  // 0: run by itself, outside the recipe
  v.state_id(m.id, kRequired);
  v.field("state_result", m.state_result, kRequired);
  v.text_or_null("state_comment", m.state_comment, !m.state_stdout, kAlways);
  v.field("state_stdout", m.state_stdout, kAlways);
  v.field("seq", m.seq, kAdded);
  v.id("run_id", m.run_id, kAdded);
  v.field("round", m.round, kAdded);
  v.field("outcome", m.outcome, kAdded);
  v.choice("cause", m.cause, kChangeCauseWords, kAdded);
  v.field("changes", m.changes, kAdded);
  v.field("attempt", m.attempt, kAddedAlways);
  v.field("exit_code", m.exit_code, kAdded);
  v.field("started", m.started, kAdded);
  v.field("duration_ms", m.duration_ms, kAdded);
  v.field("cpu_ms", m.cpu_ms, kAdded);
  v.field("max_rss_kb", m.max_rss_kb, kAdded);
  v.field("truncated", m.truncated, kAdded);
}

template <>
inline constexpr Wire kWire<WaitQuery>{"WaitQuery", 1};
template <class Visitor>
void fields(Visitor& v, Is<WaitQuery> auto& m) {
  v.name("instance_id", m.instance_id, kOptional);
  v.name("app_id", m.app_id, kOptional);
  v.version("recipe_version", m.recipe_version, kRequired);
}

template <>
inline constexpr Wire kWire<RecipeStatus>{"RecipeStatus"};
template <class Visitor>
void fields(Visitor& v, Is<RecipeStatus> auto& m) {
  v.field("seq", m.seq, kOptional);
  v.version("recipe_version", m.recipe_version, kRequired);
  v.choice("status", m.status, {"accepted", "rejected", "running", "converged", "failed", "superseded"},
           kRequired);
  v.field("errors", m.errors, kOptional);
  v.field("progress", m.progress, kOptional);
}

template <>
inline constexpr Wire kWire<StateOutput>{"StateOutput"};
template <class Visitor>
void fields(Visitor& v, Is<StateOutput> auto& m) {
  v.id("run_id", m.run_id, kOptional);
  v.state_id(m.id, kRequired);
  v.field("stream", m.stream, kRequired);
  v.field("offset", m.offset, kAlways);
  v.field("data", m.data, kRequired);
}

template <>
inline constexpr Wire kWire<RoundEnd>{"RoundEnd"};
template <class Visitor>
void fields(Visitor& v, Is<RoundEnd> auto& m) {
  v.field("seq", m.seq, kOptional);
  v.id("run_id", m.run_id, kOptional);
  v.version("recipe_version", m.recipe_version, kRequired);
  v.field("round", m.round, kAlways);
  v.field("counts", m.counts, kAlways);
  v.field("not_reached", m.not_reached, kOptional);
  v.field("duration_ms", m.duration_ms, kAlways);
  v.field("drift", m.drift, kOptional);
}

template <class Visitor>
void fields(Visitor& v, Is<PlannedState> auto& m) {
  v.state_id(m.id, kRequired);
  v.field("module", m.module, kOptional);
  v.field("verdict", m.verdict, kRequired);
  v.field("message", m.message, kOptional);
  v.field("changes", m.changes, kOptional);
}

template <>
inline constexpr Wire kWire<PlanResult>{"PlanResult"};
template <class Visitor>
void fields(Visitor& v, Is<PlanResult> auto& m) {
  v.version("recipe_version", m.recipe_version, kRequired);
  v.field("states", m.states, kAlways);
  v.field("errors", m.errors, kOptional);
}

template <>
inline constexpr Wire kWire<UpdateStatus>{"UpdateStatus"};
template <class Visitor>
void fields(Visitor& v, Is<UpdateStatus> auto& m) {
  v.field("seq", m.seq, kOptional);
  v.id("action_id", m.action_id, kRequired);
  v.field("version", m.version, kRequired);
  v.choice("phase", m.phase, kUpdatePhaseWords, kRequired);
  v.field("progress", m.progress, kOptional);
  v.field("error", m.error, kOptional);
}

template <>
inline constexpr Wire kWire<Facts>{"Facts"};
template <class Visitor>
void fields(Visitor& v, Is<Facts> auto& m) {
  v.field("hash", m.hash, kRequired);
  v.field("full", m.full, kOptional);
  v.field("patch", m.patch, kOptional);
}

template <>
inline constexpr Wire kWire<QueryResult>{"QueryResult"};
template <class Visitor>
void fields(Visitor& v, Is<QueryResult> auto& m) {
  v.field("data", m.data, kAlways);
  v.field("more", m.more, kAlways);
}

template <>
inline constexpr Wire kWire<CertRequest>{"CertRequest"};
template <class Visitor>
void fields(Visitor& v, Is<CertRequest> auto& m) {
  v.field("csr", m.csr, kRequired);
  v.field("token", m.token, kOptional);
  v.name("app_id", m.app_id, kOptional);
  v.name("instance_id", m.instance_id, kOptional);
}

template <>
inline constexpr Wire kWire<HoldStatus>{"HoldStatus"};
template <class Visitor>
void fields(Visitor& v, Is<HoldStatus> auto& m) {
  v.holds("holds", m.holds, kAlways);
}

}  // namespace protocol
