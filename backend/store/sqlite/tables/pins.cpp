// Apps' pinned versions, which are rollouts without rings, and a machine's newest rollout.
#include "backend/store/sqlite/tables/tables.hpp"

namespace backend::store::sqlite {

using base::Result;

Result<std::optional<domain::HandshakeTarget>> SqliteStore::newest_target_of(domain::InstanceKey instance) {
  Query row(database_,
            "SELECT t.rollout, t.action_id, r.version, r.url, t.phase, r.state, t.due FROM "
            "rollout_targets t JOIN rollouts r ON r.number=t.rollout WHERE t.instance=? AND r.state IN "
            "('running', 'paused', 'done') ORDER BY t.rollout DESC LIMIT 1",
            instance);
  auto there = row.next();
  if (!there) return std::move(there).error();
  if (!*there) return std::optional<domain::HandshakeTarget>();
  return std::optional(domain::HandshakeTarget{
      .rollout = row.integer(0),
      .action_id = row.text(1),
      .version = row.text(2),
      .url = row.text(3),
      .phase = row.text(4),
      .state = domain::rollout_state_of(row.view(5)).value_or(domain::RolloutState::ended),
      .due = row.integer(6)});
}

Result<void> SqliteStore::set_target_phase(std::int64_t rollout, domain::InstanceKey instance,
                                           std::string_view phase, domain::Millis now) {
  return write(
      "UPDATE rollout_targets SET told=CASE told WHEN 0 THEN ?1 ELSE told END, at=?1, phase=?2 WHERE "
      "rollout=?3 AND instance=?4",
      now, phase, rollout, instance);
}

Result<std::optional<domain::Rollout>> SqliteStore::find_pin(std::string_view app_id) {
  Query row(database_, "SELECT number, id, version FROM rollouts WHERE state='pinned' AND app_id=?", app_id);
  auto there = row.next();
  if (!there) return std::move(there).error();
  if (!*there) return std::optional<domain::Rollout>();
  domain::Rollout pin;
  pin.number = row.integer(0);
  pin.id = row.view(1);
  pin.app_id = app_id;
  pin.version = row.view(2);
  pin.state = domain::RolloutState::pinned;
  return std::optional(std::move(pin));
}

Result<void> SqliteStore::end_pin(std::string_view app_id, domain::Millis now) {
  return write("UPDATE rollouts SET state='ended', ended=? WHERE state='pinned' AND app_id=?", now, app_id);
}

Result<domain::PinAttempt> SqliteStore::pin_attempt(const domain::Rollout& pin,
                                                    domain::InstanceKey instance) {
  Query row(database_, "SELECT phase, attempt FROM rollout_targets WHERE rollout=? AND instance=?",
            pin.number, instance);
  auto there = row.next();
  if (!there) return std::move(there).error();
  return *there ? domain::PinAttempt{row.text(0), row.integer(1)} : domain::PinAttempt{};
}

Result<void> SqliteStore::begin_pin_attempt(const domain::Rollout& pin, const domain::UpdateCaller& caller,
                                            std::string_view action_id, std::int64_t attempt,
                                            domain::Millis now) {
  return write(
      "INSERT INTO rollout_targets (rollout, instance, instance_id, position, ring, action_id, "
      "attempt, due, told, phase, at) VALUES (?1,?2,?3,?2,0,?4,?5,?6,?6,?7,?6) ON CONFLICT DO "
      "UPDATE SET action_id=?4, attempt=?5, told=?6, phase=?7, at=?6, error='', progress=NULL",
      pin.number, caller.instance, caller.instance_id, action_id, attempt, now, domain::kTold);
}

}  // namespace backend::store::sqlite
