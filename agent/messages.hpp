// What goes into the states worker and what comes out of it. Values only: the two sides share nothing else.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/process.hpp"
#include "recipe/recipe.hpp"
#include "states/plan.hpp"

namespace agent {

// How the execution of a state ended.
enum class Outcome { kept, changed, failed, skipped, cancelled, timed_out };
inline constexpr std::size_t kOutcomes = 6;
std::string_view outcome_name(Outcome outcome);
// True for those that let the round go on.
bool is_success(Outcome outcome);

std::string_view verdict_name(states::Verdict verdict);

// ---- commands: into the worker

enum class Mode { apply, plan };
enum class OnChange { finish, kill };  // what a new recipe does to the state that is running

struct RunRecipe {
  std::shared_ptr<const recipe::Recipe> recipe;
  std::int64_t version = 1;
  Mode mode = Mode::apply;
  OnChange on_change = OnChange::finish;
  // Start with the state that was under way when the agent was killed, instead of with the first.
  bool resume = true;
};
// The same states go on under another version number.
struct MoveVersion {
  std::int64_t version = 1;
};
// A wait state's conditions have come true.
struct WaitDone {
  std::int64_t version = 1;
  std::string state_id;
};
struct Stop {
  enum class When {
    now,   // cancel the state that is running
    wait,  // let it finish
    end,   // let the recipe finish
  } when = When::wait;
};
using Command = std::variant<RunRecipe, MoveVersion, WaitDone, Stop>;

// ---- events: out of the worker

struct RoundStarted {
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
  std::string id;
  base::Stream stream = base::Stream::out;
  std::string data;
};

struct StateResult {
  std::string id;
  std::string module;
  std::int64_t version = 1;
  std::uint64_t round = 0;
  std::size_t index = 0;
  Outcome outcome = Outcome::kept;
  std::string comment;
  std::string output;
  std::vector<states::Change> changes;
  unsigned attempt = 1;
  bool resumed = false;  // the change was made by a run that was killed before it could say so
  std::optional<int> exit_code;
  std::chrono::system_clock::time_point started;
  std::chrono::microseconds duration{};
  std::chrono::microseconds cpu{};
  std::uint64_t max_rss_kb = 0;
  bool truncated = false;
};

struct RoundEnd {
  std::int64_t version = 1;
  std::uint64_t round = 0;
  std::size_t counts[kOutcomes] = {};  // by Outcome
  std::size_t not_reached = 0;         // states after the one that failed
  std::chrono::microseconds duration{};
  std::vector<std::string> drift;                 // changed though an earlier round had them right
  std::optional<std::chrono::milliseconds> next;  // when the next round starts; none when the worker stops
};

struct PlannedState {
  std::string id;
  std::string module;
  states::Verdict verdict = states::Verdict::kept;
  bool skipped = false;  // its `when` is false
  std::string message;
  std::vector<states::Change> changes;
  std::string depends_on;
  std::string fingerprint;  // of verdict and changes, for `apply PLAN`; empty when not asked for
};
struct PlanResult {
  std::int64_t version = 1;
  std::vector<PlannedState> states;
};

// Something that an operator should know and that is not a result: a file that cannot be written, a lock that
// is waited for.
struct Notice {
  enum class Level { info, warning } level = Level::warning;
  std::string text;
};

struct Stopped {};  // the last event

using Event =
    std::variant<RoundStarted, StateStarted, StateOutput, StateResult, RoundEnd, PlanResult, Notice, Stopped>;

}  // namespace agent
