// The holds of a machine, and what is kept of them on disk: no round begins while there is one. Two at most,
// the machine's own and the backend's, each begun and ended by its own side.
//
// STATE/hold (0600), JSON, replaced whole; not there: nothing is held. It says how long each hold still
// lasted when it was written, in which boot and how long after it. In the same boot the time since is that of
// CLOCK_BOOTTIME, which nobody sets, and which counts a suspended machine's time too. After another boot only
// the wall clock is left: one that was set back counts for nothing, so that the hold lasts no longer than
// what was left when the record was last written (every kRefresh); one that was set forward ends it early, as
// nobody can tell that from a machine that was off.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "protocol/messages.hpp"

namespace agent::runtime {

enum class HoldOrigin { machine, backend };

struct Hold {
  HoldOrigin origin = HoldOrigin::machine;
  std::string by;
  std::string reason;
  std::chrono::system_clock::time_point since;
  std::chrono::milliseconds left{};
  bool operator==(const Hold&) const = default;
};

struct HoldClock {
  std::string boot_id;
  std::chrono::milliseconds since_boot{};
  std::chrono::system_clock::time_point wall;
};
// Of this machine, now.
HoldClock read_hold_clock();

inline constexpr std::size_t kLargestHoldRecord = 16 * 1024;
std::string hold_path(const std::string& state_dir);

// With `left` as it is at `now`.
std::string to_record(const std::vector<Hold>& holds, const HoldClock& now);
// Those whose time is not over. The error: it is damaged.
base::Result<std::vector<Hold>> from_record(std::string_view text, const HoldClock& now);

// What a record that cannot be read means: somebody may have wanted this machine held, so it is, for the
// default time.
Hold hold_of_damage(const HoldClock& now, const std::string& why);

// The record in a state folder, for commands without a daemon; nothing is changed.
std::vector<Hold> read_holds(const std::string& state_dir, const HoldClock& now);

// "held by root until 2026-03-01T12:00:00.000Z: incident 7", "paused by alice through the backend until …".
std::string hold_text(const Hold& hold, const HoldClock& now);
// All of them, with how each is ended; "" without any.
std::string refusal_text(const std::vector<Hold>& holds, const HoldClock& now);
std::vector<protocol::MachineHold> to_protocol(const std::vector<Hold>& holds, const HoldClock& now);

}  // namespace agent::runtime
