// The recipe in force as tables: what happens, what is told, and what is in force then.
#include "agent/runtime/active_recipe.hpp"

#include <sstream>

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"
#include "tests/support/worker_bench.hpp"

namespace agent::runtime {

namespace {

struct Row {
  std::string happens;
  // Statuses in their order, " -> " and the command for the worker; "problem" when there is one.
  std::string told;
  // Version, and the waits that are open. Empty: there is no recipe.
  std::string in_force;
};
using Rows = std::vector<Row>;

// Understands:
//   take VERSION [unusable]     the backend sends a recipe with a wait state, "w"
//   move VERSION                ... a version without states
//   done VERSION                ... that the wait is done
//   started, kept, failed, cut  the worker says so of its first round
//   old kept, ...               ... of the recipe before
//   restart                     the process is another one
//   damage                      the file of the recipe cannot be read any more
//   unfit                       ... has a module that this agent does not know
//   no folder                   nothing can be stored any more
class RecipeBench {
 public:
  RecipeBench() { restart(); }

  std::string happen(const std::string& line) {
    std::istringstream words(line);
    std::string what, detail;
    std::int64_t version = 0;
    words >> what;
    if (what == "old") {
      words >> detail;
      return tell(active_->on_worker_event(event(detail, run_before_), {}));
    }
    words >> version >> detail;
    if (what == "take") return tell(take(version, detail == "unusable"));
    if (what == "move") return tell(active_->move_version({.version = version, .digest = "", .module = {}}));
    if (what == "done") return tell(active_->wait_done(version, "w"));
    if (what == "restart") return tell(restart());
    if (what == "damage") return scratch_.write("recipe", "{"), "";
    if (what == "unfit")
      return scratch_.write("recipe", R"({"version":9,"states":[{"id":"a","module":"x"}]})"), "";
    if (what == "no") return std::filesystem::remove_all(scratch_.path()), "";
    return tell(active_->on_worker_event(event(what, run_), {}));
  }

  std::string in_force() const {
    const protocol::at_agent::RecipeInForce now = active_->in_force();
    if (now.version == 0) return "";
    std::string text = std::to_string(now.version);
    for (const auto& wait : now.waits)
      text += " " + wait.id;
    return text;
  }

  void check(const Rows& rows) {
    for (const Row& row : rows) {
      CAPTURE(row.happens);
      CHECK(happen(row.happens) == row.told);
      CHECK(in_force() == row.in_force);
    }
  }

 private:
  RecipeDecision take(std::int64_t version, bool is_unusable) {
    protocol::RecipeMetadata metadata{.recipe_version = version};
    metadata.states = protocol::Json{is_unusable ? R"([{"id":"a","module":"unheard.of"}])"
                                                 : R"([{"id":"w","module":"meta.wait","parameter":{}}])"};
    return active_->take(metadata);
  }

  RecipeDecision restart() {
    active_.emplace(scratch_.path(), tests::engine_registry());
    return active_->start();
  }

  // Under version 0: the version that the worker names is that of the moment when it spoke.
  static engine::Event event(const std::string& what, const std::string& run_id) {
    if (what == "started") return engine::RoundStarted{.run_id = run_id, .version = 0, .round = 1};
    engine::RoundEnd end{.run_id = run_id, .version = 0, .round = 1};
    if (what == "kept") end.counts[static_cast<std::size_t>(engine::Outcome::kept)] = 1;
    if (what == "failed") end.counts[static_cast<std::size_t>(engine::Outcome::failed)] = 1;
    if (what == "cut") end.not_reached = 1;
    return end;
  }

