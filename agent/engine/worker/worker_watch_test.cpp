// Who reacts to watched files, and how often: whole rounds of recipes with a state that watches.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "agent/engine/execution/planner.hpp"
#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent::engine;
namespace fs = std::filesystem;
using Bench = tests::WorkerBench;

struct Params {
  states::List name;
  states::Watch watch;
};
constexpr auto kParams = states::param_table(states::param<&Params::name>("name", "").required(),
                                             states::param<&Params::watch>("watch", ""));

// By the worker's thread, which has ended when they are read and written here.
std::string reactions;
std::vector<std::string> broken;

// Notes who reacts, as linux.service acts on its services. Those in `broken` fail to.
class Reactor final : public states::State<Params> {
 public:
  constexpr Reactor()
      : State({.name = "test.reactor", .works_below_root = true, .watches_files = true}, kParams) {}

 private:
  static bool has_reacted(std::string_view name, const states::Context& context) {
    return std::ranges::find(context.watch_reacted, name) != context.watch_reacted.end();
  }
  states::PlanWith<states::NoSteps> plan(const Params&, states::Context& context) const override {
    if (!context.watch_triggered) return states::Plan::kept("running");
    return states::Plan{.verdict = states::Verdict::change, .changes = {{.what = "it", .after = "reacted"}}};
  }
  states::Applied apply(const Params& params, const states::Plan&, const states::NoSteps&,
                        states::ApplyContext& context) const override {
    states::Applied applied = states::Applied::done("reacted");
    for (const std::string_view name : params.name) {
      if (has_reacted(name, context)) continue;
      const bool fails = std::ranges::find(broken, name) != broken.end();
      reactions.append(name).append(fails ? "! " : " ");
      if (fails)
        applied.end = states::AppliedEnd::failed;
      else
        applied.reacted.emplace_back(name);
    }
    return applied;
  }
  states::WatchRequest watch(const Params& params) const override {
    return {.paths = params.watch.paths,
            .always = params.watch.always,
            .parts = {params.name.begin(), params.name.end()}};
  }
};

struct NoParams {};

// Puts /dir/a right without saying in its plan what it writes, as commands and packages do.
class Restorer final : public states::State<NoParams> {
 public:
  constexpr Restorer() : State({.name = "test.restorer", .works_below_root = true}) {}

 private:
  states::PlanWith<states::NoSteps> plan(const NoParams&, states::Context& context) const override {
    const auto same = context.tree.has_content("/dir/a", "A");
    if (same && *same) return states::Plan::kept("right");
    return states::Plan{.verdict = states::Verdict::change,
                        .changes = {{.what = "a", .after = "right"}},
                        .effects = {{.kind = states::EffectKind::anything}}};
  }
  states::Applied apply(const NoParams&, const states::Plan&, const states::NoSteps&,
                        states::ApplyContext& context) const override {
    std::ofstream(context.host.root + "/dir/a") << "A";
    return states::Applied::done("right");
  }
};

constexpr Reactor kReactor;
constexpr Restorer kRestorer;
const states::RegistryEntry kMine[] = {{.type = &kReactor}, {.type = &kRestorer}};

const states::Registry& modules() {
  static const states::Registry known{states::native_states(), std::span(kMine)};
  return known;
}

struct Machine : Bench {
  Machine() {
    use_modules(modules());
    reactions.clear();
    broken.clear();
  }
  // The outcomes of one round, "changed kept".
  std::string round(const std::string& states) {
    std::string outcomes;
    for (const StateResult& result : apply("states:\n" + states))
      outcomes.append(outcomes.empty() ? "" : " ").append(outcome_name(result.outcome));
    stop();
    return outcomes;
  }
  void write(const std::string& name, std::string_view content) const {
    std::ofstream(path(name)) << content;
  }
  std::string reacted() { return std::exchange(reactions, {}); }
};

