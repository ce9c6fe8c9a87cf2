// Rollouts and their machines.
#include "backend/store/sqlite/tables/rollout_rows.hpp"
#include "backend/store/sqlite/tables/tables.hpp"
#include "base/text.hpp"

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr std::string_view kColumns =
    "number, id, app_id, selector, canary, version, url, state, reason, ring, rings, pause_s, jitter_s, "
    "timeout_s, created, created_by, next_at, ended, owner, kind, may_fail, recipe, from_revision, "
    "to_revision, assignment, layer";

}  // namespace

std::string select_rollouts(std::string_view rest) {
  return "SELECT " + std::string(kColumns) + " FROM rollouts " + std::string(rest);
}

domain::Rollout read_rollout(const Query& row) {
  domain::Rollout rollout;
  rollout.number = row.integer(0);
  rollout.id = row.view(1);
  rollout.app_id = row.view(2);
  rollout.selector = row.view(3);
  rollout.canary = row.view(4);
  rollout.version = row.view(5);
  rollout.url = row.view(6);
  rollout.state = domain::rollout_state_of(row.view(7)).value_or(domain::RolloutState::ended);
  rollout.reason = row.view(8);
  rollout.ring = row.count(9);
  for (const std::string_view size : base::split_words(row.view(10)))
    rollout.rings.push_back(static_cast<std::size_t>(base::parse_integer(size).value_or(0)));
  rollout.pause_s = row.integer(11);
  rollout.jitter_s = row.integer(12);
  rollout.timeout_s = row.integer(13);
  rollout.created = row.integer(14);
  rollout.created_by = row.view(15);
  rollout.next_at = row.integer(16);
  rollout.ended = row.integer(17);
  rollout.owner = row.view(18);
  rollout.kind = domain::rollout_kind_of(row.view(19)).value_or(domain::RolloutKind::version);
  rollout.may_fail = row.integer(20);
  rollout.change.recipe = row.view(21);
  rollout.change.from_revision = row.integer(22);
  rollout.change.to_revision = row.integer(23);
  rollout.change.assignment = row.integer(24);
  rollout.change.layer = row.integer(25);
  return rollout;
}

namespace {

// Of rollout_targets: was told, and has neither closed the update nor been given up.
const std::string& owes_answer() {
  static const std::string condition = "told>0 AND phase NOT IN " + sql_list(domain::kAnsweredPhases);
  return condition;
}

constexpr std::string_view kSelectTargets =
    "SELECT position, instance, instance_id, ring, phase, error, progress, told, at, forgiven OR EXISTS "
    "(SELECT 1 FROM instances i WHERE i.id=instance AND (i.revoked<>0 OR i.excluded<>0)), "
    "ifnull((SELECT i.pause_until FROM instances i WHERE i.id=instance), 0) FROM rollout_targets ";

domain::RolloutTarget read_target(const Query& row) {
  domain::RolloutTarget target;
  target.instance = row.integer(1);
  target.instance_id = row.view(2);
  target.ring = row.count(3);
  target.phase = row.view(4);
  target.error = row.view(5);
  if (!row.is_null(6)) target.progress = row.real(6);
  target.told = row.integer(7);
  target.at = row.integer(8);
  target.is_excluded = row.integer(9) != 0;
  target.position = row.integer(0);
  target.paused_until = row.integer(10);
  return target;
}

}  // namespace

