// What goes into the states worker and what comes out of it. Values only: the two sides share nothing else.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/programs/process.hpp"
#include "recipe/recipe.hpp"
#include "states/plan.hpp"

namespace agent::engine {

// How the execution of a state ended.
enum class Outcome { kept, changed, failed, skipped, cancelled, timed_out };
inline constexpr std::size_t kOutcomes = 6;
std::string_view outcome_name(Outcome outcome);
// True for those that let the round go on.
bool is_success(Outcome outcome);

std::string_view verdict_name(states::Verdict verdict);

// Why a state was changed, or was to be.
enum class Cause {
  none,        // it was not
  new_recipe,  // it has not been as asked before
  drift,       // it has been, and was not any more
  trigger,     // a file that it watches has changed
  refresh,     // it is done again from time to time, whatever is there
};
std::string_view cause_name(Cause cause);  // "" for none

// ---- commands: into the worker

enum class OnChange { finish, kill };  // what a new recipe does to the state that is running

struct RunRecipe {
  std::shared_ptr<const recipe::Recipe> recipe;
  std::int64_t version = 1;
  // The events of this execution carry it. Empty: the worker makes one.
  std::string run_id = {};
  OnChange on_change = OnChange::finish;
  // Start with the state that was under way when the agent was killed, instead of with the first.
  bool resume = true;
  // The version that is running again is taken for a repetition and ignored, unless this is set.
  bool replaces_same_version = false;
  // The same recipe with other modules: the round under way comes to its end, or to a wait, before.
  bool after_round = false;
  // Between the rounds of this recipe; absent: what the worker was set to.
  std::optional<std::chrono::milliseconds> round_delay;
  // Wait states that are done under this version, as far as is known.
  std::vector<std::string> done_waits = {};
};
// The same states go on under another version number.
struct MoveVersion {
  std::int64_t version = 1;
  std::vector<std::string> done_waits = {};  // under this version, as far as is known
};
// A wait state's conditions have come true.
struct WaitDone {
  std::int64_t version = 1;
  std::string state_id;
};
// From now on, for recipes that do not say their own.
struct SetRoundDelay {
  std::chrono::milliseconds delay{};
};
// While it is on no round begins. The one under way comes to its end, or to a wait for other machines.
struct SetHold {
  bool on = true;
  bool is_now = false;  // the round under way ends, too: the state that is running is cancelled
};
// The next round begins now, or when the one under way is over.
struct BeginRound {};
// A recipe that is only looked at. Answered by PlanResult as soon as no state runs: between two states, in
// the pause between rounds, in the middle of a wait. It replaces nothing.
struct PlanRecipe {
  std::string request;  // the answer says which request it is for
  std::shared_ptr<const recipe::Recipe> recipe;
  std::int64_t version = 1;
};
// The one state of a recipe, once and outside the recipe that is running, when a plan could be answered too.
// Answered by a StateResult with this run_id and version 0.
struct RunState {
  std::string run_id;
  std::shared_ptr<const recipe::Recipe> recipe;
  bool is_cancelled = false;  // before it could start
};
// Ends such a run, or takes it back when it has not started.
struct CancelRun {
  std::string run_id;
};
struct Stop {
  enum class When {
    now,   // cancel the state that is running
    wait,  // let it finish
    end,   // let the recipe finish
  } when = When::wait;
  // Whoever starts next goes on with the state after the last one, instead of with the first.
  bool keeps_place = false;
};
using Command = std::variant<RunRecipe, MoveVersion, WaitDone, SetRoundDelay, SetHold, BeginRound, PlanRecipe,
                             RunState, CancelRun, Stop>;

// ---- events: out of the worker

// One round of one execution of a recipe.
struct RunRound {
  // Another one whenever a worker takes up a recipe, so it tells rounds apart across restarts. Short enough
  // that copies of it cost nothing.
  std::string run_id;
  std::uint64_t round = 0;  // from 1
  friend bool operator==(const RunRound&, const RunRound&) = default;
};
std::string new_run_id();

struct RoundStarted {
  std::string run_id;
  std::int64_t version = 1;
  std::uint64_t round = 0;  // from 1, per recipe
  std::size_t first = 0;    // index of the first state; not 0 when a killed run is continued
  std::size_t states = 0;   // how many the recipe has
};

struct StateStarted {  // only for states that are going to be changed, or that take long to plan
  std::string id;
  std::string module;
  std::size_t index = 0;
  std::string message;  // what is going to be done
};

// What a program prints, as it comes, redacted. May be dropped when nobody reads fast enough.
struct StateOutput {
  std::string run_id;
  std::string id;
  base::Stream stream = base::Stream::out;
  std::uint64_t offset = 0;  // of the first byte in the stream; a gap to the last piece was dropped
  std::string data;
};

struct StateResult {
  std::string id;
  std::string module;
  std::string run_id;
  std::int64_t version = 1;
  std::uint64_t round = 0;
  std::size_t index = 0;
  Outcome outcome = Outcome::kept;
  Cause cause = Cause::none;
  std::string comment;
  std::string output;
  std::vector<states::Change> changes;
  unsigned attempt = 1;
  bool resumed = false;  // the change was made by a run that was killed before it could say so
  // Where what is reported here was begun, if that was by a run that was killed.
  std::optional<RunRound> begun_in;
  std::optional<int> exit_code;
  std::chrono::system_clock::time_point started;
  std::chrono::microseconds duration{};
  std::chrono::microseconds cpu{};
  std::uint64_t max_rss_kb = 0;
  bool truncated = false;
  bool is_journalled = false;             // though nothing may have been changed in the end
  std::vector<std::string> written = {};  // files that were to be written, for the worker itself
  // Skipped, because a state that it requires has failed: this is no success.
  bool is_blocked = false;
  bool is_news = false;  // it has succeeded, which was not told before in this run
};

// Names the report of what was begun there: the same whichever run gets to report it.
std::string report_key(const RunRound& begun_in, std::size_t index);
// Where the journal has what this result reports.
RunRound journalled_in(const StateResult& result);

struct RoundEnd {
  std::string run_id;
  std::int64_t version = 1;
  std::uint64_t round = 0;
  std::size_t counts[kOutcomes] = {};  // by Outcome
  std::size_t not_reached = 0;         // states after the one that failed
  std::chrono::microseconds duration{};
  std::vector<std::string> drift;                 // changed, and that was the cause
  std::optional<std::chrono::milliseconds> next;  // when the next round starts; none when the worker stops
  // Why the round could not begin, and what to do: the lock or the journal cannot be had. Nothing was looked
  // at then, and there was no RoundStarted.
  std::string problem = {};
};

struct PlannedState {
  std::string id;
  std::string module;
  states::Verdict verdict = states::Verdict::kept;
  bool skipped = false;  // its `when` is false
  std::string message;
  std::vector<states::Change> changes;
  std::string depends_on;
  bool needs_root = false;  // it was planned by another user, who cannot do it as far as is known
  std::string fingerprint;  // of verdict and changes, for `apply PLAN`; empty when not asked for
};
struct PlanResult {
  std::string request;
  std::int64_t version = 1;
  bool by_root = true;  // false: what it says may need more rights than whoever made it has
  std::vector<PlannedState> states;
};

// Something that an operator should know and that is not a result: a file that cannot be written, a lock that
// is waited for.
struct Notice {
  enum class Level { info, warning } level = Level::warning;
  std::string text;
  // The round, or what is left of it, is held up by this until the next event of a round.
  enum class HoldsUp { no, for_a_while, for_long } holds_up = HoldsUp::no;
};

struct Stopped {};  // the last event

using Event =
    std::variant<RoundStarted, StateStarted, StateOutput, StateResult, RoundEnd, PlanResult, Notice, Stopped>;

// The result that this event is, if its state was not kept, or is in the journal; otherwise null. Any other
// kept state has written nothing, neither to the machine nor to the journal, so its report has no key.
const StateResult* as_worked(const Event& event);

// About how much memory an event holds.
std::size_t weight(const Event& event);

}  // namespace agent::engine
