// Who runs because of what others have done: whole rounds of recipes with on_change_of, restart_on, once,
// require and continue_on_failure.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <doctest/doctest.h>

#include "agent/engine/control/due_reactions.hpp"
#include "agent/engine/control/once_store.hpp"
#include "agent/engine/execution/planner.hpp"
#include "agent/engine/records/journal.hpp"
#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent::engine;
namespace fs = std::filesystem;

struct MakerParams {
  std::string_view name;
};
constexpr auto kMakerParams = states::param_table(states::param<&MakerParams::name>("name", "").required());

// By the worker's thread, which has ended when they are read and written here.
std::map<std::string, std::string, std::less<>> wanted;  // by name: "change", "fail", "half", else kept
std::string made;                                        // names, in order

// Does what `wanted` says of its name. "half": the change is made, and then it fails.
class Maker final : public states::State<MakerParams> {
 public:
  constexpr Maker() : State({.name = "test.maker", .works_below_root = true}, kMakerParams) {}

 private:
  states::PlanWith<states::NoSteps> plan(const MakerParams& params, states::Context&) const override {
    const auto what = wanted.find(params.name);
    if (what == wanted.end()) return states::Plan::kept("right");
    if (what->second == "impossible") return states::Plan::fail("cannot be");
    return states::Plan{.verdict = states::Verdict::change,
                        .message = "Make it",
                        .changes = {{.what = std::string(params.name), .after = "made"}}};
  }
  states::Applied apply(const MakerParams& params, const states::Plan&, const states::NoSteps&,
                        states::ApplyContext&) const override {
    const auto what = wanted.find(params.name);
    if (what->second == "fail") return states::Applied::failed("broken");
    made.append(params.name).append(" ");
    const bool is_half = what->second == "half";
    wanted.erase(what);
    return is_half ? states::Applied::failed("half done") : states::Applied::done("made");
  }
};

// As linux.cmd: done in every round, and cannot be read again.
class Doer final : public states::State<MakerParams> {
 public:
  constexpr Doer()
      : State({.name = "test.doer", .rereadable = false, .works_below_root = true}, kMakerParams) {}

 private:
  states::PlanWith<states::NoSteps> plan(const MakerParams& params, states::Context&) const override {
    return states::Plan{.verdict = states::Verdict::change,
                        .message = "Do it",
                        .changes = {{.what = std::string(params.name), .after = "done"}}};
  }
  states::Applied apply(const MakerParams& params, const states::Plan&, const states::NoSteps&,
                        states::ApplyContext&) const override {
    const auto what = wanted.find(params.name);
    made.append(params.name).append(what == wanted.end() ? " " : "! ");
    return what == wanted.end() ? states::Applied::done("done") : states::Applied::failed("broken");
  }
};

struct ServiceParams {
  states::List name;
};
constexpr auto kServiceParams =
    states::param_table(states::param<&ServiceParams::name>("name", "").required());

// Notes who restarts (+) or reloads (~), as linux.service does.
class Services final : public states::State<ServiceParams> {
 public:
  constexpr Services()
      : State({.name = "test.services",
               .works_below_root = true,
               .watches_files = true,
               .takes_orders = states::TakesOrders::restart_and_reload},
              kServiceParams) {}

 private:
  static std::string order_of(std::string_view name, const states::Context& context) {
    if (!context.orders) return {};
    const auto has = [&](const std::vector<std::string>& done) {
      return std::ranges::find(done, name) != done.end();
    };
    if (!context.orders->restart_for.empty() && !has(context.orders->restarted)) return "+";
    if (!context.orders->reload_for.empty() && !has(context.orders->reloaded)) return "~";
    return {};
  }
  states::PlanWith<states::NoSteps> plan(const ServiceParams& params,
                                         states::Context& context) const override {
    states::Plan plan = states::Plan::kept("running");
    for (const std::string_view name : params.name)
      if (const std::string order = order_of(name, context); !order.empty()) {
        if (plan.verdict == states::Verdict::kept) plan.message.clear();
        plan.verdict = states::Verdict::change;
        plan.message += order + std::string(name) + " (" + states::reasons_text(context) + ")";
        plan.changes.push_back({.what = std::string(name), .after = order + states::reasons_text(context)});
      }
    return plan;
  }
  states::Applied apply(const ServiceParams& params, const states::Plan&, const states::NoSteps&,
                        states::ApplyContext& context) const override {
    states::Applied applied = states::Applied::done("acted");
    for (const std::string_view name : params.name) {
      const std::string order = order_of(name, context);
      if (order.empty()) continue;
      const bool fails = wanted.contains(name);
      made += order + std::string(name) + (fails ? "! " : " ");
      if (fails)
        applied.end = states::AppliedEnd::failed;
      else
        applied.reacted.emplace_back(name);
    }
    return applied;
  }
  states::WatchRequest watch(const ServiceParams& params) const override {
    return {.paths = {}, .parts = {params.name.begin(), params.name.end()}};
  }
};

