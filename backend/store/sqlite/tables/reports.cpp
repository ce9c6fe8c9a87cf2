// Storing what agents report. The hottest path of the backend: 20,000 a second.
#include <algorithm>
#include <initializer_list>

#include "backend/domain/json_text.hpp"
#include "backend/domain/reports/report_rules.hpp"
#include "backend/store/sqlite/tables/tables.hpp"

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

struct Writer {
  Database& database;
  const domain::AgentSession& session;
  const domain::Millis now;
  const domain::ReportTerms& terms;
  domain::InstanceNews news = {};  // what the batch changes in the row of its instance
  domain::ReportUse use = {};      // what is stored of the instance
  std::int64_t known_version = 0;  // the version that it has reported before the batch

  Result<std::int64_t> insert(const protocol::StateLog& log, std::uint64_t seq);
  Result<std::int64_t> insert(const protocol::RoundEnd& end, std::uint64_t seq);
  Result<std::int64_t> insert(const protocol::RecipeStatus& status, std::uint64_t seq);
  Result<std::int64_t> insert(const protocol::UpdateStatus& status, std::uint64_t seq);
  Result<std::int64_t> keep_standing(const protocol::StateLog& log, std::string_view outcome);
  Result<void> write_news();
  Result<void> write_use(const domain::ReportUse& before);
  Result<void> make_room(const std::string& table, domain::TableUse& used, const domain::TableUse& quota);
};

std::uint64_t size_of(std::initializer_list<std::string_view> texts) {
  std::uint64_t size = domain::kRowBytes;
  for (const std::string_view text : texts)
    size += text.size();
  return size;
}

void count_row(domain::TableUse& used, std::uint64_t bytes) {
  ++used.rows;
  used.bytes += bytes;
}

Result<std::int64_t> Writer::insert(const protocol::StateLog& log, std::uint64_t seq) {
  std::optional<std::string> changes;
  if (!log.changes.empty()) changes = domain::to_json(log.changes);
  const std::string_view outcome = domain::outcome_of(log);
  const std::uint64_t bytes = size_of({log.id, log.state_comment, log.run_id,
                                       log.state_stdout ? *log.state_stdout : std::string_view(),
                                       changes ? *changes : std::string_view()});
  auto added = database.run(
      "INSERT OR IGNORE INTO results (instance, agent, seq, received, recipe_version, state_id, ok, outcome, "
      "cause, comment, stdout, run_id, round, changes, attempt, exit_code, started, duration_ms, cpu_ms, "
      "max_rss_kb, "
      "truncated, bytes) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      session.instance, session.agent, seq, now, log.recipe_version, log.id, log.state_result, outcome,
      name_of(log.cause), log.state_comment, log.state_stdout, log.run_id, log.round, changes, log.attempt,
      log.exit_code, log.started, log.duration_ms, log.cpu_ms, log.max_rss_kb, log.truncated, bytes);
  if (!added || *added == 0) return added;
  count_row(use.results, bytes);
  news.take(log);
  if (!domain::has_standing(log, terms)) return added;
  if (auto kept = keep_standing(log, outcome); !kept) return kept;
  return added;
}

Result<std::int64_t> Writer::keep_standing(const protocol::StateLog& log, std::string_view outcome) {
  const std::int64_t done_version = log.state_result ? log.recipe_version : 0;
  // Most reports say what is known already, and write nothing.
  return database.run(
      "INSERT INTO standings VALUES (?,?,?,?,?,?) ON CONFLICT DO UPDATE SET "
      "recipe_version=excluded.recipe_version, "
      "outcome=excluded.outcome, done_version=max(done_version, excluded.done_version), "
      "done_at=CASE WHEN excluded.done_version>done_version THEN excluded.done_at ELSE done_at END "
      "WHERE excluded.recipe_version>=recipe_version AND (excluded.recipe_version>recipe_version OR "
      "outcome<>excluded.outcome OR done_version<excluded.done_version)",
      session.instance, log.id, log.recipe_version, outcome, done_version, now);
}

