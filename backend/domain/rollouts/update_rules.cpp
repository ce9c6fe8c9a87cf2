#include "backend/domain/rollouts/update_rules.hpp"

namespace backend::domain {

MissedUpdate decide_missed_update(const UpdateCaller& caller, const HandshakeTarget& target, Millis now) {
  if (target.state == RolloutState::paused || is_closed(target.phase) || target.phase == kSuperseded ||
      target.phase == kExcluded)
    return {};
  const bool is_waiting = target.phase == kWaiting;
  const bool is_due = target.due > 0 && target.due <= now;
  if (is_waiting && (!is_due || caller.is_settling)) return {};
  const bool has_it = target.version == caller.agent_version;
  // An agent of version 2 says itself when it is sure; one of version 1 says nothing, ever.
  if (has_it && !is_waiting && !caller.is_version_1) return {};
  if (has_it) return {.note_phase = std::string(kConfirmed)};
  const bool begins = is_waiting || target.phase == kLost;
  return {.tells = true, .note_phase = begins ? std::string(kTold) : target.phase};
}

bool looks_at_pin(const UpdateCaller& caller, const std::optional<HandshakeTarget>& target) {
  const bool is_taken = target && target->state != RolloutState::done;
  return !is_taken && !caller.pinned.empty();
}

PinnedUpdate decide_pinned_update(const UpdateCaller& caller, std::string_view pinned_version,
                                  const PinAttempt& last) {
  using Kind = PinnedUpdate::Kind;
  if (caller.agent_version == pinned_version)
    return {.kind = caller.is_version_1 && last.attempt > 0 ? Kind::confirm : Kind::nothing};
  // One that was tried and did not work is not asked for again.
  if (last.phase == kRolledBack || last.phase == kRefused) return {};
  const bool is_new = last.attempt == 0 || is_closed(last.phase);
  if (!is_new) return {.kind = Kind::tell_again, .attempt = last.attempt};
  if (last.attempt + 1 > kMostPinAttempts) return {};
  return {.kind = Kind::new_attempt, .attempt = last.attempt + 1};
}

std::string pin_action(std::string_view pin_id, std::int64_t attempt) {
  return attempt <= 1 ? std::string(pin_id) : std::string(pin_id) + "." + std::to_string(attempt);
}

Rollout make_pin(const App& app, const std::string& suffix, Millis now) {
  Rollout pin;
  pin.id = "pin-" + suffix + "-" + app.agent_version;
  pin.app_id = app.app_id;
  pin.selector = "*";
  pin.version = app.agent_version;
  pin.state = RolloutState::pinned;
  pin.timeout_s = kPinTimeout;
  pin.created = now;
  return pin;
}

}  // namespace backend::domain