constexpr Maker kMaker;
constexpr Doer kDoer;
constexpr Services kServices;
const states::RegistryEntry kControlled[] = {{.type = &kMaker}, {.type = &kDoer}, {.type = &kServices}};

std::string maker(const std::string& id, const std::string& more = "") {
  return "  - { id: " + id + ", module: test.maker, parameter: { name: " + id + " }" +
         (more.empty() ? "" : ", " + more) + " }\n";
}
std::string doer(const std::string& id, const std::string& more = "") {
  return "  - { id: " + id + ", module: test.doer, parameter: { name: " + id + " }" +
         (more.empty() ? "" : ", " + more) + " }\n";
}
std::string services(const std::string& more, const std::string& names = "web") {
  return "  - { id: services, module: test.services, parameter: { name: [" + names + "] }, " + more + " }\n";
}

struct ControlledMachine : tests::WorkerBench {
  explicit ControlledMachine(bool has_backend = false) : WorkerBench(has_backend) {
    static const states::Registry known{states::native_states(), builtins::builtin_states(),
                                        std::span(kControlled)};
    registry = &known;
    use_modules(known);
    wanted.clear();
    made.clear();
  }
  static std::string recipe(const std::string& states, const std::string& top = "") {
    return "version: 2\n" + top + "states:\n" + states;
  }
  // "a changed, b skipped: …", and what was done.
  std::vector<StateResult> results(const std::string& states, const std::string& top = "",
                                   bool resume = false) {
    auto all = apply(recipe(states, top), resume);
    stop();
    return all;
  }
  std::string round(const std::string& states, const std::string& top = "", bool resume = false) {
    std::string outcomes;
    for (const StateResult& result : results(states, top, resume))
      outcomes.append(outcomes.empty() ? "" : " ").append(outcome_name(result.outcome));
    return outcomes;
  }
  std::vector<PlannedState> plan(const std::string& states, const std::string& top = "") {
    const auto loaded = recipe::load_text("test.yaml", recipe(states, top), *registry);
    REQUIRE(loaded.recipe);
    base::NoInterrupt never;
    return plan_recipe(*loaded.recipe, settings().host, base::Redactor(), never,
                       {.salt = "salt", .state_dir = state_path("")})
        .states;
  }
  std::string verdicts(const std::string& states, const std::string& top = "") {
    std::string all;
    for (const PlannedState& each : plan(states, top))
      all.append(all.empty() ? "" : " ").append(each.skipped ? "skipped" : verdict_name(each.verdict));
    return all;
  }
  std::string done() { return std::exchange(made, {}); }
  void want(std::initializer_list<std::pair<const char*, const char*>> all) {
    for (const auto& [name, what] : all)
      wanted[name] = what;
  }
  // As a run leaves it that was killed while it changed this state.
  void leave_begun(const std::string& states, std::size_t index, const std::string& id,
                   const std::string& run = "killed") {
    const auto loaded = recipe::load_text("test.yaml", recipe(states), *registry);
    REQUIRE(loaded.recipe);
    fs::create_directories(state_path(""));
    auto journal = Journal::open(state_path(settings().journal_name + ".journal"));
    REQUIRE(journal);
    REQUIRE((*journal)->begin({.digest = loaded.recipe->digest(),
                               .root = settings().host.root,
                               .begun_in = {run, 1},
                               .index = index,
                               .id = id,
                               .changes = {{.what = id, .after = "made"}}}));
  }
  const states::Registry* registry = nullptr;
};

}  // namespace

