// Storing what agents report. The hottest path of the backend: 20,000 a second.
#include <algorithm>

#include "backend/json_text.hpp"
#include "backend/sqlite_tables.hpp"

namespace backend {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// What a batch changes in the row of its instance; written once, at the end.
struct InstanceNews {
  bool has_status = false;
  std::int64_t reported_version = 0;
  std::string status, errors = "[]";
  const protocol::RoundEnd* round = nullptr;
  std::int64_t converged_version = 0;
};

struct Writer {
  Database& database;
  const AgentSession& session;
  const Millis now;
  InstanceNews news = {};

  Result<std::int64_t> insert(const protocol::StateLog& log, std::uint64_t seq);
  Result<std::int64_t> insert(const protocol::RoundEnd& end, std::uint64_t seq);
  Result<std::int64_t> insert(const protocol::RecipeStatus& status, std::uint64_t seq);
  Result<std::int64_t> insert(const protocol::UpdateStatus& status, std::uint64_t seq);
  Result<std::int64_t> keep_standing(const protocol::StateLog& log, std::string_view outcome);
  Result<void> write_news();
};

Result<std::int64_t> Writer::insert(const protocol::StateLog& log, std::uint64_t seq) {
  std::optional<std::string> changes;
  if (!log.changes.empty()) changes = to_json(log.changes);
  // Version 1 says only whether it went well.
  const std::string_view outcome =
      log.outcome.empty() && !log.state_result ? std::string_view("failed") : log.outcome;
  auto added = database.run(
      "INSERT OR IGNORE INTO results (instance, agent, seq, received, recipe_version, state_id, ok, outcome, "
      "comment, stdout, run_id, round, changes, attempt, exit_code, started, duration_ms, cpu_ms, "
      "max_rss_kb, "
      "truncated) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      session.instance, session.agent, seq, now, log.recipe_version, log.id, log.state_result, outcome,
      log.state_comment, log.state_stdout, log.run_id, log.round, changes, log.attempt, log.exit_code,
      log.started, log.duration_ms, log.cpu_ms, log.max_rss_kb, log.truncated);
  if (!added || *added == 0) return added;
  if (log.recipe_version == 0) return added;  // of a single run, outside the recipe
  if (!log.seq && log.recipe_version >= news.reported_version) {
    // Version 1 has no RecipeStatus: this is all that is known.
    news.has_status = true;
    news.reported_version = log.recipe_version;
    news.status = log.state_result ? "running" : "failed";
    news.errors = log.state_result ? "[]" : to_json(std::span(&log.state_comment, 1));
  }
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
  auto added = database.run(
      "INSERT OR IGNORE INTO rounds (instance, agent, seq, received, recipe_version, run_id, round, counts, "
      "not_reached, duration_ms, drift) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
      session.instance, session.agent, seq, now, end.recipe_version, end.run_id, end.round,
      to_json(end.counts), end.not_reached, end.duration_ms, to_json(end.drift));
  if (!added || *added == 0) return added;
  news.round = &end;
  if (is_whole(end)) news.converged_version = std::max(news.converged_version, end.recipe_version);
  return added;
}

Result<std::int64_t> Writer::insert(const protocol::RecipeStatus& status, std::uint64_t seq) {
  const std::string errors = to_json(status.errors);
  auto added = database.run(
      "INSERT OR IGNORE INTO statuses (instance, agent, seq, received, recipe_version, status, errors) "
      "VALUES "
      "(?,?,?,?,?,?,?)",
      session.instance, session.agent, seq, now, status.recipe_version, progress_name(status.status), errors);
  if (!added || *added == 0) return added;
  if (status.status == protocol::RecipeProgress::converged)
    news.converged_version = std::max(news.converged_version, status.recipe_version);
  // "superseded" is about the recipe before this one, and may come after the new one's "accepted".
  if (status.recipe_version >= news.reported_version) {
    news.has_status = true;
    news.reported_version = status.recipe_version;
    news.status = progress_name(status.status);
    news.errors = errors;
  }
  return added;
}

// What closes an action closes it once and for all; one that was taken for lost may come back.
Result<std::int64_t> Writer::insert(const protocol::UpdateStatus& status, std::uint64_t) {
  return database.run(
      "UPDATE rollout_targets SET phase=?, error=?, progress=?, at=? WHERE instance=? AND action_id=? AND "
      "told>0 "
      "AND phase NOT IN ('confirmed', 'rolled_back', 'failed', 'refused')",
      status.phase, status.error, status.progress, now, session.instance, status.action_id);
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
        news.round->round, news.round->recipe_version, to_json(news.round->counts), news.round->not_reached,
        news.round->duration_ms, now, session.instance);
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

std::optional<std::uint64_t> seq_of(const Report& report) {
  return std::visit([](const auto& body) { return body.seq; }, report);
}

}  // namespace

Result<ReportsStored> SqliteStore::store_reports(const AgentSession& session, std::span<const Report> reports,
                                                 Millis now) {
  ReportsStored stored;
  Writer writer{database_, session, now};
  {
    Query row(
        database_,
        "SELECT i.epoch, i.reported_version, a.last_seq FROM instances i JOIN agents a ON a.instance=i.id "
        "WHERE i.id=? AND a.id=?",
        session.instance, session.agent);
    auto known = row.next();
    if (!known) return std::move(known).error();
    if (!*known || row.count(0) != session.epoch) {
      stored.is_superseded = true;
      return stored;
    }
    writer.news.reported_version = row.integer(1);
    stored.ack_seq = row.count(2);
  }
  const std::uint64_t acked = stored.ack_seq;
  for (const Report& report : reports) {
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
  if (auto done = write("UPDATE agents SET last_seq=? WHERE id=?", stored.ack_seq, session.agent); !done)
    return std::move(done).error();
  return stored;
}

}  // namespace backend
