// Who may speak, as plain values: operators' tokens, join tokens, enrolments, certificates.
//
// No secret is in any of them: only SHA-256 hashes, as 64 hexadecimal digits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/domain/model.hpp"

namespace backend::domain {

// ---- operators

// An access token of the API. It is shown once, as "ops_<id>_<secret>".
struct OperatorToken {
  std::string id;
  std::string name;   // who it is in the audit; one live token has it
  std::string role;   // "viewer", "operator" or "admin"
  std::string scope;  // a selector; "": all machines
  std::string secret_hash;
  std::string created_by;
  Millis created = 0;
  Millis expires = 0;    // 0: never
  Millis last_used = 0;  // give or take kCoarseUse
  Millis revoked = 0;    // 0: it is not
};

// How far the last use of a token may be off: it is no reason to write with every request.
inline constexpr Millis kCoarseUse = 10 * 60 * 1000;
// Live tokens of operators: they are all kept in memory.
inline constexpr std::size_t kMostTokens = 10'000;
// The row that <data>/admin.token belongs to.
inline constexpr std::string_view kAdminName = "admin";

// ---- joining

struct JoinToken {
  std::string id;
  std::string secret_hash;
  std::string app_id;
  std::string instance_id;  // "": any new one
  std::string
      name_pattern;  // of the names that machines may choose: "web-*"; "": none, the backend makes them
  Tags tags;         // become the operator's tags of the instance
  std::int64_t uses_total = 1;
  std::int64_t uses_left = 1;
  Millis expires = 0;
  Millis created = 0;
  Millis revoked = 0;
  std::string created_by;
  std::string ca_hash = {};     // of the authority whose hash is in its text
  bool needs_approval = false;  // whoever joins with it waits until an operator approves it
};
// Join tokens that are neither revoked nor expired.
inline constexpr std::size_t kMostJoinTokens = 10'000;

struct EnrolRequest {
  std::string token_id;
  std::string secret_hash;
  std::string app_id;       // "": the token's
  std::string instance_id;  // a wish: choose_name()
  std::string key_hash;     // of the public key that the certificate will be for
  std::string from = {};    // the peer's address, for the audit
};

struct Enrolled {
  enum class Verdict { enrolled, refused };
  Verdict verdict = Verdict::refused;
  std::string
      reason;  // when refused, for the peer: it does not tell an unknown token from one that is used up
  InstanceKey instance = 0;
  std::string app_id, instance_id, uid;
  // It was enrolled before. In any case a connection that the instance has is to be closed (Fleet::revoke).
  bool was_enrolled = false;
};

// ---- certificates

// What a verified certificate says.
struct Credential {
  std::string app_id, instance_id, uid, serial;
  Millis not_after = 0;
  std::string issuer = {};  // as CertificateRow has it; known once the agent is admitted
};

struct Renewal {
  bool allowed = false;
  std::string reason;       // when not, for the peer
  bool is_for_now = false;  // and it may ask again later
  InstanceKey instance = 0;
};
// Certificates of one enrolment that are good at the same time: beyond that those that were never used make
// room.
inline constexpr std::int64_t kMostCertificates = 16;

struct CertificateRow {
  std::int64_t id = 0;  // the store's; grows with the time of issuing
  std::string serial, uid, key_hash;
  Millis issued = 0, not_after = 0;
  Millis first_used = 0;  // 0: not yet
  Millis revoked = 0;     // 0: it is not
  std::string why;        // it was revoked
  std::string issuer;     // SHA-256 of the public key that signed it
  Millis kept = 0;        // when the agent said that it has stored it; 0: not yet
};

// How an instance got an identity, whether that still holds or not. Enrolments outlive their instance.
struct Enrolment {
  std::string app_id, instance_id, uid;
  std::string key_hash;  // of the newest key that it has used
  std::string token_id;  // the join token; "": it was revoked without ever being enrolled
  bool current = false;
  Millis enrolled = 0;
  Millis revoked = 0;
  std::string why;
  std::vector<CertificateRow> certificates;  // newest first; only in store::show_enrolment()
};

// ---- instances

// An instance as a handshake or an enrolment finds it.
struct KnownInstance {
  InstanceKey key = 0;
  std::string token_hash;  // SHA-256 of its instance_token; "": it has none
  std::string agent_tags;  // JSON, as last said
  std::string facts_hash;
  std::uint64_t epoch = 0;  // 0: enrolled, and not seen yet
  std::int64_t recipe_version = 0, reported_version = 0;
  std::string recipe_digest;  // of what it should run; "": nothing
  bool unplaced = false;      // its placement is to be looked at at the next handshake
  Millis revoked = 0;         // 0: it is not
  std::string revoked_why;
  Millis pending = 0;         // 0: it is approved
  bool takes_inputs = false;  // as Instance has it
};

// Machines without a certificate that wait to be approved: anybody can be one, and make up names. So one
// network (peer_network.hpp) has a few places, and no network keeps a quieter one from being seen.
inline constexpr std::size_t kMostPending = 1000;
inline constexpr std::size_t kMostPendingOfNetwork = 20;

struct PendingCounts {
  std::size_t all = 0;
  std::size_t of_network = 0;  // that was asked about
  std::string busiest;         // the network with the most of them
  std::size_t of_busiest = 0;
};

// What a handshake leaves in the row of its instance.
struct ConnectedAgent {
  InstanceKey instance = 0;
  AgentKey agent = 0;
  int protocol = 1;
  std::string agent_version, os, arch, boot_id;
  std::string agent_tags;             // JSON
  std::optional<std::string> errors;  // JSON; nothing: as they were
  std::int64_t recipe_version = 0, reported_version = 0;
  bool takes_inputs = false;
  bool takes_holds = false;
  std::string said_holds = {};  // JSON
};

// One agent_uid of an instance: a stream of reports.
struct AgentStream {
  AgentKey key = 0;
  std::uint64_t last_seq = 0;
  bool is_new = false;
};
// Streams of one instance. A machine gets a new one when it lost its state folder; beyond this the oldest
// make room.
inline constexpr std::size_t kMostStreams = 64;

}  // namespace backend::domain