TEST_CASE("on_change_of: a state runs in rounds in which one that it follows has changed, and in no other") {
  ControlledMachine machine;
  const std::string states = maker("a") + maker("b") + doer("c", "on_change_of: [a, b]");
  const auto first = machine.results(states);
  REQUIRE(first.size() == 3);
  CHECK(first[2].outcome == Outcome::skipped);
  CHECK(first[2].comment == "Skipped: nothing was changed by 'a', 'b'");
  machine.want({{"b", "change"}});
  CHECK(machine.verdicts(states) == "kept change change");
  CHECK(machine.plan(states)[2].message == "Do it, because 'b' changes");
  const auto second = machine.results(states);
  CHECK(second[2].outcome == Outcome::changed);
  CHECK(second[2].cause == Cause::trigger);
  CHECK(machine.verdicts(states) == "kept kept skipped");
  CHECK(machine.round(states) == "kept kept skipped");
  CHECK(machine.done() == "b c ");
}

TEST_CASE(
    "on_change_of: what has failed to follow follows in the next round, though nothing changes any more") {
  ControlledMachine machine;
  const std::string states = maker("a") + doer("c", "on_change_of: [a]");
  machine.want({{"a", "change"}, {"c", "fail"}});
  CHECK(machine.round(states) == "changed failed");
  CHECK(machine.round(states) == "kept failed");
  CHECK(machine.verdicts(states) == "kept change");
  // Another recipe with the same state finds it due, too.
  CHECK(machine.round(maker("x") + maker("a") + doer("c", "on_change_of: [x, a]")) == "kept kept failed");
  wanted.clear();
  CHECK(machine.round(maker("x") + doer("c", "on_change_of: [x]")) == "kept changed");
  CHECK(machine.round(states) == "kept skipped");
  CHECK(machine.done() == "a c! c! c! c ");
  CHECK(fs::file_size(machine.state_path("reactions")) == 0);
}

TEST_CASE("on_change_of: a state between that fails makes nobody miss the change") {
  ControlledMachine machine;
  const std::string states = maker("a") + maker("between") + doer("c", "on_change_of: [a]");
  machine.want({{"a", "change"}, {"between", "fail"}});
  CHECK(machine.round(states) == "changed failed");
  wanted.clear();
  CHECK(machine.round(states) == "kept kept changed");
  CHECK(machine.round(states) == "kept kept skipped");
  CHECK(machine.done() == "a c ");
}

TEST_CASE("on_change_of: one that changes something and then fails is followed once it has succeeded") {
  ControlledMachine machine;
  const std::string states = maker("a") + doer("c", "on_change_of: [a]");
  machine.want({{"a", "half"}});
  CHECK(machine.round(states) == "failed");
  CHECK(machine.verdicts(states) == "kept change");
  CHECK(machine.round(states) == "kept changed");
  CHECK(machine.round(states) == "kept skipped");
}

TEST_CASE("on_change_of: one that fails is not followed for that, though the round goes on") {
  ControlledMachine machine;
  const std::string states = maker("a") + maker("b") + doer("c", "on_change_of: [a, b]");
  const std::string goes_on = "continue_on_failure: true\n";
  machine.want({{"a", "fail"}});
  CHECK(machine.round(states, goes_on) == "failed kept skipped");
  machine.want({{"b", "change"}});
  CHECK(machine.round(states, goes_on) == "failed changed changed");
  CHECK(machine.round(states, goes_on) == "failed kept skipped");
  wanted.clear();
  // What it had begun may have changed something, so it is followed when it is right.
  CHECK(machine.round(states, goes_on) == "kept kept changed");
  CHECK(machine.round(states, goes_on) == "kept kept skipped");
}

TEST_CASE("on_change_of: a change that a killed run had made is followed, whenever the run was killed") {
  ControlledMachine machine;
  const std::string states = maker("a") + doer("c", "on_change_of: [a]");
  SUBCASE("before it could say so") {
    machine.leave_begun(states, 0, "a");
    CHECK(machine.round(states, "", true) == "changed changed");
    CHECK(machine.done() == "c ");
  }
  SUBCASE("while it followed: nobody knows whether it had, so it is done again") {
    machine.want({{"a", "change"}, {"c", "fail"}});
    CHECK(machine.round(states) == "changed failed");
    wanted.clear();
    machine.leave_begun(states, 1, "c");
    CHECK(machine.round(states, "", true) == "changed");
    CHECK(machine.done() == "a c! c ");
  }
  SUBCASE("after it had followed, before it could say so: it is not done again") {
    machine.want({{"a", "change"}});
    const auto followed = machine.results(states);
    REQUIRE(followed.size() == 2);
    // What was written before the report was heard.
    base::SyncGroup sync;
    DueReactions due(machine.state_path("reactions"), sync);
    REQUIRE(due.load());
    const auto loaded = recipe::load_text("t.yaml", machine.recipe(states), *machine.registry);
    REQUIRE(due.succeeded(machine.settings().host.root, *loaded.recipe, 0, true));
    REQUIRE(due.followed(machine.settings().host.root, "c", "killed/1/1"));
    machine.leave_begun(states, 1, "c");
    const auto results = machine.results(states, "", true);
    REQUIRE(results.size() == 1);
    CHECK(results[0].outcome == Outcome::changed);
    CHECK(results[0].resumed);
    CHECK(machine.done() == "a c ");
  }
  CHECK(machine.round(states) == "kept skipped");
}

