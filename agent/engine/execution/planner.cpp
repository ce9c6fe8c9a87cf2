#include "agent/engine/execution/planner.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/engine/control/round_control.hpp"
#include "agent/engine/execution/prepare.hpp"
#include "agent/engine/managed_host.hpp"
#include "agent/engine/secrets.hpp"
#include "agent/engine/watches/watch_store.hpp"
#include "base/sha256.hpp"

namespace agent::engine {

namespace {

// Nobody is asked while planning: a wait that is not known to be done is shown as one.
class KnownWaits final : public states::Waits {
 public:
  explicit KnownWaits(const std::vector<std::string>& done) : done_(done) {}
  bool is_done(std::string_view state_id) override {
    const bool is_done = std::ranges::find(done_, state_id) != done_.end();
    is_open_ = is_open_ || !is_done;
    return is_done;
  }
  // Whether one was asked for since the last call that is not known to be done.
  bool take_open() { return std::exchange(is_open_, false); }
  base::Result<void> wait(std::string_view, Deadline) override {
    return base::Error(base::ErrorCode::unsupported, "a plan does not wait");
  }

 private:
  const std::vector<std::string>& done_;
  bool is_open_ = false;
};

class Planner {
 public:
  Planner(const states::Host& host, const base::Redactor& redactor, base::Interrupt& interrupt,
          const PlanOptions& options)
      : machine_(host, sync_),
        watches_(options.state_dir + "/watch"),
        due_(options.state_dir + "/reactions", sync_),
        once_(options.state_dir),
        redactor_(redactor),
        interrupt_(interrupt),
        salt_(options.salt),
        waits_(options.done_waits),
        has_backend_(options.has_backend) {
    machine_.tree().foresee(&overlay_);
  }

  // Before the first state is planned.
  void begin(const recipe::Recipe& recipe) {
    if (auto looked = due_.look(); !looked) problem_ = looked.error().message();
    due_.adopt(machine_.host().root, recipe);
    control_.begin(recipe, machine_.host().root);
  }

  // Nothing: it is skipped, and why_skipped() says why.
  std::optional<states::Plan> plan(const recipe::State& state, std::size_t place) {
    Gate gate = control_.gate(place);
    if (!problem_.empty() && state.control) gate.problem = problem_;
    auto planned = plan(state, gate);
    control_.note(place, became(planned, gate));
    return planned;
  }
  const std::string& why_skipped() const { return why_skipped_; }

  // Whether the state planned last is one that we could not apply, as far as is known.
  bool needs_root() const { return needs_root_; }

 private:
  static Became became(const std::optional<states::Plan>& planned, const Gate& gate) {
    if (!planned) return gate.is_blocked ? Became::blocked : Became::nothing;
    switch (planned->verdict) {
      case states::Verdict::kept:
        return Became::kept;
      case states::Verdict::change:
        return planned->fails_in_part ? Became::failed : Became::changed;
      case states::Verdict::fail:
        return Became::failed;
      case states::Verdict::unknown:
        break;
    }
    return Became::unknown;
  }

  std::optional<states::Plan> plan(const recipe::State& state, const Gate& gate) {
    needs_root_ = false;
    if (gate.problem) return states::Plan::fail(*gate.problem);
    if (gate.way == Gate::Way::skip) {
      why_skipped_ = gate.why;
      return std::nullopt;
    }
    if (gate.way == Gate::Way::wait) {
      states::Plan open = states::Plan::unknown(gate.depends_on, gate.why);
      add(state, open);
      return open;
    }
    orders_ = gate.orders;
    auto planned = plan(state);
    if (planned && planned->verdict == states::Verdict::change && !gate.why.empty())
      planned->message += ", " + gate.why;
    if (planned && planned->verdict == states::Verdict::change && state.control &&
        !state.control->once.empty())
      planned->message += ", once as '" + std::string(state.control->once) + "'";
    return planned;
  }

  std::optional<states::Plan> plan(const recipe::State& state) {
    overlay_.take_doubt();
    Prepared prepared = prepare(state, overlay_, machine_, watches_, interrupt_);
    if (prepared.next == Prepared::Next::skip) {
      why_skipped_ = "Skipped: its condition does not hold";
      return std::nullopt;
    }
    overlay_.take_doubt();  // it is in the answer
    overlay_.take_remark();
    states::Plan planned = plan(state, prepared);
    const states::Overlay::Entry* doubt = overlay_.take_doubt();
    // Who puts something there does so in any case.
    if (const auto* remark = overlay_.take_remark(); !doubt && planned.verdict == states::Verdict::kept)
      doubt = remark;
    // Whatever the module made of it: it has asked for something that an earlier state decides.
    if (doubt && planned.verdict != states::Verdict::unknown) {
      std::string open = what_is_open(doubt->effect);
      if (is_package(doubt->effect)) open += what_else(state, prepared);
      planned = states::Plan::unknown(doubt->state_id, std::move(open));
    }
    needs_root_ =
        ::geteuid() != 0 && planned.verdict == states::Verdict::change && is_for_root(state, planned);
    add(state, planned);
    return planned;
  }