Result<std::int64_t> Writer::insert(const protocol::RoundEnd& end, std::uint64_t seq) {
  const std::string counts = domain::to_json(end.counts), drift = domain::to_json(end.drift);
  const std::uint64_t bytes = size_of({end.run_id, counts, drift});
  auto added = database.run(
      "INSERT OR IGNORE INTO rounds (instance, agent, seq, received, recipe_version, run_id, round, counts, "
      "not_reached, duration_ms, drift, bytes) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
      session.instance, session.agent, seq, now, end.recipe_version, end.run_id, end.round, counts,
      end.not_reached, end.duration_ms, drift, bytes);
  if (!added || *added == 0) return added;
  count_row(use.rounds, bytes);
  news.take(end);
  return added;
}

Result<std::int64_t> Writer::insert(const protocol::RecipeStatus& status, std::uint64_t seq) {
  const std::string errors = domain::to_json(status.errors);
  const std::uint64_t bytes = size_of({errors});
  auto added = database.run(
      "INSERT OR IGNORE INTO statuses (instance, agent, seq, received, recipe_version, status, errors, "
      "bytes) "
      "VALUES (?,?,?,?,?,?,?,?)",
      session.instance, session.agent, seq, now, status.recipe_version, domain::progress_name(status.status),
      errors, bytes);
  if (!added || *added == 0) return added;
  count_row(use.statuses, bytes);
  news.take(status);
  return added;
}

// What closes an action closes it once and for all; one that was taken for lost may come back.
Result<std::int64_t> Writer::insert(const protocol::UpdateStatus& status, std::uint64_t) {
  static const std::string sql =
      "UPDATE rollout_targets SET phase=?, error=?, progress=?, at=? WHERE instance=? AND action_id=? AND "
      "told>0 AND phase NOT IN " +
      sql_list(domain::kClosedPhases);
  return database.run(sql, name_of(status.phase), status.error, status.progress, now, session.instance,
                      status.action_id);
}

Result<void> Writer::write_news() {
  Result<std::int64_t> done = 0;
  if (news.has_status)
    done = database.run("UPDATE instances SET reported_version=?, status=?, errors=? WHERE id=?",
                        news.reported_version, news.status, news.errors, session.instance);
  if (done && news.round)
    done = database.run(
        "UPDATE instances SET round=?, round_version=?, round_counts=?, round_not_reached=?, round_ms=?, "
        "round_at=? "
        "WHERE id=?",
        news.round->round, news.round->recipe_version, domain::to_json(news.round->counts),
        news.round->not_reached, news.round->duration_ms, now, session.instance);
  // It has begun another version: of states that it has no more, or has not come to yet, nothing is known.
  if (done && terms.states && news.has_status && news.reported_version > known_version)
    done = database.run("DELETE FROM standings WHERE instance=? AND recipe_version<?", session.instance,
                        std::min(news.reported_version, terms.recipe_version));
  if (done && news.converged_version > 0)
    done = database.run(
        "UPDATE instances SET converged_version=?1, converged_at=?2 WHERE id=?3 AND converged_version<?1",
        news.converged_version, now, session.instance);
  // The first whole round of a version: what states of older ones did is of no use any more.
  if (done && news.converged_version > 0 && *done > 0)
    done = database.run("DELETE FROM standings WHERE instance=? AND recipe_version<?", session.instance,
                        news.converged_version);
  if (!done) return std::move(done).error();
  return {};
}

// The oldest of the instance's own rows go until it is within its quota. The newest of all stays, for its id.
Result<void> Writer::make_room(const std::string& table, domain::TableUse& used,
                               const domain::TableUse& quota) {
  constexpr int kMostAtOnce = 20'000;  // more only when the quota was made smaller
  if (!domain::is_over(used, quota)) return {};
  std::int64_t last = 0;
  {
    Query rows(database,
               "SELECT id, bytes FROM " + table + " WHERE instance=? AND id<(SELECT max(id) FROM " + table +
                   ") ORDER BY id LIMIT ?",
               session.instance, kMostAtOnce);
    while (domain::is_over(used, quota)) {
      auto row = rows.next();
      if (!row) return std::move(row).error();
      if (!*row) break;
      last = rows.integer(0);
      used = domain::without_row(used, rows.count(1));
    }
  }
  auto done = database.run("DELETE FROM " + table + " WHERE instance=? AND id<=?", session.instance, last);
  if (!done) return std::move(done).error();
  return {};
}