Result<domain::Rollout> SqliteStore::add_rollout(const domain::Rollout& rollout,
                                                 std::span<const domain::RolloutTarget> targets) {
  std::string rings;
  for (const std::size_t size : rollout.rings)
    rings += (rings.empty() ? "" : " ") + std::to_string(size);
  auto added = write(
      "INSERT INTO rollouts (id, app_id, selector, canary, version, url, state, reason, ring, rings, "
      "pause_s, jitter_s, timeout_s, created, created_by, next_at, ended, owner, kind, may_fail, recipe, "
      "from_revision, to_revision, assignment, layer) VALUES "
      "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      rollout.id, rollout.app_id, rollout.selector, rollout.canary, rollout.version, rollout.url,
      domain::name_of(rollout.state), rollout.reason, rollout.ring, rings, rollout.pause_s, rollout.jitter_s,
      rollout.timeout_s, rollout.created, rollout.created_by, rollout.next_at, rollout.ended, rollout.owner,
      domain::name_of(rollout.kind), rollout.may_fail, rollout.change.recipe, rollout.change.from_revision,
      rollout.change.to_revision, rollout.change.assignment, rollout.change.layer);
  if (!added) return std::move(added).error();
  const std::int64_t number = database_.last_row_id();
  if (const auto& before = rollout.change.before) {
    auto kept = write(
        "INSERT INTO held_assignments (rollout, selector, recipe, revision, position, kill_on_change, "
        "round_delay_s) VALUES (?,?,?,?,?,?,?)",
        number, before->selector, before->recipe, before->revision, before->order, before->kill_on_change,
        before->round_delay_s);
    if (!kept) return std::move(kept).error();
  }
  if (rollout.change.layer_before)
    if (auto kept = hold_layer(number, *rollout.change.layer_before); !kept) return std::move(kept).error();
  std::int64_t position = 0;
  for (const domain::RolloutTarget& target : targets) {
    // What an older one has left over is this one's now.
    if (!rollout.is_change()) {
      auto left = write(
          "UPDATE rollout_targets SET phase=?, forgiven=1 WHERE instance=? AND phase=? AND rollout IN "
          "(SELECT "
          "number FROM rollouts WHERE kind='version')",
          domain::kSuperseded, target.instance, domain::kWaiting);
      if (!left) return std::move(left).error();
    }
    auto placed = write(
        "INSERT INTO rollout_targets (rollout, instance, instance_id, position, ring, action_id, phase) "
        "VALUES "
        "(?,?,?,?,?,?,?)",
        number, target.instance, target.instance_id, position++, target.ring, rollout.id, target.phase);
    if (!placed) return std::move(placed).error();
  }
  return find_rollout(rollout.id);
}

Result<domain::Rollout> SqliteStore::find_rollout(std::string_view id) {
  Query row(database_, select_rollouts("WHERE id=?"), id);
  if (auto found = expect_row(row, "there is no rollout '" + std::string(id) + "'"); !found)
    return std::move(found).error();
  return read_rollout(row);
}

Result<domain::Page<domain::Rollout>> SqliteStore::list_rollouts(std::string_view app_id,
                                                                 const domain::PageRequest& page) {
  auto before = read_cursor(page, INT64_MAX);
  if (!before) return std::move(before).error();
  Query rows(database_,
             select_rollouts("WHERE number<?1 AND (?2='' OR app_id=?2) ORDER BY number DESC LIMIT ?3"),
             *before, app_id, page_size(page));
  domain::Page<domain::Rollout> found;
  auto done = for_each_row(rows, [&] { found.items.push_back(read_rollout(rows)); });
  if (!done) return std::move(done).error();
  if (found.items.size() == page_size(page)) found.next = std::to_string(found.items.back().number);
  return found;
}

Result<std::vector<domain::Rollout>> SqliteStore::open_rollouts() {
  // Whatever became of a rollout: who was told owes an answer, or is lost.
  Query rows(database_,
             select_rollouts("WHERE state IN ('running', 'paused', 'pinned') OR EXISTS (SELECT 1 FROM "
                             "rollout_targets WHERE rollout=number AND " +
                             owes_answer() + ") ORDER BY number"));
  std::vector<domain::Rollout> found;
  auto done = for_each_row(rows, [&] { found.push_back(read_rollout(rows)); });
  if (!done) return std::move(done).error();
  return found;
}

