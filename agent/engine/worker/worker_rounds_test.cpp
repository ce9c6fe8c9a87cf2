// Versions, stops and plans: what commands do to a worker that is busy with something else.
#include <fstream>

#include <doctest/doctest.h>

#include "agent/engine/execution/planner.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent;
using namespace agent::engine;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
using Bench = tests::WorkerBench;

constexpr auto kOneFile = "states: [{ id: a, module: linux.file, parameter: { path: /dir/a, content: A } }]";
constexpr auto kWait = "states: [{ id: w, module: meta.wait }]";

std::vector<PlannedState> plan(const Bench& bench, const std::string& yaml, const states::Host& host) {
  const auto loaded = recipe::load_text("test.yaml", yaml, tests::engine_registry());
  REQUIRE(loaded.recipe);
  base::NoInterrupt never;
  return plan_recipe(*loaded.recipe, host, base::Redactor(), never,
                     {.salt = "salt", .state_dir = bench.state_path("")})
      .states;
}

}  // namespace

TEST_CASE("a wait hears what is said of the version that its recipe has moved to") {
  Bench bench(true);
  bench.run(kWait, 3);
  REQUIRE(bench.next<RoundStarted>());
  bench.send(MoveVersion{7});
  bench.send(WaitDone{7, "w"});
  const auto result = bench.next<StateResult>(5s);
  REQUIRE(result);
  CHECK(is_success(result->outcome));
  CHECK(result->version == 7);
}

TEST_CASE("a version that was moved to belongs to the recipe it was said of, not to the next one") {
  Bench bench;
  bench.settings().round_delay = 1h;
  bench.run(kOneFile, 1);
  REQUIRE(bench.next<RoundEnd>());
  bench.send(MoveVersion{7});
  SUBCASE("the recipe again under that version is a no-op") {
    bench.run(kOneFile, 7);
    CHECK_FALSE(bench.next<RoundStarted>(100ms));
  }
  SUBCASE("a new recipe keeps its own") {
    bench.run(kOneFile, 8);
    const auto end = bench.next<RoundEnd>();
    REQUIRE(end);
    CHECK(end->version == 8);
  }
}

TEST_CASE("a version that moves before there is a recipe changes nothing") {
  Bench bench;
  bench.start();
  bench.send(MoveVersion{7});
  bench.run(kOneFile, 7);
  CHECK(bench.next<RoundEnd>(5s));
}

TEST_CASE("the time limit of a wait is that of its state") {
  Bench bench(true);
  bench.run("states: [{ id: w, module: meta.wait, timeout: 1 }]");
  const auto result = bench.next<StateResult>(5s);
  REQUIRE(result);
  CHECK(result->outcome == Outcome::timed_out);
}

TEST_CASE("a stop at the end of the recipe does not start another round when the last one is over") {
  Bench bench;
  bench.settings().round_delay = 1h;
  bench.run(kOneFile);
  REQUIRE(bench.next<RoundEnd>());
  fs::remove(bench.path("/dir/a"));
  bench.send(Stop{Stop::When::end});
  CHECK(bench.next<Stopped>(5s));
  CHECK_FALSE(fs::exists(bench.path("/dir/a")));  // another round would have made it again
}

TEST_CASE("a plan is answered while a recipe runs, whatever its version, and does not stop it") {
  Bench bench;
  bench.run(kOneFile, 1);
  REQUIRE(bench.next<RoundEnd>());
  const auto loaded = recipe::load_text("t.yaml", kOneFile, tests::engine_registry());
  bench.send(PlanRecipe{.recipe = loaded.recipe, .version = 1});
  const auto planned = bench.next<PlanResult>(5s);
  REQUIRE(planned);
  CHECK(planned->states.size() == 1);
  CHECK(bench.next<RoundEnd>(5s));
}

