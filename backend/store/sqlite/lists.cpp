// Lists of reports, newest first, and their retention. Their ids grow with the time of storing, so neither
// needs an index of times.
#include <algorithm>

#include "backend/domain/json_text.hpp"
#include "backend/store/sqlite/tables.hpp"
#include "base/text.hpp"

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// Rows that one page looks at when a filter has no index: 100,000 take some 50 ms.
constexpr std::int64_t kMostLookedAt = 100'000;

}  // namespace

// The lowest id whose row was received at `since` or later; past the end when there is none.
Result<std::int64_t> SqliteStore::first_since(std::string_view table, domain::Millis since) {
  const std::string name(table);
  std::int64_t low = 0, high = 0;
  {
    Query ends(database_, "SELECT ifnull((SELECT min(id) FROM " + name +
                              "), 1), ifnull((SELECT max(id) FROM " + name + "), 0)");
    if (auto row = expect_row(ends, name); !row) return std::move(row).error();
    low = ends.integer(0);
    high = ends.integer(1) + 1;
  }
  if (since <= 0) return low;
  while (low < high) {  // everything before `low` is older, everything from `high` is not
    const std::int64_t middle = low + (high - low) / 2;
    Query row(database_, "SELECT received FROM " + name + " WHERE id>=? ORDER BY id LIMIT 1", middle);
    if (auto found = expect_row(row, name); !found) return std::move(found).error();
    if (row.integer(0) >= since)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

template <class Row, class Read>
Result<domain::Page<Row>> SqliteStore::list_reports(std::string_view table, std::string_view columns,
                                                    const domain::ReportFilter& filter,
                                                    const domain::PageRequest& page, const Read& read) {
  auto before = read_cursor(page, INT64_MAX);
  if (!before) return std::move(before).error();
  auto first = first_since(table, filter.since);
  if (!first) return std::move(first).error();
  domain::InstanceKey instance = 0;
  if (!filter.instance_id.empty()) {
    auto found = find_instance(filter.app_id, filter.instance_id);
    if (!found) return std::move(found).error();
    instance = found->key;
  }
  std::int64_t floor = *first;
  if (instance == 0) {
    Query newest(database_, "SELECT max(id) FROM " + std::string(table));
    if (auto row = expect_row(newest, "newest"); !row) return std::move(row).error();
    floor = std::max(floor, std::min(*before, newest.integer(0) + 1) - kMostLookedAt);
  }

  // CROSS JOIN: the reports are the outer loop, in their order.
  std::string sql = "SELECT r.id, i.app_id, i.instance_id, a.agent_uid, r.seq, r.received, " +
                    std::string(columns) + " FROM " + std::string(table) +
                    " r CROSS JOIN instances i ON i.id=r.instance LEFT JOIN agents a ON a.id=r.agent "
                    "WHERE r.id<? AND r.id>=?";
  const bool is_results = table == "results";
  if (instance != 0) sql += " AND r.instance=?";
  if (instance == 0 && !filter.app_id.empty()) sql += " AND i.app_id=?";
  if (is_results && !filter.state_id.empty()) sql += " AND r.state_id=?";
  if (is_results && !filter.outcome.empty()) sql += " AND r.outcome=?";
  if (!filter.run_id.empty() && table != "statuses") sql += " AND r.run_id=?";
  sql += " ORDER BY r.id DESC LIMIT ?";
  Query rows(database_, sql, *before, floor);
  if (instance != 0) rows.bind(instance);
  if (instance == 0 && !filter.app_id.empty()) rows.bind(filter.app_id);
  if (is_results && !filter.state_id.empty()) rows.bind(filter.state_id);
  if (is_results && !filter.outcome.empty()) rows.bind(filter.outcome);
  if (!filter.run_id.empty() && table != "statuses") rows.bind(filter.run_id);
  rows.bind(page_size(page));

  domain::Page<Row> found;
  auto done = for_each_row(rows, [&] {
    Row& item = found.items.emplace_back();
    item.origin = {rows.integer(0), rows.text(1), rows.text(2), rows.text(3), rows.count(4), rows.integer(5)};
    read(rows, item);
  });
  if (!done) return std::move(done).error();
  if (found.items.size() == page_size(page))
    found.next = std::to_string(found.items.back().origin.id);
  else if (floor > *first)
    found.next = std::to_string(floor);
  return found;
}

Result<domain::Page<domain::ResultRow>> SqliteStore::list_results(const domain::ReportFilter& filter,
                                                                  const domain::PageRequest& page) {
  return list_reports<domain::ResultRow>(
      "results",
      "r.recipe_version, r.state_id, r.ok, r.outcome, r.comment, r.stdout, "
      "r.run_id, r.round, r.changes, r.attempt, "
      "r.exit_code, r.started, r.duration_ms, r.cpu_ms, r.max_rss_kb, r.truncated",
      filter, page, [](const Query& row, domain::ResultRow& item) {
        protocol::StateLog& log = item.log;
        log.instance_id = item.origin.instance_id;
        log.app_id = item.origin.app_id;
        log.seq = item.origin.seq;
        log.recipe_version = row.integer(6);
        log.id = row.view(7);
        log.state_result = row.integer(8) != 0;
        log.outcome = row.view(9);
        log.state_comment = row.view(10);
        if (!row.is_null(11)) log.state_stdout = row.text(11);
        log.run_id = row.view(12);
        log.round = row.count(13);
        if (!row.is_null(14)) item.changes = row.view(14);
        log.attempt = static_cast<unsigned>(row.integer(15));
        if (!row.is_null(16)) log.exit_code = static_cast<int>(row.integer(16));
        log.started = row.view(17);
        log.duration_ms = row.integer(18);
        log.cpu_ms = row.integer(19);
        log.max_rss_kb = row.count(20);
        log.truncated = row.integer(21) != 0;
      });
}

Result<domain::Page<domain::RoundRow>> SqliteStore::list_rounds(const domain::ReportFilter& filter,
                                                                const domain::PageRequest& page) {
  return list_reports<domain::RoundRow>(
      "rounds", "r.recipe_version, r.run_id, r.round, r.counts, r.not_reached, r.duration_ms, r.drift",
      filter, page, [](const Query& row, domain::RoundRow& item) {
        item.end.seq = item.origin.seq;
        item.end.recipe_version = row.integer(6);
        item.end.run_id = row.view(7);
        item.end.round = row.count(8);
        item.end.counts = domain::read_counts(row.view(9));
        item.end.not_reached = row.count(10);
        item.end.duration_ms = row.integer(11);
        item.end.drift = domain::read_texts(row.view(12));
      });
}

Result<domain::Page<domain::StatusRow>> SqliteStore::list_statuses(const domain::ReportFilter& filter,
                                                                   const domain::PageRequest& page) {
  return list_reports<domain::StatusRow>("statuses", "r.recipe_version, r.status, r.errors", filter, page,
                                         [](const Query& row, domain::StatusRow& item) {
                                           item.status.seq = item.origin.seq;
                                           item.status.recipe_version = row.integer(6);
                                           item.status.status = domain::read_progress(row.view(7));
                                           item.status.errors = domain::read_texts(row.view(8));
                                         });
}

Result<std::size_t> SqliteStore::purge_table(std::string_view table, domain::Millis oldest,
                                             std::uint64_t most, std::size_t batch) {
  const std::string name(table);
  std::int64_t last_too_many = 0;
  if (most > 0) {
    Query newest(database_, "SELECT ifnull(max(id), 0) FROM " + name);
    if (auto row = expect_row(newest, name); !row) return std::move(row).error();
    last_too_many = newest.integer(0) - static_cast<std::int64_t>(most);
  }
  auto removed = database_.run("DELETE FROM " + name + " WHERE id IN (SELECT id FROM " + name +
                                   " ORDER BY id LIMIT ?) AND (id<=? OR received<?)",
                               batch, last_too_many, oldest);
  if (!removed) return std::move(removed).error();
  return static_cast<std::size_t>(*removed);
}

Result<domain::Purged> SqliteStore::remove_reports(const domain::Retention& retention) {
  domain::Purged purged;
  const std::pair<const char*, std::uint64_t> tables[] = {{"results", retention.most_results},
                                                          {"rounds", retention.most_rounds},
                                                          {"statuses", retention.most_statuses}};
  for (const auto& [table, most] : tables) {
    auto removed = purge_table(table, retention.oldest, most, retention.batch);
    if (!removed) return std::move(removed).error();
    purged.rows += *removed;
    purged.more = purged.more || *removed == retention.batch;
  }
  return purged;
}

}  // namespace backend::store::sqlite