Result<domain::RolloutCounts> SqliteStore::count_rollouts() {
  Query rows(database_, "SELECT kind, state, count(*) FROM rollouts GROUP BY kind, state");
  domain::RolloutCounts counts;
  auto done = for_each_row(rows, [&] {
    const auto kind = domain::rollout_kind_of(rows.view(0));
    const auto state = domain::rollout_state_of(rows.view(1));
    if (kind && state) counts.emplace(std::pair(*kind, *state), rows.count(2));
  });
  if (!done) return std::move(done).error();
  return counts;
}

Result<void> SqliteStore::set_rollout(const domain::Rollout& rollout) {
  return write("UPDATE rollouts SET state=?, reason=?, ring=?, next_at=?, ended=? WHERE number=?",
               domain::name_of(rollout.state), rollout.reason, rollout.ring, rollout.next_at, rollout.ended,
               rollout.number);
}

Result<std::vector<domain::RingCounts>> SqliteStore::ring_counts(const domain::Rollout& rollout,
                                                                 domain::Millis now) {
  // Of a change nobody goes back by itself: whoever fails has tried it. One that is paused and owes an answer
  // cannot give it.
  const std::string is_paused =
      "(i.pause_until>?4 AND t.phase<>'lost' AND t.phase NOT IN " + sql_list(domain::kClosedPhases) + ")";
  Query rows(
      database_,
      "SELECT t.ring, count(*), sum((t.told=0 AND t.absent=1) OR " + is_paused +
          "), sum(t.told>0), sum(t.phase='confirmed'), "
          "sum(t.phase='confirmed' AND i.online=1 AND (?1 OR i.agent_version=?2)), sum(t.phase='rolled_back' "
          "OR "
          "(?1 AND t.phase IN ('failed', 'refused'))), sum(NOT ?1 AND t.phase IN ('failed', 'refused')), "
          "sum(t.phase='lost'), sum(" +
          is_paused +
          ") FROM rollout_targets t JOIN instances i ON i.id=t.instance WHERE t.rollout=?3 AND "
          "t.forgiven=0 AND i.revoked=0 AND i.excluded=0 GROUP BY t.ring",
      rollout.is_change(), rollout.version, rollout.number, now);
  std::vector<domain::RingCounts> counts(std::max<std::size_t>(rollout.rings.size(), 1));
  auto done = for_each_row(rows, [&] {
    const std::size_t ring = rows.count(0);
    if (ring >= counts.size()) return;
    counts[ring] = {rows.count(1), rows.count(2), rows.count(3), rows.count(4), rows.count(5),
                    rows.count(6), rows.count(7), rows.count(8), rows.count(9)};
  });
  if (!done) return std::move(done).error();
  return counts;
}

Result<domain::Page<domain::RolloutTarget>> SqliteStore::list_rollout_targets(
    const domain::Rollout& rollout, std::string_view phase, const domain::PageRequest& page) {
  auto after = read_cursor(page, -1);
  if (!after) return std::move(after).error();
  Query rows(database_,
             std::string(kSelectTargets) +
                 "WHERE rollout=?1 AND position>?2 AND (?3='' OR phase=?3) ORDER BY position LIMIT ?4",
             rollout.number, *after, phase, page_size(page));
  domain::Page<domain::RolloutTarget> found;
  std::int64_t last = 0;
  auto done = for_each_row(rows, [&] {
    last = rows.integer(0);
    found.items.push_back(read_target(rows));
  });
  if (!done) return std::move(done).error();
  if (found.items.size() == page_size(page)) found.next = std::to_string(last);
  return found;
}

Result<std::string> SqliteStore::active_rollout_of(domain::InstanceKey instance) {
  Query row(database_,
            "SELECT r.id FROM rollout_targets t JOIN rollouts r ON r.number=t.rollout WHERE t.instance=? AND "
            "r.kind='version' AND r.state IN ('running', 'paused') LIMIT 1",
            instance);
  auto found = row.next();
  if (!found) return std::move(found).error();
  return *found ? row.text(0) : std::string();
}

