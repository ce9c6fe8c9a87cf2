// Rollouts as values: a version of the agent, a revision of a recipe or a change of an assignment that many
// machines get, ring by ring. An app's pinned version is one, too, without rings. docs/backend.md has the
// rules; rollout_rules.hpp decides by them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/domain/model.hpp"
#include "backend/domain/variables/variable.hpp"
#include "protocol/update_phase.hpp"

namespace backend::domain {

enum class RolloutState {
  running,
  paused,   // by a person
  stopped,  // by itself; may be resumed
  aborted,  // by a person, for good
  done,     // machines that were never reached are still told when they come
  pinned,   // an app's version
  ended,    // an app's version that is not pinned any more
};
std::string_view name_of(RolloutState state);
std::optional<RolloutState> rollout_state_of(std::string_view name);

// What is rolled out.
enum class RolloutKind {
  version,     // of the agent
  recipe,      // a revision
  assignment,  // made, edited or removed
  variables,   // of one layer
};
std::string_view name_of(RolloutKind kind);
std::optional<RolloutKind> rollout_kind_of(std::string_view name);
inline constexpr std::array kRolloutKinds{RolloutKind::version, RolloutKind::recipe, RolloutKind::assignment,
                                          RolloutKind::variables};

// The phase of a machine in a rollout is the word of a protocol::UpdatePhase, which its agent has reported,
// or one of these, which only the backend knows.
inline constexpr std::string_view kWaiting = "waiting";        // not told yet
inline constexpr std::string_view kTold = "told";              // and has said nothing since
inline constexpr std::string_view kLost = "lost";              // told, and silent for too long
inline constexpr std::string_view kSuperseded = "superseded";  // never told: a later rollout has it
inline constexpr std::string_view kExcluded = "excluded";      // never told: an operator has taken it out
// One of these closes an action.
inline constexpr std::string_view kConfirmed = name_of(protocol::UpdatePhase::confirmed);
inline constexpr std::string_view kRolledBack = name_of(protocol::UpdatePhase::rolled_back);
inline constexpr std::string_view kFailed = name_of(protocol::UpdatePhase::failed);
inline constexpr std::string_view kRefused = name_of(protocol::UpdatePhase::refused);
inline constexpr std::array kClosedPhases{kConfirmed, kRolledBack, kFailed, kRefused};
// Closed, and not as it should be; or lost.
inline constexpr std::array kFailedPhases{kRolledBack, kFailed, kRefused, kLost};
// Not told, given up, or closed: nobody owes an answer in these.
inline constexpr std::array kAnsweredPhases{kWaiting,   kLost,       kSuperseded, kExcluded,
                                            kConfirmed, kRolledBack, kFailed,     kRefused};
// Through with the rollout, or never a part of it any more.
inline constexpr std::array kLeftPhases{kSuperseded, kExcluded, kConfirmed, kRolledBack, kFailed, kRefused};
// Before the switch to the new version. A machine that is connected and in one of these is not silent: a
// state that is waited for may take hours, a slow line nearly so. After the switch there is a deadline.
inline constexpr std::array<std::string_view, 6> kWorkingPhases{
    name_of(protocol::UpdatePhase::requested),   name_of(protocol::UpdatePhase::metadata),
    name_of(protocol::UpdatePhase::downloading), name_of(protocol::UpdatePhase::verifying),
    name_of(protocol::UpdatePhase::staged),      name_of(protocol::UpdatePhase::draining)};
bool is_closed(std::string_view phase);
static_assert(!protocol::update_phase_of(kWaiting) && !protocol::update_phase_of(kTold) &&
              !protocol::update_phase_of(kLost) && !protocol::update_phase_of(kSuperseded) &&
              !protocol::update_phase_of(kExcluded));

// What machines are given instead of what they have: by a rollout of a recipe, an assignment or variables.
// While the rollout holds (Rollout::holds()) whoever was not told yet runs what there was before.
struct HeldChange {
  // A push: assignments that follow the recipe.
  std::string recipe = {};
  std::int64_t from_revision = 0, to_revision = 0;
  // An assignment, and what it was before; nothing: it was not there. It may be gone now.
  std::int64_t assignment = 0;
  std::optional<Assignment> before = {};
  // Variables, and what they were before; nothing: there were none. They may be gone now.
  std::int64_t layer = 0;
  std::optional<VariableLayer> layer_before = {};

