// Enrolments and certificates: the rows of agents' identities.
#include <array>

#include "backend/domain/access/certificate_rules.hpp"
#include "backend/store/sqlite/tables/tables.hpp"

namespace backend::store::sqlite {

using base::Result;

namespace {

const std::string kSelectEnrolments =
    "SELECT app_id, instance_id, uid, key_hash, token_id, current, enrolled, revoked, why FROM enrolments ";

// The first one, or nothing.
Result<std::optional<domain::Enrolment>> read_enrolment(Query& row) {
  auto there = row.next();
  if (!there) return std::move(there).error();
  if (!*there) return std::optional<domain::Enrolment>();
  domain::Enrolment enrolment;
  int at = 0;
  for (std::string* text :
       {&enrolment.app_id, &enrolment.instance_id, &enrolment.uid, &enrolment.key_hash, &enrolment.token_id})
    *text = row.view(at++);
  enrolment.current = row.integer(at++) != 0;
  enrolment.enrolled = row.integer(at++);
  enrolment.revoked = row.integer(at++);
  enrolment.why = row.view(at);
  return std::optional(std::move(enrolment));
}

const std::string kSelectCertificates =
    "SELECT id, serial, uid, key_hash, issued, not_after, first_used, revoked, why, issuer, kept FROM "
    "certificates ";

domain::CertificateRow read_certificate(const Query& row) {
  domain::CertificateRow certificate;
  certificate.id = row.integer(0);
  certificate.serial = row.view(1);
  certificate.uid = row.view(2);
  certificate.key_hash = row.view(3);
  certificate.issued = row.integer(4);
  certificate.not_after = row.integer(5);
  certificate.first_used = row.integer(6);
  certificate.revoked = row.integer(7);
  certificate.why = row.view(8);
  certificate.issuer = row.view(9);
  certificate.kept = row.integer(10);
  return certificate;
}

Result<std::vector<domain::CertificateRow>> read_certificates(Query& rows) {
  std::vector<domain::CertificateRow> found;
  if (auto done = for_each_row(rows, [&] { found.push_back(read_certificate(rows)); }); !done)
    return std::move(done).error();
  return found;
}

}  // namespace

// ---- enrolments

Result<std::optional<domain::Enrolment>> SqliteStore::newest_enrolment(std::string_view app_id,
                                                                       std::string_view instance_id) {
  Query row(database_, kSelectEnrolments + "WHERE app_id=? AND instance_id=? ORDER BY id DESC LIMIT 1",
            app_id, instance_id);
  return read_enrolment(row);
}

Result<std::optional<domain::Enrolment>> SqliteStore::find_enrolment(std::string_view uid) {
  Query row(database_, kSelectEnrolments + "WHERE uid=?", uid);
  return read_enrolment(row);
}

Result<std::int64_t> SqliteStore::count_enrolments(std::string_view app_id, std::string_view instance_id,
                                                   std::string_view token_id) {
  Query row(database_, "SELECT count(*) FROM enrolments WHERE app_id=? AND instance_id=? AND token_id=?",
            app_id, instance_id, token_id);
  if (auto found = expect_row(row, "enrolments"); !found) return std::move(found).error();
  return row.integer(0);
}

Result<std::optional<domain::Enrolment>> SqliteStore::enrolment_with_key(std::string_view app_id,
                                                                         std::string_view key_hash) {
  Query row(database_,
            kSelectEnrolments + "WHERE app_id=? AND key_hash=? AND key_hash<>'' ORDER BY id DESC LIMIT 1",
            app_id, key_hash);
  return read_enrolment(row);
}

Result<void> SqliteStore::insert_enrolment(const domain::Enrolment& enrolment) {
  return write(
      "INSERT INTO enrolments (app_id, instance_id, uid, key_hash, token_id, current, enrolled, revoked, "
      "why) "
      "VALUES (?,?,?,?,?,?,?,?,?)",
      enrolment.app_id, enrolment.instance_id, enrolment.uid, enrolment.key_hash, enrolment.token_id,
      enrolment.current, enrolment.enrolled, enrolment.revoked, enrolment.why);
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

Result<void> SqliteStore::revoke_enrolments(std::string_view app_id, std::string_view instance_id,
                                            std::string_view why, domain::Millis now) {
  return write("UPDATE enrolments SET revoked=?, why=? WHERE app_id=? AND instance_id=? AND revoked=0", now,
               why, app_id, instance_id);
}

Result<void> SqliteStore::set_enrolment_key(std::string_view uid, std::string_view key_hash) {
  return write("UPDATE enrolments SET key_hash=? WHERE uid=?", key_hash, uid);
}

// ---- certificates

Result<std::optional<domain::CertificateRow>> SqliteStore::find_certificate(std::string_view serial) {
  Query row(database_, kSelectCertificates + "WHERE serial=?", serial);
  auto there = row.next();
  if (!there) return std::move(there).error();
  return *there ? std::optional(read_certificate(row)) : std::nullopt;
}

Result<std::vector<domain::CertificateRow>> SqliteStore::list_certificates(std::string_view uid,
                                                                           std::size_t most) {
  Query rows(database_, kSelectCertificates + "WHERE uid=? ORDER BY id DESC LIMIT ?", uid, most);
  return read_certificates(rows);
}

Result<std::vector<domain::CertificateRow>> SqliteStore::certificates_with_key(std::string_view uid,
                                                                               std::string_view key_hash) {
  Query rows(database_, kSelectCertificates + "WHERE uid=? AND key_hash=?", uid, key_hash);
  return read_certificates(rows);
}

Result<bool> SqliteStore::has_used_certificate(std::string_view uid) {
  Query row(database_, "SELECT 1 FROM certificates WHERE uid=? AND first_used>0 LIMIT 1", uid);
  return row.next();
}

Result<std::int64_t> SqliteStore::count_good_certificates(std::string_view uid, domain::Millis now) {
  Query good(database_, "SELECT count(*) FROM certificates WHERE uid=? AND revoked=0 AND not_after>?", uid,
             now);
  if (auto row = expect_row(good, "certificates"); !row) return std::move(row).error();
  return good.integer(0);
}

Result<std::int64_t> SqliteStore::count_certificates_since(std::string_view uid,
                                                           domain::Millis issued_since) {
  Query row(database_, "SELECT count(*) FROM certificates WHERE uid=? AND issued>=?", uid, issued_since);
  if (auto found = expect_row(row, "certificates"); !found) return std::move(found).error();
  return row.integer(0);
}

Result<void> SqliteStore::insert_certificate(const domain::CertificateRow& certificate) {
  return write(
      "INSERT INTO certificates (serial, uid, key_hash, issued, not_after, first_used, revoked, why, issuer, "
      "kept) VALUES (?,?,?,?,?,?,?,?,?,?)",
      certificate.serial, certificate.uid, certificate.key_hash, certificate.issued, certificate.not_after,
      certificate.first_used, certificate.revoked, certificate.why, certificate.issuer, certificate.kept);
}

Result<void> SqliteStore::set_certificate_used(std::string_view serial, domain::Millis now) {
  return write("UPDATE certificates SET first_used=? WHERE serial=? AND first_used=0", now, serial);
}

Result<void> SqliteStore::revoke_certificates_before(std::string_view uid, std::int64_t id,
                                                     std::string_view why, domain::Millis now) {
  return write("UPDATE certificates SET revoked=?, why=? WHERE uid=? AND revoked=0 AND id<?", now, why, uid,
               id);
}

Result<void> SqliteStore::revoke_unused_certificates(std::string_view uid, std::string_view except,
                                                     std::string_view why, domain::Millis now) {
  return write(
      "UPDATE certificates SET revoked=?, why=? WHERE uid=? AND revoked=0 AND first_used=0 AND serial<>?",
      now, why, uid, except);
}

Result<void> SqliteStore::remove_certificates(std::string_view uid, domain::Millis expired_before) {
  return write("DELETE FROM certificates WHERE uid=? AND not_after<?", uid, expired_before);
}

// ---- housekeeping

Result<std::size_t> SqliteStore::remove_dead_certificates(domain::Millis before, std::size_t most) {
  static constexpr std::array kSuperseded{domain::kEnrolledAnew, domain::kReplaced, domain::kNeverUsed};
  static const std::string sql =
      "DELETE FROM certificates WHERE id IN (SELECT id FROM (SELECT id FROM certificates WHERE not_after<?1 "
      "UNION SELECT id FROM certificates WHERE revoked>0 AND revoked<?1 AND why IN " +
      sql_list(kSuperseded) + ") LIMIT ?2)";
  auto removed = database_.run(sql, before, most);
  if (!removed) return std::move(removed).error();
  return static_cast<std::size_t>(*removed);
}

Result<domain::Swept> SqliteStore::remove_dead_enrolments(const domain::Sweep& sweep) {
  return remove_swept(
      "SELECT e.id, e.current=0 AND e.enrolled<? AND NOT EXISTS (SELECT 1 FROM certificates c WHERE "
      "c.uid=e.uid) AND EXISTS (SELECT 1 FROM enrolments n WHERE n.app_id=e.app_id AND "
      "n.instance_id=e.instance_id AND n.id>e.id) FROM enrolments e WHERE e.id>? ORDER BY e.id LIMIT ?",
      "DELETE FROM enrolments WHERE id=?", sweep);
}

Result<void> SqliteStore::set_certificate_kept(std::string_view uid, std::string_view serial,
                                               domain::Millis now) {
  return write("UPDATE certificates SET kept=? WHERE serial=? AND uid=? AND kept=0", now, serial, uid);
}

// ---- authorities

Result<void> SqliteStore::adopt_authority(std::string_view issuer, std::string_view ca_hash) {
  if (auto done = write("UPDATE certificates SET issuer=? WHERE issuer=''", issuer); !done) return done;
  return write("UPDATE join_tokens SET ca_hash=? WHERE ca_hash=''", ca_hash);
}

namespace {

// ?1 the issuer, ?2 now. A certificate that was issued counts for what it is only when it has arrived.
const std::string kRelying =
    " FROM enrolments e LEFT JOIN instances i ON i.app_id=e.app_id AND i.instance_id=e.instance_id WHERE "
    "e.current=1 AND e.revoked=0 AND EXISTS (SELECT 1 FROM certificates c WHERE c.uid=e.uid AND c.revoked=0 "
    "AND c.not_after>?2 AND c.issuer=?1) AND NOT EXISTS (SELECT 1 FROM certificates c WHERE c.uid=e.uid AND "
    "c.revoked=0 AND c.not_after>?2 AND c.issuer<>?1 AND (c.kept>0 OR c.first_used>0))";

}  // namespace

Result<domain::RelyingMachines> SqliteStore::machines_relying_on(std::string_view issuer, domain::Millis now,
                                                                 std::size_t most) {
  domain::RelyingMachines relying;
  Query count(database_, "SELECT count(*)" + kRelying, issuer, now);
  if (auto row = expect_row(count, "enrolments"); !row) return std::move(row).error();
  relying.count = static_cast<std::size_t>(count.integer(0));
  Query rows(database_,
             "SELECT e.app_id, e.instance_id, coalesce(i.agent_version, ''), coalesce(i.online, 0), "
             "coalesce(i.last_seen, 0)" +
                 kRelying + " ORDER BY e.app_id, e.instance_id LIMIT ?3",
             issuer, now, most);
  auto read = for_each_row(rows, [&] {
    relying.some.push_back({.app_id = rows.text(0),
                            .instance_id = rows.text(1),
                            .agent_version = rows.text(2),
                            .online = rows.integer(3) != 0,
                            .last_seen = rows.integer(4)});
  });
  if (!read) return std::move(read).error();
  return relying;
}

Result<std::size_t> SqliteStore::count_machines_of(std::string_view issuer, domain::Millis now) {
  Query count(database_,
              "SELECT count(*) FROM enrolments e WHERE e.current=1 AND e.revoked=0 AND ?1 = (SELECT c.issuer "
              "FROM certificates c WHERE c.uid=e.uid AND c.revoked=0 AND c.not_after>?2 AND (c.kept>0 OR "
              "c.first_used>0) ORDER BY c.id DESC LIMIT 1)",
              issuer, now);
  if (auto row = expect_row(count, "enrolments"); !row) return std::move(row).error();
  return static_cast<std::size_t>(count.integer(0));
}

Result<std::size_t> SqliteStore::count_join_tokens_of(std::string_view ca_hash, domain::Millis now) {
  Query count(database_,
              "SELECT count(*) FROM join_tokens WHERE revoked=0 AND uses_left>0 AND expires>? AND ca_hash=?",
              now, ca_hash);
  if (auto row = expect_row(count, "join tokens"); !row) return std::move(row).error();
  return static_cast<std::size_t>(count.integer(0));
}

}  // namespace backend::store::sqlite
