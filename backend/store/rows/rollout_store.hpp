// RolloutStore: the rows of rollouts and of the machines in them. What comes next is decided elsewhere
// (domain/rollout_rules, domain/update_rules, rollouts/rollout_step); which phases mean what is said in
// domain/rollout.hpp. See store.hpp for threads and errors.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/domain/rollouts/change_rules.hpp"
#include "backend/domain/rollouts/rollout.hpp"
#include "base/result.hpp"

namespace backend::store {

// A machine whose turn it is.
struct DueTarget {
  domain::UpdateOrder order;
  bool has_version = false;  // the rollout's, already
};

class RolloutStore {
 public:
  virtual ~RolloutStore() = default;

  // ---- rollouts
  // The targets in their order, none of them told. What older rollouts have not told them yet they are told
  // no more.
  virtual base::Result<domain::Rollout> add_rollout(const domain::Rollout& rollout,
                                                    std::span<const domain::RolloutTarget> targets) = 0;
  virtual base::Result<domain::Rollout> find_rollout(std::string_view id) = 0;
  // Newest first. `app_id` "": of all apps.
  virtual base::Result<domain::Page<domain::Rollout>> list_rollouts(std::string_view app_id,
                                                                    const domain::PageRequest& page) = 0;
  // Running, paused, pinned, and any with a machine that was told and has not answered.
  virtual base::Result<std::vector<domain::Rollout>> open_rollouts() = 0;
  virtual base::Result<domain::RolloutCounts> count_rollouts() = 0;
  virtual base::Result<void> set_rollout(
      const domain::Rollout& rollout) = 0;  // its state, reason, ring, next_at, ended
  // Those that run, or are done but for machines that are still to be told a version, are paused; answers how
  // many.
  virtual base::Result<std::size_t> hold_rollouts(std::string_view why) = 0;
  // Removes the oldest one that ended before, with its machines; answers how many (0 or 1). One that holds
  // (domain::Rollout::holds()) stays.
  virtual base::Result<std::size_t> remove_ended_rollout(domain::Millis ended_before) = 0;

  // ---- pins: an app's version, which is a rollout in the state "pinned"
  virtual base::Result<std::optional<domain::Rollout>> find_pin(std::string_view app_id) = 0;
  virtual base::Result<void> end_pin(std::string_view app_id, domain::Millis now) = 0;
  virtual base::Result<domain::PinAttempt> pin_attempt(const domain::Rollout& pin,
                                                       domain::InstanceKey instance) = 0;
  // Adds the machine, or begins anew with it: told now, with this action.
  virtual base::Result<void> begin_pin_attempt(const domain::Rollout& pin, const domain::UpdateCaller& caller,
                                               std::string_view action_id, std::int64_t attempt,
                                               domain::Millis now) = 0;

  // ---- machines of a rollout
  virtual base::Result<std::vector<domain::RingCounts>> ring_counts(const domain::Rollout& rollout,
                                                                    domain::Millis now) = 0;
  // `phase` "": all.
  virtual base::Result<domain::Page<domain::RolloutTarget>> list_rollout_targets(
      const domain::Rollout& rollout, std::string_view phase, const domain::PageRequest& page) = 0;
  // From now on it is the turn of the machines of rollout.ring, each at its moment: spread evenly over the
  // jitter, in the order of the rollout.
  virtual base::Result<void> begin_ring(const domain::Rollout& rollout, domain::Millis now) = 0;
  // Those whose turn it is, who wait and are connected.
  virtual base::Result<std::vector<DueTarget>> due_targets(const domain::Rollout& rollout,
                                                           domain::Millis now) = 0;
  // Its phase from now on. Who was not told before is told now.
  virtual base::Result<void> set_target_phase(std::int64_t rollout, domain::InstanceKey instance,
                                              std::string_view phase, domain::Millis now) = 0;
  // Connected ones that were told and have said nothing since.
  virtual base::Result<std::vector<domain::UpdateOrder>> unacknowledged_targets(
      const domain::Rollout& rollout) = 0;
  // Who waits, is not connected, and whose turn came before: it holds nobody up any more.
  virtual base::Result<void> mark_absent(const domain::Rollout& rollout, domain::Millis due_before) = 0;
  // Who owes an answer (domain::kAnsweredPhases) and was last heard of before is lost, unless it is connected
  // and works on it (domain::kWorkingPhases), or has lost its connection since. Answers those.
  virtual base::Result<std::vector<domain::RolloutTarget>> mark_lost(const domain::Rollout& rollout,
                                                                     domain::Millis heard_before) = 0;
  // What has failed or is lost by now (domain::kFailedPhases) does not count any more.
  virtual base::Result<void> exclude_past_failures(const domain::Rollout& rollout) = 0;
  // These do not count any more, whatever they say; who was not told yet never is. Answers how many there
  // are.
  virtual base::Result<std::size_t> exclude_targets(const domain::Rollout& rollout,
                                                    std::span<const std::string> instances) = 0;
  // What speaks against the rollout: machines that count and have failed or are lost, the latest first.
  virtual base::Result<std::vector<domain::RolloutTarget>> failed_targets(const domain::Rollout& rollout,
                                                                          std::size_t most) = 0;

  // ---- one machine
  // The one of a version that runs or is paused and has this machine; "" if none.
  virtual base::Result<std::string> active_rollout_of(domain::InstanceKey instance) = 0;
  // The id of another one that runs or is paused and has a machine which this one is not through with
  // (domain::kLeftPhases); or "".
  virtual base::Result<std::string> conflicting_rollout(const domain::Rollout& rollout) = 0;
  // In the newest rollout of a version that runs, is paused or is done.
  virtual base::Result<std::optional<domain::HandshakeTarget>> newest_target_of(
      domain::InstanceKey instance) = 0;

  // ---- changes: rollouts of recipes and assignments
  // Those of an app that hold (domain::Rollout::holds()), with what an assignment was before. Oldest first.
  virtual base::Result<std::vector<domain::Rollout>> held_changes(std::string_view app_id) = 0;
  // Who has the change; `only`: whether this one has.
  virtual base::Result<std::vector<domain::InstanceKey>> told_machines(
      const domain::Rollout& rollout, std::optional<domain::InstanceKey> only) = 0;
  // It holds no more: something else has taken its place. Nobody of it owes an answer.
  virtual base::Result<void> end_change(const domain::Rollout& rollout, std::string_view why,
                                        domain::Millis now) = 0;
  // The version that the machine was given with the change.
  virtual base::Result<void> set_given_version(std::int64_t rollout, domain::InstanceKey instance,
                                               std::int64_t version) = 0;
  // Machines that were told and about which there may be something to say. Of those that are confirmed the
  // ones that have failed since.
  virtual base::Result<std::vector<domain::ChangeEvidence>> change_evidence(
      const domain::Rollout& rollout) = 0;
  virtual base::Result<void> close_change(std::int64_t rollout, domain::InstanceKey instance,
                                          const domain::ChangeVerdict& verdict, domain::Millis now) = 0;
};

}  // namespace backend::store