  std::string tell(const RecipeDecision& decision) {
    std::string text = tell(decision.statuses);
    if (!decision.problems.empty()) text += text.empty() ? "problem" : ", problem";
    if (!decision.command) return text;
    if (!text.empty()) text += " ";
    if (const auto* run = std::get_if<engine::RunRecipe>(&*decision.command)) {
      run_before_ = std::exchange(run_, run->run_id);
      CHECK(!run_.empty());
      return text + "-> run " + std::to_string(run->version) + with(run->done_waits);
    }
    if (const auto* move = std::get_if<engine::MoveVersion>(&*decision.command))
      return text + "-> move " + std::to_string(move->version) + with(move->done_waits);
    const auto& done = std::get<engine::WaitDone>(*decision.command);
    return text + "-> done " + std::to_string(done.version) + " " + done.state_id;
  }

  static std::string with(const std::vector<std::string>& done_waits) {
    std::string text;
    for (const std::string& id : done_waits)
      text += ", done: " + id;
    return text;
  }

  static std::string tell(const std::vector<protocol::RecipeStatus>& statuses) {
    static constexpr const char* kNames[] = {"accepted",  "rejected", "running",
                                             "converged", "failed",   "superseded"};
    std::string text;
    for (const protocol::RecipeStatus& status : statuses) {
      text += (text.empty() ? "" : ", ") + std::string(kNames[static_cast<int>(status.status)]) + " " +
              std::to_string(status.recipe_version);
      CHECK(status.errors.empty() == (status.status != protocol::RecipeProgress::rejected));
    }
    return text;
  }

