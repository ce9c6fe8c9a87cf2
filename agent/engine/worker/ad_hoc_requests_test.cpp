// What the worker is asked besides its recipe.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "agent/engine/records/journal.hpp"
#include "tests/support/worker_bench.hpp"

using namespace agent;
using namespace agent::engine;
using namespace std::chrono_literals;

namespace {

std::shared_ptr<const recipe::Recipe> load(const std::string& text) {
  return recipe::load_text("test", text, tests::engine_registry()).recipe;
}

std::string file(const std::string& id) {
  return "{\"id\":\"" + id + "\",\"module\":\"linux.file\",\"parameter\":{\"path\":\"/dir/" + id +
         "\",\"content\":\"x\"}}";
}

constexpr const char* kWait = R"([{"id":"w","module":"meta.wait","parameter":{"state":"db/ready"}}])";

}  // namespace

TEST_CASE("plans and single states are served in the middle of a wait, which goes on") {
  tests::WorkerBench bench(true);
  bench.run(kWait);
  REQUIRE(bench.next<StateStarted>());
  bench.send(PlanRecipe{.request = "p", .recipe = load("[" + file("a") + "]"), .version = 9});
  const auto plan = bench.next<PlanResult>();
  REQUIRE(plan);
  CHECK(plan->request == "p");
  CHECK(plan->states.front().verdict == states::Verdict::change);
  CHECK(!std::filesystem::exists(bench.path("/dir/a")));

  bench.send(RunState{.run_id = "r", .recipe = load("[" + file("a") + "]")});
  const auto result = bench.next<StateResult>();
  REQUIRE(result);
  CHECK(result->run_id == "r");
  CHECK(result->version == 0);
  CHECK(result->outcome == Outcome::changed);
  CHECK(std::filesystem::exists(bench.path("/dir/a")));

  bench.send(WaitDone{1, "w"});
  const auto waited = bench.next<StateResult>();
  REQUIRE(waited);
  CHECK(waited->id == "w");
  CHECK(waited->outcome == Outcome::changed);
}

TEST_CASE("a single state runs without any recipe") {
  tests::WorkerBench bench;
  bench.start();
  bench.send(RunState{.run_id = "r", .recipe = load("[" + file("a") + "]")});
  const auto result = bench.next<StateResult>();
  REQUIRE(result);
  CHECK(result->outcome == Outcome::changed);
}

TEST_CASE("a single state is cancelled by its name, and only it") {
  tests::WorkerBench bench;
  bench.use_running_system();
  bench.start();
  bench.send(
      RunState{.run_id = "r",
               .recipe = load(R"([{"id":"long","module":"linux.cmd","parameter":{"cmd":"sleep 60"}}])")});
  bench.send(
      RunState{.run_id = "s", .recipe = load(R"([{"id":"c","module":"meta.comment","parameter":{}}])")});
  REQUIRE(bench.next<StateStarted>());
  bench.send(CancelRun{"other"});
  CHECK(!bench.next<StateResult>(300ms));
  bench.send(CancelRun{"r"});
  const auto result = bench.next<StateResult>();
  REQUIRE(result);
  CHECK(result->outcome == Outcome::cancelled);
  CHECK(bench.next<StateResult>()->run_id == "s");
}

TEST_CASE("a plan is whole though a recipe waits that is to end what runs") {
  tests::WorkerBench bench;
  bench.use_running_system();
  bench.start();
  bench.send(
      RunState{.run_id = "r",
               .recipe = load(R"([{"id":"busy","module":"linux.cmd","parameter":{"cmd":"sleep 1"}}])")});
  const auto nothing = load(R"([{"id":"c","module":"meta.comment","parameter":{}}])");
  bench.send(RunRecipe{.recipe = nothing, .version = 2, .on_change = OnChange::kill});
  bench.send(PlanRecipe{.request = "p", .recipe = load("[" + file("a") + "," + file("b") + "]")});
  const auto plan = bench.next<PlanResult>();
  REQUIRE(plan);
  REQUIRE(plan->states.size() == 2);
  CHECK(plan->states[1].verdict == states::Verdict::change);
}

