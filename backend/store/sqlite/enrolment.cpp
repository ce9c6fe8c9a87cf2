// Enrolment: how a machine gets an identity. docs/backend.md has the rules.
#include "backend/domain/json_text.hpp"
#include "backend/store/sqlite/tables.hpp"
#include "base/token.hpp"
#include "protocol/ids.hpp"

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// Who guesses learns nothing from it; the audit says which of these it was.
constexpr std::string_view kBadToken =
    "this join token is of no use: not known, used up or expired; 'opsctl join-token create' makes another";

}  // namespace

// What is to come of a request: a refusal, or the names that it gets.
struct SqliteStore::Decision {
  std::string reason;  // for the peer; "": it may
  std::string detail;  // for the audit
  bool names_instance = false;
  bool repeats = false;  // it was answered before, and the answer never arrived: that use of the token counts
  std::string app_id, instance_id;
  domain::Tags tags;

  static Decision refuse(std::string_view reason, std::string detail) {
    Decision decision;
    decision.reason = reason;
    decision.detail = std::move(detail);
    return decision;
  }
};

Result<SqliteStore::Decision> SqliteStore::decide(const domain::EnrolRequest& request, domain::Millis now) {
  Query token(
      database_,
      "SELECT secret_hash, app_id, instance_id, tags, uses_left, expires, revoked FROM join_tokens WHERE "
      "id=?",
      request.token_id);
  auto row = token.next();
  if (!row) return std::move(row).error();
  if (!*row) return Decision::refuse(kBadToken, "the join token is not known");
  if (!base::equal_in_constant_time(token.view(0), request.secret_hash))
    return Decision::refuse(kBadToken, "the join token's secret is wrong");
  if (token.integer(6) != 0) return Decision::refuse(kBadToken, "the join token was revoked");
  if (token.integer(5) <= now) return Decision::refuse(kBadToken, "the join token has expired");
  auto repeated = is_repeated(request, token.view(1), token.view(2));
  if (!repeated) return std::move(repeated).error();
  if (token.integer(4) <= 0 && !*repeated) return Decision::refuse(kBadToken, "the join token is used up");

  // From here on the peer has shown a good token, and may know what is wrong.
  const auto refuse = [](const std::string& why) { return Decision::refuse(why, why); };
  Decision decision;
  decision.repeats = *repeated;
  decision.app_id = token.view(1);
  decision.instance_id = token.view(2);
  decision.tags = domain::read_tags(token.view(3));
  decision.names_instance = !decision.instance_id.empty();
  if (!request.app_id.empty() && request.app_id != decision.app_id)
    return refuse("the join token is for the app '" + decision.app_id + "', not for '" + request.app_id +
                  "'");
  // The operator's word goes before the machine's idea of its own name, often that of its host.
  if (!decision.names_instance) decision.instance_id = request.instance_id;
  if (decision.instance_id.empty()) decision.instance_id = "i-" + base::random_hex(8);
  if (const auto wrong = protocol::problem_of_name(decision.instance_id); !wrong.empty())
    return refuse("the instance_id " + std::string(wrong));
  if (request.key_hash.empty()) return refuse("the request has no public key");
  return decision;
}

// The same machine asks again with the same key and token, and has never used what it was given.
Result<bool> SqliteStore::is_repeated(const domain::EnrolRequest& request, std::string_view app_id,
                                      std::string_view instance_id) {
  Query row(
      database_,
      "SELECT 1 FROM enrolments e WHERE e.app_id=? AND e.instance_id=? AND e.token_id=? AND e.key_hash=? AND "
      "e.current=1 AND e.revoked=0 AND NOT EXISTS (SELECT 1 FROM certificates c WHERE c.uid=e.uid AND "
      "c.first_used>0)",
      app_id, instance_id.empty() ? request.instance_id : instance_id, request.token_id, request.key_hash);
  return row.next();
}

Result<bool> SqliteStore::was_enrolled(std::string_view app_id, std::string_view instance_id) {
  Query row(database_, "SELECT 1 FROM enrolments WHERE app_id=? AND instance_id=? LIMIT 1", app_id,
            instance_id);
  return row.next();
}

