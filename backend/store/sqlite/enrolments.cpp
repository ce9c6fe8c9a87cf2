// Enrolments and certificates: the rows of agents' identities.
#include "backend/store/sqlite/tables.hpp"

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
    "SELECT id, serial, uid, key_hash, issued, not_after, first_used, revoked, why FROM certificates ";

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

Result<void> SqliteStore::insert_certificate(const domain::CertificateRow& certificate) {
  return write(
      "INSERT INTO certificates (serial, uid, key_hash, issued, not_after, first_used, revoked, why) VALUES "
      "(?,?,?,?,?,?,?,?)",
      certificate.serial, certificate.uid, certificate.key_hash, certificate.issued, certificate.not_after,
      certificate.first_used, certificate.revoked, certificate.why);
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

}  // namespace backend::store::sqlite