Result<void> Writer::write_use(const domain::ReportUse& before) {
  const bool is_same = use.results.rows == before.results.rows && use.rounds.rows == before.rounds.rows &&
                       use.statuses.rows == before.statuses.rows;
  if (is_same) return {};
  if (auto done = make_room("results", use.results, terms.quota.results); !done) return done;
  if (auto done = make_room("rounds", use.rounds, terms.quota.rounds); !done) return done;
  if (auto done = make_room("statuses", use.statuses, terms.quota.statuses); !done) return done;
  auto done = database.run(
      "INSERT OR REPLACE INTO report_use (instance, results, results_bytes, rounds, rounds_bytes, statuses, "
      "statuses_bytes) VALUES (?,?,?,?,?,?,?)",
      session.instance, use.results.rows, use.results.bytes, use.rounds.rows, use.rounds.bytes,
      use.statuses.rows, use.statuses.bytes);
  if (!done) return std::move(done).error();
  return {};
}

std::optional<std::uint64_t> seq_of(const domain::Report& report) {
  return std::visit([](const auto& body) { return body.seq; }, report);
}

}  // namespace

Result<domain::ReportsStored> SqliteStore::store_reports(const domain::AgentSession& session,
                                                         std::span<const domain::Report> reports,
                                                         domain::Millis now,
                                                         const domain::ReportTerms& terms) {
  domain::ReportsStored stored;
  Writer writer{database_, session, now, terms};
  {
    Query row(database_,
              "SELECT i.epoch, i.reported_version, a.last_seq, ifnull(u.results, 0), "
              "ifnull(u.results_bytes, 0), ifnull(u.rounds, 0), ifnull(u.rounds_bytes, 0), "
              "ifnull(u.statuses, 0), ifnull(u.statuses_bytes, 0) FROM instances i JOIN agents a ON "
              "a.instance=i.id LEFT JOIN report_use u ON u.instance=i.id WHERE i.id=? AND a.id=?",
              session.instance, session.agent);
    auto known = row.next();
    if (!known) return std::move(known).error();
    if (!*known || row.count(0) != session.epoch) {
      stored.is_superseded = true;
      return stored;
    }
    writer.news.reported_version = writer.known_version = row.integer(1);
    stored.ack_seq = row.count(2);
    writer.use = {.results = {row.count(3), row.count(4)},
                  .rounds = {row.count(5), row.count(6)},
                  .statuses = {row.count(7), row.count(8)}};
  }
  const domain::ReportUse before = writer.use;
  const std::uint64_t acked = stored.ack_seq;
  for (const domain::Report& report : reports) {
    const std::uint64_t seq = seq_of(report).value_or(stored.ack_seq + 1);
    // Reports come in the order of their seq, so what is not beyond the last one was stored before, even if
    // retention has removed it since. The unique (agent, seq) of the tables says the same, once more.
    if (seq <= stored.ack_seq) {
      ++stored.duplicates;
      continue;
    }
    if (seq > static_cast<std::uint64_t>(INT64_MAX)) return Error(ErrorCode::invalid, "seq is out of range");
    auto added = std::visit([&](const auto& body) { return writer.insert(body, seq); }, report);
    if (!added) return std::move(added).error();
    stored.ack_seq = seq;
    ++stored.stored;
  }
  if (stored.ack_seq == acked) return stored;
  if (auto done = writer.write_news(); !done) return std::move(done).error();
  if (auto done = writer.write_use(before); !done) return std::move(done).error();
  if (auto done = write("UPDATE agents SET last_seq=? WHERE id=?", stored.ack_seq, session.agent); !done)
    return std::move(done).error();
  return stored;
}

}  // namespace backend::store::sqlite
