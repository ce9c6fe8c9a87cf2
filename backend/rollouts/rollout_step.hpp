// step_rollouts(): brings all rollouts as far as they can go now, in the writer's transaction. What is to be
// told and shown comes back: a row first, a frame second.
#pragma once

#include <string>
#include <vector>

#include "backend/fleet/delivery.hpp"
#include "backend/store/store.hpp"

namespace backend::rollouts {

struct UnresponsiveMachine {
  std::string app_id, instance_id, action_id, version;
};

struct RolloutNews {
  std::vector<domain::UpdateOrder> orders;
  std::vector<domain::Rollout> changed;  // those whose state or ring is another one now
  std::vector<UnresponsiveMachine> lost;
  std::vector<fleet::Delivery> deliveries;  // of changes
  bool any_active = false;                  // look again soon
  bool any_pinned = false;                  // look again later
  domain::RolloutCounts counts;
};

// Since when this backend sees who is connected. At its start nobody is, which says nothing about them.
struct Watch {
  domain::Millis since = 0;
  // Many who were connected before are not back yet: what was there at the start only waits.
  bool is_settling = false;
};
base::Result<RolloutNews> step_rollouts(store::Store& store, domain::Millis now, const Watch& watch = {});

// An app's pin and a rollout to another version would tell machines two things.
base::Result<void> check_pin(store::Store& store, const domain::Rollout& rollout);

// What people do; the error when it cannot be done in the state that it is in. The audit row is the caller's.
enum class RolloutCommand { pause, resume, abort };
struct Commanded {
  domain::Rollout rollout;
  std::vector<domain::UpdateOrder> orders;  // may not have heard it: told again
};
base::Result<Commanded> command_rollout(store::Store& store, const std::string& id, RolloutCommand command,
                                        const std::string& actor, domain::Millis now);

}  // namespace backend::rollouts