// Why a token that names no instance is not enough for this one; "" if it is.
Result<std::string> SqliteStore::refuse_known_instance(const Decision& decision,
                                                       const std::string& key_hash) {
  if (decision.names_instance) return std::string();
  const std::string advice = ": it needs a join token that names it (opsctl join-token create --app " +
                             decision.app_id + " --instance " + decision.instance_id + ")";
  {
    // The key that it has shows that it is the same machine, unless that was revoked.
    Query newest(database_,
                 "SELECT key_hash, revoked, uid FROM enrolments WHERE app_id=? AND instance_id=? ORDER BY id "
                 "DESC LIMIT 1",
                 decision.app_id, decision.instance_id);
    auto row = newest.next();
    if (!row) return std::move(row).error();
    if (*row && newest.integer(1) != 0) return "'" + decision.instance_id + "' was revoked" + advice;
    if (*row && newest.view(0) == key_hash) return std::string();
    if (*row) {
      Query same(database_,
                 "SELECT 1 FROM certificates WHERE uid=? AND key_hash=? AND (revoked=0 OR why='forgotten')",
                 newest.view(2), key_hash);
      auto has_key = same.next();
      if (!has_key) return std::move(has_key).error();
      if (*has_key) return std::string();
      return "'" + decision.instance_id + "' is the id of another machine" + advice;
    }
  }
  Query known(database_, "SELECT 1 FROM instances WHERE app_id=? AND instance_id=?", decision.app_id,
              decision.instance_id);
  auto row = known.next();
  if (!row) return std::move(row).error();
  return *row ? "'" + decision.instance_id + "' is known already, with an instance_token" + advice
              : std::string();
}

Result<void> SqliteStore::end_enrolments(std::string_view app_id, std::string_view instance_id,
                                         std::string_view why, domain::Millis now) {
  auto dead = write(
      "UPDATE certificates SET revoked=?, why=? WHERE revoked=0 AND uid IN (SELECT uid FROM enrolments WHERE "
      "app_id=? AND instance_id=?)",
      now, why, app_id, instance_id);
  if (!dead) return dead;
  return write("UPDATE enrolments SET current=0 WHERE app_id=? AND instance_id=?", app_id, instance_id);
}

Result<domain::Enrolled> SqliteStore::carry_out(const Decision& decision, const domain::EnrolRequest& request,
                                                domain::Millis now) {
  domain::Enrolled enrolled{.verdict = domain::Enrolled::Verdict::enrolled,
                            .reason = "",
                            .app_id = decision.app_id,
                            .instance_id = decision.instance_id,
                            .uid = base::random_hex(16)};
  if (!decision.repeats) {
    auto used = write("UPDATE join_tokens SET uses_left=uses_left-1 WHERE id=?", request.token_id);
    if (!used) return std::move(used).error();
  }
  auto before = was_enrolled(decision.app_id, decision.instance_id);
  if (!before) return std::move(before).error();
  enrolled.was_enrolled = *before;
  auto ended = end_enrolments(decision.app_id, decision.instance_id, "enrolled anew", now);
  if (!ended) return std::move(ended).error();
  auto added = write(
      "INSERT INTO enrolments (app_id, instance_id, uid, key_hash, token_id, current, enrolled) VALUES "
      "(?,?,?,?,?,1,?)",
      decision.app_id, decision.instance_id, enrolled.uid, request.key_hash, request.token_id, now);
  if (!added) return std::move(added).error();

  // The token that it came with before counts no more. An epoch that moves ends what an old connection still
  // sends; one of 0 stays: the first handshake is to come.
  auto put = write(
      "INSERT INTO instances (app_id, instance_id, token_hash, first_seen, unplaced) VALUES (?,?,'',?,1) ON "
      "CONFLICT DO UPDATE SET token_hash='', revoked=0, revoked_why='', unplaced=1, "
      "online=0, epoch=CASE WHEN epoch>0 THEN epoch+1 ELSE 0 END",
      decision.app_id, decision.instance_id, now);
  if (!put) return std::move(put).error();
  std::map<std::string, std::optional<std::string>> tags(decision.tags.begin(), decision.tags.end());
  auto instance = patch_tags(decision.app_id, decision.instance_id, tags, std::nullopt);
  if (!instance) return std::move(instance).error();
  enrolled.instance = instance->key;
  return enrolled;
}

Result<domain::Enrolled> SqliteStore::enrol(const domain::EnrolRequest& request, domain::Millis now) {
  domain::Enrolled answer;
  auto done = database_.transact([&]() -> Result<void> {
    auto decision = decide(request, now);
    if (!decision) return std::move(decision).error();
    if (decision->reason.empty()) {
      auto known = refuse_known_instance(*decision, request.key_hash);
      if (!known) return std::move(known).error();
      decision->reason = decision->detail = std::move(*known);
    }
    domain::AuditRow row{.at = now, .actor = "join-token " + request.token_id, .action = "agent.enrol"};
    row.from = request.from;
    if (!decision->reason.empty()) {
      answer.reason = decision->reason;
      row.object = request.app_id + "/" + request.instance_id;
      row.detail = decision->detail;
      row.result = domain::kDenied;
      // A flood of made-up ids is one peer to the audit.
      if (decision->reason == kBadToken) row.actor = "agent";
      return add_audit(row);
    }
    auto enrolled = carry_out(*decision, request, now);
    if (!enrolled) return std::move(enrolled).error();
    answer = std::move(*enrolled);
    row.object = answer.app_id + "/" + answer.instance_id;
    row.detail = "uid " + answer.uid + (answer.was_enrolled ? ", enrolled anew" : "");
    return add_audit(row);
  });
  if (!done) return std::move(done).error();
  return answer;
}

}  // namespace backend::store::sqlite