Result<std::string> SqliteStore::conflicting_rollout(const domain::Rollout& rollout) {
  Query row(
      database_,
      "SELECT r.id FROM rollout_targets t JOIN rollout_targets o ON o.instance=t.instance AND "
      "o.rollout<>t.rollout JOIN rollouts r ON r.number=o.rollout WHERE t.rollout=? AND t.phase NOT IN " +
          sql_list(domain::kLeftPhases) +
          " AND r.kind='version' AND r.state IN ('running', 'paused') LIMIT 1",
      rollout.number);
  auto found = row.next();
  if (!found) return std::move(found).error();
  return *found ? row.text(0) : std::string();
}

// ---- ring by ring

Result<void> SqliteStore::begin_ring(const domain::Rollout& rollout, domain::Millis now) {
  constexpr std::int64_t kMillis = 1000;
  if (rollout.ring >= rollout.rings.size()) return {};
  // Spread evenly over the jitter, in the order of the rollout, which is one of hashes.
  std::int64_t first = 0;
  for (std::size_t ring = 0; ring < rollout.ring; ++ring)
    first += static_cast<std::int64_t>(rollout.rings[ring]);
  auto begun =
      write("UPDATE rollout_targets SET due=?+((position-?)*?)/? WHERE rollout=? AND ring=? AND due=0", now,
            first, rollout.jitter_s * kMillis, rollout.rings[rollout.ring], rollout.number, rollout.ring);
  if (!begun) return begun;
  // Remembered as it is now: when the backend has just been started nobody is connected, and nobody is
  // absent.
  return write(
      "UPDATE rollout_targets SET absent=1 WHERE rollout=? AND ring=? AND told=0 AND EXISTS (SELECT 1 FROM "
      "instances i WHERE i.id=instance AND i.online=0)",
      rollout.number, rollout.ring);
}

Result<std::vector<DueTarget>> SqliteStore::due_targets(const domain::Rollout& rollout, domain::Millis now) {
  Query rows(
      database_,
      "SELECT t.instance, t.action_id, ?4 AND i.agent_version=?1 FROM rollout_targets t JOIN instances i ON "
      "i.id=t.instance WHERE t.rollout=?2 AND t.phase='waiting' AND t.due>0 AND t.due<=?3 AND i.online=1 AND "
      "(?4 OR i.pause_until<=?3)",
      rollout.version, rollout.number, now, !rollout.is_change());
  std::vector<DueTarget> due;
  auto done = for_each_row(rows, [&] {
    due.push_back({{rows.integer(0), rows.text(1), rollout.version, rollout.url}, rows.integer(2) != 0});
  });
  if (!done) return std::move(done).error();
  return due;
}

Result<std::vector<domain::UpdateOrder>> SqliteStore::unacknowledged_targets(const domain::Rollout& rollout) {
  Query rows(
      database_,
      "SELECT t.instance, t.action_id FROM rollout_targets t JOIN instances i ON i.id=t.instance WHERE "
      "t.rollout=? AND t.phase='told' AND i.online=1",
      rollout.number);
  std::vector<domain::UpdateOrder> orders;
  auto done = for_each_row(rows, [&] {
    orders.push_back({rows.integer(0), rows.text(1), rollout.version, rollout.url});
  });
  if (!done) return std::move(done).error();
  return orders;
}

Result<void> SqliteStore::mark_absent(const domain::Rollout& rollout, domain::Millis due_before) {
  return write(
      "UPDATE rollout_targets SET absent=1 WHERE rollout=? AND phase=? AND due>0 AND due<? AND absent=0 AND "
      "EXISTS (SELECT 1 FROM instances i WHERE i.id=instance AND i.online=0)",
      rollout.number, domain::kWaiting, due_before);
}

