// Rollouts of recipes and assignments: who has the change, and what machines have shown of it.
#include "backend/domain/json_text.hpp"
#include "backend/store/sqlite/tables/rollout_rows.hpp"

namespace backend::store::sqlite {

using base::Result;

Result<std::vector<domain::Rollout>> SqliteStore::held_changes(std::string_view app_id) {
  Query rows(database_,
             select_rollouts("WHERE state IN ('running', 'paused', 'stopped', 'aborted') AND kind<>'version' "
                             "AND app_id=? ORDER BY number"),
             app_id);
  std::vector<domain::Rollout> held;
  auto done = for_each_row(rows, [&] { held.push_back(read_rollout(rows)); });
  if (!done) return std::move(done).error();
  for (domain::Rollout& rollout : held) {
    if (auto read = read_held_layer(rollout); !read) return std::move(read).error();
    Query row(database_,
              "SELECT selector, recipe, revision, position, kill_on_change, round_delay_s FROM "
              "held_assignments WHERE rollout=?",
              rollout.number);
    auto found = row.next();
    if (!found) return std::move(found).error();
    if (!*found) continue;
    domain::Assignment& before = rollout.change.before.emplace();
    before.id = rollout.change.assignment;
    before.app_id = rollout.app_id;
    before.selector = row.view(0);
    before.recipe = row.view(1);
    if (!row.is_null(2)) before.revision = row.integer(2);
    before.order = row.integer(3);
    before.kill_on_change = row.integer(4) != 0;
    if (!row.is_null(5)) before.round_delay_s = row.integer(5);
  }
  return held;
}

Result<std::vector<domain::InstanceKey>> SqliteStore::told_machines(const domain::Rollout& rollout,
                                                                    std::optional<domain::InstanceKey> only) {
  Query rows(
      database_,
      "SELECT instance FROM rollout_targets WHERE rollout=?1 AND told>0 AND (?2 IS NULL OR instance=?2)",
      rollout.number, only);
  std::vector<domain::InstanceKey> told;
  auto done = for_each_row(rows, [&] { told.push_back(rows.integer(0)); });
  if (!done) return std::move(done).error();
  return told;
}

Result<void> SqliteStore::end_change(const domain::Rollout& rollout, std::string_view why,
                                     domain::Millis now) {
  auto ended =
      write("UPDATE rollouts SET state='ended', reason=?, ended=? WHERE number=?", why, now, rollout.number);
  if (!ended) return ended;
  return write("UPDATE rollout_targets SET phase=?, forgiven=1 WHERE rollout=? AND phase IN (?,?)",
               domain::kSuperseded, rollout.number, domain::kWaiting, domain::kTold);
}

Result<void> SqliteStore::set_given_version(std::int64_t rollout, domain::InstanceKey instance,
                                            std::int64_t version) {
  return write("UPDATE rollout_targets SET given_version=? WHERE rollout=? AND instance=?", version, rollout,
               instance);
}

Result<std::vector<domain::ChangeEvidence>> SqliteStore::change_evidence(const domain::Rollout& rollout) {
  // Machines that are still at it are not looked at again and again.
  Query rows(
      database_,
      "SELECT t.instance, t.instance_id, t.phase, t.error, t.given_version, t.told, i.recipe_version, "
      "i.reported_version, i.status, i.errors, i.converged_version, i.converged_at, "
      "ifnull(i.round_version, 0), ifnull(i.round_at, 0), ifnull(i.round_not_reached, 0), i.protocol FROM "
      "rollout_targets t JOIN instances i ON "
      "i.id=t.instance WHERE t.rollout=?1 AND t.told>0 AND ((t.phase IN ('told', 'lost') AND "
      "(i.converged_version>=t.given_version OR i.round_version>=t.given_version OR "
      "(i.reported_version>=t.given_version AND (i.status IN ('failed', 'rejected') OR i.protocol<2)))) OR "
      "(t.phase='confirmed' AND i.reported_version>=t.given_version AND i.status IN ('failed', 'rejected')))",
      rollout.number);
  std::vector<domain::ChangeEvidence> found;
  auto done = for_each_row(rows, [&] {
    domain::ChangeEvidence& each = found.emplace_back();
    each.instance = rows.integer(0);
    each.instance_id = rows.view(1);
    each.phase = rows.view(2);
    each.noted = rows.view(3);
    each.given_version = rows.integer(4);
    each.told = rows.integer(5);
    each.recipe_version = rows.integer(6);
    each.reported_version = rows.integer(7);
    each.status = rows.view(8);
    if (auto errors = domain::read_texts(rows.view(9)); !errors.empty()) each.error = std::move(errors[0]);
    each.converged_version = rows.integer(10);
    each.converged_at = rows.integer(11);
    each.round_version = rows.integer(12);
    each.round_at = rows.integer(13);
    each.not_reached = rows.count(14);
    each.is_version_1 = rows.integer(15) < 2;
  });
  if (!done) return std::move(done).error();
  for (domain::ChangeEvidence& each : found) {
    domain::InstanceProgress progress;
    progress.key = each.instance;
    if (auto read = read_last_states(progress); !read) return std::move(read).error();
    each.states = std::move(progress.states);
  }
  return found;
}

Result<void> SqliteStore::close_change(std::int64_t rollout, domain::InstanceKey instance,
                                       const domain::ChangeVerdict& verdict, domain::Millis now) {
  return write("UPDATE rollout_targets SET phase=?, error=?, at=? WHERE rollout=? AND instance=?",
               verdict.phase, verdict.error, now, rollout, instance);
}

}  // namespace backend::store::sqlite
