#include "backend/rollouts/rollout_step.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "backend/domain/placement/placement.hpp"
#include "backend/domain/rollouts/change_rules.hpp"
#include "backend/domain/rollouts/rollout_rules.hpp"
#include "backend/store/history/audit.hpp"

namespace backend::rollouts {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

Result<void> note_stop(store::Store& store, const domain::Rollout& rollout, domain::Millis now) {
  domain::AuditRow row{.at = now, .actor = "backend"};
  row.action = "rollout.stop";
  row.object = rollout.app_id + "/" + rollout.id;
  row.detail = rollout.version + ": " + rollout.reason;
  return store::add_audit(store, row);
}

Result<void> stop(store::Store& store, domain::Rollout& rollout, std::string reason, domain::Millis now) {
  rollout.state = domain::RolloutState::stopped;
  rollout.reason = std::move(reason);
  rollout.ended = now;
  return note_stop(store, rollout, now);
}

// Gives machines what the rows say now. Nothing: their waits can never come true in between; nothing was
// changed, and `reason` says why.
Result<std::optional<fleet::Placed>> place_or_undo(store::Store& store, const domain::Rollout& rollout,
                                                   const std::function<Result<void>()>& change_rows,
                                                   std::string& reason) {
  std::optional<fleet::Placed> placed;
  auto done = store.transact([&]() -> Result<void> {
    if (auto changed = change_rows(); !changed) return changed;
    auto given = fleet::place_app(store, rollout.app_id, std::span<const fleet::Change>());
    if (!given) return std::move(given).error();
    placed = std::move(*given);
    return {};
  });
  if (done) return placed;
  if (done.error().code() != ErrorCode::exists) return std::move(done).error();
  reason = "the machines cannot be given it one after the other: " + done.error().message();
  return std::optional<fleet::Placed>();
}

Result<void> deliver(store::Store& store, fleet::Placed placed, RolloutNews& news) {
  if (placed.changed.empty() && placed.rejected.empty()) return {};
  auto delivery = fleet::prepare_delivery(store, std::move(placed));
  if (!delivery) return std::move(delivery).error();
  news.deliveries.push_back(std::move(*delivery));
  return {};
}

// From now on it is everybody's: also of those who could not be reached, or have come meanwhile.
Result<void> finish_change(store::Store& store, domain::Rollout& rollout, domain::Millis now,
                           RolloutNews& news) {
  domain::Rollout done = rollout;
  done.state = domain::RolloutState::done;
  done.ended = now;
  std::string reason;
  auto placed = place_or_undo(
      store, rollout, [&] { return store.set_rollout(done); }, reason);
  if (!placed) return std::move(placed).error();
  if (!*placed) return stop(store, rollout, std::move(reason), now);
  rollout = std::move(done);
  return deliver(store, std::move(**placed), news);
}

// Does what was decided; true: look again.
Result<bool> carry_out(store::Store& store, domain::Rollout& rollout, const domain::Decision& decision,
                       domain::Millis now, RolloutNews& news) {
  constexpr std::int64_t kMillis = 1000;
  using Kind = domain::Decision::Kind;
  switch (decision.kind) {
    case Kind::nothing:
      return false;
    case Kind::stop:
      if (auto stopped = stop(store, rollout, decision.reason, now); !stopped)
        return std::move(stopped).error();
      break;
    case Kind::schedule:
      // Of a ring that is away as a whole somebody may still come: after a restart of the backend, say.
      rollout.next_at = now + kMillis * (decision.is_empty ? std::max(rollout.pause_s, rollout.timeout_s)
                                                           : rollout.pause_s);
      break;
    case Kind::begin:
      ++rollout.ring;
      rollout.next_at = 0;
      if (auto begun = store.begin_ring(rollout, now); !begun) return std::move(begun).error();
      break;
    case Kind::finish:
      if (rollout.is_change()) {
        if (auto finished = finish_change(store, rollout, now, news); !finished)
          return std::move(finished).error();
        break;
      }
      rollout.state = domain::RolloutState::done;
      rollout.ended = now;
      break;
  }
  if (auto set = store.set_rollout(rollout); !set) return std::move(set).error();
  if (decision.kind != Kind::schedule) news.changed.push_back(rollout);
  return true;
}

// Those that were told and have been silent for longer than the rollout's timeout are lost. Silence is what
// this backend has seen of it.
Result<std::vector<domain::RolloutTarget>> mark_unresponsive(store::Store& store,
                                                             const domain::Rollout& rollout,
                                                             domain::Millis now, const Watch& watch) {
  constexpr std::int64_t kMillis = 1000;
  const domain::Millis before = now - rollout.timeout_s * kMillis;
  if (watch.since >= before) return std::vector<domain::RolloutTarget>();
  // Who was connected when the turn came, and has not been since, holds nobody up either.
  if (rollout.is_active() || rollout.state == domain::RolloutState::pinned)
    if (auto absent = store.mark_absent(rollout, before); !absent) return std::move(absent).error();
  return store.mark_lost(rollout, before);
}

// The states that a change is about.
Result<std::set<std::string, std::less<>>> states_of(store::Store& store, const domain::Rollout& rollout) {
  std::set<std::string, std::less<>> ids;
  if (rollout.change.layer != 0) return ids;  // whatever fails with other values
  std::string recipe = rollout.change.recipe;
  std::optional<std::int64_t> revision = rollout.change.to_revision;
  if (rollout.change.assignment != 0) {
    auto assignment = store.find_assignment(rollout.change.assignment);
    // One that was removed has none: what goes wrong then is whatever fails.
    if (!assignment && assignment.error().code() == ErrorCode::not_found) return ids;
    if (!assignment) return std::move(assignment).error();
    recipe = assignment->recipe;
    revision = assignment->revision;
  }
  auto found = store.find_revision(recipe, revision);
  if (!found) return std::move(found).error();
  auto states = domain::read_states(found->states);
  if (!states) return std::move(states).error();
  if ((*states)->has_computed) return ids;  // which of them are its own, only the machines know
  ids.insert((*states)->ids.begin(), (*states)->ids.end());
  return ids;
}

// What machines have shown of a change since the last look.
Result<void> judge(store::Store& store, const domain::Rollout& rollout, domain::Millis now) {
  auto found = store.change_evidence(rollout);
  if (!found) return std::move(found).error();
  if (found->empty()) return {};
  auto own = states_of(store, rollout);
  if (!own) return std::move(own).error();
  for (const domain::ChangeEvidence& evidence : *found) {
    auto verdict = domain::judge_change(evidence, *own);
    if (!verdict) continue;
    if (verdict->phase == domain::kFailed)
      if (auto failed = store.find_failed_state(evidence.instance);
          failed && *failed && !(*failed)->comment.empty() && own->contains((*failed)->state_id))
        verdict->error =
            "state '" + (*failed)->state_id + "' " + (*failed)->outcome + ": " + (*failed)->comment;
    if (auto closed = store.close_change(rollout.number, evidence.instance, *verdict, now); !closed)
      return closed;
  }
  return {};
}

// The machines whose turn it is get the change: their rows say so first, then they are placed.
Result<void> give_due(store::Store& store, domain::Rollout& rollout, domain::Millis now, RolloutNews& news) {
  auto due = store.due_targets(rollout, now);
  if (!due) return std::move(due).error();
  if (due->empty()) return {};
  std::string reason;
  const auto tell_all = [&]() -> Result<void> {
    for (const store::DueTarget& target : *due)
      if (auto told = store.set_target_phase(rollout.number, target.order.instance, domain::kTold, now);
          !told)
        return told;
    return {};
  };
  auto placed = place_or_undo(store, rollout, tell_all, reason);
  if (!placed) return std::move(placed).error();
  if (!*placed) {
    if (auto stopped = stop(store, rollout, std::move(reason), now); !stopped) return stopped;
    news.changed.push_back(rollout);
    return store.set_rollout(rollout);
  }
  std::set<domain::InstanceKey> changed;
  for (const fleet::PlacedVersion& each : (*placed)->changed)
    changed.insert(each.instance);
  std::unordered_map<std::string, std::string> rejected;
  for (const fleet::RejectedInstance& each : (*placed)->rejected)
    rejected.emplace(each.instance_id, each.reason);
  for (const store::DueTarget& target : *due) {
    auto instance = store.find_instance(target.order.instance);
    if (!instance) return std::move(instance).error();
    if (auto given = store.set_given_version(rollout.number, instance->key, instance->recipe_version); !given)
      return given;
    const auto refused = rejected.find(instance->instance_id);
    domain::ChangeVerdict verdict{.phase = std::string(domain::kTold), .error = ""};
    if (refused != rejected.end())
      verdict = {std::string(domain::kRefused), refused->second};
    else if (!changed.contains(instance->key) && instance->status == "converged")
      verdict.phase = domain::kConfirmed;  // it runs the very same already
    if (auto closed = store.close_change(rollout.number, instance->key, verdict, now); !closed) return closed;
  }
  return deliver(store, std::move(**placed), news);
}

// Those whose turn it is and who are connected; from now on they count as told.
Result<std::vector<domain::UpdateOrder>> take_due(store::Store& store, const domain::Rollout& rollout,
                                                  domain::Millis now) {
  auto due = store.due_targets(rollout, now);
  if (!due) return std::move(due).error();
  std::vector<domain::UpdateOrder> orders;
  for (store::DueTarget& target : *due) {
    auto told = store.set_target_phase(rollout.number, target.order.instance,
                                       target.has_version ? domain::kConfirmed : domain::kTold, now);
    if (!told) return std::move(told).error();
    if (!target.has_version) orders.push_back(std::move(target.order));
  }
  return orders;
}

Result<void> step(store::Store& store, domain::Rollout& rollout, domain::Millis now, const Watch& watch,
                  RolloutNews& news) {
  if (rollout.is_change())
    if (auto judged = judge(store, rollout, now); !judged) return judged;
  auto lost = mark_unresponsive(store, rollout, now, watch);
  if (!lost) return std::move(lost).error();
  // Of a change there is no update to say anything about: its rows do.
  for (domain::RolloutTarget& target : *lost)
    if (!rollout.is_change())
      news.lost.push_back({rollout.app_id, std::move(target.instance_id), rollout.id, rollout.version});
  if (watch.is_settling && rollout.created < watch.since) return {};
  // Rings that nobody can be reached in are passed at once, so there may be more than one step to take.
  for (std::size_t i = 0; i <= 2 * domain::kMostRings && rollout.state == domain::RolloutState::running;
       ++i) {
    auto counts = store.ring_counts(rollout, now);
    if (!counts) return std::move(counts).error();
    auto again = carry_out(store, rollout, domain::decide(rollout, *counts, now), now, news);
    if (!again) return std::move(again).error();
    if (!*again) break;
  }
  if (rollout.state != domain::RolloutState::running) return {};
  if (rollout.is_change()) return give_due(store, rollout, now, news);
  auto orders = take_due(store, rollout, now);
  if (!orders) return std::move(orders).error();
  std::ranges::move(*orders, std::back_inserter(news.orders));
  return {};
}

// As for one that begins: nobody is told two things at once.
Result<void> may_resume(store::Store& store, const domain::Rollout& rollout) {
  if (rollout.is_change()) return {};  // what takes its place ends it
  auto rival = store.conflicting_rollout(rollout);
  if (!rival) return std::move(rival).error();
  if (!rival->empty())
    return Error(ErrorCode::exists,
                 "rollout " + *rival + " has machines of this one: wait until it is done, or abort it");
  return check_pin(store, rollout);
}

}  // namespace

