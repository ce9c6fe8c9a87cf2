// What an agent is told about updates at its handshake: tables of rows and decisions.
#include "backend/domain/rollouts/update_rules.hpp"

#include <doctest/doctest.h>

namespace backend::domain {

TEST_CASE("while the backend waits for its agents after a start nobody is told who was not told before") {
  const HandshakeTarget waiting{
      .version = "2.0", .phase = std::string(kWaiting), .state = RolloutState::running, .due = 5};
  UpdateCaller caller{.instance = 1, .agent_version = "1.0"};
  CHECK(decide_missed_update(caller, waiting, 10).tells);
  caller.is_settling = true;
  CHECK_FALSE(decide_missed_update(caller, waiting, 10).tells);
  HandshakeTarget told = waiting;
  told.phase = std::string(kTold);
  CHECK(decide_missed_update(caller, told, 10).tells);  // may not have heard it
}

TEST_CASE("at its handshake a machine is told what it has missed, and not what it has answered") {
  struct Row {
    const char* name;
    RolloutState state;
    std::string_view phase;
    Millis due;
    const char* agent_version;
    bool is_version_1;
    bool tells;
    std::string_view note;
  };
  using enum RolloutState;
  const Row rows[] = {
      {"its turn has come", running, kWaiting, 10, "1", false, true, kTold},
      {"its turn is to come", running, kWaiting, 11, "1", false, false, ""},
      {"its ring has not begun", running, kWaiting, 0, "1", false, false, ""},
      {"told, and not heard", running, kTold, 5, "1", false, true, kTold},
      {"lost, and back", running, kLost, 5, "1", false, true, kTold},
      {"under way", running, "downloading", 5, "1", false, true, "downloading"},
      {"a rollout that is done", done, kWaiting, 5, "1", false, true, kTold},
      {"a rollout that is paused", paused, kWaiting, 5, "1", false, false, ""},
      {"has it already", running, kWaiting, 5, "2", false, false, kConfirmed},
      {"has it, and will say so itself", running, kTold, 5, "2", false, false, ""},
      {"has it, and never says so", running, kTold, 5, "2", true, false, kConfirmed},
      {"rolled back", running, kRolledBack, 5, "1", false, false, ""},
      {"confirmed", running, kConfirmed, 5, "1", false, false, ""},
      {"another rollout's now", running, kSuperseded, 5, "1", false, false, ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const UpdateCaller caller{.instance = 1,
                              .app_id = "shop",
                              .instance_id = "web1",
                              .agent_version = row.agent_version,
                              .is_version_1 = row.is_version_1,
                              .pinned = ""};
    HandshakeTarget target{.rollout = 1,
                           .action_id = "r1",
                           .version = "2",
                           .url = "",
                           .phase = std::string(row.phase),
                           .state = row.state,
                           .due = row.due};
    const auto decided = decide_missed_update(caller, target, 10);
    CHECK(decided.tells == row.tells);
    CHECK(decided.note_phase == row.note);
  }
}

TEST_CASE(
    "a pinned version is asked for until it is there, was tried and failed, or was tried often enough") {
  struct Row {
    const char* name;
    std::string_view phase;
    std::int64_t attempt;
    const char* agent_version;
    bool is_version_1;
    PinnedUpdate::Kind kind;
    std::int64_t next_attempt;
  };
  using enum PinnedUpdate::Kind;
  const Row rows[] = {
      {"never told", "", 0, "1", false, new_attempt, 1},
      {"has it", "", 0, "3", false, nothing, 0},
      {"under way", "downloading", 1, "1", false, tell_again, 1},
      {"lost", kLost, 2, "1", false, tell_again, 2},
      {"failed for a reason of the machine", kFailed, 1, "1", false, new_attempt, 2},
      {"failed too often", kFailed, 5, "1", false, nothing, 0},
      {"confirmed, and back to the old one", kConfirmed, 1, "1", false, new_attempt, 2},
      {"rolled back", kRolledBack, 1, "1", false, nothing, 0},
      {"refused", kRefused, 1, "1", false, nothing, 0},
      {"has it, and never says so", kTold, 1, "3", true, confirm, 0},
      {"has it, and says so itself", kTold, 1, "3", false, nothing, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const UpdateCaller caller{.instance = 1,
                              .app_id = "shop",
                              .instance_id = "web1",
                              .agent_version = row.agent_version,
                              .is_version_1 = row.is_version_1,
                              .pinned = "3"};
    const auto decided = decide_pinned_update(caller, "3", {std::string(row.phase), row.attempt});
    CHECK(decided.kind == row.kind);
    CHECK(decided.attempt == row.next_attempt);
  }
  CHECK(pin_action("pin-1", 1) == "pin-1");
  CHECK(pin_action("pin-1", 3) == "pin-1.3");
}

TEST_CASE("a pin is not looked at while a rollout has the machine") {
  UpdateCaller caller{};
  caller.pinned = "3";
  CHECK(looks_at_pin(caller, std::nullopt));
  CHECK(looks_at_pin(caller, HandshakeTarget{.state = RolloutState::done}));
  CHECK_FALSE(looks_at_pin(caller, HandshakeTarget{.state = RolloutState::running}));
  CHECK_FALSE(looks_at_pin(caller, HandshakeTarget{.state = RolloutState::paused}));
  caller.pinned.clear();
  CHECK_FALSE(looks_at_pin(caller, std::nullopt));
}

}  // namespace backend::domain