  const tests::ScratchFolder scratch_{tests::folder_in_memory()};
  std::optional<ActiveRecipe> active_;
  std::string run_, run_before_;
};

void check(const Rows& rows) {
  RecipeBench().check(rows);
}

}  // namespace

TEST_CASE("a recipe is accepted before the worker has it, and a result is told when it changes") {
  check({{"take 1", "accepted 1 -> run 1", "1 w"},
         {"started", "", "1 w"},
         {"cut", "", "1 w"},
         {"kept", "converged 1", "1 w"},
         {"kept", "", "1 w"},
         {"failed", "failed 1", "1 w"},
         {"failed", "", "1 w"},
         {"kept", "converged 1", "1 w"}});
}

TEST_CASE("what held for the old version holds for the one that it moves to, and no more than that") {
  check({{"take 1", "accepted 1 -> run 1", "1 w"},
         {"move 2", "-> move 2", "2 w"},  // before the worker has said anything
         {"started", "", "2 w"},
         {"move 3", "-> move 3", "3 w"},
         {"kept", "converged 3", "3 w"},
         {"move 4", "converged 4 -> move 4", "4 w"},
         {"failed", "failed 4", "4 w"},
         {"move 5", "failed 5 -> move 5", "5 w"},
         {"failed", "", "5 w"}});
}

TEST_CASE("a version that moves right after a new recipe was taken tells nothing of the recipe before") {
  check({{"take 1", "accepted 1 -> run 1", "1 w"},
         {"started", "", "1 w"},
         {"kept", "converged 1", "1 w"},
         {"take 2", "superseded 1, accepted 2 -> run 2", "2 w"},
         {"move 3", "-> move 3", "3 w"},
         {"started", "", "3 w"},
         {"kept", "converged 3", "3 w"}});
}

TEST_CASE("events of a recipe that was replaced are not told of the new one, also under the same version") {
  check({{"take 1", "accepted 1 -> run 1", "1 w"},
         {"take 2", "superseded 1, accepted 2 -> run 2", "2 w"},
         {"old started", "", "2 w"},
         {"old kept", "", "2 w"},
         {"move 3", "-> move 3", "3 w"},
         {"old failed", "", "3 w"},
         {"started", "", "3 w"},
         {"take 3", "accepted 3 -> run 3", "3 w"},
         {"old kept", "", "3 w"},
         {"started", "", "3 w"},
         {"kept", "converged 3", "3 w"}});
}

TEST_CASE("a recipe that cannot be used is rejected, and the one before goes on") {
  check({{"take 1 unusable", "rejected 1, problem", ""},
         {"take 2", "accepted 2 -> run 2", "2 w"},
         {"started", "", "2 w"},
         {"take 3 unusable", "rejected 3, problem", "2 w"},
         {"take 3 unusable", "rejected 3, problem", "2 w"},
         {"kept", "converged 2", "2 w"},
         {"restart", "-> run 2", "2 w"}});
}

TEST_CASE("a restart goes on with the stored recipe under its last version, and has told nothing yet") {
  check({{"restart", "", ""},
         {"move 1", "", ""},
         {"take 1", "accepted 1 -> run 1", "1 w"},
         {"restart", "-> run 1", "1 w"},
         {"old kept", "", "1 w"},
         {"move 2", "-> move 2", "2 w"},
         {"started", "", "2 w"},
         {"kept", "converged 2", "2 w"},
         {"restart", "-> run 2", "2 w"},
         {"move 3", "-> move 3", "3 w"},
         {"started", "", "3 w"},
         {"failed", "failed 3", "3 w"},
         {"restart", "-> run 3", "3 w"},
         {"take 4", "superseded 3, accepted 4 -> run 4", "4 w"}});
}

TEST_CASE("a stored recipe that cannot be used is a problem, and the backend is asked for it again") {
  check({{"take 1", "accepted 1 -> run 1", "1 w"},
         {"damage", "", "1 w"},
         {"restart", "problem", ""},
         {"take 1", "accepted 1 -> run 1", "1 w"},
         {"unfit", "", "1 w"},
         {"restart", "problem", ""},
         {"take 1", "superseded 9, accepted 1 -> run 1", "1 w"}});
}

TEST_CASE("a wait that is done is done for its version, across restarts, and the worker is told") {
  check({{"take 5", "accepted 5 -> run 5", "5 w"},
         {"done 5", "-> done 5 w", "5"},
         {"done 5", "-> done 5 w", "5"},
         {"restart", "-> run 5, done: w", "5"},
         {"move 6", "-> move 6", "6 w"},
         {"done 6", "-> done 6 w", "6"},
         {"restart", "-> run 6, done: w", "6"}});
}

TEST_CASE("a number that comes again, for another recipe, finds no wait done") {
  check({{"take 5", "accepted 5 -> run 5", "5 w"},
         {"done 5", "-> done 5 w", "5"},
         {"move 6", "-> move 6", "6 w"},
         {"done 6", "-> done 6 w", "6"},
         {"move 5", "-> move 5", "5 w"},
         {"done 5", "-> done 5 w", "5"},
         {"take 5", "accepted 5 -> run 5", "5 w"},
         {"restart", "-> run 5", "5 w"},
         {"done 5", "-> done 5 w", "5"},
         {"take 4", "superseded 5, accepted 4 -> run 4", "4 w"},
         {"take 5", "superseded 4, accepted 5 -> run 5", "5 w"},
         {"restart", "-> run 5", "5 w"}});
}

TEST_CASE("without a disk no recipe is taken; a version and a wait hold until the restart") {
  check({{"take 1", "accepted 1 -> run 1", "1 w"},
         {"no folder", "", "1 w"},
         {"take 2", "rejected 2, problem", "1 w"},
         {"move 3", "problem -> move 3", "3 w"},
         {"done 3", "problem -> done 3 w", "3"}});
}

TEST_CASE("a version moves with its digest and its module, and the digest is there after a restart") {
  const tests::ScratchFolder scratch;
  ActiveRecipe active(scratch.path(), tests::engine_registry());
  active.take({.recipe_version = 1, .states = protocol::Json{"[]"}, .digest = "d1"});
  active.move_version({.version = 2, .digest = "", .module = {}});
  CHECK(active.in_force().digest == "d1");
  active.move_version({.version = 3, .digest = "d3", .module = protocol::ModuleSource{.tag = "v3"}});
  ActiveRecipe again(scratch.path(), tests::engine_registry());
  again.start();
  CHECK(again.in_force() == protocol::at_agent::RecipeInForce{3, "d3", {}});
  CHECK(again.current()->module.tag == "v3");
}

}  // namespace agent::runtime
