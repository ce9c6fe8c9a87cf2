// Every change has a cause, which outlives the agent.
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent::engine;
namespace fs = std::filesystem;

struct Params {
  states::Watch watch;
};
constexpr auto kParams = states::param_table(states::param<&Params::watch>("watch", ""));

// Acts when a watched file has changed, and refreshes something in every round otherwise.
class Watcher final : public states::State<Params> {
 public:
  constexpr Watcher()
      : State({.name = "test.watcher", .rereadable = false, .works_below_root = true, .watches_files = true},
              kParams) {}

 private:
  states::PlanWith<states::NoSteps> plan(const Params&, states::Context& context) const override {
    return states::Plan{.verdict = states::Verdict::change,
                        .changes = {{.what = "it", .after = "done"}},
                        .is_refresh = !context.watch_triggered};
  }
  states::Applied apply(const Params&, const states::Plan&, const states::NoSteps&,
                        states::ApplyContext&) const override {
    return states::Applied::done("done");
  }
  states::WatchRequest watch(const Params& params) const override {
    return {.paths = params.watch.paths, .first_counts = false};
  }
};

constexpr Watcher kWatcher;
const states::RegistryEntry kEntries[] = {{.type = &kWatcher}};

const states::Registry& modules() {
  static const states::Registry known{states::native_states(), builtins::builtin_states(),
                                      std::span(kEntries)};
  return known;
}

// The causes of a round, each with another process, as it were: `apply` starts a new worker.
std::vector<Cause> causes(tests::WorkerBench& bench, const std::string& text) {
  std::vector<Cause> found;
  for (const StateResult& result : bench.apply(text))
    found.push_back(result.cause);
  return found;
}

std::string file(const char* content) {
  return std::string("{ id: f, module: linux.file, parameter: { path: /dir/f, content: ") + content + " } }";
}

}  // namespace

TEST_CASE("a change has a cause, and drift is told from a new recipe across restarts") {
  tests::WorkerBench bench;
  const std::string other = "{ id: o, module: linux.file, parameter: { path: /dir/o } }";
  const std::string first = "states: [" + file("one") + "]";
  CHECK(causes(bench, first) == std::vector{Cause::new_recipe});
  CHECK(causes(bench, first) == std::vector{Cause::none});
  fs::remove(bench.path("/dir/f"));
  CHECK(causes(bench, first) == std::vector{Cause::drift});
  // Another recipe, in which one state is the same.
  fs::remove(bench.path("/dir/f"));
  CHECK(causes(bench, "states: [" + other + ", " + file("one") + "]") ==
        std::vector{Cause::new_recipe, Cause::drift});
  CHECK(causes(bench, "states: [" + other + ", " + file("two") + "]") ==
        std::vector{Cause::none, Cause::new_recipe});
}

TEST_CASE("what is right is not forgotten when a state has failed in between") {
  tests::WorkerBench bench;
  const std::string recipe = "states: [" + file("one") + "]";
  causes(bench, recipe);
  fs::remove(bench.path("/dir/f"));
  fs::create_directories(bench.path("/dir/f/in-the-way"));
  CHECK(causes(bench, recipe) == std::vector{Cause::drift});
  fs::remove_all(bench.path("/dir/f"));
  CHECK(causes(bench, recipe) == std::vector{Cause::drift});
}

TEST_CASE("triggers and refreshes are not drift") {
  tests::WorkerBench bench;
  bench.use_modules(modules());
  const std::string recipe = "states: [{ id: w, module: test.watcher, parameter: { watch: [/dir/f] } }]";
  std::ofstream(bench.path("/dir/f")) << "one";
  CHECK(causes(bench, recipe) == std::vector{Cause::refresh});
  std::ofstream(bench.path("/dir/f")) << "two";
  CHECK(causes(bench, recipe) == std::vector{Cause::trigger});
  bench.stop();
  bench.run(recipe);
  const auto end = bench.next<RoundEnd>();
  REQUIRE(end);
  CHECK(end->drift.empty());
}

TEST_CASE("a damaged memory of what was right is an empty one") {
  tests::WorkerBench bench;
  const std::string recipe = "states: [" + file("one") + "]";
  causes(bench, recipe);
  std::ofstream(bench.state_path("run.right"), std::ios::binary) << std::string_view("\n\0 1\n 1 1 1", 11);
  fs::remove(bench.path("/dir/f"));
  CHECK(causes(bench, recipe) == std::vector{Cause::new_recipe});
}