TEST_CASE("a saved plan is not applied where a condition has become true or false since") {
  Bench bench;
  const std::string yaml =
      "states: [{ id: a, module: linux.file, parameter: { path: /dir/a }, when: { path_exists: /dir/x } }]";
  bool held = false;
  SUBCASE("true then, false now") {
    held = true;
  }
  SUBCASE("false then, true now") {
    held = false;
  }
  if (held) std::ofstream(bench.path("/dir/x")) << "";
  bench.settings().expected_plans = {plan(bench, yaml, bench.settings().host)[0].fingerprint};
  if (held)
    fs::remove(bench.path("/dir/x"));
  else
    std::ofstream(bench.path("/dir/x")) << "";
  const auto results = bench.apply(yaml);
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::failed);
  CHECK(results[0].comment.find("Plan again.") != std::string::npos);
  CHECK_FALSE(fs::exists(bench.path("/dir/a")));
}

TEST_CASE("a saved plan does not overwrite or remove what was edited after it was made") {
  Bench bench;
  std::string before = "old 1\n";
  std::string after = "old 2\n";  // as long as before
  std::string parameter = "content: new";
  std::string more;
  mode_t mode = 0644;
  SUBCASE("of a file that not everybody may read, of which no diff is made") {
    mode = 0600;
  }
  SUBCASE("beyond what a diff shows") {
    for (int line = 0; line < 1000; ++line)
      before += std::to_string(line) + "\n";
    after = before;
    before += "1\n";
    after += "2\n";
  }
  SUBCASE("of a sensitive state") {
    more = ", sensitive: true";
  }
  SUBCASE("by a plan to remove it") {
    parameter = "absent: true";
  }
  SUBCASE("by a plan to remove the folder that it is in") {
    parameter = "";
  }
  const auto write = [&](const std::string& text) {
    std::ofstream(bench.path("/dir/d/f")) << text;
    fs::permissions(bench.path("/dir/d/f"), static_cast<fs::perms>(mode));
  };
  const std::string yaml =
      parameter.empty() ? "states: [{ id: a, module: linux.dir, parameter: { path: /dir/d, absent: true } }]"
                        : "states: [{ id: a, module: linux.file, parameter: { path: /dir/d/f, " + parameter +
                              " }" + more + " }]";
  fs::create_directories(bench.path("/dir/d"));
  write(before);
  bench.settings().expected_plans = {plan(bench, yaml, bench.settings().host)[0].fingerprint};
  bench.settings().plan_salt = "salt";
  write(after);
  fs::last_write_time(bench.path("/dir/d/f"), fs::file_time_type::clock::now() + 1s);
  auto results = bench.apply(yaml);
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::failed);
  CHECK(results[0].comment.find("Plan again.") != std::string::npos);
  std::ifstream file(bench.path("/dir/d/f"));
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == after);
  bench.stop();
  bench.settings().expected_plans = {plan(bench, yaml, bench.settings().host)[0].fingerprint};
  results = bench.apply(yaml);
  REQUIRE(results.size() == 1);
  CHECK_MESSAGE(results[0].outcome == Outcome::changed, results[0].comment);
}

TEST_CASE("conditions below another root follow links as that root's own programs would") {
  Bench bench;
  fs::create_directories(bench.path("/dir/here"));
  fs::create_symlink("/etc", bench.path("/dir/out"));          // not that of the running system
  fs::create_symlink("/dir/here", bench.path("/dir/within"));  // absolute, as seen from the root
  const auto results = bench.apply(R"(
states:
  - { id: a, module: meta.comment, when: { path_exists: /dir/out/passwd } }
  - { id: b, module: meta.comment, when: { path_absent: /dir/out/passwd } }
  - { id: c, module: meta.comment, when: { path_exists: /dir/within } }
  - { id: d, module: meta.comment, when: { path_absent: /dir/within } }
)");
  REQUIRE(results.size() == 4);
  CHECK(results[0].outcome == Outcome::skipped);
  CHECK(results[1].outcome == Outcome::kept);
  CHECK(results[2].outcome == Outcome::kept);
  CHECK(results[3].outcome == Outcome::skipped);
}

