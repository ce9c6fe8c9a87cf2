#include "agent/engine/planner.hpp"

#include "agent/engine/managed_host.hpp"
#include "agent/engine/prepare.hpp"
#include "agent/engine/secrets.hpp"
#include "agent/engine/watch_store.hpp"
#include "base/sha256.hpp"

namespace agent::engine {

namespace {

// Nobody is asked while planning: a wait that is not known to be done is shown as one.
class UnansweredWaits final : public states::Waits {
 public:
  bool is_done(std::string_view) override { return false; }
  base::Result<void> wait(std::string_view, Deadline) override {
    return base::Error(base::ErrorCode::unsupported, "a plan does not wait");
  }
};

class Planner {
 public:
  Planner(const states::Host& host, const base::Redactor& redactor, base::Interrupt& interrupt,
          const PlanOptions& options)
      : machine_(host, sync_),
        watches_(options.state_dir + "/watch"),
        redactor_(redactor),
        interrupt_(interrupt),
        salt_(options.salt) {}

  // Nothing: its condition does not hold.
  std::optional<states::Plan> plan(const recipe::State& state) {
    Prepared prepared = prepare(state, overlay_, machine_, watches_, interrupt_);
    switch (prepared.next) {
      case Prepared::Next::skip:
        return std::nullopt;
      case Prepared::Next::wait:
        return states::Plan::unknown(std::move(prepared.depends_on),
                                     "Its condition depends on what an earlier state does");
      case Prepared::Next::impossible:
      case Prepared::Next::cancelled:
        return states::Plan::fail(std::move(prepared.problem));
      case Prepared::Next::plan:
        break;
    }
    StateSession session({.state = state,
                          .overlay = overlay_,
                          .watch = prepared.watch,
                          .machine = machine_,
                          .interrupt = interrupt_,
                          .waits = waits_,
                          .plan_salt = salt_,
                          .redactor = &redactor_});
    states::Plan planned = session.plan();
    overlay_.add(std::string(state.id), planned.effects);
    return planned;
  }

 private:
  base::SyncGroup sync_;  // nothing is ever written here
  ManagedHost machine_;
  WatchStore watches_;
  const base::Redactor& redactor_;
  base::Interrupt& interrupt_;
  const std::string& salt_;
  UnansweredWaits waits_;
  states::Overlay overlay_;
};

}  // namespace

std::string fingerprint(const states::Plan& plan, const std::vector<states::Change>& shown) {
  std::string text(verdict_name(plan.verdict));
  if (shown.empty()) return text;
  base::Sha256 hash;
  for (const states::Change& change : shown)
    for (const std::string* part : {&change.what, &change.before, &change.after, &change.diff}) {
      hash.add(std::to_string(part->size()) + ":");
      hash.add(*part);
    }
  hash.add(plan.mark);
  return text + ":" + hash.finish();
}

PlanResult plan_recipe(const recipe::Recipe& recipe, const states::Host& host, const base::Redactor& redactor,
                       base::Interrupt& interrupt, const PlanOptions& options,
                       const std::function<void(const PlannedState&)>& each) {
  Planner planner(host, redactor, interrupt, options);
  PlanResult result;
  for (const recipe::State& state : recipe.states()) {
    if (interrupt.requested()) break;
    std::optional<states::Plan> plan = planner.plan(state);
    PlannedState planned{.id = std::string(state.id), .module = std::string(state.type->name())};
    if (!plan) {
      planned.skipped = true;
      planned.message = "Skipped: its condition does not hold";
      if (!options.salt.empty()) planned.fingerprint = kSkippedFingerprint;
    } else {
      planned.verdict = plan->verdict;
      planned.depends_on = plan->depends_on;
      planned.message = hide_in_text(state, redactor, std::move(plan->message));
      planned.changes = std::move(plan->changes);
      hide(state, redactor, planned.changes);
      // What an unknown state will see cannot be known: its fingerprint stays empty and matches everything.
      if (!options.salt.empty() && plan->verdict != states::Verdict::unknown)
        planned.fingerprint = fingerprint(*plan, planned.changes);
    }
    if (each) each(planned);
    result.states.push_back(std::move(planned));
  }
  return result;
}

}  // namespace agent::engine
