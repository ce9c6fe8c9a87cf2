// Tokens of operators, and join tokens.
#include "backend/domain/json_text.hpp"
#include "backend/store/sqlite/tables/tables.hpp"

namespace backend::store::sqlite {

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
    "revoked, created_by, name_pattern, needs_approval, ca_hash FROM join_tokens ";

domain::JoinToken read_join_token(const Query& row) {
  return {.id = row.text(1),
          .secret_hash = row.text(2),
          .app_id = row.text(3),
          .instance_id = row.text(4),
          .name_pattern = row.text(12),
          .tags = domain::read_tags(row.view(5)),
          .uses_total = row.integer(6),
          .uses_left = row.integer(7),
          .expires = row.integer(8),
          .created = row.integer(9),
          .revoked = row.integer(10),
          .created_by = row.text(11),
          .ca_hash = row.text(14),
          .needs_approval = row.integer(13) != 0};
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

Result<std::size_t> count_tokens(Database& database, std::string_view sql, domain::Millis now) {
  Query row(database, sql, now);
  if (auto found = expect_row(row, "tokens"); !found) return std::move(found).error();
  return row.count(0);
}

// The first one, or nothing.
template <class T>
Result<std::optional<T>> read_first(Query& row, T (*read)(const Query&)) {
  auto there = row.next();
  if (!there) return std::move(there).error();
  return *there ? std::optional(read(row)) : std::nullopt;
}

}  // namespace

// ---- operators

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

Result<std::size_t> SqliteStore::count_live_tokens(domain::Millis now) {
  return count_tokens(database_, "SELECT count(*) FROM tokens WHERE revoked=0 AND (expires=0 OR expires>?)",
                      now);
}

Result<std::optional<domain::OperatorToken>> SqliteStore::find_token(std::string_view id) {
  Query row(database_, std::string(kSelectTokens) + "WHERE id=?", id);
  return read_first(row, read_token);
}

Result<std::optional<domain::OperatorToken>> SqliteStore::token_named(std::string_view name) {
  Query row(database_, std::string(kSelectTokens) + "WHERE name=? AND revoked=0", name);
  return read_first(row, read_token);
}

Result<void> SqliteStore::insert_token(const domain::OperatorToken& token) {
  return write(
      "INSERT INTO tokens (id, name, role, scope, secret_hash, created, created_by, expires) VALUES "
      "(?,?,?,?,?,?,?,?)",
      token.id, token.name, token.role, token.scope, token.secret_hash, token.created, token.created_by,
      token.expires);
}

Result<void> SqliteStore::set_token_revoked(std::string_view id, domain::Millis now) {
  return write("UPDATE tokens SET revoked=? WHERE id=?", now, id);
}

Result<void> SqliteStore::note_token_use(std::string_view id, domain::Millis now) {
  return write("UPDATE tokens SET last_used=max(last_used, ?) WHERE id=?", now, id);
}

// ---- join tokens

Result<std::optional<domain::JoinToken>> SqliteStore::find_join_token(std::string_view id) {
  Query row(database_, std::string(kSelectJoinTokens) + "WHERE id=?", id);
  return read_first(row, read_join_token);
}

Result<std::size_t> SqliteStore::count_join_tokens(domain::Millis now) {
  return count_tokens(database_, "SELECT count(*) FROM join_tokens WHERE revoked=0 AND expires>?", now);
}

Result<void> SqliteStore::insert_join_token(const domain::JoinToken& token) {
  return write(
      "INSERT INTO join_tokens (id, secret_hash, app_id, instance_id, tags, uses_total, uses_left, expires, "
      "created, created_by, name_pattern, needs_approval, ca_hash) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
      token.id, token.secret_hash, token.app_id, token.instance_id, domain::to_json(token.tags),
      token.uses_total, token.uses_left, token.expires, token.created, token.created_by, token.name_pattern,
      token.needs_approval, token.ca_hash);
}

Result<void> SqliteStore::use_join_token(std::string_view id) {
  return write("UPDATE join_tokens SET uses_left=uses_left-1 WHERE id=?", id);
}

Result<void> SqliteStore::remove_join_tokens(domain::Millis expired_before) {
  return write("DELETE FROM join_tokens WHERE expires<?", expired_before);
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
