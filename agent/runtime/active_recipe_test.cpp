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

RecipeTypes native() {
  return {.registry = {std::shared_ptr<void>(), &tests::engine_registry()},
          .source = {},
          .commit = {},
          .signer = {}};
}

// As native ones, with a repository's name on them.
RecipeTypes modules(const std::string& tag, const std::string& commit) {
  RecipeTypes types = native();
  types.source = {.repo = "https://git/m", .tag = tag, .commit = {}};
  types.commit = commit;
  return types;
}

base::Result<RecipeTypes> no_modules(const StoredRecipe&) {
  return base::Error(base::ErrorCode::not_found, "they are gone");
}

protocol::RecipeMetadata recipe_of(std::int64_t version, const char* tag) {
  protocol::RecipeMetadata metadata{.recipe_version = version};
  metadata.states = protocol::Json{R"([{"id":"w","module":"meta.wait","parameter":{}}])"};
  if (tag) metadata.module = protocol::ModuleSource{.repo = "https://git/m", .tag = tag, .commit = {}};
  return metadata;
}

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
    active_.emplace(scratch_.path(), native());
    return active_->start(no_modules);
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
  ActiveRecipe active(scratch.path(), native());
  active.take({.recipe_version = 1, .states = protocol::Json{"[]"}, .digest = "d1"});
  active.move_version({.version = 2, .digest = "", .module = {}});
  CHECK(active.in_force().digest == "d1");
  ActiveRecipe again(scratch.path(), native());
  again.start(no_modules);
  CHECK(again.in_force() == protocol::at_agent::RecipeInForce{2, "d1", {}});
}

TEST_CASE("a recipe waits for its modules while the one before goes on, and is taken when they are there") {
  const tests::ScratchFolder scratch;
  ActiveRecipe active(scratch.path(), native());
  active.take(recipe_of(1, nullptr));
  const RecipeDecision waits = active.take(recipe_of(2, "v1"));
  CHECK(!waits.command);
  CHECK(waits.statuses.empty());
  CHECK(active.in_force().version == 1);
  CHECK(active.in_force().another_waits);
  REQUIRE(active.wanted());
  CHECK(active.wanted()->tag == "v1");

  SUBCASE("they come") {
    CHECK(!active.modules_ready(modules("v0", "c0")).command);  // nobody asked for these
    const RecipeDecision taken = active.modules_ready(modules("v1", "c1"));
    REQUIRE(taken.command);
    const auto& run = std::get<engine::RunRecipe>(*taken.command);
    CHECK(run.version == 2);
    CHECK(!run.after_round);
    CHECK(active.in_force().version == 2);
    CHECK(!active.in_force().another_waits);
    CHECK(!active.wanted());
    CHECK(active.current()->module_commit == "c1");
    // Without a word about modules the last ones stay; so they do when only the version moves.
    CHECK(active.take(recipe_of(3, nullptr)).command);
    active.move_version({.version = 4, .digest = "", .module = {}});
    CHECK(active.types().commit == "c1");
    // Empty ones are none.
    protocol::RecipeMetadata none = recipe_of(5, nullptr);
    none.module = protocol::ModuleSource{};
    CHECK(active.take(none).command);
    CHECK(active.types().commit.empty());
  }
  SUBCASE("they cannot be fetched yet, and then they are refused: the status says so, once") {
    const recipe::ModuleSource source = *active.wanted();
    const auto now = std::chrono::system_clock::now();
    RecipeDecision told = active.modules_progress(source, "connecting", now);
    REQUIRE(told.statuses.size() == 1);
    CHECK(told.statuses[0].status == protocol::RecipeProgress::accepted);
    CHECK(told.statuses[0].progress == "fetching the modules 'v1': connecting");
    CHECK(active.modules_progress(source, "1 of 2", now + std::chrono::seconds(1)).statuses.empty());
    told = active.modules_failed(source, "cannot be reached", true);
    REQUIRE(told.statuses.size() == 1);
    CHECK(told.statuses[0].status == protocol::RecipeProgress::accepted);
    CHECK(told.statuses[0].errors == std::vector<std::string>{"cannot be reached"});
    CHECK(active.modules_failed(source, "cannot be reached", true).statuses.empty());
    told = active.modules_failed(source, "has moved", false);
    REQUIRE(told.statuses.size() == 1);
    CHECK(told.statuses[0].status == protocol::RecipeProgress::rejected);
    CHECK(active.in_force().version == 1);
    CHECK(active.wanted() == source);
  }
  SUBCASE("another recipe, or the one in force again, takes its place") {
    active.take(recipe_of(3, "v2"));
    CHECK(active.wanted()->tag == "v2");
    CHECK(!active.modules_ready(modules("v1", "c1")).command);
    CHECK(!active.take(recipe_of(1, nullptr)).command);
    CHECK(!active.wanted());
    CHECK(active.in_force().version == 1);
    CHECK(!active.in_force().another_waits);
  }
  SUBCASE("it does not fit them") {
    protocol::RecipeMetadata wrong = recipe_of(4, "v1");
    wrong.states = protocol::Json{R"([{"id":"a","module":"unheard.of"}])"};
    active.take(wrong);
    const RecipeDecision refused = active.modules_ready(modules("v1", "c1"));
    REQUIRE(refused.statuses.size() == 1);
    CHECK(refused.statuses[0].status == protocol::RecipeProgress::rejected);
    CHECK(active.in_force().version == 1);
    CHECK(!active.wanted());
  }
}

