// The audit: rows that are only ever added, chained by hash.
#include "backend/domain/audit_chain.hpp"
#include "backend/domain/instants.hpp"
#include "backend/store/sqlite/tables.hpp"
#include "base/text.hpp"

namespace backend::store::sqlite {

using base::Result;

namespace {

// Bodies of requests end up in details: enough to see what was meant.
constexpr std::size_t kLongestField = 4096;

// What is hashed must be what everybody sees: text that JSON can carry as it is.
std::string presentable(std::string_view text) {
  std::string clean;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = static_cast<unsigned char>(text[at]) < 0x80 ? 1 : base::utf8_length(text, at);
    if (clean.size() + length > kLongestField) return clean + "…";
    if (length == 0 || text[at] == '\0')
      clean += '?';
    else
      clean.append(text, at, length);
    at += length == 0 ? 1 : length;
  }
  return clean;
}

}  // namespace

Result<domain::AuditHead> SqliteStore::audit_head() {
  Query row(database_, "SELECT id, chain FROM audit_head");
  if (auto found = expect_row(row, "the head of the audit is missing"); !found)
    return std::move(found).error();
  return domain::AuditHead{row.integer(0), row.text(1)};
}

Result<void> SqliteStore::add_audit(const domain::AuditRow& given) {
  domain::AuditRow row = given;
  if (row.result == domain::kDenied) {
    const std::string who = row.action + " by " + row.actor;
    if (!refusals_.take(who, row.at)) return {};
    if (const std::uint64_t missed = refusals_.take_missed(who); missed > 0)
      row.detail += (row.detail.empty() ? "(and " : " (and ") + std::to_string(missed) + " more before it)";
  }
  return append_audit(std::move(row));
}

// From the head that the store remembers, not from the last row: if that is gone, the next one shows it.
Result<void> SqliteStore::append_audit(domain::AuditRow row) {
  auto head = audit_head();
  if (!head) return std::move(head).error();
  for (std::string* field : {&row.actor, &row.from, &row.action, &row.object, &row.detail, &row.result})
    *field = presentable(*field);
  row.id = head->id + 1;
  row.chain = domain::chain_after(head->chain, row);
  return database_.transact([&]() -> Result<void> {
    auto added = write(
        "INSERT INTO audit (id, at, actor, origin, action, object, detail, result, chain) VALUES "
        "(?,?,?,?,?,?,?,?,?)",
        row.id, row.at, row.actor, row.from, row.action, row.object, row.detail, row.result, row.chain);
    if (!added) return added;
    return write("UPDATE audit_head SET id=?, chain=?", row.id, row.chain);
  });
}

// Refusals that were counted and that no later one has told of.
Result<void> SqliteStore::note_missed_refusals() {
  for (const auto& [who, missed] : refusals_.take_all_missed()) {
    domain::AuditRow row{
        .at = domain::now_millis(), .actor = "opsbackend", .action = "refusals", .object = who};
    row.detail = std::to_string(missed) + " more that were not noted one by one";
    row.result = domain::kDenied;
    if (auto added = append_audit(std::move(row)); !added) return added;
  }
  return {};
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
