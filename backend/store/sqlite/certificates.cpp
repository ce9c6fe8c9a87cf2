// Certificates: which ones are good, and how they end.
#include "backend/store/sqlite/tables.hpp"
#include "base/token.hpp"

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// A certificate that has expired is refused for that; its row is of use a while longer, to those who look.
constexpr domain::Millis kKeptAfterEnd = 30LL * 24 * 3600 * 1000;

std::string with_reason(std::string text, std::string_view why) {
  return why.empty() ? text : text + ": " + std::string(why);
}

}  // namespace

Result<std::string> SqliteStore::wrong_with_certificate(const domain::Credential& credential,
                                                        domain::Millis now) {
  {
    Query enrolment(database_,
                    "SELECT current, revoked, why FROM enrolments WHERE uid=? AND app_id=? AND instance_id=?",
                    credential.uid, credential.app_id, credential.instance_id);
    auto row = enrolment.next();
    if (!row) return std::move(row).error();
    if (!*row)
      return std::string("the certificate is of no enrolment that is known here: enrol the machine anew");
    if (enrolment.integer(1) != 0) return with_reason("the machine was revoked", enrolment.view(2));
    if (enrolment.integer(0) == 0)
      return std::string(
          "the certificate is dead: since it was issued the machine was enrolled anew or forgotten");
  }
  Query certificate(database_, "SELECT revoked, why, not_after FROM certificates WHERE serial=? AND uid=?",
                    credential.serial, credential.uid);
  auto row = certificate.next();
  if (!row) return std::move(row).error();
  if (!*row) return std::string("the certificate is not known here: enrol the machine anew");
  if (certificate.integer(0) != 0) return with_reason("the certificate was revoked", certificate.view(1));
  if (certificate.integer(2) <= now)
    return std::string("the certificate has expired: enrol the machine anew");
  return std::string();
}

// The agent has stored the new one: nobody needs those before it, except somebody who has copied them.
Result<void> SqliteStore::note_certificate_use(const domain::Credential& credential, domain::Millis now) {
  auto first = database_.run("UPDATE certificates SET first_used=? WHERE serial=? AND first_used=0", now,
                             credential.serial);
  if (!first) return std::move(first).error();
  if (*first == 0) return {};
  auto older = write(
      "UPDATE certificates SET revoked=?, why='replaced by a newer one' WHERE uid=? AND revoked=0 AND "
      "id<(SELECT "
      "id FROM certificates WHERE serial=?)",
      now, credential.uid, credential.serial);
  if (!older) return older;
  return write(
      "UPDATE enrolments SET key_hash=(SELECT key_hash FROM certificates WHERE serial=?) WHERE uid=?",
      credential.serial, credential.uid);
}

Result<void> SqliteStore::put_certificate(domain::InstanceKey instance, const std::string& uid,
                                          const std::string& serial, const std::string& key_hash,
                                          domain::Millis not_after, domain::Millis now) {
  {
    Query current(database_,
                  "SELECT 1 FROM enrolments e JOIN instances i ON i.app_id=e.app_id AND "
                  "i.instance_id=e.instance_id WHERE i.id=? AND e.uid=? AND e.current=1",
                  instance, uid);
    auto row = expect_row(current, "the instance has no such enrolment any more");
    if (!row) return row;
  }
  auto removed = write("DELETE FROM certificates WHERE uid=? AND not_after<?", uid, now - kKeptAfterEnd);
  if (!removed) return removed;
  return write("INSERT INTO certificates (serial, uid, key_hash, issued, not_after) VALUES (?,?,?,?,?)",
               serial, uid, key_hash, now, not_after);
}

Result<domain::Renewal> SqliteStore::may_renew(const domain::Credential& credential, domain::Millis now) {
  domain::Renewal renewal;
  auto wrong = wrong_with_certificate(credential, now);
  if (!wrong) return std::move(wrong).error();
  renewal.reason = std::move(*wrong);
  if (!renewal.reason.empty()) return renewal;
  auto instance = find_instance(credential.app_id, credential.instance_id);
  if (!instance) return std::move(instance).error();
  Query good(database_, "SELECT count(*) FROM certificates WHERE uid=? AND revoked=0 AND not_after>?",
             credential.uid, now);
  if (auto row = expect_row(good, "certificates"); !row) return std::move(row).error();
  // Answers that were lost, or could not be kept on a full disk: what nobody ever used makes room.
  if (good.integer(0) >= domain::kMostCertificates) {
    auto dropped = write(
        "UPDATE certificates SET revoked=?, why='never used' WHERE uid=? AND revoked=0 AND first_used=0 AND "
        "serial<>?",
        now, credential.uid, credential.serial);
    if (!dropped) return std::move(dropped).error();
  }
  renewal.instance = instance->key;
  renewal.allowed = true;
  return renewal;
}

Result<domain::Instance> SqliteStore::revoke(std::string_view app_id, std::string_view instance_id,
                                             const std::string& reason, domain::Millis now) {
  auto instance = find_instance(app_id, instance_id);
  if (!instance) return instance;
  auto known = was_enrolled(app_id, instance_id);
  if (!known) return std::move(known).error();
  if (!*known) {
    // One that came with an instance_token: from now on its id is one that was enrolled, and stays refused
    // when it is forgotten.
    auto added = write(
        "INSERT INTO enrolments (app_id, instance_id, uid, key_hash, current, enrolled) VALUES "
        "(?,?,?,'',0,?)",
        app_id, instance_id, base::random_hex(16), now);
    if (!added) return std::move(added).error();
  }
  auto ended = end_enrolments(app_id, instance_id, reason, now);
  if (!ended) return std::move(ended).error();
  auto noted = write("UPDATE enrolments SET revoked=?, why=? WHERE app_id=? AND instance_id=? AND revoked=0",
                     now, reason, app_id, instance_id);
  if (!noted) return std::move(noted).error();
  // What its connection still sends has an old epoch.
  auto marked = write(
      "UPDATE instances SET revoked=?, revoked_why=?, token_hash='', epoch=epoch+1, online=0, "
      "edit=edit+1 WHERE id=?",
      now, reason, instance->key);
  if (!marked) return std::move(marked).error();
  return find_instance(instance->key);
}

Result<std::optional<domain::Enrolment>> SqliteStore::find_enrolment(std::string_view app_id,
                                                                     std::string_view instance_id) {
  domain::Enrolment found;
  {
    Query row(database_,
              "SELECT uid, current, enrolled, revoked, why FROM enrolments WHERE app_id=? AND instance_id=? "
              "ORDER BY id DESC LIMIT 1",
              app_id, instance_id);
    auto there = row.next();
    if (!there) return std::move(there).error();
    if (!*there) return std::optional<domain::Enrolment>();
    found.uid = row.view(0);
    found.current = row.integer(1) != 0;
    found.enrolled = row.integer(2);
    found.revoked = row.integer(3);
    found.why = row.view(4);
  }
  Query rows(
      database_,
      "SELECT serial, issued, not_after, first_used, revoked, why FROM certificates WHERE uid=? ORDER BY id "
      "DESC LIMIT 100",
      found.uid);
  auto done = for_each_row(rows, [&] {
    found.certificates.push_back(
        {rows.text(0), rows.integer(1), rows.integer(2), rows.integer(3), rows.integer(4), rows.text(5)});
  });
  if (!done) return std::move(done).error();
  return std::optional<domain::Enrolment>(std::move(found));
}

}  // namespace backend::store::sqlite