TEST_CASE("a version that moves to other modules is another recipe, of the same states") {
  const tests::ScratchFolder scratch;
  ActiveRecipe active(scratch.path(), native());
  active.take(recipe_of(1, "v1"));
  active.modules_ready(modules("v1", "c1"));
  const protocol::ModuleSource next{.repo = {}, .tag = "v2", .commit = {}};  // of the same repository
  CHECK(!active.move_version({.version = 2, .digest = "d2", .module = next}).command);
  CHECK(active.in_force().version == 1);
  const RecipeDecision taken = active.modules_ready(modules("v2", "c2"));
  REQUIRE(taken.command);
  CHECK(std::holds_alternative<engine::RunRecipe>(*taken.command));
  CHECK(active.in_force().version == 2);
  CHECK(active.in_force().digest == "d2");
}

TEST_CASE("a tag that has moved changes the modules after the round, and a restart uses what was in use") {
  const tests::ScratchFolder scratch;
  ActiveRecipe active(scratch.path(), native());
  protocol::RecipeMetadata kills = recipe_of(1, "main");
  kills.kill_on_change = true;
  active.take(kills);
  active.modules_ready(modules("main", "c1"));
  CHECK(!active.modules_ready(modules("main", "c1")).command);  // as before
  const RecipeDecision moved = active.modules_ready(modules("main", "c2"));
  REQUIRE(moved.command);
  CHECK(std::get<engine::RunRecipe>(*moved.command).after_round);
  CHECK(std::get<engine::RunRecipe>(*moved.command).on_change == engine::OnChange::finish);
  CHECK(moved.statuses.empty());
  CHECK(!active.modules_ready(modules("v9", "c9")).command);

  std::string opened;
  ActiveRecipe again(scratch.path(), native());
  const RecipeDecision started = again.start([&](const StoredRecipe& stored) {
    opened = stored.module_commit;
    return base::Result<RecipeTypes>(modules("main", stored.module_commit));
  });
  CHECK(opened == "c2");
  CHECK(started.command);
  CHECK(!again.wanted());

  // They are gone from the disk: nothing can run until they are there again.
  ActiveRecipe lost(scratch.path(), native());
  const RecipeDecision nothing = lost.start(no_modules);
  CHECK(!nothing.command);
  CHECK(nothing.problems == Problems{"they are gone"});
  CHECK(lost.in_force().version == 0);
  REQUIRE(lost.wanted());
  const RecipeDecision found = lost.modules_ready(modules("main", "c3"));
  REQUIRE(found.command);
  CHECK(!std::get<engine::RunRecipe>(*found.command).after_round);
  CHECK(lost.in_force().version == 1);
}

TEST_CASE("variables and tags are kept with their recipe, and are those of the same moment after a restart") {
  const tests::ScratchFolder scratch;
  protocol::RecipeMetadata first = recipe_of(1, nullptr);
  first.vars = protocol::Json{R"({"port":81})"};
  first.tags = {{"role", "web"}};
  {
    ActiveRecipe active(scratch.path(), native());
    CHECK(active.take(first).command);
    // The same states with other variables are another recipe.
    protocol::RecipeMetadata second = first;
    second.recipe_version = 2;
    second.vars = protocol::Json{R"({"port":82})"};
    CHECK(active.take(second).command);
    CHECK(active.current()->vars == R"({"port":82})");
    active.move_version({.version = 3, .digest = "", .module = {}});
  }
  ActiveRecipe again(scratch.path(), native());
  CHECK(again.start(no_modules).command);
  CHECK(again.current()->version == 3);
  CHECK(again.current()->vars == R"({"port":82})");
  CHECK(again.current()->tags == protocol::Tags{{"role", "web"}});
  const recipe::Inputs inputs = again.inputs_of(again.current()->vars, again.current()->tags);
  REQUIRE(inputs.vars.size() == 1);
  CHECK(inputs.vars[0].values == R"({"port":82})");
  CHECK(inputs.tags.at("role") == "web");
  // One that comes without any has none: those of before do not stay.
  CHECK(again.take(recipe_of(4, nullptr)).command);
  CHECK(again.current()->vars.empty());
  CHECK(again.current()->tags.empty());
}

