// Holds: no round begins; and rounds that begin at once.
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/worker_bench.hpp"

using namespace agent::engine;
using namespace std::chrono_literals;
using tests::WorkerBench;

namespace {

constexpr auto kQuiet = 200ms;  // ten rounds of the bench

std::string file_state(const std::string& content) {
  return "states:\n  - id: f\n    module: linux.file\n    parameter: {path: /f, content: \"" + content +
         "\"}\n";
}

}  // namespace

TEST_CASE("while it is held no round begins, also of a new recipe; then one begins at once") {
  WorkerBench bench;
  bench.settings().round_delay = 20ms;
  bench.run(file_state("one"));
  REQUIRE(bench.next<RoundEnd>());
  bench.send(SetHold{});
  while (bench.next<RoundEnd>(kQuiet)) {
  }
  bench.run(file_state("two"), 2);
  CHECK_FALSE(bench.next<RoundStarted>(kQuiet));
  bench.send(BeginRound{});
  CHECK_FALSE(bench.next<RoundStarted>(kQuiet));
  bench.send(SetHold{.on = false});
  const auto started = bench.next<RoundStarted>();
  REQUIRE(started);
  CHECK(started->version == 2);
  CHECK(bench.next<RoundEnd>());
}

TEST_CASE("a hold that was set before the recipe came keeps its first round from beginning") {
  WorkerBench bench;
  bench.start();
  bench.send(SetHold{});
  bench.run(file_state("one"));
  CHECK_FALSE(bench.next<RoundStarted>(kQuiet));
  bench.send(Stop{Stop::When::end});
  CHECK(bench.next<Stopped>());
}

TEST_CASE("the round under way comes to its end when the machine is held") {
  WorkerBench bench;
  bench.use_running_system();
  bench.run(
      "states:\n"
      "  - {id: a, module: linux.cmd, parameter: {cmd: sleep 0.3}}\n"
      "  - {id: b, module: linux.cmd, parameter: {cmd: \"true\"}}\n");
  REQUIRE(bench.next<StateStarted>());
  bench.send(SetHold{});
  const auto end = bench.next<RoundEnd>();
  REQUIRE(end);
  CHECK(end->not_reached == 0);
  CHECK_FALSE(bench.next<RoundStarted>(kQuiet));
}

TEST_CASE("a hold at once cancels the state that is running, and no later one is reached") {
  WorkerBench bench;
  bench.use_running_system();
  bench.run(
      "states:\n"
      "  - {id: a, module: linux.cmd, parameter: {cmd: sleep 30}}\n"
      "  - {id: b, module: linux.cmd, parameter: {cmd: \"true\"}}\n");
  REQUIRE(bench.next<StateStarted>());
  bench.send(SetHold{.on = true, .is_now = true});
  const auto result = bench.next<StateResult>();
  REQUIRE(result);
  CHECK(result->outcome == Outcome::cancelled);
  const auto end = bench.next<RoundEnd>();
  REQUIRE(end);
  CHECK(end->not_reached == 1);
  CHECK_FALSE(end->next);
  CHECK_FALSE(bench.next<RoundStarted>(kQuiet));
  bench.send(SetHold{.on = false});
  CHECK(bench.next<RoundStarted>());
}

TEST_CASE("a round that waits for another machine ends when this one is held, and waits anew afterwards") {
  WorkerBench bench(true);
  bench.run(
      "states:\n"
      "  - {id: w, module: meta.wait, parameter: {state: [\"db/x\"]}}\n"
      "  - {id: f, module: linux.file, parameter: {path: /f, content: x}}\n");
  const auto started = bench.next<StateStarted>();
  REQUIRE(started);
  bench.send(SetHold{});
  REQUIRE(bench.next<RoundEnd>());
  bench.send(WaitDone{.version = 1, .state_id = "w"});
  CHECK_FALSE(bench.next<RoundStarted>(kQuiet));
  CHECK_FALSE(std::filesystem::exists(bench.path("/f")));
  bench.send(SetHold{.on = false});
  const auto end = bench.next<RoundEnd>();
  REQUIRE(end);
  CHECK(end->not_reached == 0);
  CHECK(std::filesystem::exists(bench.path("/f")));
}

TEST_CASE("a round begins now instead of after its delay, also after a failure") {
  WorkerBench bench;
  bench.settings().round_delay = 1h;
  bench.settings().first_back_off = 1h;
  bench.settings().longest_back_off = 1h;
  bench.use_running_system();
  bench.run("states:\n  - {id: a, module: linux.cmd, parameter: {cmd: \"false\"}}\n");
  REQUIRE(bench.next<RoundEnd>());
  for (int i = 0; i < 3; ++i) {
    bench.send(BeginRound{});
    REQUIRE(bench.next<RoundEnd>());
  }
  CHECK_FALSE(bench.next<RoundStarted>(kQuiet));
}

TEST_CASE("what is asked for in the middle of a round follows it") {
  WorkerBench bench;
  bench.settings().round_delay = 1h;
  bench.use_running_system();
  bench.run("states:\n  - {id: a, module: linux.cmd, parameter: {cmd: sleep 0.3}}\n");
  REQUIRE(bench.next<StateStarted>());
  bench.send(BeginRound{});
  REQUIRE(bench.next<RoundEnd>());
  CHECK(bench.next<RoundEnd>());
  CHECK_FALSE(bench.next<RoundStarted>(kQuiet));
}
