// Progress: what is happening to the recipe in force, from what was decided about it and from the worker's
// events. The one place that decides which RecipeStatus the backend is told, and when. A part of
// ActiveRecipe, which knows the version.
//
// Pure, and nothing fails. One thread: the loop's. Only status_at_start() is called by another, the
// committer's: "running" has its place in the spool before the first result, so it cannot wait for the loop.
//
// The rules:
//  * accepted is told first, before the worker has the recipe; superseded of the one before, before that.
//  * running is told when the first round starts, converged or failed when a round ends with another result
//    than the one before. A round that was stopped before its end, and has not failed, tells nothing.
//  * A round that cannot begin (the lock, the journal) has failed, with the reason among the errors. One that
//    waits for another run says so among the errors when that takes long. Both go with the next round.
//  * A version that moves tells nothing but what held for the old one: converged or failed. While a first
//    round is under way there is no such thing, and its end is told under the new version.
//  * Of a recipe that was replaced nothing more is decided, though its last events may come after that. Only
//    "running" may still follow "superseded": the worker may have begun before it had the new recipe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/engine/messages.hpp"
#include "protocol/messages.hpp"

namespace agent::runtime {

class Progress {
 public:
  using Instant = std::chrono::system_clock::time_point;
  using Status = protocol::RecipeStatus;

  struct LastRound {
    engine::RoundEnd end;
    Instant ended;
  };

  // The stored recipe goes on after a restart. Its events will carry `run_id`.
  void resume(std::string run_id);
  // Another recipe is in force from now on. `before`: the version of the one that it replaces.
  std::vector<Status> take(std::string run_id, std::int64_t version, std::optional<std::int64_t> before);
  // A recipe cannot be used; the one before stays in force.
  static Status reject(std::int64_t version, std::vector<std::string> errors);
  // What is wrong besides, without keeping the recipe from running: it is told with each status from now on.
  // `version`: of the recipe in force.
  std::vector<Status> set_errors(std::int64_t version, std::vector<std::string> errors);
  // The same states go on under another version.
  std::vector<Status> move_to(std::int64_t version);
  // The worker says something. `version`: of the recipe in force; none when nobody is told.
  std::vector<Status> on_worker_event(const engine::Event& event, Instant now,
                                      std::optional<std::int64_t> version);

  // What the start of a round tells, if it is the first. Any thread.
  static std::optional<Status> status_at_start(const engine::RoundStarted& started);

  const std::optional<protocol::RunningState>& running() const { return running_; }
  const std::optional<LastRound>& last_round() const { return last_round_; }
  std::optional<Instant> next_round() const { return next_round_; }
  // What keeps the round from beginning, or going on, right now; "" for nothing.
  const std::string& held_up_by() const { return held_up_by_; }

 private:
  std::vector<Status> tell(std::int64_t version, protocol::RecipeProgress progress,
                           const std::string& problem = {});

  std::string run_id_;          // of the recipe in force
  std::optional<Status> told_;  // of it, last
  std::vector<std::string> errors_;
  // What the worker does, whichever recipe that belongs to.
  std::optional<protocol::RunningState> running_;
  std::optional<LastRound> last_round_;
  std::optional<Instant> next_round_;
  std::string held_up_by_;
};

// "12 kept, 1 changed"
std::string counts_text(const engine::RoundEnd& end);

}  // namespace agent::runtime
