// The audit: rows that are only ever added.
#include "backend/store/sqlite/tables/tables.hpp"

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<domain::AuditHead> SqliteStore::audit_head() {
  Query row(database_, "SELECT id, chain FROM audit_head");
  if (auto found = expect_row(row, "the head of the audit is missing"); !found)
    return std::move(found).error();
  return domain::AuditHead{row.integer(0), row.text(1)};
}

Result<void> SqliteStore::append_audit(const domain::AuditHead& head, const domain::AuditRow& row) {
  return database_.transact([&]() -> Result<void> {
    auto moved = database_.run("UPDATE audit_head SET id=?, chain=? WHERE id=? AND chain=?", row.id,
                               row.chain, head.id, head.chain);
    if (!moved) return std::move(moved).error();
    if (*moved == 0) return Error(ErrorCode::exists, "another writer has added to the audit meanwhile");
    return write(
        "INSERT INTO audit (id, at, actor, origin, action, object, detail, result, chain) VALUES "
        "(?,?,?,?,?,?,?,?,?)",
        row.id, row.at, row.actor, row.from, row.action, row.object, row.detail, row.result, row.chain);
  });
}

Result<domain::Page<domain::AuditRow>> SqliteStore::list_audit(const domain::PageRequest& page, Order order) {
  const bool newest = order == Order::newest_first;
  auto after = read_cursor(page, newest ? INT64_MAX : 0);
  if (!after) return std::move(after).error();
  Query rows(database_,
             std::string("SELECT id, at, actor, action, object, detail, origin, result, chain FROM audit ") +
                 (newest ? "WHERE id<? ORDER BY id DESC LIMIT ?" : "WHERE id>? ORDER BY id LIMIT ?"),
             *after, page_size(page));
  domain::Page<domain::AuditRow> found;
  auto done = for_each_row(rows, [&] {
    found.items.push_back({rows.integer(0), rows.integer(1), rows.text(2), rows.text(3), rows.text(4),
                           rows.text(5), rows.text(6), rows.text(7), rows.text(8)});
  });
  if (!done) return std::move(done).error();
  if (found.items.size() == page_size(page)) found.next = std::to_string(found.items.back().id);
  return found;
}

}  // namespace backend::store::sqlite