TEST_CASE("a recipe in force is filled in again, and taken up after the round if it is another one then") {
  const tests::ScratchFolder scratch;
  ActiveRecipe active(scratch.path(), native());
  std::string facts = R"({"hostname":"a"})";
  active.set_machine([&](recipe::Inputs& inputs) { inputs.facts = facts; });
  protocol::RecipeMetadata metadata = recipe_of(1, nullptr);
  metadata.states = protocol::Json{
      R"([{"syntax":"yaml","content":"version: 2\nstates: [{ linux.file: { path: '/${{ facts.hostname }}' } }]\n","states":[]}])"};
  REQUIRE(active.take(metadata).command);
  CHECK(!active.fill_again().command);
  facts = R"({"hostname":"b"})";
  const RecipeDecision other = active.fill_again();
  REQUIRE(other.command);
  const auto& run = std::get<engine::RunRecipe>(*other.command);
  CHECK(run.after_round);
  CHECK(run.replaces_same_version);
  CHECK(run.recipe->states()[0].id == "linux.file /b");
  CHECK(!active.fill_again().command);
  // What cannot be filled in any more is said once, and the recipe goes on as it was.
  facts = "{}";
  const RecipeDecision broken = active.fill_again();
  CHECK(!broken.command);
  CHECK(broken.problems.size() == 1);
  CHECK(active.fill_again().problems.empty());
  facts = R"({"hostname":"b"})";
  CHECK(!active.fill_again().command);
}

TEST_CASE(
    "a recipe of version 1 is in force with its mistakes, also after a restart; one that is refused is "
    "told") {
  const tests::ScratchFolder scratch;
  protocol::RecipeMetadata metadata{.recipe_version = 3, .compat_v1 = true};
  metadata.states = protocol::Json{R"([{"id":"w","module":"meta.wait","parameter":{"state":["i-2/a"]}},
      {"id":"x","module":"unheard.of"},{"id":"w","module":"meta.wait","parameter":{"state":["i-2/b"]}}])"};
  {
    ActiveRecipe active(scratch.path(), native());
    const RecipeDecision taken = active.take(metadata);
    CHECK(taken.command);
    CHECK(taken.results.empty());
    CHECK(taken.problems.size() == 2);  // warnings, for the log
    const auto waits = active.in_force().waits;
    REQUIRE(waits.size() == 2);
    CHECK(waits[0].name() == "w");
    CHECK(waits[1].id == "w");
    CHECK(waits[1].name() == "w (2)");
    CHECK(waits[1].targets.front().state_id == "b");
    active.wait_done(3, "w");
    CHECK(active.in_force().waits.size() == 1);
  }
  ActiveRecipe again(scratch.path(), native());
  CHECK(again.start(no_modules).command);
  REQUIRE(again.in_force().waits.size() == 1);
  CHECK(again.in_force().waits[0].name() == "w (2)");

  metadata.recipe_version = 4;
  metadata.states = protocol::Json{R"([{"id":"a","module":"meta.comment"},{"id":"b"}])"};
  const RecipeDecision refused = again.take(metadata);
  CHECK_FALSE(refused.command);
  REQUIRE(refused.results.size() == 2);
  CHECK(refused.results[0].id == "a");
  CHECK_FALSE(refused.results[0].state_result);
  CHECK(refused.results[1].id == "b");
  CHECK(refused.results[1].recipe_version == 4);
  CHECK(refused.results[1].state_comment.find("a state needs a 'module'") != std::string::npos);
  CHECK(again.in_force().version == 3);
  // Of version 2 it is refused by a status alone.
  metadata.compat_v1 = false;
  CHECK(again.take(metadata).results.empty());
}

TEST_CASE(
    "native states of a version 1 recipe run without the repository that it names, until that is there") {
  const tests::ScratchFolder scratch;
  ActiveRecipe active(scratch.path(), native());
  protocol::RecipeMetadata metadata = recipe_of(5, "v1");
  metadata.compat_v1 = true;
  CHECK_FALSE(active.take(metadata).command);
  const recipe::ModuleSource source = *active.wanted();
  const RecipeDecision failed = active.modules_failed(source, "nobody answers", true);
  CHECK(failed.command);
  REQUIRE_FALSE(failed.problems.empty());
  CHECK(failed.problems.front().find("nobody answers") != std::string::npos);
  CHECK(active.in_force().version == 5);
  CHECK(active.wanted() == source);  // it goes on asking
  CHECK_FALSE(active.modules_failed(source, "nobody answers", true).command);
  CHECK(active.modules_ready(modules("v1", "c1")).command);
  CHECK_FALSE(active.wanted());
}

}  // namespace agent::runtime
