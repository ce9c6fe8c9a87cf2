// A state that is tried again: it sees what has come into being, and holds nobody up.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent::engine;
using namespace std::chrono_literals;
using Bench = tests::WorkerBench;

// Fails for as long as nobody makes /nowhere, which is for ever.
constexpr auto kStubborn =
    "states: [{ id: s, retries: 100, module: linux.symlink, parameter: { target: /nowhere/l, source: x } "
    "}]";

// Has been tried at least once. Nobody says when the first attempt has failed: half a second is a thousand
// times what it takes.
void wait_until_tried(Bench& bench) {
  bench.run(kStubborn);
  REQUIRE(bench.next<RoundStarted>());
  REQUIRE_FALSE(bench.next<StateResult>(500ms));
}

bool says(const StateResult& result, const char* text) {
  return result.comment.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a user who has come into being meanwhile is seen by the next attempt") {
  Bench bench;
  bench.settings().retry_delay = 20ms;
  std::filesystem::create_directories(bench.path("/etc"));
  std::ofstream(bench.path("/etc/passwd")) << "root:x:0:0::/root:/bin/sh\n";
  bench.run("states: [{ id: s, retries: 100, module: linux.file, parameter: { path: /dir/f, user: late } }]");
  REQUIRE(bench.next<RoundStarted>());
  const auto soon = std::chrono::steady_clock::now() + 60ms;
  while (std::chrono::steady_clock::now() < soon)
    if (bench.next<StateResult>(5ms)) FAIL("it did not try again");
  std::ofstream(bench.path("/etc/passwd"), std::ios::app)
      << "late:x:" << ::geteuid() << ":" << ::getegid() << "::/:/bin/sh\n";
  const auto result = bench.next<StateResult>(30s);
  REQUIRE(result);
  CHECK_MESSAGE(result->outcome == Outcome::changed, result->comment);
  CHECK(result->attempt > 1);
}

TEST_CASE("a new recipe does not wait for the attempts that are left") {
  Bench bench;
  bench.settings().retry_delay = 1s;
  wait_until_tried(bench);
  bench.run("states: [{ id: n, module: linux.file, parameter: { path: /dir/n } }]", 2);
  const auto given_up = bench.next<StateResult>(30s);
  REQUIRE(given_up);
  CHECK(given_up->outcome == Outcome::failed);
  CHECK_MESSAGE(says(*given_up, "a new recipe waits"), given_up->comment);
  CHECK_MESSAGE(says(*given_up, "of 101"), given_up->comment);
  const auto next = bench.next<StateResult>(30s);
  REQUIRE(next);
  CHECK(next->id == "n");
  CHECK(next->outcome == Outcome::changed);
}

TEST_CASE("a stop does not wait for the attempts that are left, and an update goes on at the same state") {
  Bench bench;
  bench.settings().retry_delay = 1s;
  wait_until_tried(bench);
  bench.send(Stop{.when = Stop::When::wait, .keeps_place = true});
  const auto given_up = bench.next<StateResult>(30s);
  REQUIRE(given_up);
  CHECK_MESSAGE(says(*given_up, "the agent stops"), given_up->comment);
  CHECK(bench.next<Stopped>(30s));
}

TEST_CASE("plans are answered between two attempts") {
  Bench bench;
  bench.settings().retry_delay = 1s;
  wait_until_tried(bench);
  const auto loaded = recipe::load_text("test", kStubborn, tests::engine_registry());
  bench.send(PlanRecipe{.request = "p", .recipe = loaded.recipe});
  const auto plan = bench.next<PlanResult>(30s);
  REQUIRE(plan);
  CHECK(plan->request == "p");
}

TEST_CASE("another run does not wait for the attempts that are left") {
  Bench bench;
  bench.settings().retry_delay = 1s;
  wait_until_tried(bench);
  WorkerSettings other = bench.settings();
  other.journal_name = "apply";
  Worker worker(other, std::make_shared<base::Redactor>());
  const auto loaded =
      recipe::load_text("test", "states: [{ id: o, module: linux.file, parameter: { path: /dir/o } }]",
                        tests::engine_registry());
  worker.commands().push(RunRecipe{.recipe = loaded.recipe});
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  bool has_run = false;
  while (auto event = worker.events().pop_until(deadline))
    if (const auto* result = std::get_if<StateResult>(&*event)) {
      has_run = result->outcome == Outcome::changed;
      break;
    }
  CHECK(has_run);
}

TEST_CASE("a command that fails is run less and less often, though what it says is new each time") {
  Bench bench;
  bench.use_running_system();
  bench.run("states: [{ id: s, module: linux.cmd, parameter: { cmd: 'date +%s.%N; exit 3' } }]");
  for (const auto pause : {10ms, 20ms, 40ms, 40ms}) {  // from the first to the longest
    const auto end = bench.next<RoundEnd>(30s);
    REQUIRE(end);
    CHECK(end->next == pause);
  }
}

TEST_CASE("a command that has made its own condition untrue is not tried again") {
  Bench bench;
  bench.use_running_system();
  bench.settings().round_delay = 1h;
  bench.settings().first_back_off = bench.settings().longest_back_off = 10ms;
  bench.run("states: [{ id: s, retries: 5, when: { path_absent: " + bench.path("/dir/made") +
            " }, module: linux.cmd, parameter: { cmd: 'echo x >> " + bench.path("/dir/made") +
            "; exit 1' } }]");
  const auto result = bench.next<StateResult>(30s);
  REQUIRE(result);
  CHECK(result->outcome == Outcome::failed);
  CHECK(result->attempt == 1);
  CHECK_MESSAGE(says(*result, "Not tried again after attempt 1 of 6: its condition does not hold any more"),
                result->comment);
  CHECK(std::filesystem::file_size(bench.path("/dir/made")) == 2);
  const auto next = bench.next<StateResult>(30s);
  REQUIRE(next);
  CHECK(next->outcome == Outcome::skipped);
}

TEST_CASE("a state that has changed nothing yet is skipped when its condition ends between two attempts") {
  Bench bench;
  bench.settings().retry_delay = 100ms;
  std::ofstream(bench.path("/dir/flag")) << "x";
  bench.run(
      "states: [{ id: s, retries: 100, when: { path_exists: /dir/flag }, module: linux.symlink, "
      "parameter: { target: /nowhere/l, source: x } }]");
  REQUIRE(bench.next<RoundStarted>());
  REQUIRE_FALSE(bench.next<StateResult>(200ms));
  std::filesystem::remove(bench.path("/dir/flag"));
  const auto result = bench.next<StateResult>(30s);
  REQUIRE(result);
  CHECK(result->outcome == Outcome::skipped);
  CHECK_MESSAGE(says(*result, "its condition does not hold any more. Before that it failed: "),
                result->comment);
  CHECK(result->changes.empty());
}
