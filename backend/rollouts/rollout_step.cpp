#include "backend/rollouts/rollout_step.hpp"

#include <algorithm>
#include <iterator>

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

// Does what was decided; true: look again.
Result<bool> carry_out(store::Store& store, domain::Rollout& rollout, const domain::Decision& decision,
                       domain::Millis now, RolloutNews& news) {
  constexpr std::int64_t kMillis = 1000;
  using Kind = domain::Decision::Kind;
  switch (decision.kind) {
    case Kind::nothing:
      return false;
    case Kind::stop:
      rollout.state = domain::RolloutState::stopped;
      rollout.reason = decision.reason;
      rollout.ended = now;
      if (auto noted = note_stop(store, rollout, now); !noted) return std::move(noted).error();
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
  auto lost = mark_unresponsive(store, rollout, now, watch);
  if (!lost) return std::move(lost).error();
  for (domain::RolloutTarget& target : *lost)
    news.lost.push_back({rollout.app_id, std::move(target.instance_id), rollout.id, rollout.version});
  if (watch.is_settling && rollout.created < watch.since) return {};
  // Rings that nobody can be reached in are passed at once, so there may be more than one step to take.
  for (std::size_t i = 0; i <= 2 * domain::kMostRings && rollout.state == domain::RolloutState::running;
       ++i) {
    auto counts = store.ring_counts(rollout);
    if (!counts) return std::move(counts).error();
    auto again = carry_out(store, rollout, domain::decide(rollout, *counts, now), now, news);
    if (!again) return std::move(again).error();
    if (!*again) break;
  }
  if (rollout.state != domain::RolloutState::running) return {};
  auto orders = take_due(store, rollout, now);
  if (!orders) return std::move(orders).error();
  std::ranges::move(*orders, std::back_inserter(news.orders));
  return {};
}

// As for one that begins: nobody is told two things at once.
Result<void> may_resume(store::Store& store, const domain::Rollout& rollout) {
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
  auto states = store.count_rollouts();
  if (!states) return std::move(states).error();
  news.states = std::move(*states);
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
      if (auto silent = store.unacknowledged_targets(rollout); silent)
        done.orders = std::move(*silent);
      else
        return std::move(silent).error();
      break;
    case RolloutCommand::abort:
      if (!rollout.is_active() && rollout.state != State::stopped && rollout.state != State::done)
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
