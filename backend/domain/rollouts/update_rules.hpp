// What an agent is told about updates at its handshake: what it has missed of a rollout, or its app's pinned
// version. Pure: rows in, decision out. docs/backend.md has the rules. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backend/domain/rollouts/rollout.hpp"

namespace backend::domain {

// A version that cannot be had is not asked for for ever.
inline constexpr std::int64_t kMostPinAttempts = 5;
inline constexpr std::int64_t kPinTimeout = 900;  // seconds

// About the newest rollout that has the machine.
struct MissedUpdate {
  bool tells = false;
  std::string note_phase;  // what the machine's row says from now on; "": it stays as it is
};
MissedUpdate decide_missed_update(const UpdateCaller& caller, const HandshakeTarget& target, Millis now);

// Whether an app's pin is to be looked at, too: not while a rollout has the machine.
bool looks_at_pin(const UpdateCaller& caller, const std::optional<HandshakeTarget>& target);

struct PinnedUpdate {
  enum class Kind {
    nothing,
    confirm,     // an agent of version 1 has it, and never says so itself
    tell_again,  // the attempt that is open
    new_attempt,
  };
  Kind kind = Kind::nothing;
  std::int64_t attempt = 0;
};
PinnedUpdate decide_pinned_update(const UpdateCaller& caller, std::string_view pinned_version,
                                  const PinAttempt& last);

// The action id of an attempt at a pin.
std::string pin_action(std::string_view pin_id, std::int64_t attempt);

// The rollout that stands for an app's pinned version. `suffix`: makes its id another one each time.
Rollout make_pin(const App& app, const std::string& suffix, Millis now);

}  // namespace backend::domain