Result<std::vector<domain::RolloutTarget>> SqliteStore::mark_lost(const domain::Rollout& rollout,
                                                                  domain::Millis heard_before) {
  std::vector<domain::RolloutTarget> lost;
  Query rows(
      database_,
      "UPDATE rollout_targets SET phase='lost' WHERE rollout=?1 AND at<?2 AND " + owes_answer() +
          " AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.id=instance AND ((i.online=1 AND phase IN " +
          sql_list(domain::kWorkingPhases) +
          // Of a change it has said that it runs it: a state may take hours.
          ") OR i.pause_until>=?2 OR (?3 AND i.online=1 AND i.reported_version>=given_version AND "
          "i.reported_version<=i.recipe_version) OR (i.online=0 AND i.last_seen>=?2))) RETURNING instance, "
          "instance_id, ring",
      rollout.number, heard_before, rollout.is_change());
  auto done = for_each_row(rows, [&] {
    domain::RolloutTarget& target = lost.emplace_back();
    target.instance = rows.integer(0);
    target.instance_id = rows.view(1);
    target.ring = rows.count(2);
    target.phase = domain::kLost;
  });
  if (!done) return std::move(done).error();
  return lost;
}

Result<void> SqliteStore::exclude_past_failures(const domain::Rollout& rollout) {
  return write(
      "UPDATE rollout_targets SET forgiven=1 WHERE rollout=? AND phase IN " + sql_list(domain::kFailedPhases),
      rollout.number);
}

Result<std::size_t> SqliteStore::exclude_targets(const domain::Rollout& rollout,
                                                 std::span<const std::string> instances) {
  std::size_t excluded = 0;
  for (const std::string& instance : instances) {
    auto done = database_.run(
        "UPDATE rollout_targets SET forgiven=1, phase=CASE phase WHEN ?1 THEN ?2 ELSE phase END WHERE "
        "rollout=?3 AND instance_id=?4",
        domain::kWaiting, domain::kExcluded, rollout.number, instance);
    if (!done) return std::move(done).error();
    excluded += static_cast<std::size_t>(*done);
  }
  return excluded;
}

Result<std::vector<domain::RolloutTarget>> SqliteStore::failed_targets(const domain::Rollout& rollout,
                                                                       std::size_t most) {
  Query rows(database_,
             std::string(kSelectTargets) + "WHERE rollout=? AND forgiven=0 AND phase IN " +
                 sql_list(domain::kFailedPhases) +
                 " AND EXISTS (SELECT 1 FROM instances i WHERE i.id=instance AND i.revoked=0 AND "
                 "i.excluded=0) ORDER BY at DESC, position LIMIT ?",
             rollout.number, most);
  std::vector<domain::RolloutTarget> found;
  auto done = for_each_row(rows, [&] { found.push_back(read_target(rows)); });
  if (!done) return std::move(done).error();
  return found;
}

Result<std::size_t> SqliteStore::hold_rollouts(std::string_view why) {
  auto held = database_.run(
      "UPDATE rollouts SET state='paused', reason=?, ended=0 WHERE state='running' OR (state='done' AND "
      "kind='version' AND EXISTS (SELECT 1 FROM rollout_targets WHERE rollout=number AND phase=?))",
      why, domain::kWaiting);
  if (!held) return std::move(held).error();
  return static_cast<std::size_t>(*held);
}

Result<std::size_t> SqliteStore::remove_ended_rollout(domain::Millis ended_before) {
  auto removed = database_.run(
      "DELETE FROM rollouts WHERE number=(SELECT min(number) FROM rollouts WHERE ended>0 AND ended<? AND "
      // One that holds says who has the change: without it everybody would get it.
      "(kind='version' OR state NOT IN ('running', 'paused', 'stopped', 'aborted')))",
      ended_before);
  if (!removed) return std::move(removed).error();
  return static_cast<std::size_t>(*removed);
}

}  // namespace backend::store::sqlite
