// What the worker is asked besides its recipe.
#include <doctest/doctest.h>

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