const std::string kFile = "  - { id: file, module: linux.file, parameter: { path: /dir/a, content: A } }\n";
const std::string kService =
    "  - { id: service, module: test.reactor, parameter: { name: [web], watch: [/dir/a] } }\n";

}  // namespace

TEST_CASE(
    "a watched file that an earlier state puts back triggers, because what runs may have read the other") {
  Machine machine;
  CHECK(machine.round(kFile + kService) == "changed changed");
  CHECK(machine.reacted() == "web ");
  CHECK(machine.round(kFile + kService) == "kept kept");
  machine.write("/dir/a", "foreign");
  CHECK(machine.round(kFile + kService) == "changed changed");
  CHECK(machine.reacted() == "web ");
  CHECK(machine.round(kFile + kService) == "kept kept");
  CHECK(machine.reacted().empty());
}

TEST_CASE("a reaction to a file that was put back is due until it has succeeded") {
  Machine machine;
  CHECK(machine.round(kFile + kService) == "changed changed");
  machine.write("/dir/a", "foreign");
  broken = {"web"};
  CHECK(machine.round(kFile + kService) == "changed failed");
  CHECK(machine.round(kFile + kService) == "kept failed");
  broken.clear();
  CHECK(machine.round(kFile + kService) == "kept changed");
  CHECK(machine.round(kFile + kService) == "kept kept");
  CHECK(machine.reacted() == "web web! web! web ");
}

TEST_CASE("a state between the file and its service that fails does not make the service miss the repair") {
  Machine machine;
  const std::string fails =
      "  - { id: between, module: test.reactor, parameter: { name: [other], watch: [/dir/b] } }\n";
  CHECK(machine.round(kFile + kService) == "changed changed");
  machine.write("/dir/a", "foreign");
  machine.write("/dir/b", "new");
  broken = {"other"};
  CHECK(machine.round(kFile + fails + kService) == "changed failed");
  broken.clear();
  CHECK(machine.round(kFile + fails + kService) == "kept changed changed");
}

TEST_CASE("a watched file that a command puts back triggers, too") {
  Machine machine;
  const std::string restorer = "  - { id: restorer, module: test.restorer }\n";
  CHECK(machine.round(restorer + kService) == "changed changed");
  machine.write("/dir/a", "foreign");
  CHECK(machine.round(restorer + kService) == "changed changed");
  CHECK(machine.round(restorer + kService) == "kept kept");
}

TEST_CASE("a watched link triggers when an earlier state puts back what it leads to") {
  Machine machine;
  const std::string service =
      "  - { id: service, module: test.reactor, parameter: { name: [web], watch: [/dir/link] } }\n";
  fs::create_symlink("a", machine.path("/dir/link"));
  CHECK(machine.round(kFile + service) == "changed changed");
  machine.write("/dir/a", "foreign");
  CHECK(machine.round(kFile + service) == "changed changed");
  CHECK(machine.round(kFile + service) == "kept kept");
}

TEST_CASE("a watched folder triggers when an earlier state puts back what is in it") {
  Machine machine;
  const std::string service =
      "  - { id: service, module: test.reactor, parameter: { name: [web], watch: [/dir] } }\n";
  CHECK(machine.round(kFile + service) == "changed changed");
  machine.write("/dir/a", "foreign");
  CHECK(machine.round(kFile + service) == "changed changed");
  CHECK(machine.round(kFile + service) == "kept kept");
}

TEST_CASE("a watched file that is put back with its folder triggers, by whichever name it is written") {
  Machine machine;
  fs::create_symlink("dir", machine.path("/link"));
  const std::string file =
      "  - { id: file, module: linux.file, parameter: { path: /link/sub/a, content: A } }\n";
  const std::string service =
      "  - { id: service, module: test.reactor, parameter: { name: [web], watch: [/dir/sub/a] } }\n";
  CHECK(machine.round(file + service) == "changed changed");
  fs::remove_all(machine.path("/dir/sub"));
  CHECK(machine.round(file + service) == "changed changed");
  CHECK(machine.round(file + service) == "kept kept");
}

