// Plan and Applied: what a state would do, and what came of doing it. Values only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace states {

enum class Verdict {
  kept,     // already as asked
  change,   // with the list of changes
  fail,     // cannot work, and why
  unknown,  // depends on an earlier state of this recipe that has not happened yet
};

struct Change {
  std::string what;    // "content of /etc/motd", "mode of /etc/motd", "package nginx"
  std::string before;  // "" when there was nothing
  std::string after;
  std::string diff;  // unified, bounded; only for text
};

// What a later state of the same recipe could rely on once this plan is applied.
enum class EffectKind { file, directory, link, user, group, package, unit, anything };
struct Effect {
  EffectKind kind = EffectKind::anything;
  std::string name;     // path, or name; of `anything` the command that does it
  bool present = true;  // false: would be gone, with all that is below it
  // False: it may happen, or not; whatever depends on it is not known before.
  bool certain = true;
  bool attributes_only = false;          // owner and mode change, what is in it stays
  bool below = false;                    // of a directory: the attributes of all that is below it change, too
  std::optional<std::string> content{};  // of a file that later states add to
  std::string alias{};                   // of a user or group: a name's number, a number's name, by then
  std::string owner{};  // of a directory that is made: who owns and may enter it, if known …
  bool is_open = true;  // … and whether everybody may enter it
};

// A state type's own note of what to do, from its plan to its apply. Only the type that made it knows what is
// in it.
struct StepsBase {
  virtual ~StepsBase() = default;
};

struct Plan {
  Verdict verdict = Verdict::kept;
  std::string message;  // one line for people: "/etc/motd is as wanted", "User 'x' does not exist"
  std::vector<Change> changes;
  std::vector<Effect> effects;
  // Paths that applying this writes by way of a temporary beside them (TreeWriter); the next run removes the
  // temporary if the agent is killed on the way. Folders among the effects need not be listed.
  std::vector<std::string> written;
  // A hash, with Context::plan_salt, of what applying this would overwrite or remove, as far as `changes` do
  // not show it: so that a saved plan does not undo a later edit. Never shown.
  std::string mark;
  std::string depends_on;      // id of the state, for `unknown`
  bool fails_in_part = false;  // of `change`: the rest is done, and then the state has failed
  bool is_held_back = false;   // of `kept`: by a guard, which says nothing of what was done before
  // Of `change`, whether doing it counts as one: what a command has changed may be known only afterwards
  // (Applied::changed_nothing). A plan of a recipe calls that `unknown`, and `kept` what never counts.
  enum class Counts { always, by_outcome, never } counts = Counts::always;
  bool is_refresh = false;                 // all is as asked; what was looked up long ago is looked up again
  std::unique_ptr<const StepsBase> steps;  // for `change`; states/state.hpp puts them here

  static Plan kept(std::string message) { return {.verdict = Verdict::kept, .message = std::move(message)}; }
  static Plan fail(std::string message) { return {.verdict = Verdict::fail, .message = std::move(message)}; }
  static Plan fail(const base::Error& error) { return fail(error.message()); }
  static Plan unknown(std::string depends_on, std::string message) {
    return {.verdict = Verdict::unknown, .message = std::move(message), .depends_on = std::move(depends_on)};
  }
};

// For modules whose apply needs no more than the parameters.
struct NoSteps {};

// What a native module plans: a plan, and its own typed steps if the verdict is `change`.
template <class Steps>
struct PlanWith {
  PlanWith(Plan&& made) : plan(std::move(made)) {}
  PlanWith(Plan&& made, Steps&& wanted) : plan(std::move(made)), steps(std::move(wanted)) {}

  Plan plan;
  std::optional<Steps> steps;  // those of a plan that is kept are not even made
};

enum class AppliedEnd { done, failed, cancelled, timed_out };

struct Applied {
  AppliedEnd end = AppliedEnd::done;
  std::string comment;  // one or two lines; on failure the reason
  std::string output;   // what programs printed, or a diff
  // The parts of a state that watches files which have reacted, though the state may have failed for others.
  std::vector<std::string> reacted{};
  bool changed_nothing = false;  // of `done`: it was run, and the machine was as asked before

  bool ok() const { return end == AppliedEnd::done; }

  static Applied done(std::string comment, std::string output = {}) {
    return {AppliedEnd::done, std::move(comment), std::move(output)};
  }
  static Applied failed(std::string comment, std::string output = {}) {
    return {AppliedEnd::failed, std::move(comment), std::move(output)};
  }
  // Cancelled and timed out are told apart by the error's code.
  static Applied failed(const base::Error& error, std::string output = {}) {
    const AppliedEnd end = error.code() == base::ErrorCode::cancelled   ? AppliedEnd::cancelled
                           : error.code() == base::ErrorCode::timed_out ? AppliedEnd::timed_out
                                                                        : AppliedEnd::failed;
    return {end, error.message(), std::move(output)};
  }
};

}  // namespace states