  // Accounts, packages and services are root's. So is what is in a folder that we cannot write to.
  bool is_for_root(const recipe::State& state, const states::Plan& planned) {
    using states::EffectKind;
    std::vector<states::Effect> effects = state.type->possible_effects(*state.params);
    effects.insert(effects.end(), planned.effects.begin(), planned.effects.end());
    return std::ranges::any_of(effects, [&](const states::Effect& effect) {
      if (is_path(effect)) return !can_write_beside(effect.name);
      return effect.kind != EffectKind::anything;
    });
  }

  bool can_write_beside(std::string_view path) {
    std::string_view folder = base::split_path(path).folder;
    auto found = machine_.tree().folder(folder);
    while (!found && folder != "/") {  // those that are missing would be made
      folder = base::split_path(folder).folder;
      found = machine_.tree().folder(folder);
    }
    if (!found) return true;
    const std::string by_descriptor = "/proc/self/fd/" + std::to_string(*found);
    return ::access(by_descriptor.c_str(), W_OK | X_OK) == 0;
  }

  static bool is_package(const states::Effect& effect) {
    return effect.kind == states::EffectKind::package && effect.present;
  }

  // What would be done if packages brought nothing that matters: mostly it is so.
  std::string what_else(const recipe::State& state, Prepared& prepared) {
    overlay_.assume_nothing_is_brought(true);
    const states::Plan planned = plan(state, prepared);
    const bool is_certain = !overlay_.take_doubt();
    overlay_.assume_nothing_is_brought(false);
    const bool is_told = planned.verdict == states::Verdict::change && is_certain && !planned.message.empty();
    return is_told ? ". If it brings nothing there: " + planned.message : std::string();
  }

  static std::string what_is_open(const states::Effect& effect) {
    if (effect.kind == states::EffectKind::anything)
      return "It depends on what a command of an earlier state does";
    if (is_package(effect)) return "It depends on what the package " + effect.name + " brings";
    return effect.name + " depends on what an earlier state does to it";
  }

  states::Plan plan(const recipe::State& state, Prepared& prepared) {
    switch (prepared.next) {
      case Prepared::Next::wait:
        return states::Plan::unknown(std::move(prepared.depends_on), std::move(prepared.problem));
      case Prepared::Next::impossible:
      case Prepared::Next::cancelled:
        return states::Plan::fail(std::move(prepared.problem));
      case Prepared::Next::skip:
      case Prepared::Next::plan:
        break;
    }
    if (!state.type->can_plan())
      return states::Plan::unknown(
          {}, "Module '" + std::string(state.type->name()) + "' cannot plan: it is applied in every round");
    StateSession session({.state = state,
                          .overlay = overlay_,
                          .watch = prepared.watch,
                          .orders = &orders_,
                          .machine = machine_,
                          .interrupt = interrupt_,
                          .waits = waits_,
                          .plans_only = true,
                          .plan_salt = salt_,
                          .redactor = &redactor_});
    states::Plan planned = session.plan();
    if (planned.verdict == states::Verdict::fail && session.time().is_over())
      planned.message = session.time().timed_out(planned.message);
    if (waits_.take_open() && !has_backend_ && planned.verdict == states::Verdict::change)
      planned.message += ". Without a backend nobody can say so: --assume-done " + std::string(state.key) +
                         " goes on as if it were done";
    if (planned.verdict == states::Verdict::change && !prepared.watch_cause.empty())
      planned.message += ", because '" + prepared.watch_cause + "' changes";
    return planned;
  }

  // What later states have to reckon with.
  void add(const recipe::State& state, const states::Plan& planned) {
    std::vector<states::Effect> effects = planned.effects;
    if (planned.verdict == states::Verdict::unknown) effects = possible_effects(state);
    if (effects.empty()) return;
    for (std::size_t i = 0, given = effects.size(); i < given; ++i) {
      if (!is_path(effects[i])) continue;
      // A link stands for what it leads to, as far as owner and mode go.
      states::Effect end = effects[i];
      const bool may_be_there =
          planned.verdict == states::Verdict::unknown && end.kind != states::EffectKind::link;
      end.name = end.attributes_only || may_be_there ? machine_.tree().real_end(end.name) : std::string();
      end.attributes_only = true;
      effects[i].name = place_of(effects[i].name);
      if (!end.name.empty() && end.name != effects[i].name) effects.push_back(std::move(end));
    }
    overlay_.add(std::string(state.id), effects);
    machine_.tree().forget();
  }

