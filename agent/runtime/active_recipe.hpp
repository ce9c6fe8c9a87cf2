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
#include <vector>

#include "agent/runtime/progress.hpp"
#include "agent/runtime/recipe_store.hpp"
#include "agent/runtime/wait_store.hpp"
#include "protocol/agent_session.hpp"
#include "states/registry.hpp"

namespace agent::runtime {

using Problems = std::vector<std::string>;

// The states that a recipe may name: with a source, those of its modules are among them.
struct RecipeTypes {
  std::shared_ptr<const states::Registry> registry;  // recipes that were read with it keep it
  recipe::ModuleSource source;                       // empty: no repository
  std::string commit;                                // that it stands for
  std::string signer;
};

// What is to be done about what has happened, in this order: the statuses are in the spool before the worker
// has the command, because it reports by itself from then on.
struct RecipeDecision {
  Problems problems;  // for the log
  std::vector<protocol::RecipeStatus> statuses;
  // Of states of a version 1 recipe that was refused: whoever sent it knows no other word for that.
  std::vector<protocol::StateLog> results = {};
  std::optional<engine::Command> command;  // for the worker
};

class ActiveRecipe {
 public:
  // `local`: without any repository.
  ActiveRecipe(const std::string& state_dir, RecipeTypes local);

  // What the machine adds to what the backend sends, each time that a recipe is read: facts and secrets.
  // None: nothing.
  using MachineInputs = std::function<void(recipe::Inputs& inputs)>;
  void set_machine(MachineInputs machine) { machine_ = std::move(machine); }

  // ---- what happens

  // The agent starts: with the stored recipe, if there is one. Problems and no command: there is one, and it
  // cannot be used. `open`: what the recipe was run with before.
  using Open = std::function<base::Result<RecipeTypes>(const StoredRecipe& recipe)>;
  RecipeDecision start(const Open& open);
  // The backend sends a recipe: it is checked, stored, and in force. Without a command the one before stays:
  // it was rejected, or it waits for its modules.
  RecipeDecision take(const protocol::RecipeMetadata& metadata);
  // The same states go on under another version. Nothing happens without a recipe.
  RecipeDecision move_version(const protocol::at_agent::MoveVersion& move);
  // The modules of a source are there: the recipe that waits for them is taken, or the one in force goes on
  // with them when its round is over, if they are others than before.
  RecipeDecision modules_ready(const RecipeTypes& types);
  // They are not. `may_pass`: it is worth waiting, as nobody said no.
  RecipeDecision modules_failed(const recipe::ModuleSource& source, const std::string& why, bool may_pass);
  // What is being done about them, for the recipe that waits.
  RecipeDecision modules_progress(const recipe::ModuleSource& source, const std::string& line,
                                  Progress::Instant now);
  // The machine's facts or secrets may have changed: the recipe in force, filled in with them. Something is
  // to be done only if that makes another recipe of it, or cannot be done any more; then it goes on as it
  // was.
  RecipeDecision fill_again();
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

  // Whose modules are needed: by the recipe that waits for them, or by the one in force, which cannot be used
  // without. modules_ready() or modules_failed() answers.
  std::optional<recipe::ModuleSource> wanted() const;
  // The recipe that waits for its modules.
  std::optional<std::int64_t> waiting_version() const;
  // The types of the recipe in force.
  const RecipeTypes& types() const { return types_; }
  // Where the modules of this recipe come from, of which a part may be left out.
  recipe::ModuleSource source_of(const protocol::RecipeMetadata& metadata) const;
  // With these modules, if they are at hand.
  const RecipeTypes* types_with(const recipe::ModuleSource& source) const;

  // A recipe that is only to be planned, or a single state; not kept.
  struct LoadedRecipe {
    std::shared_ptr<const recipe::Recipe> recipe;  // null when there is any problem
    Problems problems = {};
    Problems warnings = {};               // of a version 1 recipe, which is taken as far as it can be
    std::vector<std::string> named = {};  // with problems: the states that could be named
  };
  LoadedRecipe load(const std::string& name, const std::string& states) const {
    return load(name, states, types_);
  }
  static LoadedRecipe load(const std::string& name, const std::string& states, const RecipeTypes& types,
                           const recipe::Inputs& inputs = {});
  // With what the backend has sent for it.
  recipe::Inputs inputs_of(const std::string& vars, const protocol::Tags& tags, bool compat_v1 = false) const;

 private:
  struct Waiting {
    protocol::RecipeMetadata metadata;
    recipe::ModuleSource source;
    std::optional<protocol::RecipeStatus> told;
    Progress::Instant told_at;
  };

  // `source`: of the modules that it names, which are not all in `types` if they could not be fetched.
  RecipeDecision take_with(const protocol::RecipeMetadata& metadata, const RecipeTypes& types,
                           const recipe::ModuleSource& source);
  LoadedRecipe load_current(const RecipeTypes& types) const;
  RecipeDecision follow_modules(const RecipeTypes& types);
  RecipeDecision tell_waiting(protocol::RecipeStatus status);
  StoredRecipe to_stored(const protocol::RecipeMetadata& metadata) const;
  engine::RunRecipe to_command(std::string run_id) const;
  std::vector<protocol::at_agent::OpenWait> open_waits() const;

  const RecipeTypes local_;
  MachineInputs machine_;
  Problems fill_problems_;  // why the recipe in force cannot be filled in any more
  const RecipeStore store_;
  WaitStore waits_;
  std::optional<StoredRecipe> current_;           // with the version
  std::shared_ptr<const recipe::Recipe> recipe_;  // current_, checked; null: it cannot be used
  RecipeTypes types_;                             // with which it was read
  std::optional<Waiting> waiting_;
  Progress progress_;
};

}  // namespace agent::runtime