TEST_CASE("the delay between rounds may come with the recipe, or be set") {
  tests::WorkerBench bench;
  bench.settings().round_delay = 1h;
  bench.start();
  const auto recipe = load("[" + file("a") + "]");
  bench.send(RunRecipe{.recipe = recipe, .version = 1, .round_delay = 10ms});
  CHECK(bench.next<RoundEnd>()->next == 10ms);
  CHECK(bench.next<RoundEnd>());
  bench.send(SetRoundDelay{20ms});
  bench.send(RunRecipe{.recipe = recipe, .version = 2});
  while (const auto end = bench.next<RoundEnd>()) {
    if (end->version != 2) continue;
    CHECK(end->next == 20ms);
    break;
  }
}

TEST_CASE("the same version again is ignored unless it is meant") {
  tests::WorkerBench bench;
  bench.settings().round_delay = 1h;
  bench.run("[" + file("a") + "]");
  REQUIRE(bench.next<RoundEnd>());
  bench.send(RunRecipe{.recipe = load("[" + file("b") + "]"), .version = 1});
  CHECK(!bench.next<RoundEnd>(200ms));
  bench.send(RunRecipe{.recipe = load("[" + file("b") + "]"), .version = 1, .replaces_same_version = true});
  REQUIRE(bench.next<RoundEnd>());
  CHECK(std::filesystem::exists(bench.path("/dir/b")));
}

namespace {

// Takes everything, and knows nothing.
class AllTaken final : public ReportSink {
 public:
  base::Result<void> append(std::span<const Event> events) override {
    for (const Event& event : events)
      if (const auto* result = std::get_if<StateResult>(&event)) told.push_back(*result);
    return {};
  }
  bool knows(const std::string&) const override { return false; }
  std::vector<StateResult> told;
};

}  // namespace

TEST_CASE("single states leave nothing in the journal of a machine that has no recipe") {
  tests::WorkerBench bench;
  bench.settings().reports = std::make_shared<AllTaken>();
  bench.start();
  for (const char* id : {"a", "b", "c"}) {
    bench.send(RunState{.run_id = id, .recipe = load("[" + file(id) + "]")});
    REQUIRE(bench.next<StateResult>());
  }
  bench.stop();
  CHECK(std::filesystem::file_size(bench.state_path("run.journal")) == 0);
}

TEST_CASE("what a killed agent had begun for a single state is told, and tidied, by the next single state") {
  tests::WorkerBench bench;
  const auto reports = std::make_shared<AllTaken>();
  bench.settings().reports = reports;
  std::filesystem::create_directories(bench.state_path(""));
  const std::string scratch = "/dir/.opsagent-0123456789abcdef0123456789abcdef.tmp";
  std::ofstream(bench.path(scratch)) << "half";
  {
    auto journal = Journal::open(bench.state_path("run.journal"));
    REQUIRE(journal);
    REQUIRE((*journal)->begin({.digest = "other",
                               .root = bench.path(""),
                               .version = 0,
                               .begun_in = {.run_id = "killed", .round = 1},
                               .id = "k",
                               .module = "linux.file",
                               .scratch = {scratch}}));
  }
  bench.start();
  bench.send(RunState{.run_id = "r", .recipe = load("[" + file("a") + "]")});
  const auto first = bench.next<StateResult>();
  REQUIRE(first);
  CHECK(first->run_id == "killed");
  CHECK(first->outcome == Outcome::cancelled);
  const auto second = bench.next<StateResult>();
  REQUIRE(second);
  CHECK(second->run_id == "r");
  bench.stop();
  CHECK_FALSE(std::filesystem::exists(bench.path(scratch)));
  CHECK(std::filesystem::file_size(bench.state_path("run.journal")) == 0);
}