TEST_CASE("on_change_of: a condition that does not hold keeps what is due for later") {
  ControlledMachine machine;
  const std::string states = maker("a") + doer("c", "on_change_of: [a], when: { path_exists: /dir/flag }");
  machine.want({{"a", "change"}});
  CHECK(machine.round(states) == "changed skipped");
  std::ofstream(machine.path("/dir/flag")) << "x";
  CHECK(machine.round(states) == "kept changed");
  CHECK(machine.round(states) == "kept skipped");
}

TEST_CASE("on_change_of: followers of followers, and what is below another root is another machine's") {
  ControlledMachine machine;
  const std::string states = maker("a") + maker("b", "on_change_of: [a]") + doer("c", "on_change_of: [b]");
  machine.want({{"a", "change"}});
  CHECK(machine.round(states) == "changed kept skipped");
  machine.want({{"a", "change"}, {"b", "change"}});
  CHECK(machine.verdicts(states) == "change change change");
  CHECK(machine.round(states) == "changed changed changed");
  machine.want({{"a", "change"}, {"b", "fail"}});
  CHECK(machine.round(states) == "changed failed");
  wanted.clear();
  const std::string root = machine.settings().host.root;
  machine.settings().host.root = root + "/dir";
  CHECK(machine.round(states) == "kept skipped skipped");
  machine.settings().host.root = root;
  CHECK(machine.round(states) == "kept kept changed");
}

TEST_CASE("on_change_of: a plan that cannot tell whether the followed one changes says so") {
  ControlledMachine machine;
  // A command makes all that it may touch unknown.
  const std::string states =
      "  - { id: first, module: linux.file, parameter: { path: /dir/x, content: X, user: nobody-here } }\n" +
      maker("a") + doer("c", "on_change_of: [first]");
  CHECK(machine.verdicts(states) == "fail kept skipped");
}

TEST_CASE("restart_on and reload_on: services act once for what has changed, the stronger of both") {
  ControlledMachine machine;
  const std::string states = maker("vhost-1") + maker("vhost-2") + maker("cert") +
                             services("restart_on: [cert], reload_on: [vhost-*]");
  CHECK(machine.round(states) == "kept kept kept kept");
  machine.want({{"vhost-2", "change"}});
  CHECK(machine.plan(states)[3].message == "~web ('vhost-2')");
  const auto results = machine.results(states);
  CHECK(results[3].outcome == Outcome::changed);
  CHECK(results[3].cause == Cause::trigger);
  machine.want({{"vhost-1", "change"}, {"vhost-2", "change"}, {"cert", "change"}});
  CHECK(machine.round(states) == "changed changed changed changed");
  CHECK(machine.round(states) == "kept kept kept kept");
  CHECK(machine.done() == "vhost-2 ~web vhost-1 vhost-2 cert +web ");
}

TEST_CASE("restart_on: it is due per service until that service has succeeded") {
  ControlledMachine machine;
  const std::string states = maker("a") + services("restart_on: [a]", "web, db");
  machine.want({{"a", "change"}, {"db", "fail"}});
  CHECK(machine.round(states) == "changed failed");
  CHECK(machine.done() == "a +web +db! ");
  CHECK(machine.round(states) == "kept failed");
  CHECK(machine.done() == "+db! ");
  SUBCASE("and a new change is for all of them") {
    machine.want({{"a", "change"}});
    CHECK(machine.round(states) == "changed failed");
    CHECK(machine.done() == "a +web +db! ");
  }
  SUBCASE("in each attempt") {
    CHECK(machine.round(maker("a") + services("restart_on: [a], retries: 2", "web, db")) == "kept failed");
    CHECK(machine.done() == "+db! +db! +db! ");
  }
  SUBCASE("also when the recipe does not ask for it any more") {
    wanted.clear();
    CHECK(machine.round(maker("a") + services("retries: 0", "web, db")) == "kept changed");
    CHECK(machine.done() == "+db ");
  }
  wanted.clear();
  machine.round(states);
  machine.done();
  CHECK(machine.round(states) == "kept kept");
}

