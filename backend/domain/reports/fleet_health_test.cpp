#include "backend/domain/reports/fleet_health.hpp"

#include <doctest/doctest.h>

using backend::domain::FleetHealth;
using backend::domain::MachineFacts;
using backend::domain::MachineState;
using backend::domain::state_of;

namespace {

constexpr backend::domain::Millis kHour = 3'600'000;

MachineFacts machine(std::string_view status, std::int64_t given = 3, std::int64_t reported = 3) {
  return {.status = status, .recipe_version = given, .reported_version = reported};
}

}  // namespace

TEST_CASE("every machine is in one state, and what an operator decided comes first") {
  CHECK(state_of(machine("converged")) == MachineState::converged);
  CHECK(state_of(machine("failed")) == MachineState::failed);
  CHECK(state_of(machine("running")) == MachineState::running);
  CHECK(state_of(machine("accepted")) == MachineState::running);
  CHECK(state_of(machine("rejected")) == MachineState::rejected);
  CHECK(state_of(machine("new", 1, 0)) == MachineState::fresh);
  CHECK(state_of(machine("new", 0, 0)) == MachineState::unassigned);
  // It converged, or failed, with the recipe before.
  CHECK(state_of(machine("converged", 4)) == MachineState::running);
  CHECK(state_of(machine("failed", 4)) == MachineState::running);
  MachineFacts bad = machine("converged");
  bad.has_problem = true;
  CHECK(state_of(bad) == MachineState::rejected);
  bad.is_pending = true;
  CHECK(state_of(bad) == MachineState::pending);
  bad.is_revoked = true;
  CHECK(state_of(bad) == MachineState::revoked);
}

TEST_CASE("machines that should run rounds and were not heard of are counted by how long") {
  FleetHealth health;
  const auto heard = [&](backend::domain::Millis ago, auto change) {
    MachineFacts facts = machine("converged");
    facts.round_at = 1000 * kHour - ago;
    change(facts);
    health.add(facts, 1000 * kHour);
  };
  heard(kHour / 6, [](MachineFacts&) {});                                    // ten minutes
  heard(2 * kHour, [](MachineFacts&) {});                                    // in 15m and 1h
  heard(30 * kHour, [](MachineFacts&) {});                                   // in all but 7d
  heard(30 * kHour, [](MachineFacts& facts) { facts.is_excluded = true; });  // nobody counts on it
  heard(30 * kHour, [](MachineFacts& facts) { facts.is_paused = true; });    // nobody expects it
  heard(30 * kHour, [](MachineFacts& facts) { facts.is_revoked = true; });   // it is out
  heard(30 * kHour, [](MachineFacts& facts) { facts.recipe_version = 0; });  // has nothing to run
  heard(30 * kHour, [](MachineFacts& facts) { facts.protocol = 1; });        // does not tell
  heard(30 * kHour, [](MachineFacts& facts) {
    facts.first_seen = 1000 * kHour - 1;
    facts.round_at = 0;
  });  // has just come
  CHECK(health.without_round == std::array<std::uint64_t, 5>{2, 2, 1, 1, 0});
  CHECK(health.paused == 1);
  CHECK(health.excluded == 1);
  CHECK(health.machines[static_cast<std::size_t>(MachineState::converged)].offline == 7);
  CHECK(health.machines[static_cast<std::size_t>(MachineState::revoked)].offline == 1);
}