  bool is_of_recipe() const { return assignment == 0 && layer == 0; }
};

// Of those who were told so many per cent may fail.
inline constexpr std::int64_t kMayFail = 2;

struct Rollout {
  std::int64_t number = 0;  // the store's
  std::string id;           // what people and agents see: the action id
  std::string app_id, selector, canary;
  std::string version;  // of the agent; of a change what people call it: "web@7", "assignment 3"
  std::string url;
  RolloutKind kind = RolloutKind::version;
  HeldChange change = {};            // unless it is of a version
  std::int64_t may_fail = kMayFail;  // per cent
  RolloutState state = RolloutState::running;
  std::string reason;              // why it stopped
  std::size_t ring = 0;            // the one that is being told
  std::vector<std::size_t> rings;  // how many machines each has
  std::int64_t pause_s = 60, jitter_s = 5, timeout_s = 900;
  Millis created = 0, ended = 0;
  Millis next_at = 0;  // when the next ring begins; 0: this one is not through yet
  std::string created_by;
  std::string owner = {};  // the scope of whoever has started it; "": a token without one

  bool is_active() const { return state == RolloutState::running || state == RolloutState::paused; }
  bool is_change() const { return kind != RolloutKind::version; }
  // Of a change: some machines have it and others do not, until it is done or something takes its place.
  bool holds() const {
    return is_change() && (is_active() || state == RolloutState::stopped || state == RolloutState::aborted);
  }
};

// All rollouts that there are.
using RolloutCounts = std::map<std::pair<RolloutKind, RolloutState>, std::size_t>;

// A machine in a rollout.
struct RolloutTarget {
  InstanceKey instance = 0;
  std::string instance_id;
  std::size_t ring = 0;
  std::string phase = std::string(kWaiting);
  std::string error;
  std::optional<double> progress;
  Millis told = 0;
  Millis at = 0;              // when it was last heard of
  bool is_excluded = false;   // it does not count: excluded, forgiven by a resume, or another rollout has it
  std::int64_t position = 0;  // among the targets of its rollout
  Millis paused_until = 0;    // Pause::until
};

// A ring as it stands, without machines that were forgotten, revoked or excluded (from the rollout:
// Store::exclude_past_failures(), exclude_targets(); or from all: Instance::excluded).
struct RingCounts {
  std::size_t size = 0;
  std::size_t offline = 0;  // not ordered yet, and not connected; or paused, and not through
  std::size_t ordered = 0;
  std::size_t confirmed = 0;
  std::size_t reconnected = 0;  // confirmed, and connected with the new version
  // Has tried it, and it did not work: a version that was rolled back, a revision with which a state fails or
  // which was refused.
  std::size_t rolled_back = 0;
  std::size_t failed = 0;  // could not even try the version, or refused it
  std::size_t lost = 0;
  std::size_t paused = 0;  // by an operator, and not through: of `offline`
};

// An agent at its handshake.
struct UpdateCaller {
  InstanceKey instance = 0;
  std::string app_id, instance_id, agent_version;
  bool is_version_1 = false;
  std::string pinned;  // its app's version
  // The backend was started a moment ago: whoever was not told before is told later.
  bool is_settling = false;
};

// A machine in the newest rollout that has it, as its handshake finds it.
struct HandshakeTarget {
  std::int64_t rollout = 0;  // its number
  std::string action_id, version, url, phase;
  RolloutState state = RolloutState::ended;
  Millis due = 0;  // when its turn comes; 0: not yet known
};

// How far an app's pinned version has come on one machine.
struct PinAttempt {
  std::string phase;
  std::int64_t attempt = 0;  // 0: none yet
};

// Somebody who is to be told.
struct UpdateOrder {
  InstanceKey instance = 0;
  std::string action_id, version, url;
};

}  // namespace backend::domain