TEST_CASE("once: a state is done until it has succeeded under its key, whoever runs it") {
  ControlledMachine machine;
  machine.want({{"m", "fail"}});
  CHECK(machine.round(doer("m", "once: v1")) == "failed");
  wanted.clear();
  CHECK(machine.verdicts(doer("m", "once: v1")) == "change");
  CHECK(machine.round(doer("m", "once: v1")) == "changed");
  const auto planned = machine.plan(doer("m", "once: v1"));
  CHECK(planned[0].skipped);
  CHECK(planned[0].message.starts_with("Skipped: done once, on 20"));
  machine.settings().journal_name = "other";
  CHECK(machine.round(doer("m", "once: v1")) == "skipped");
  CHECK(machine.round(doer("other", "once: v1")) == "changed");
  CHECK(machine.round(doer("m", "once: v2")) == "changed");
  CHECK(machine.round(doer("m", "once: v1")) == "skipped");
  OnceStore store(machine.state_path(""));
  REQUIRE(store.list());
  CHECK(store.list()->size() == 3);
  CHECK(*store.forget("m", "v1") == 1);
  CHECK(machine.round(doer("m", "once: v1")) == "changed");
  CHECK(machine.done() == "m! m other m m ");
}

TEST_CASE("once: a record that is damaged is an error, and nothing is done again") {
  ControlledMachine machine;
  CHECK(machine.round(doer("m", "once: v1")) == "changed");
  std::ofstream(machine.state_path("once")) << "{\"done\": [";
  const auto results = machine.results(doer("m", "once: v1"));
  CHECK(results[0].outcome == Outcome::failed);
  CHECK(results[0].comment.find("is damaged") != std::string::npos);
  CHECK(machine.verdicts(doer("m", "once: v1")) == "fail");
  CHECK(machine.done() == "m ");
}

TEST_CASE("once: a kill before the success was reported does not make it happen again") {
  ControlledMachine machine;
  const std::string states = doer("m", "once: v1");
  OnceStore store(machine.state_path(""));
  fs::create_directories(machine.state_path(""));
  REQUIRE(store.add({.root = machine.settings().host.root,
                     .id = "m",
                     .key = "v1",
                     .at = std::chrono::system_clock::now(),
                     .report = "killed/1/0"}));
  machine.leave_begun(states, 0, "m");
  const auto results = machine.results(states, "", true);
  REQUIRE(results.size() == 1);
  CHECK(results[0].outcome == Outcome::changed);
  CHECK(results[0].resumed);
  CHECK(machine.done() == "");
}

TEST_CASE("require: what needs a failed state does not run, all else does, and the round has failed") {
  ControlledMachine machine;
  const std::string states = maker("a") + maker("b", "require: [a]") + maker("c") +
                             maker("d", "require: [b]") + maker("e", "require: [c]");
  const std::string goes_on = "continue_on_failure: true\n";
  machine.want({{"a", "fail"}, {"b", "change"}, {"c", "change"}, {"d", "change"}, {"e", "change"}});
  const auto results = machine.results(states, goes_on);
  REQUIRE(results.size() == 5);
  CHECK(results[1].outcome == Outcome::skipped);
  CHECK(results[1].is_blocked);
  CHECK(results[1].comment == "Skipped: requires 'a', which failed");
  CHECK(results[3].comment == "Skipped: requires 'b', which was not run, because 'a' failed");
  CHECK(machine.done() == "c e ");
  machine.want({{"a", "impossible"}});
  const auto planned = machine.plan(states, goes_on);
  CHECK(planned[1].message == "Skipped: requires 'a', which cannot work");
  CHECK(planned[3].message == "Skipped: requires 'b', which is not run, because 'a' cannot work");
  CHECK(machine.verdicts(states, goes_on) == "fail skipped kept skipped kept");
  wanted.erase("a");
  CHECK(machine.round(states, goes_on) == "kept changed kept changed kept");
}

TEST_CASE("continue_on_failure: of one state lets the round go on after it, and after no other") {
  ControlledMachine machine;
  const std::string states = maker("a", "continue_on_failure: true") + maker("b") + maker("c");
  machine.want({{"a", "fail"}});
  CHECK(machine.round(states) == "failed kept kept");
  machine.want({{"b", "fail"}});
  CHECK(machine.round(states) == "failed failed");
  CHECK(machine.round(maker("a") + maker("b") + maker("c")) == "failed");
  const std::string but = maker("a", "continue_on_failure: false") + maker("c");
  CHECK(machine.round(but, "continue_on_failure: true\n") == "failed");
}

