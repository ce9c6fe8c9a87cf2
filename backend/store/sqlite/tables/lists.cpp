// Lists of reports, newest first, and their retention. Their ids grow with the time of storing, so neither
// needs an index of times.
#include <algorithm>
#include <map>

#include "backend/domain/json_text.hpp"
#include "backend/store/sqlite/tables/tables.hpp"
#include "base/text.hpp"

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// Rows that one page looks at when a filter has no index: 100,000 take some 50 ms.
constexpr std::int64_t kMostLookedAt = 100'000;

// Clocks are set by moments all the time.
constexpr domain::Millis kClockSlack = 60'000;

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
  if (filter.until > 0) {
    auto end = first_since(table, filter.until);
    if (!end) return std::move(end).error();
    before = std::min(*before, *end);
  }
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
  std::size_t bytes = 0;
  while (bytes < domain::kMostPageBytes) {
    auto row = rows.next();
    if (!row) return std::move(row).error();
    if (!*row) break;
    Row& item = found.items.emplace_back();
    item.origin = {rows.integer(0), rows.text(1), rows.text(2), rows.text(3), rows.count(4), rows.integer(5)};
    read(rows, item);
    bytes += rows.text_bytes();
  }
  if (found.items.size() == page_size(page) || bytes >= domain::kMostPageBytes)
    found.next = std::to_string(found.items.back().origin.id);
  else if (floor > *first) {
    // Ids may have wide gaps: the next page begins where there are rows.
    Query below(database_, "SELECT ifnull(max(id), 0) FROM " + std::string(table) + " WHERE id<?", floor);
    if (auto row = expect_row(below, "older"); !row) return std::move(row).error();
    if (below.integer(0) >= *first) found.next = std::to_string(below.integer(0) + 1);
  }
  return found;
}

Result<domain::Page<domain::ResultRow>> SqliteStore::list_results(const domain::ReportFilter& filter,
                                                                  const domain::PageRequest& page) {
  return list_reports<domain::ResultRow>(
      "results",
      "r.recipe_version, r.state_id, r.ok, r.outcome, r.comment, r.stdout, "
      "r.run_id, r.round, r.changes, r.attempt, "
      "r.exit_code, r.started, r.duration_ms, r.cpu_ms, r.max_rss_kb, r.truncated, r.cause",
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
        log.cause = protocol::change_cause_of(row.view(22));
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

// The standing says that it fails now; why is in its last result, which is among the newest of the machine.
Result<std::optional<domain::FailedState>> SqliteStore::find_failed_state(domain::InstanceKey instance) {
  // A machine decides how many of its states fail: each is looked for among all of its results.
  constexpr int kMostLookedFor = 8;
  Query row(database_,
            "SELECT s.state_id, s.outcome, s.recipe_version, ifnull(r.comment, ''), ifnull(r.received, 0) "
            "FROM (SELECT * FROM standings WHERE instance=?1 AND outcome IN ('failed', 'timed_out', "
            "'cancelled') ORDER BY recipe_version DESC LIMIT ?2) s LEFT JOIN results r ON r.id=(SELECT id "
            "FROM results WHERE instance=?1 AND state_id=s.state_id AND outcome=s.outcome ORDER BY id DESC "
            "LIMIT 1) ORDER BY r.id DESC LIMIT 1",
            instance, kMostLookedFor);
  auto found = row.next();
  if (!found) return std::move(found).error();
  if (!*found) return std::optional<domain::FailedState>();
  return std::optional(
      domain::FailedState{row.text(0), row.text(1), row.integer(2), row.text(3), row.integer(4)});
}

Result<domain::ReportUse> SqliteStore::report_use(domain::InstanceKey instance) {
  Query row(database_,
            "SELECT ifnull(sum(results), 0), ifnull(sum(results_bytes), 0), ifnull(sum(rounds), 0), "
            "ifnull(sum(rounds_bytes), 0), ifnull(sum(statuses), 0), ifnull(sum(statuses_bytes), 0) FROM "
            "report_use WHERE ?1=0 OR instance=?1",
            instance);
  if (auto found = expect_row(row, "reports"); !found) return std::move(found).error();
  return domain::ReportUse{.results = {row.count(0), row.count(1)},
                           .rounds = {row.count(2), row.count(3)},
                           .statuses = {row.count(4), row.count(5)}};
}

// From the oldest on, until the table is within its limits. Counted are the rows that there are: ids have
// gaps where an instance's own quota has removed some. The newest row stays, however old it is: ids go on
// from it, so that none is given twice and cursors stay what they are.
Result<std::size_t> SqliteStore::purge_table(const std::string& table, domain::TableUse use,
                                             const domain::TableUse& most,
                                             const domain::Retention& retention) {
  const domain::Millis oldest = retention.oldest;
  // Received by a clock that was ahead: as if now, so that they do not stay, with all behind them, until
  // then.
  if (retention.now > 0)
    if (auto done =
            write("UPDATE " + table + " SET received=?1 WHERE received>?2 AND id IN (SELECT id FROM " +
                      table + " ORDER BY id LIMIT ?3)",
                  retention.now, retention.now + kClockSlack, retention.batch);
        !done)
      return std::move(done).error();
  std::map<domain::InstanceKey, domain::TableUse> removed;
  std::int64_t last = 0;
  std::size_t count = 0;
  {
    Query rows(database_,
               "SELECT id, instance, received, bytes FROM " + table + " WHERE id<(SELECT max(id) FROM " +
                   table + ") ORDER BY id LIMIT ?",
               retention.batch);
    while (true) {
      auto row = rows.next();
      if (!row) return std::move(row).error();
      if (!*row || (rows.integer(2) >= oldest && !domain::is_over(use, most))) break;
      last = rows.integer(0);
      domain::TableUse& of_instance = removed[rows.integer(1)];
      ++of_instance.rows;
      of_instance.bytes += rows.count(3);
      use = domain::without_row(use, rows.count(3));
      ++count;
    }
  }
  if (count == 0) return count;
  if (auto done = write("DELETE FROM " + table + " WHERE id<=?", last); !done) return std::move(done).error();
  const std::string less = "UPDATE report_use SET " + table + "=max(0, " + table + "-?), " + table +
                           "_bytes=max(0, " + table + "_bytes-?) WHERE instance=?";
  for (const auto& [instance, gone] : removed)
    if (auto done = write(less, gone.rows, gone.bytes, instance); !done) return std::move(done).error();
  return count;
}

Result<domain::Purged> SqliteStore::remove_reports(const domain::Retention& retention) {
  domain::Purged purged;
  auto use = report_use(0);
  if (!use) return std::move(use).error();
  struct Table {
    const char* name;
    const domain::TableUse& use;
    std::uint64_t most_rows;
  };
  const Table tables[] = {{"results", use->results, retention.most_results},
                          {"rounds", use->rounds, retention.most_rounds},
                          {"statuses", use->statuses, retention.most_statuses}};
  for (const Table& table : tables) {
    auto removed = purge_table(table.name, table.use, {table.most_rows, retention.most_bytes}, retention);
    if (!removed) return std::move(removed).error();
    purged.rows += *removed;
    purged.more = purged.more || *removed == retention.batch;
  }
  // Of instances that were forgotten, once nothing of them is left.
  if (purged.rows > 0)
    if (auto done = write(
            "DELETE FROM report_use WHERE results=0 AND rounds=0 AND statuses=0 AND instance NOT IN (SELECT "
            "id FROM instances)");
        !done)
      return std::move(done).error();
  return purged;
}

}  // namespace backend::store::sqlite
