// What an agent is told about updates at its handshake: what it has missed, and its app's pinned version.
#include "backend/store/sqlite/tables.hpp"
#include "base/token.hpp"

namespace backend::store::sqlite {

using base::Result;
using protocol::UpdatePhase;

namespace {

// A version that cannot be had is not asked for for ever.
constexpr std::int64_t kMostAttempts = 5;
constexpr std::int64_t kPinTimeout = 900;  // seconds

constexpr std::string_view kConfirmed = name_of(UpdatePhase::confirmed);

// What its agent has said last; nothing: only the backend knows of this target.
std::optional<UpdatePhase> reported_phase(std::string_view phase) {
  return protocol::update_phase_of(phase);
}
bool has_closed(std::string_view phase) {
  const auto reported = reported_phase(phase);
  return reported && is_closed(*reported);
}

std::string pin_action(const domain::Rollout& pin, std::int64_t attempt) {
  return attempt <= 1 ? pin.id : pin.id + "." + std::to_string(attempt);
}

}  // namespace

Result<std::optional<domain::UpdateOrder>> SqliteStore::update_for(const domain::UpdateCaller& caller,
                                                                   domain::Millis now) {
  struct Row {
    std::int64_t rollout = 0;
    domain::UpdateOrder order;
    std::string phase;
    domain::RolloutState state = domain::RolloutState::ended;
    bool is_due = false;
  };
  std::vector<Row> rows;
  {
    Query query(
        database_,
        "SELECT t.rollout, t.action_id, r.version, r.url, t.phase, r.state, t.due>0 AND t.due<=? FROM "
        "rollout_targets t JOIN rollouts r ON r.number=t.rollout WHERE t.instance=? AND r.state IN "
        "('running', 'paused', 'done') ORDER BY t.rollout DESC LIMIT 1",
        now, caller.instance);
    auto done = for_each_row(query, [&] {
      rows.push_back({query.integer(0),
                      {caller.instance, query.text(1), query.text(2), query.text(3)},
                      query.text(4),
                      domain::rollout_state_of(query.view(5)).value_or(domain::RolloutState::ended),
                      query.integer(6) != 0});
    });
    if (!done) return std::move(done).error();
  }
  const bool is_taken = !rows.empty() && rows[0].state != domain::RolloutState::done;
  for (Row& row : rows) {
    if (row.state == domain::RolloutState::paused || has_closed(row.phase) || row.phase == domain::kSuperseded)
      break;
    if (row.phase == domain::kWaiting && !row.is_due) break;
    const bool has_it = row.order.version == caller.agent_version;
    // An agent of version 2 says itself when it is sure; one of version 1 says nothing, ever.
    if (has_it && row.phase != domain::kWaiting && !caller.is_version_1) break;
    auto noted = write(
        "UPDATE rollout_targets SET told=CASE told WHEN 0 THEN ?1 ELSE told END, at=?1, phase=?2 WHERE "
        "rollout=?3 AND "
        "instance=?4",
        now,
        has_it                                                        ? kConfirmed
        : row.phase == domain::kWaiting || row.phase == domain::kLost ? domain::kTold
                                                                      : std::string_view(row.phase),
        row.rollout, caller.instance);
    if (!noted) return std::move(noted).error();
    if (has_it) break;
    return std::optional(std::move(row.order));
  }
  if (is_taken || caller.pinned.empty()) return std::optional<domain::UpdateOrder>();
  return pinned_update_for(caller, now);
}

Result<std::optional<domain::UpdateOrder>> SqliteStore::pinned_update_for(const domain::UpdateCaller& caller,
                                                                          domain::Millis now) {
  const std::optional<domain::UpdateOrder> nothing;
  domain::Rollout pin;
  {
    Query row(database_, "SELECT number, id, version FROM rollouts WHERE state='pinned' AND app_id=?",
              caller.app_id);
    auto found = row.next();
    if (!found) return std::move(found).error();
    if (!*found) return nothing;
    pin.number = row.integer(0);
    pin.id = row.view(1);
    pin.version = row.view(2);
  }
  std::string phase;
  std::int64_t attempt = 0;
  {
    Query row(database_, "SELECT phase, attempt FROM rollout_targets WHERE rollout=? AND instance=?",
              pin.number, caller.instance);
    auto found = row.next();
    if (!found) return std::move(found).error();
    if (*found) {
      phase = row.view(0);
      attempt = row.integer(1);
    }
  }
  const bool has_it = caller.agent_version == pin.version;
  if (has_it && caller.is_version_1 && attempt > 0) {
    auto noted = write("UPDATE rollout_targets SET phase=?, at=? WHERE rollout=? AND instance=?",
                       kConfirmed, now, pin.number, caller.instance);
    if (!noted) return std::move(noted).error();
  }
  // One that was tried and did not work is not asked for again.
  const auto reported = reported_phase(phase);
  if (has_it || reported == UpdatePhase::rolled_back || reported == UpdatePhase::refused) return nothing;
  const bool is_new_attempt = attempt == 0 || has_closed(phase);
  if (is_new_attempt && ++attempt > kMostAttempts) return nothing;
  const std::string action = pin_action(pin, attempt);
  auto noted =
      is_new_attempt
          ? write(
                "INSERT INTO rollout_targets (rollout, instance, instance_id, position, ring, action_id, "
                "attempt, due, told, phase, at) VALUES (?1,?2,?3,?2,0,?4,?5,?6,?6,?7,?6) ON CONFLICT DO "
                "UPDATE SET action_id=?4, attempt=?5, told=?6, phase=?7, at=?6, error='', progress=NULL",
                pin.number, caller.instance, caller.instance_id, action, attempt, now, domain::kTold)
          : write(
                "UPDATE rollout_targets SET at=?, phase=CASE phase WHEN 'lost' THEN 'told' ELSE phase END "
                "WHERE rollout=? AND instance=?",
                now, pin.number, caller.instance);
  if (!noted) return std::move(noted).error();
  return std::optional<domain::UpdateOrder>({caller.instance, action, pin.version, ""});
}

Result<void> SqliteStore::set_pin(const domain::App& app, domain::Millis now) {
  auto ended =
      write("UPDATE rollouts SET state='ended', ended=? WHERE state='pinned' AND app_id=?", now, app.app_id);
  if (!ended || app.agent_version.empty()) return ended;
  domain::Rollout pin;
  pin.id = "pin-" + base::random_hex(4) + "-" + app.agent_version;  // another one each time that it is set
  pin.app_id = app.app_id;
  pin.selector = "*";
  pin.version = app.agent_version;
  pin.state = domain::RolloutState::pinned;
  pin.timeout_s = kPinTimeout;
  pin.created = now;
  auto added = add_rollout(pin, {});
  if (!added) return std::move(added).error();
  return {};
}

}  // namespace backend::store::sqlite
