// What becomes of a state, with modules that misbehave as told.
#include <unistd.h>

#include <filesystem>
#include <functional>

#include <doctest/doctest.h>

#include "agent/engine/execution/planner.hpp"
#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent;
using namespace agent::engine;
using Bench = tests::WorkerBench;
using states::Applied;
using states::Plan;
using states::Verdict;

// What the module does at its n-th call, from 1. Set before the worker starts.
std::function<Plan(int)> script_plan;
std::function<Applied(int)> script_apply;
int plans = 0;
int applies = 0;

struct Params {
  std::optional<std::string_view> password;
};
constexpr auto kParams = states::param_table(states::param<&Params::password>("password", "hidden").secret());

class Scripted final : public states::State<Params> {
 public:
  constexpr Scripted() : State({.name = "test.scripted", .works_below_root = true}, kParams) {}

 private:
  states::PlanWith<states::NoSteps> plan(const Params&, states::Context&) const override {
    return script_plan(++plans);
  }
  Applied apply(const Params&, const Plan&, const states::NoSteps&, states::ApplyContext&) const override {
    return script_apply(++applies);
  }
};

constexpr Scripted kScripted;
const states::RegistryEntry kEntry[] = {{.type = &kScripted}};

Plan change(std::initializer_list<const char*> whats) {
  Plan plan{.verdict = Verdict::change, .message = "change"};
  for (const char* what : whats)
    plan.changes.push_back({.what = what, .before = "found-on-disk", .after = "wanted-there"});
  return plan;
}

StateResult run(const std::string& recipe, std::vector<std::string> expected_plans = {}) {
  static const states::Registry known{std::span(kEntry)};
  plans = applies = 0;
  Bench bench;
  bench.use_modules(known);
  bench.settings().expected_plans = std::move(expected_plans);
  const auto results = bench.apply(recipe);
  REQUIRE(results.size() == 1);
  return results[0];
}

}  // namespace

TEST_CASE("what a first attempt has changed is in the report of the second") {
  script_apply = [](int call) { return call == 1 ? Applied::failed("half") : Applied::done("all"); };
  SUBCASE("which did the rest") {
    script_plan = [](int call) {
      return call == 1 ? change({"one", "two"}) : call == 2 ? change({"two"}) : Plan::kept("fine");
    };
    const StateResult result = run("states: [{ id: s, module: test.scripted, retries: 1 }]");
    CHECK(result.outcome == Outcome::changed);
    REQUIRE(result.changes.size() == 2);
    CHECK(result.changes[0].what == "one");
    CHECK(result.changes[1].what == "two");
  }
  SUBCASE("which found nothing left to do") {
    script_plan = [](int call) { return call == 1 ? change({"one"}) : Plan::kept("fine"); };
    const StateResult result = run("states: [{ id: s, module: test.scripted, retries: 1 }]");
    CHECK(result.outcome == Outcome::changed);
    CHECK(result.changes.size() == 1);
    CHECK_FALSE(result.resumed);
  }
}

TEST_CASE("a saved plan is compared with the first attempt; a later one fails for its own reason") {
  script_plan = [](int call) { return call == 1 ? change({"one", "two"}) : change({"two"}); };
  script_apply = [](int) { return Applied::failed("no such luck"); };
  const StateResult result = run("states: [{ id: s, module: test.scripted, retries: 1 }]",
                                 {fingerprint(change({"one", "two"}), change({"one", "two"}).changes)});
  CHECK(result.comment == "no such luck");
}

TEST_CASE("a sensitive state that does not converge does not say what it found") {
  script_plan = [](int) { return change({"secret"}); };
  script_apply = [](int) { return Applied::done("done"); };
  const StateResult result = run("states: [{ id: s, module: test.scripted, sensitive: true }]");
  CHECK(result.outcome == Outcome::failed);
  CHECK(result.comment.find("Did not converge") != std::string::npos);
  CHECK(result.comment.find("found-on-disk") == std::string::npos);
  CHECK(result.comment.find("wanted-there") == std::string::npos);
}

TEST_CASE("a password that is a number is hidden like any other") {
  script_plan = [](int) { return Plan::fail("cannot use 7290451186"); };
  const StateResult result =
      run("[{\"id\": \"s\", \"module\": \"test.scripted\", \"parameter\": {\"password\": 7290451186}}]");
  CHECK(result.comment == "cannot use ***");
}

TEST_CASE("what a module throws is a failed state, not a dead worker") {
  script_plan = [](int) -> Plan { throw 42; };
  CHECK(run("states: [{ id: s, module: test.scripted }]").outcome == Outcome::failed);
}

TEST_CASE("a sensitive command that fails does not quote what it printed") {
  Bench bench;
  bench.use_running_system();
  const auto results = bench.apply(
      "states: [{ id: s, sensitive: true, module: linux.cmd, parameter: { cmd: 'seq 4711 4712; exit 3' } }]");
  REQUIRE(results.size() == 1);
  CHECK(results[0].comment == "Command failed (exit 3)");
  CHECK(results[0].output == "(sensitive output)");
}

TEST_CASE("a look that is stopped half-way is cancelled, and no failure of the machine's") {
  static const states::Registry known{std::span(kEntry)};
  plans = applies = 0;
  Bench bench;
  bench.use_modules(known);
  const auto stop = [&] {
    bench.send(Stop{Stop::When::now});
    return Plan::fail("cancelled while going through /srv");
  };
  script_apply = [](int) { return Applied::done("all"); };
  SUBCASE("before anything was done") {
    script_plan = [&](int) { return stop(); };
  }
  SUBCASE("after it") {
    script_plan = [&](int call) { return call == 1 ? change({"one"}) : stop(); };
  }
  bench.run("states: [{ id: s, module: test.scripted }]");
  const auto result = bench.next<StateResult>();
  REQUIRE(result);
  CHECK_MESSAGE(result->outcome == Outcome::cancelled, result->comment);
  bench.stop();
}

TEST_CASE("what was written before is not held open while a program runs, so that it can be unmounted") {
  std::string folder = "/dev/shm/opsagent-held-XXXXXX";  // on a file system of its own
  REQUIRE(::mkdtemp(folder.data()));
  Bench bench;
  bench.use_running_system();
  const auto results =
      bench.apply("states: [{ id: f, module: linux.file, parameter: { path: " + folder +
                  "/f, content: x } }, { id: c, module: linux.cmd, parameter: { cmd: 'ls -l /proc/" +
                  std::to_string(::getpid()) + "/fd | grep " + folder + "; true' } }]");
  std::filesystem::remove_all(folder);
  REQUIRE(results.size() == 2);
  CHECK(results[0].outcome == Outcome::changed);
  CHECK(results[1].outcome == Outcome::changed);
  CHECK(results[1].output == "");
}
