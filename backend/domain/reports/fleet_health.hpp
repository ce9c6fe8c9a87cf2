// FleetHealth: the machines counted by how they are, for those who watch the fleet as a whole. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "backend/domain/model.hpp"

namespace backend::domain {

// Each machine is in one of them.
enum class MachineState {
  converged,   // its recipe, as it is now, has run to its end
  running,     // on its way there
  failed,      // a state of its recipe failed
  rejected,    // it could not be given its recipe, or did not take it
  unassigned,  // no recipe is meant for it
  fresh,       // has never said how it is
  pending,     // waits for an operator to let it in
  revoked
};
inline constexpr std::array<std::string_view, 8> kMachineStateNames{
    "converged", "running", "failed", "rejected", "unassigned", "new", "pending", "revoked"};
static_assert(kMachineStateNames.size() == static_cast<std::size_t>(MachineState::revoked) + 1);

// What is looked at of each. Views.
struct MachineFacts {
  std::string_view status;
  std::int64_t recipe_version = 0, reported_version = 0;
  int protocol = 2;
  bool online = false, has_problem = false, is_revoked = false, is_pending = false, is_excluded = false,
       is_paused = false;
  Millis first_seen = 0, round_at = 0;  // 0: it has reported no round
};

MachineState state_of(const MachineFacts& machine);

// How long something may last before somebody has a reason to look.
struct WatchedTime {
  std::string_view name;
  Millis time;
};
inline constexpr std::array<WatchedTime, 5> kWatchedTimes{
    {{"15m", 900'000}, {"1h", 3'600'000}, {"6h", 21'600'000}, {"1d", 86'400'000}, {"7d", 604'800'000}}};

struct FleetHealth {
  struct Presence {
    std::uint64_t online = 0, offline = 0;
  };
  std::array<Presence, kMachineStateNames.size()> machines{};  // by MachineState
  // Machines that are to run a recipe and of which the end of a round was not heard for longer than
  // kWatchedTimes says: nobody knows how they are. Not those that an operator has excluded or paused, and not
  // agents of version 1, which do not tell of rounds.
  std::array<std::uint64_t, kWatchedTimes.size()> without_round{};
  std::uint64_t excluded = 0;
  std::uint64_t paused = 0;  // by operators

  void add(const MachineFacts& machine, Millis now);
};

}  // namespace backend::domain