TEST_CASE("a condition that an earlier state may yet decide is unknown in a plan, not false") {
  Bench bench;
  bench.use_running_system();
  const auto planned = plan(bench, R"(
states:
  - { id: make, module: linux.cmd, parameter: { cmd: "true" } }
  - { id: a, module: linux.file, parameter: { path: /tmp/opsagent-a }, when: { path_exists: /nowhere/at/all } }
  - { id: b, module: linux.file, parameter: { path: /tmp/opsagent-b }, when: { path_exists: /nowhere, os: plan9 } }
)",
                            bench.settings().host);
  REQUIRE(planned.size() == 3);
  CHECK(planned[1].verdict == states::Verdict::unknown);
  CHECK(planned[1].depends_on == "make");
  CHECK(planned[1].fingerprint.empty());
  CHECK(planned[2].skipped);
}

TEST_CASE("the same recipe with other modules waits for the end of the round, or for a wait") {
  Bench bench(true);
  bench.settings().round_delay = 1h;
  bench.use_running_system();
  const tests::ScratchFolder scratch;
  const std::string text = "states: [{ id: slow, module: linux.cmd, parameter: { cmd: 'until [ -e " +
                           (scratch / "go") + " ]; do sleep 0.02; done' } }, { id: w, module: meta.wait }]";
  const auto recipe_of = [](const std::string& yaml) {
    return recipe::load_text("test", yaml, tests::engine_registry()).recipe;
  };
  bench.run(text, 3);
  REQUIRE(bench.next<RoundStarted>());
  const RunRecipe later{.recipe = recipe_of(text),
                        .version = 3,
                        .run_id = "later",
                        .replaces_same_version = true,
                        .after_round = true};
  const auto has_begun_to_wait = [&] {
    auto started = bench.next<StateStarted>(5s);
    while (started && started->id != "w")
      started = bench.next<StateStarted>(5s);
    return started.has_value();
  };
  // The round of the old modules ends at the wait, which is neither done nor failed.
  const auto ends_at_the_wait = [&] {
    const auto end = bench.next<RoundEnd>(5s);
    REQUIRE(end);
    CHECK(end->run_id != "later");
    CHECK(end->not_reached == 1);
    for (const Outcome outcome : {Outcome::failed, Outcome::cancelled, Outcome::timed_out})
      CHECK(end->counts[static_cast<std::size_t>(outcome)] == 0);
    const auto started = bench.next<RoundStarted>(5s);  // at once, and not after the pause
    REQUIRE(started);
    CHECK(started->run_id == "later");
    CHECK(started->first == 0);
  };
  const auto goes_on = [&] {
    REQUIRE(has_begun_to_wait());
    bench.send(WaitDone{3, "w"});
    const auto end = bench.next<RoundEnd>(5s);
    REQUIRE(end);
    CHECK(end->run_id == "later");
    CHECK(end->not_reached == 0);
    CHECK(end->counts[static_cast<std::size_t>(Outcome::changed)] == 2);
  };
  SUBCASE("what is under way comes to its end") {
    bench.send(later);
    CHECK_FALSE(bench.next<RoundEnd>(200ms));
    scratch.write("go", "");
    ends_at_the_wait();
    goes_on();
  }
  SUBCASE("a wait that is under way begins anew with them") {
    scratch.write("go", "");
    REQUIRE(has_begun_to_wait());
    bench.send(later);
    ends_at_the_wait();
    goes_on();
  }
  SUBCASE("a wait that is done comes first") {
    scratch.write("go", "");
    REQUIRE(has_begun_to_wait());
    RunRecipe knows = later;
    knows.done_waits = {"w"};
    bench.worker().commands().push_all({Command(WaitDone{3, "w"}), Command(knows)});
    const auto end = bench.next<RoundEnd>(5s);
    REQUIRE(end);
    CHECK(end->run_id != "later");
    CHECK(end->not_reached == 0);
  }
  SUBCASE("when it replaces a recipe that does not wait, it does not wait either") {
    RunRecipe now = later;
    now.run_id = "now";
    now.version = 4;
    now.after_round = false;
    scratch.write("go", "");
    // Both at once: the worker sees the second before it could take up the first.
    bench.worker().commands().push_all({Command(now), Command(later)});
    const auto started = bench.next<RoundStarted>(5s);
    REQUIRE(started);
    CHECK(started->run_id == "later");
  }
}
