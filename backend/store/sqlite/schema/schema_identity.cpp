// The second step of the schema: identities, and the chain of the audit.
#include <vector>

#include "backend/domain/access/audit_chain.hpp"
#include "backend/store/sqlite/schema/schema.hpp"

namespace backend::store::sqlite {

using base::Result;

namespace {

// Enrolments and certificates go by names, not by the row of an instance: they outlive it.
constexpr std::string_view kIdentityTables = R"sql(
CREATE TABLE tokens (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, role TEXT NOT NULL,
  scope TEXT NOT NULL, secret_hash TEXT NOT NULL, created INTEGER NOT NULL, created_by TEXT NOT NULL,
  expires INTEGER NOT NULL,  -- 0: never
  last_used INTEGER NOT NULL DEFAULT 0, revoked INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX tokens_name ON tokens (name) WHERE revoked = 0;

CREATE TABLE join_tokens (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, secret_hash TEXT NOT NULL,
  app_id TEXT NOT NULL REFERENCES apps, instance_id TEXT NOT NULL,  -- '': any new one
  tags TEXT NOT NULL, uses_total INTEGER NOT NULL, uses_left INTEGER NOT NULL, expires INTEGER NOT NULL,
  created INTEGER NOT NULL, created_by TEXT NOT NULL, revoked INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE enrolments (
  id INTEGER PRIMARY KEY AUTOINCREMENT, app_id TEXT NOT NULL, instance_id TEXT NOT NULL, uid TEXT NOT NULL UNIQUE,
  key_hash TEXT NOT NULL, token_id TEXT NOT NULL DEFAULT '', current INTEGER NOT NULL, enrolled INTEGER NOT NULL,
  revoked INTEGER NOT NULL DEFAULT 0, why TEXT NOT NULL DEFAULT ''
);
CREATE INDEX enrolments_instance ON enrolments (app_id, instance_id);
CREATE UNIQUE INDEX enrolments_current ON enrolments (app_id, instance_id) WHERE current = 1;

CREATE TABLE certificates (
  id INTEGER PRIMARY KEY AUTOINCREMENT, serial TEXT NOT NULL UNIQUE, uid TEXT NOT NULL REFERENCES enrolments (uid),
  key_hash TEXT NOT NULL, issued INTEGER NOT NULL, not_after INTEGER NOT NULL, first_used INTEGER NOT NULL DEFAULT 0,
  revoked INTEGER NOT NULL DEFAULT 0, why TEXT NOT NULL DEFAULT ''
);
CREATE INDEX certificates_uid ON certificates (uid);

ALTER TABLE instances ADD COLUMN revoked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE instances ADD COLUMN revoked_why TEXT NOT NULL DEFAULT '';
ALTER TABLE instances ADD COLUMN unplaced INTEGER NOT NULL DEFAULT 0;  -- look at its placement at the next handshake

DROP TRIGGER audit_is_not_edited;
DROP TRIGGER audit_is_not_removed;
ALTER TABLE audit ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE audit ADD COLUMN result TEXT NOT NULL DEFAULT 'ok';
CREATE TABLE audit_head (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), id INTEGER NOT NULL, chain TEXT NOT NULL);
)sql";

constexpr std::string_view kTriggers = R"sql(
CREATE TRIGGER audit_is_not_edited BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'audit rows are not edited'); END;
CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit rows are not removed'); END;
)sql";

// The rows that were there before are the beginning of the chain.
Result<void> chain_old_rows(Database& database) {
  std::vector<domain::AuditRow> rows;
  {
    Query old(database, "SELECT id, at, actor, action, object, detail, result FROM audit ORDER BY id");
    while (true) {
      auto row = old.next();
      if (!row) return std::move(row).error();
      if (!*row) break;
      domain::AuditRow& read = rows.emplace_back();
      read = {old.integer(0), old.integer(1), old.text(2), old.text(3), old.text(4), old.text(5)};
      read.result = old.view(6);
    }
  }
  domain::AuditHead head{0, std::string(domain::kNoChain)};
  for (const domain::AuditRow& row : rows) {
    head = {row.id, domain::chain_after(head.chain, row)};
    auto done = database.run("UPDATE audit SET chain=? WHERE id=?", head.chain, head.id);
    if (!done) return std::move(done).error();
  }
  auto done = database.run("INSERT INTO audit_head VALUES (1, ?, ?)", head.id, head.chain);
  if (!done) return std::move(done).error();
  return {};
}

}  // namespace

SchemaStep identity_step() {
  return {.sql = kIdentityTables, .compute = chain_old_rows, .after = kTriggers};
}

}  // namespace backend::store::sqlite
