// Executor: one state, from its condition to its result. Plan, journal, apply, and plan again: it must be
// kept then.
#pragma once

#include <functional>
#include <string>

#include "agent/engine/control/round_control.hpp"
#include "agent/engine/managed_host.hpp"
#include "agent/engine/messages.hpp"
#include "agent/engine/records/committer.hpp"
#include "agent/engine/records/journal.hpp"
#include "agent/engine/watches/watch_store.hpp"
#include "agent/engine/watches/watchers.hpp"
#include "base/values/redactor.hpp"
#include "recipe/recipe.hpp"

namespace agent::engine {

class Executor {
 public:
  struct Parts {
    ManagedHost& machine;
    base::SyncGroup& sync;
    Journal& journal;
    Committer& committer;
    WatchStore& watches;
    DueReactions& due;
    OnceStore& once;
    const base::Redactor& redactor;
    base::Interrupt& interrupt;
    states::Waits& waits;
    // Called between two attempts of a state: rests, and lets whatever waits go first. Says why the state is
    // not to be tried again, or "".
    std::function<std::string()> rest_between_attempts;
    bool wants_diffs = true;
  };
  explicit Executor(const Parts& parts) : parts_(parts), watchers_(parts.watches, parts.machine) {}

  struct Job {
    const recipe::Recipe& recipe;
    const recipe::State& state;
    std::size_t index = 0;
    const RunRound& place;
    std::int64_t version = 1;
    // What a killed run had begun to do in this state, if it had. A result that says nothing of it
    // (`begun_in` is empty) leaves it to the caller to report.
    const Journal::Entry* begun = nullptr;
    // What the plan must look like, for a saved plan; empty: anything.
    std::string_view expected_plan;
    std::string_view plan_salt{};  // that it was made with
    // Whether it runs, by what other states have done; null: it does.
    Gate* gate = nullptr;
    // The recipe in force while something besides it runs: its states watch what is written, too.
    const recipe::Recipe* in_force = nullptr;
  };
  StateResult execute(const Job& job);

 private:
  struct Attempt;
  void run(Attempt& attempt);
  void apply(Attempt& attempt, const states::Plan& plan);
  bool is_cut_short(const states::Plan& plan);
  base::Result<void> note_watches(Attempt& attempt, const states::Plan& plan);
  std::optional<Outcome> pass_by(const Job& job, StateResult& result, bool can_resume);
  base::Result<void> remember_reacted(Attempt& attempt, WatchState& watch);
  base::Result<void> remember_success(const Job& job, const StateResult& result, const WatchState& watch);

  Parts parts_;
  Watchers watchers_;
};

}  // namespace agent::engine
