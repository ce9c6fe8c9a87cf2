// Commands with guards in the engine: what counts as a change, what a killed run leaves, what a plan says.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "agent/engine/execution/planner.hpp"
#include "agent/engine/records/journal.hpp"
#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent::engine;
namespace fs = std::filesystem;

struct GuardBench : tests::WorkerBench {
  GuardBench() { use_running_system(); }
  std::string one_command(const std::string& parameters, const std::string& rest = "") {
    return "states: [{ id: c, module: linux.cmd, parameter: { " + parameters + " }" + rest + " }]";
  }
  StateResult only_result(const std::string& yaml, bool resume = false) {
    auto results = apply(yaml, resume);
    REQUIRE(results.size() == 1);
    return std::move(results[0]);
  }
  std::size_t in_journal() {
    auto journal = Journal::open(state_path("run.journal"));
    REQUIRE(journal);
    auto entries = (*journal)->unfinished();
    REQUIRE(entries);
    return entries->size();
  }
  // As a run leaves it that was killed in the middle of the command.
  void leave_begun_command(const std::string& yaml) {
    const auto loaded = recipe::load_text("test.yaml", yaml, tests::engine_registry());
    REQUIRE(loaded.recipe);
    fs::create_directories(state_path(""));
    auto journal = Journal::open(state_path("run.journal"));
    REQUIRE(journal);
    REQUIRE((*journal)->begin({.digest = loaded.recipe->digest(),
                               .id = "c",
                               .module = "linux.cmd",
                               .changes = {{.what = "command", .before = "not done", .after = "make it"}}}));
  }
  PlannedState planned(const std::string& yaml) {
    const auto loaded = recipe::load_text("test.yaml", yaml, tests::engine_registry());
    REQUIRE(loaded.recipe);
    base::Redactor redactor;
    base::NoInterrupt interrupt;
    PlanResult result = plan_recipe(*loaded.recipe, settings().host, redactor, interrupt,
                                    {.salt = "salt", .state_dir = settings().state_dir}, {});
    REQUIRE(result.states.size() == 1);
    return std::move(result.states[0]);
  }
};

}  // namespace

TEST_CASE("a command that changed nothing is kept, and leaves nothing in the journal") {
  GuardBench bench;
  const std::string yaml = bench.one_command("cmd: echo ran, changed_when: never");
  const StateResult result = bench.only_result(yaml);
  CHECK(result.outcome == Outcome::kept);
  CHECK(result.cause == Cause::none);
  CHECK(result.changes.empty());
  CHECK(result.output == "ran\n");
  CHECK(result.is_journalled);
  CHECK(bench.in_journal() == 0);
  CHECK(bench.only_result(bench.one_command("cmd: exit 2, changed_when: 2")).outcome == Outcome::changed);
  CHECK(bench.only_result(bench.one_command("cmd: exit 0, changed_when: 2")).outcome == Outcome::kept);
}

TEST_CASE("a plan calls unknown what may change nothing, and kept what never counts") {
  GuardBench bench;
  const std::string file = bench.path("/dir/ran");
  PlannedState planned = bench.planned(bench.one_command("cmd: touch " + file + ", changed_when: 2"));
  CHECK(planned.verdict == states::Verdict::unknown);
  CHECK(planned.changes.size() == 1);
  planned = bench.planned(bench.one_command("cmd: touch " + file + ", changed_when: never"));
  CHECK(planned.verdict == states::Verdict::kept);
  CHECK(planned.changes.empty());
  // Both fit what a run of the saved plan finds.
  CHECK(planned.fingerprint.starts_with("change"));
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("guards of a command write nothing while a recipe is planned") {
  GuardBench bench;
  const std::string file = bench.path("/dir/written");
  const auto planned = bench.planned(bench.one_command("cmd: 'true', unless: touch " + file));
  CHECK(planned.verdict == states::Verdict::change);
  const auto unasked =
      bench.planned(bench.one_command("cmd: 'true', unless: touch " + file + ", guard_view: all"));
  CHECK(unasked.verdict == states::Verdict::unknown);
  CHECK_FALSE(fs::exists(file));
}

TEST_CASE("what a killed run had done is seen by its guard, whatever its condition says by now") {
  GuardBench bench;
  const std::string made = bench.path("/dir/made");
  // It has made untrue what it was to be run for.
  const std::string yaml = bench.one_command("cmd: echo twice >> " + made + ", unless: test -e " + made,
                                             ", when: { path_absent: " + made + " }");
  std::ofstream(made) << "once\n";
  bench.leave_begun_command(yaml);
  const StateResult result = bench.only_result(yaml, true);
  CHECK(result.outcome == Outcome::changed);
  CHECK(result.resumed);
  REQUIRE(result.changes.size() == 1);
  std::string text;
  std::getline(std::ifstream(made), text, '\0');
  CHECK(text == "once\n");
  CHECK(bench.in_journal() == 0);
}

TEST_CASE("a condition that holds a command back says nothing of what a killed run had begun") {
  GuardBench bench;
  const std::string yaml =
      bench.one_command("cmd: 'true', creates: " + bench.path("/dir/made") + ", only_if: 'false'");
  bench.leave_begun_command(yaml);
  const StateResult result = bench.only_result(yaml, true);
  CHECK(result.outcome == Outcome::kept);
  CHECK_FALSE(result.resumed);
  CHECK_FALSE(result.begun_in);
}

TEST_CASE("a command that is cut short is done again when its guard still asks for it") {
  GuardBench bench;
  const std::string made = bench.path("/dir/made");
  const std::string yaml =
      bench.one_command("cmd: touch " + made + ", creates: " + made, ", when: { path_exists: " + made + " }");
  bench.leave_begun_command(yaml);
  const StateResult result = bench.only_result(yaml, true);
  CHECK(result.outcome == Outcome::changed);
  CHECK(fs::exists(made));
}
