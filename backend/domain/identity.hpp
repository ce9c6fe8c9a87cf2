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
  Tags tags;                // become the operator's tags of the instance
  std::int64_t uses_total = 1;
  std::int64_t uses_left = 1;
  Millis expires = 0;
  Millis created = 0;
  Millis revoked = 0;
  std::string created_by;
};
// Join tokens that are neither revoked nor expired.
inline constexpr std::size_t kMostJoinTokens = 10'000;

struct EnrolRequest {
  std::string token_id;
  std::string secret_hash;
  std::string app_id;       // "": the token's
  std::string instance_id;  // "": the token's, or one that the store makes up
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
};

struct Renewal {
  bool allowed = false;
  std::string reason;  // when not, for the peer
  InstanceKey instance = 0;
};
// Certificates of one enrolment that are good at the same time: beyond that those that were never used make
// room.
inline constexpr std::int64_t kMostCertificates = 16;

struct CertificateRow {
  std::string serial;
  Millis issued = 0, not_after = 0;
  Millis first_used = 0;  // 0: not yet
  Millis revoked = 0;     // 0: it is not
  std::string why;        // it was revoked
};

// The newest enrolment of an instance, whether it still holds or not.
struct Enrolment {
  std::string uid;
  bool current = false;
  Millis enrolled = 0;
  Millis revoked = 0;
  std::string why;
  std::vector<CertificateRow> certificates;  // newest first
};

}  // namespace backend::domain
