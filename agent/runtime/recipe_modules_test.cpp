// RecipeModules with a store of modules on disk, and repositories that nobody can reach.
#include "agent/runtime/recipe_modules.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>

#include <doctest/doctest.h>

#include "modules/fetch/tag_records.hpp"
#include "tests/support/scratch_folder.hpp"

namespace agent::runtime {

namespace {

constexpr const char* kCommit = "1111111111111111111111111111111111111111";
constexpr const char* kNatives = R"([{"id":"c","module":"meta.comment","parameter":{"comment":"x"}}])";

recipe::ModuleSource of_repository(const std::string& name, const std::string& tag) {
  return {.repo = "file:///nobody-has/" + name, .tag = tag, .commit = {}};
}

struct Bench {
  Bench() {
    ::mkdir(state.c_str(), 0700);
    ::mkdir((state + "/modules").c_str(), 0700);
    local = *modules::StateSources::open(settings);
    recipe.emplace(state, types_of(*local));
  }

  // Without modules: native states are all that such a repository serves.
  void fetched_before(const recipe::ModuleSource& source) {
    ::mkdir((state + "/modules/" + kCommit).c_str(), 0555);
    base::NoInterrupt none;
    auto store = ::modules::fetch::ModuleStore::open(state, none);
    REQUIRE(store);
    auto records = ::modules::fetch::TagRecords::load(store->records_path());
    REQUIRE(records);
    REQUIRE(records->store({.repository = source.repo, .tag = source.tag, .commit = kCommit, .signer = {}}));
  }
  // The recipe in force, whose modules are gone.
  void in_force(const recipe::ModuleSource& source) {
    StoredRecipe stored{.version = 1, .digest = {}, .states = kNatives};
    stored.module = source;
    stored.module_commit = "2222222222222222222222222222222222222222";
    REQUIRE(RecipeStore(state + "/recipe").store(stored));
    start();
    CHECK(recipe->start([&](const StoredRecipe& one) { return fetching->open(one); }).problems.size() == 1);
    fetching->recipe_changed();
  }
  // The recipe in force, with the modules that were fetched before.
  void runs_with(const recipe::ModuleSource& source) {
    fetched_before(source);
    StoredRecipe stored{.version = 1, .digest = {}, .states = kNatives};
    stored.module = source;
    stored.module_commit = kCommit;
    REQUIRE(RecipeStore(state + "/recipe").store(stored));
    start();
    REQUIRE(recipe->start([&](const StoredRecipe& one) { return fetching->open(one); }).problems.empty());
    fetching->recipe_changed();
  }
  // As whoever removes old ones would find it.
  bool is_in_use() const {
    const base::UniqueFd folder(
        ::open((state + "/modules/" + kCommit).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(folder);
    return ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0;
  }
  void start() {
    fetching = std::make_unique<RecipeModules>(
        RecipeModules::Parts{.executor = loop.get_executor(),
                             .settings = settings,
                             .local = local,
                             .recipe = *recipe,
                             .round_delay = std::chrono::seconds(1),
                             .log = [this](Level, const std::string& line) { logged.push_back(line); },
                             .carry_out =
                                 [this](RecipeDecision decision) {
                                   for (protocol::RecipeStatus& status : decision.statuses)
                                     told.push_back(std::move(status));
                                 }});
  }
  void take(std::int64_t version, const recipe::ModuleSource& source, const std::string& states) {
    protocol::RecipeMetadata metadata{.recipe_version = version};
    metadata.module = protocol::ModuleSource{.repo = source.repo, .tag = source.tag, .commit = {}};
    metadata.states = protocol::Json{states};
    CHECK_FALSE(recipe->take(metadata).command);
    fetching->recipe_changed();
  }
  template <class Condition>
  bool comes_true(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition() && std::chrono::steady_clock::now() < end) {
      loop.restart();
      loop.run_for(std::chrono::milliseconds(10));
    }
    return condition();
  }

  const tests::ScratchFolder scratch{tests::folder_in_memory()};
  const std::string state = scratch / "state";
  const modules::ModuleSettings settings{.folder = {},
                                         .winners = {},
                                         .agent_version = "1.0.0",
                                         .fetch = {.state_dir = state,
                                                   .program = "/nobody-has/opsagent-fetch",
                                                   .schemes = {"file"},
                                                   .moving_tags = {"main"}}};
  transport::asio::io_context loop;
  std::shared_ptr<const modules::StateSources> local;
  std::optional<ActiveRecipe> recipe;
  std::vector<protocol::RecipeStatus> told;
  std::vector<std::string> logged;
  std::unique_ptr<RecipeModules> fetching;
};

}  // namespace

TEST_CASE("the recipe in force still gets its modules when the one that came meanwhile is refused") {
  Bench bench;
  bench.fetched_before(of_repository("b", "v1"));
  bench.in_force(of_repository("a", "v1"));
  CHECK(bench.fetching->view().fetching == of_repository("a", "v1"));
  bench.take(2, of_repository("b", "v1"), R"([{"id":"x","module":"unheard.of","parameter":{}}])");
  CHECK(bench.fetching->view().fetching == of_repository("b", "v1"));
  CHECK(bench.comes_true([&] {
    return !bench.told.empty() && bench.told.back().recipe_version == 2 &&
           bench.told.back().status == protocol::RecipeProgress::rejected;
  }));
  CHECK(bench.fetching->view().fetching == of_repository("a", "v1"));
  // And it is tried, again and again.
  CHECK(bench.comes_true([&] { return bench.fetching->view().next_attempt.has_value(); }));
}

TEST_CASE("another recipe for modules that could not be fetched has them fetched at once") {
  Bench bench;
  bench.start();
  const auto is_told_of = [&](std::int64_t version) {
    return !bench.told.empty() && bench.told.back().recipe_version == version &&
           !bench.told.back().errors.empty();
  };
  bench.take(1, of_repository("a", "v1"), kNatives);
  CHECK(bench.comes_true([&] { return is_told_of(1); }));
  CHECK(bench.fetching->view().next_attempt.has_value());
  bench.take(2, of_repository("a", "v1"), kNatives);
  CHECK_FALSE(bench.fetching->view().next_attempt.has_value());
  CHECK(bench.comes_true([&] { return is_told_of(2); }));
  // The same once more is no news.
  CHECK(bench.fetching->view().next_attempt.has_value());
  bench.take(2, of_repository("a", "v1"), kNatives);
  CHECK(bench.fetching->view().next_attempt.has_value());
}

TEST_CASE("modules that no recipe uses any more are let go of") {
  Bench bench;
  bench.runs_with(of_repository("a", "v1"));
  CHECK(bench.is_in_use());
  protocol::RecipeMetadata natives{.recipe_version = 2};
  natives.module = protocol::ModuleSource{};
  natives.states = protocol::Json{kNatives};
  CHECK(bench.recipe->take(natives).command);
  bench.fetching->recipe_changed();
  CHECK(bench.comes_true([&] { return !bench.is_in_use(); }));
}

TEST_CASE("modules of a recipe that goes on under another version stay") {
  Bench bench;
  bench.runs_with(of_repository("a", "v1"));
  protocol::RecipeMetadata again{.recipe_version = 2};
  again.states = protocol::Json{kNatives};
  CHECK(bench.recipe->take(again).command);
  bench.fetching->recipe_changed();
  bench.loop.run_for(std::chrono::milliseconds(200));
  CHECK(bench.is_in_use());
}

TEST_CASE("a moving tag is asked about while the round waits for other machines, and not after that") {
  Bench bench;
  bench.runs_with(of_repository("a", "main"));
  const auto has_asked = [&] {
    return std::ranges::any_of(bench.logged, [](const std::string& line) {
      return line.find("were not brought up to date") != std::string::npos;
    });
  };
  const engine::StateStarted wait{.id = "w", .module = "meta.wait", .index = 0, .message = "Waits"};
  bench.fetching->on_worker_event(wait);
  bench.fetching->on_worker_event(engine::StateResult{.id = "w", .module = "meta.wait"});
  bench.loop.run_for(std::chrono::milliseconds(1500));
  CHECK_FALSE(has_asked());
  bench.fetching->on_worker_event(wait);
  CHECK(bench.comes_true(has_asked));
}

}  // namespace agent::runtime
