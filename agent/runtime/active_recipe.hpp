// ActiveRecipe: the recipe in force. The one owner of its version, its status and its waits: the daemon and
// the connection ask it, and do what it returns.
//
// Who has a copy, and of what:
//  * The worker is told by commands what to run, under which version, and which waits are done. It works by
//    that also when nobody is connected, and answers by events. Events of a recipe may arrive when another is
//    in force, or when its version has moved; run_id tells which recipe they belong to.
//  * protocol::AgentSession is told version, digest and open waits (in_force()) whenever they change.
//  * The state folder has `recipe` and `waits`. Nobody else reads or writes these two files.
//
// One thread: the loop's. It writes small files and otherwise does not block. A recipe that cannot be stored
// is not taken; a version or a wait that cannot be stored holds until the next restart, and is a problem for
// the log.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/runtime/progress.hpp"
#include "agent/runtime/recipe_store.hpp"
#include "agent/runtime/wait_store.hpp"
#include "protocol/agent_session.hpp"
#include "states/registry.hpp"

namespace agent::runtime {

using Problems = std::vector<std::string>;

// What is to be done about what has happened, in this order: the statuses are in the spool before the worker
// has the command, because it reports by itself from then on.
struct RecipeDecision {
  Problems problems;  // for the log
  std::vector<protocol::RecipeStatus> statuses;
  std::optional<engine::Command> command;  // for the worker
};

class ActiveRecipe {
 public:
  ActiveRecipe(const std::string& state_dir, states::Registry registry);

  // ---- what happens

  // The agent starts: with the stored recipe, if there is one. Problems and no command: there is one, and it
  // cannot be used.
  RecipeDecision start();
  // The backend sends a recipe: it is checked, stored, and in force. Without a command it was rejected, and
  // the one before stays.
  RecipeDecision take(const protocol::RecipeMetadata& metadata);
  // The same states go on under another version. Nothing happens without a recipe.
  RecipeDecision move_version(const protocol::at_agent::MoveVersion& move);
  // The backend says that a wait state is done.
  RecipeDecision wait_done(std::int64_t version, const std::string& state_id);
  // The worker says something. What is returned is for the spool.
  std::vector<protocol::RecipeStatus> on_worker_event(const engine::Event& event, Progress::Instant now);

  // ---- what is

  // What the session is told; version 0 when there is nothing that the worker could run.
  protocol::at_agent::RecipeInForce in_force() const;
  // The stored one, also when it cannot be used.
  const std::optional<StoredRecipe>& current() const { return current_; }
  std::size_t states() const { return recipe_ ? recipe_->states().size() : 0; }
  const Progress& progress() const { return progress_; }

  // A recipe that is only to be planned, or a single state; not kept.
  std::variant<std::shared_ptr<const recipe::Recipe>, Problems> load(const std::string& name,
                                                                     const std::string& states) const;

 private:
  StoredRecipe to_stored(const protocol::RecipeMetadata& metadata) const;
  engine::RunRecipe to_command(std::string run_id) const;
  std::vector<protocol::at_agent::OpenWait> open_waits() const;

  const states::Registry registry_;
  const RecipeStore store_;
  WaitStore waits_;
  std::optional<StoredRecipe> current_;           // with the version
  std::shared_ptr<const recipe::Recipe> recipe_;  // current_, checked; null: it cannot be used
  Progress progress_;
};

}  // namespace agent::runtime