  // Where a path really is: others may know it by another name. By a way that leads elsewhere by then, only
  // its last component is known.
  std::string place_of(const std::string& path) {
    std::string real = machine_.tree().real_path(path);
    overlay_.take_doubt();
    const auto way = machine_.tree().folder(base::split_path(path).folder);
    if (!way && overlay_.take_doubt()) real = base::split_path(path).name;
    return real;
  }

  static bool is_path(const states::Effect& effect) {
    using states::EffectKind;
    return effect.kind == EffectKind::file || effect.kind == EffectKind::directory ||
           effect.kind == EffectKind::link;
  }

  // Of a state whose plan is not known: everything that it could ever touch, and the folders that it may
  // make on the way.
  std::vector<states::Effect> possible_effects(const recipe::State& state) {
    if (state.is_off) return {};
    std::vector<states::Effect> effects = state.type->possible_effects(*state.params);
    for (std::size_t i = 0, given = effects.size(); i < given; ++i) {
      effects[i].certain = false;
      if (!is_path(effects[i])) continue;
      const std::string path = effects[i].name;
      for (std::string_view folder = base::split_path(path).folder; folder != "/";
           folder = base::split_path(folder).folder) {
        if (!may_be_made(folder)) break;
        effects.push_back(
            {.kind = states::EffectKind::directory, .name = std::string(folder), .certain = false});
      }
    }
    return effects;
  }

  // Whether a folder on the way to something may be missing by then. By a way that leads elsewhere by then
  // nobody knows; one that an earlier state has to do with is that state's.
  bool may_be_made(std::string_view folder) {
    overlay_.take_doubt();
    const auto found = machine_.tree().look(folder);
    if (found) return !*found;
    if (!overlay_.take_doubt()) return false;
    return !overlay_.find(states::EffectKind::directory, machine_.tree().real_path(folder));
  }

  base::SyncGroup sync_;  // nothing is ever written here
  ManagedHost machine_;
  WatchStore watches_;
  DueReactions due_;
  OnceStore once_;
  RoundControl control_{due_, once_, true};
  std::string problem_;    // of what is remembered, for states that need it
  states::Orders orders_;  // of the state that is being planned
  std::string why_skipped_;
  const base::Redactor& redactor_;
  base::Interrupt& interrupt_;
  const std::string& salt_;
  KnownWaits waits_;
  const bool has_backend_;
  states::Overlay overlay_;
  bool needs_root_ = false;
};

}  // namespace

namespace {

// What is run in any case, and may count as no change.
void show_as_counted(const states::Plan& plan, PlannedState& planned) {
  if (plan.verdict != states::Verdict::change) return;
  const bool is_known = plan.counts == states::Plan::Counts::never;
  planned.verdict = is_known ? states::Verdict::kept : states::Verdict::unknown;
  planned.needs_root = planned.needs_root && !is_known;
  if (is_known) planned.changes.clear();
}

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
  PlanResult result{.by_root = ::geteuid() == 0};
  planner.begin(recipe);
  for (const recipe::State& state : recipe.states()) {
    const auto place = static_cast<std::size_t>(&state - recipe.states().data());
    PlannedState planned{.id = std::string(state.id), .module = std::string(state.type->name())};
    std::optional<states::Plan> plan = interrupt.requested()
                                           ? states::Plan::unknown({}, "Not planned: cancelled")
                                           : planner.plan(state, place);
    if (!plan) {
      planned.skipped = true;
      planned.message = planner.why_skipped();
      if (!options.salt.empty()) planned.fingerprint = kSkippedFingerprint;
    } else {
      planned.verdict = plan->verdict;
      planned.depends_on = plan->depends_on;
      planned.needs_root = planner.needs_root();
      planned.message = hide_in_text(state, redactor, std::move(plan->message));
      planned.changes = std::move(plan->changes);
      hide(state, redactor, planned.changes);
      // What an unknown state will see cannot be known: its fingerprint stays empty and matches everything.
      if (!options.salt.empty() && plan->verdict != states::Verdict::unknown)
        planned.fingerprint = fingerprint(*plan, planned.changes);
      if (plan->counts != states::Plan::Counts::always) show_as_counted(*plan, planned);
      if (plan->fails_in_part) planned.verdict = states::Verdict::fail;
    }
    if (each) each(planned);
    result.states.push_back(std::move(planned));
  }
  return result;
}

}  // namespace agent::engine
