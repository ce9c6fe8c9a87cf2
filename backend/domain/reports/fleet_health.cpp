#include "backend/domain/reports/fleet_health.hpp"

#include <algorithm>

namespace backend::domain {

MachineState state_of(const MachineFacts& machine) {
  if (machine.is_revoked) return MachineState::revoked;
  if (machine.is_pending) return MachineState::pending;
  if (machine.has_problem || machine.status == "rejected") return MachineState::rejected;
  if (machine.recipe_version == 0) return MachineState::unassigned;
  if (machine.status == "new") return MachineState::fresh;
  // What it says is about the recipe before this one.
  if (machine.reported_version != machine.recipe_version) return MachineState::running;
  if (machine.status == "failed") return MachineState::failed;
  return machine.status == "converged" ? MachineState::converged : MachineState::running;
}

void FleetHealth::add(const MachineFacts& machine, Millis now) {
  const MachineState state = state_of(machine);
  Presence& presence = machines[static_cast<std::size_t>(state)];
  ++(machine.online ? presence.online : presence.offline);
  if (machine.is_excluded) ++excluded;
  if (machine.is_paused) ++paused;
  const bool runs_recipe =
      state != MachineState::revoked && state != MachineState::pending && machine.recipe_version > 0;
  if (!runs_recipe || machine.is_excluded || machine.is_paused || machine.protocol < 2) return;
  const Millis age = now - std::max(machine.round_at, machine.first_seen);
  for (std::size_t i = 0; i < kWatchedTimes.size(); ++i)
    if (age > kWatchedTimes[i].time) ++without_round[i];
}

}  // namespace backend::domain