Result<void> check_pin(store::Store& store, const domain::Rollout& rollout) {
  auto app = store.find_app(rollout.app_id);
  if (!app) return std::move(app).error();
  if (!app->agent_version.empty() && app->agent_version != rollout.version)
    return Error(ErrorCode::exists, "the app " + app->app_id + " pins " + app->agent_version +
                                        ": its machines would be told to go back; change the pin first");
  return {};
}

Result<RolloutNews> step_rollouts(store::Store& store, domain::Millis now, const Watch& watch) {
  RolloutNews news;
  auto open = store.open_rollouts();
  if (!open) return std::move(open).error();
  for (domain::Rollout& rollout : *open) {
    if (auto stepped = step(store, rollout, now, watch, news); !stepped) return std::move(stepped).error();
    news.any_active = news.any_active || rollout.is_active();
    news.any_pinned = news.any_pinned || rollout.state == domain::RolloutState::pinned;
  }
  auto counts = store.count_rollouts();
  if (!counts) return std::move(counts).error();
  news.counts = std::move(*counts);
  return news;
}

Result<Commanded> command_rollout(store::Store& store, const std::string& id, RolloutCommand command,
                                  const std::string& actor, domain::Millis now) {
  auto found = store.find_rollout(id);
  if (!found) return std::move(found).error();
  Commanded done{.rollout = std::move(*found), .orders = {}};
  domain::Rollout& rollout = done.rollout;
  const auto refuse = [&](std::string_view why) {
    return Error(ErrorCode::exists,
                 "the rollout is " + std::string(domain::name_of(rollout.state)) + ": " + std::string(why));
  };
  using State = domain::RolloutState;
  switch (command) {
    case RolloutCommand::pause:
      if (rollout.state != State::running) return refuse("only one that runs can be paused");
      rollout.state = State::paused;
      rollout.reason = "by " + actor;
      break;
    case RolloutCommand::resume:
      if (rollout.state != State::paused && rollout.state != State::stopped)
        return refuse("only one that is paused or stopped can be resumed");
      if (auto may = may_resume(store, rollout); !may) return std::move(may).error();
      // Whoever resumes what has stopped has seen why: what has failed by now does not count any more.
      if (rollout.state == State::stopped)
        if (auto excluded = store.exclude_past_failures(rollout); !excluded)
          return std::move(excluded).error();
      rollout.state = State::running;
      rollout.reason.clear();
      rollout.ended = 0;
      if (rollout.is_change()) break;  // whoever comes gets what its row says
      if (auto silent = store.unacknowledged_targets(rollout); silent)
        done.orders = std::move(*silent);
      else
        return std::move(silent).error();
      break;
    case RolloutCommand::abort:
      if (!rollout.is_active() && rollout.state != State::stopped &&
          (rollout.is_change() || rollout.state != State::done))
        return refuse("there is nothing to abort");
      rollout.state = State::aborted;
      rollout.reason = "by " + actor;
      rollout.ended = now;
      break;
  }
  if (auto set = store.set_rollout(rollout); !set) return std::move(set).error();
  return done;
}

}  // namespace backend::rollouts