TEST_CASE("a round that went on past a failure has failed: its end counts it, and the next one is soon") {
  ControlledMachine machine;
  const std::string states = maker("a") + maker("b", "require: [a]") + maker("c");
  machine.want({{"a", "fail"}, {"b", "change"}, {"c", "change"}});
  machine.settings().round_delay = std::chrono::hours(1);
  machine.run(machine.recipe(states, "continue_on_failure: true\n"));
  std::vector<std::chrono::milliseconds> pauses;
  for (int round = 0; round < 3; ++round) {
    const auto end = machine.next<RoundEnd>();
    REQUIRE(end);
    CHECK(end->counts[static_cast<std::size_t>(Outcome::failed)] == 1);
    CHECK(end->counts[static_cast<std::size_t>(Outcome::skipped)] == 1);
    CHECK(end->not_reached == 0);
    REQUIRE(end->next);
    pauses.push_back(*end->next);
  }
  using std::chrono::milliseconds;
  CHECK(pauses == std::vector<milliseconds>{milliseconds(10), milliseconds(20), milliseconds(40)});
}

TEST_CASE("a killed run of a recipe that goes on past failures begins anew, or what requires one would run") {
  ControlledMachine machine;
  const std::string goes_on = "continue_on_failure: true";
  const std::string states = maker("a", goes_on) + maker("c", goes_on) + maker("d", "require: [a]");
  machine.want({{"a", "fail"}, {"d", "change"}});
  machine.leave_begun(states, 1, "c");
  CHECK(machine.round(states, "", true) == "failed changed skipped");
  CHECK(machine.done() == "");
}

TEST_CASE("a saved plan holds what is skipped and why, and a failure blocks all the same") {
  ControlledMachine machine;
  const std::string states = maker("a") + doer("c", "on_change_of: [a]") + doer("m", "once: v1");
  const auto save = [&] {
    machine.settings().expected_plans.clear();
    machine.settings().plan_salt = "salt";
    for (const PlannedState& each : machine.plan(states))
      machine.settings().expected_plans.push_back(each.fingerprint);
  };
  save();
  CHECK(machine.round(states) == "kept skipped changed");
  // The plan said that it would be done, and somebody else has done it.
  const auto stale = machine.results(states);
  REQUIRE(stale.size() == 3);
  CHECK(stale[2].outcome == Outcome::failed);
  CHECK(stale[2].comment.find("not as it was when the plan was made") != std::string::npos);
  save();
  CHECK(machine.round(states) == "kept skipped skipped");
}

TEST_CASE("an ad-hoc run of a state with such an id is not the recipe's: nothing follows it") {
  ControlledMachine machine;
  machine.settings().round_delay = std::chrono::milliseconds(50);
  const std::string states = maker("a") + doer("c", "on_change_of: [a]");
  machine.run(machine.recipe(states));
  REQUIRE(machine.next<RoundEnd>());
  const auto alone = recipe::load_text(
      "t.json", R"([{"id":"a","module":"test.doer","parameter":{"name":"a"}}])", *machine.registry);
  REQUIRE(alone.recipe);
  machine.send(RunState{.run_id = "adhoc", .recipe = alone.recipe});
  auto result = machine.next<StateResult>();
  while (result && result->run_id != "adhoc")
    result = machine.next<StateResult>();
  REQUIRE(result);
  CHECK(result->outcome == Outcome::changed);
  REQUIRE(machine.next<RoundEnd>());
  machine.stop();
  CHECK(machine.done() == "a ");
}

TEST_CASE("a state that waits for others can be required and followed as any other") {
  ControlledMachine machine(true);
  const std::string states =
      "  - { id: w, module: meta.wait }\n" + maker("a", "require: [w]") + doer("c", "on_change_of: [w]");
  machine.run(machine.recipe(states));
  REQUIRE(machine.next<RoundStarted>());
  machine.send(WaitDone{1, "w"});
  const auto wait = machine.next<StateResult>();
  const auto a = machine.next<StateResult>();
  const auto c = machine.next<StateResult>();
  REQUIRE((wait && a && c));
  CHECK(is_success(wait->outcome));
  CHECK(a->outcome == Outcome::kept);
  CHECK(c->outcome == (wait->outcome == Outcome::changed ? Outcome::changed : Outcome::skipped));
}
