// Tokens of operators, and join tokens.
#include "backend/domain/json_text.hpp"
#include "backend/store/sqlite/tables.hpp"
#include "protocol/ids.hpp"

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr std::string_view kSelectTokens =
    "SELECT number, id, name, role, scope, secret_hash, created_by, created, expires, last_used, revoked "
    "FROM "
    "tokens ";

domain::OperatorToken read_token(const Query& row) {
  return {row.text(1), row.text(2),    row.text(3),    row.text(4),    row.text(5),
          row.text(6), row.integer(7), row.integer(8), row.integer(9), row.integer(10)};
}

constexpr std::string_view kSelectJoinTokens =
    "SELECT number, id, secret_hash, app_id, instance_id, tags, uses_total, uses_left, expires, created, "
    "revoked, created_by FROM join_tokens ";

domain::JoinToken read_join_token(const Query& row) {
  return {row.text(1),    row.text(2),    row.text(3),    row.text(4),    domain::read_tags(row.view(5)),
          row.integer(6), row.integer(7), row.integer(8), row.integer(9), row.integer(10),
          row.text(11)};
}

// Newest first, by the number in the first column.
template <class T>
Result<domain::Page<T>> list_newest(Database& database, std::string_view select,
                                    const domain::PageRequest& page, T (*read)(const Query&)) {
  auto before = read_cursor(page, INT64_MAX);
  if (!before) return std::move(before).error();
  Query rows(database, std::string(select) + "WHERE number<? ORDER BY number DESC LIMIT ?", *before,
             page_size(page));
  domain::Page<T> found;
  std::int64_t last = 0;
  auto done = for_each_row(rows, [&] {
    last = rows.integer(0);
    found.items.push_back(read(rows));
  });
  if (!done) return std::move(done).error();
  if (found.items.size() == page_size(page)) found.next = std::to_string(last);
  return found;
}

Result<void> check_count(Database& database, const char* sql, domain::Millis now, std::size_t most,
                         std::string_view what) {
  Query row(database, sql, now);
  if (auto found = expect_row(row, "tokens"); !found) return found;
  if (row.count(0) < most) return {};
  return Error(ErrorCode::exists, "there are " + std::to_string(most) + " " + std::string(what) +
                                      " already: revoke those that nobody needs");
}

}  // namespace

// ---- operators

Result<domain::OperatorToken> SqliteStore::add_token(const domain::OperatorToken& token, domain::Millis now) {
  if (const auto wrong = protocol::problem_of_name(token.name); !wrong.empty())
    return Error(ErrorCode::invalid, "a token's name " + std::string(wrong));
  auto room =
      check_count(database_, "SELECT count(*) FROM tokens WHERE revoked=0 AND (expires=0 OR expires>?)", now,
                  domain::kMostTokens, "tokens");
  if (!room) return std::move(room).error();
  // One that has expired does not keep its name.
  auto freed = write("UPDATE tokens SET revoked=? WHERE name=? AND revoked=0 AND expires<>0 AND expires<=?",
                     now, token.name, now);
  if (!freed) return std::move(freed).error();
  {
    Query taken(database_, "SELECT 1 FROM tokens WHERE name=? AND revoked=0", token.name);
    auto row = taken.next();
    if (!row) return std::move(row).error();
    if (*row)
      return Error(ErrorCode::exists,
                   "there is a token '" + token.name + "': revoke it, or choose another name");
  }
  auto added = write(
      "INSERT INTO tokens (id, name, role, scope, secret_hash, created, created_by, expires) VALUES "
      "(?,?,?,?,?,?,?,?)",
      token.id, token.name, token.role, token.scope, token.secret_hash, now, token.created_by, token.expires);
  if (!added) return std::move(added).error();
  domain::OperatorToken stored = token;
  stored.created = now;
  return stored;
}

Result<domain::Page<domain::OperatorToken>> SqliteStore::list_tokens(const domain::PageRequest& page) {
  return list_newest<domain::OperatorToken>(database_, kSelectTokens, page, read_token);
}