TEST_CASE("a change elsewhere triggers nobody") {
  Machine machine;
  const std::string other =
      "  - { id: other, module: linux.file, parameter: { path: /dir/ab, content: B } }\n";
  CHECK(machine.round(kFile + kService) == "changed changed");
  CHECK(machine.round(kFile + other + kService) == "kept changed kept");
  CHECK(machine.reacted() == "web ");
}

TEST_CASE("a state that is run besides the recipe is seen by those of the recipe who watch") {
  Machine machine;
  CHECK(machine.round(kFile + kService) == "changed changed");
  machine.settings().round_delay = std::chrono::hours(1);
  machine.run("states:\n" + kService);
  REQUIRE(machine.next<RoundEnd>());
  machine.write("/dir/a", "foreign");
  auto loaded = recipe::load_text("test", "states:\n" + kFile, modules());
  REQUIRE(loaded.recipe);
  machine.send(RunState{.run_id = "besides", .recipe = loaded.recipe});
  REQUIRE(machine.next<StateResult>());
  machine.stop();
  CHECK(machine.round(kService) == "changed");
}

TEST_CASE("a service that is healthy reacts once, however often another one of its state fails") {
  Machine machine;
  std::string both =
      "  - { id: service, module: test.reactor, parameter: { name: [good, bad], watch: [/dir/a] } }\n";
  machine.write("/dir/a", "A");
  broken = {"bad"};
  SUBCASE("in one round after the other") {
    for (int round = 0; round < 3; ++round)
      CHECK(machine.round(both) == "failed");
    CHECK(machine.reacted() == "good bad! bad! bad! ");
  }
  SUBCASE("in the attempts of one round") {
    both.insert(both.find("module"), "retries: 2, ");
    CHECK(machine.round(both) == "failed");
    CHECK(machine.reacted() == "good bad! bad! bad! ");
  }
  broken.clear();
  CHECK(machine.round(both) == "changed");
  CHECK(machine.reacted() == "bad ");
  CHECK(machine.round(both) == "kept");
  machine.write("/dir/a", "B");
  CHECK(machine.round(both) == "changed");
  CHECK(machine.reacted() == "good bad ");
}

TEST_CASE("what is watched in vain is said, unless an earlier state would put it there") {
  Machine machine;
  const auto message_of = [&](const std::string& states) {
    const auto loaded = recipe::load_text("test", "states:\n" + states, modules());
    REQUIRE(loaded.recipe);
    const base::Redactor redactor;
    base::NoInterrupt none;
    return plan_recipe(*loaded.recipe, machine.settings().host, redactor, none,
                       {.state_dir = machine.settings().state_dir})
        .states.back()
        .message;
  };
  CHECK(message_of(kService) == "running; watches /dir/a, which is not there");
  CHECK(message_of(kFile + kService).find("which is not there") == std::string::npos);
  const auto results = machine.apply("states:\n" + kService);
  REQUIRE(results.size() == 1);
  CHECK(results[0].comment == "running; watches /dir/a, which is not there");
}

TEST_CASE("states with equal ids have watch records of their own") {
  Machine machine;
  machine.inputs.compat_v1 = true;
  machine.write("/dir/a", "1");
  const std::string states =
      "  - { id: s, module: test.reactor, parameter: { name: [one], watch: [/dir/a] } }\n"
      "  - { id: s, module: test.reactor, parameter: { name: [two], watch: [/dir/a] } }\n";
  broken = {"two"};
  CHECK(machine.round(states) == "changed failed");
  CHECK(machine.reacted() == "one two! ");
  // The first has reacted, the second has still to.
  broken.clear();
  CHECK(machine.round(states) == "kept changed");
  CHECK(machine.reacted() == "two ");
}