Result<std::vector<domain::OperatorToken>> SqliteStore::live_tokens(domain::Millis now) {
  Query rows(database_, std::string(kSelectTokens) + "WHERE revoked=0 AND (expires=0 OR expires>?)", now);
  std::vector<domain::OperatorToken> found;
  auto done = for_each_row(rows, [&] { found.push_back(read_token(rows)); });
  if (!done) return std::move(done).error();
  return found;
}

Result<domain::OperatorToken> SqliteStore::revoke_token(std::string_view name, domain::Millis now) {
  domain::OperatorToken token;
  {
    Query row(database_, std::string(kSelectTokens) + "WHERE name=? AND revoked=0", name);
    if (auto found = expect_row(row, "there is no token '" + std::string(name) + "'"); !found)
      return std::move(found).error();
    token = read_token(row);
  }
  auto done = write("UPDATE tokens SET revoked=? WHERE id=?", now, token.id);
  if (!done) return std::move(done).error();
  token.revoked = now;
  return token;
}

Result<void> SqliteStore::note_token_use(std::string_view id, domain::Millis now) {
  return write("UPDATE tokens SET last_used=max(last_used, ?) WHERE id=?", now, id);
}

Result<void> SqliteStore::set_admin_token(const std::string& id, const std::string& secret_hash,
                                          domain::Millis now) {
  {
    Query known(database_, "SELECT 1 FROM tokens WHERE id=?", id);
    auto row = known.next();
    if (!row) return std::move(row).error();
    if (*row) return {};
  }
  auto revoked =
      database_.run("UPDATE tokens SET revoked=? WHERE name=? AND revoked=0", now, domain::kAdminName);
  if (!revoked) return std::move(revoked).error();
  auto added = add_token({.id = id,
                          .name = std::string(domain::kAdminName),
                          .role = "admin",
                          .scope = "",
                          .secret_hash = secret_hash,
                          .created_by = "opsbackend"},
                         now);
  if (!added) return std::move(added).error();
  domain::AuditRow row{
      .at = now, .actor = "opsbackend", .action = "token.create", .object = std::string(domain::kAdminName)};
  row.detail = *revoked > 0 ? "role=admin, from the data folder; the one before is revoked"
                            : "role=admin, from the data folder";
  return add_audit(row);
}

// ---- join tokens

Result<domain::JoinToken> SqliteStore::add_join_token(const domain::JoinToken& token) {
  if (auto app = find_app(token.app_id); !app) return std::move(app).error();
  auto room = check_count(database_, "SELECT count(*) FROM join_tokens WHERE revoked=0 AND expires>?",
                          token.created, domain::kMostJoinTokens, "join tokens");
  if (!room) return std::move(room).error();
  auto added = write(
      "INSERT INTO join_tokens (id, secret_hash, app_id, instance_id, tags, uses_total, uses_left, expires, "
      "created, created_by) VALUES (?,?,?,?,?,?,?,?,?,?)",
      token.id, token.secret_hash, token.app_id, token.instance_id, domain::to_json(token.tags),
      token.uses_total, token.uses_left, token.expires, token.created, token.created_by);
  if (!added) return std::move(added).error();
  return token;
}

Result<domain::Page<domain::JoinToken>> SqliteStore::list_join_tokens(const domain::PageRequest& page) {
  return list_newest<domain::JoinToken>(database_, kSelectJoinTokens, page, read_join_token);
}

Result<domain::JoinToken> SqliteStore::revoke_join_token(std::string_view id, domain::Millis now) {
  domain::JoinToken token;
  {
    Query row(database_, std::string(kSelectJoinTokens) + "WHERE id=? AND revoked=0", id);
    if (auto found = expect_row(row, "there is no join token '" + std::string(id) + "'"); !found)
      return std::move(found).error();
    token = read_join_token(row);
  }
  auto done = write("UPDATE join_tokens SET revoked=? WHERE id=?", now, id);
  if (!done) return std::move(done).error();
  token.revoked = now;
  return token;
}

}  // namespace backend::store::sqlite
