// A plan sees what earlier states of the recipe would have done, and applying it does what it says.
//
// Compiled alone: its names are those of other tests.
#include "agent/engine/execution/planner.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent::engine;
using states::Verdict;
namespace fs = std::filesystem;

struct Params {
  states::Watch watch;
};
constexpr auto kParams = states::param_table(states::param<&Params::watch>("watch", ""));

// Acts when a watched file has changed, as a service does.
class Watcher final : public states::State<Params> {
 public:
  constexpr Watcher()
      : State({.name = "test.watcher", .works_below_root = true, .watches_files = true}, kParams) {}

 private:
  states::PlanWith<states::NoSteps> plan(const Params&, states::Context& context) const override {
    if (!context.watch_triggered) return states::Plan::kept("runs");
    return states::Plan{
        .verdict = Verdict::change,
        .message = "Restart it",
        .changes = {{.what = "it", .after = "restarted: " + base::join(context.watch_changed, ", ")}}};
  }
  states::Applied apply(const Params&, const states::Plan&, const states::NoSteps&,
                        states::ApplyContext&) const override {
    return states::Applied::done("restarted");
  }
  states::WatchRequest watch(const Params& params) const override {
    return {.paths = params.watch.paths, .always = params.watch.always};
  }
  std::vector<states::Effect> touched(const Params&) const override { return {}; }
};

// Would install a package.
class Package final : public states::State<Params> {
 public:
  constexpr Package() : State({.name = "test.package", .works_below_root = true}, kParams) {}

 private:
  states::PlanWith<states::NoSteps> plan(const Params&, states::Context&) const override {
    return states::Plan{.verdict = Verdict::change,
                        .message = "Install",
                        .changes = {{.what = "package nginx", .after = "installed"}},
                        .effects = {{.kind = states::EffectKind::package, .name = "nginx"}}};
  }
  states::Applied apply(const Params&, const states::Plan&, const states::NoSteps&,
                        states::ApplyContext&) const override {
    return states::Applied::done("installed");
  }
  std::vector<states::Effect> touched(const Params&) const override { return {}; }
};

constexpr Watcher kWatcher;
constexpr Package kPackage;
const states::RegistryEntry kEntries[] = {{.type = &kWatcher}, {.type = &kPackage}};

const states::Registry& modules() {
  static const states::Registry known{states::native_states(), builtins::builtin_states(),
                                      std::span(kEntries)};
  return known;
}

constexpr const char* kSalt = "salt";

struct Machine : tests::WorkerBench {
  Machine() { use_modules(modules()); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(this->path(path)).parent_path());
    std::ofstream(this->path(path)) << text;
  }
  PlanResult plan(const std::string& text, std::vector<std::string> done_waits = {}) {
    const auto loaded = recipe::load_text("test", text, modules());
    REQUIRE(loaded.recipe);
    const base::Redactor redactor;
    base::NoInterrupt none;
    return plan_recipe(
        *loaded.recipe, settings().host, redactor, none,
        {.salt = kSalt, .state_dir = settings().state_dir, .done_waits = std::move(done_waits)});
  }
  // Applies what was planned as `apply PLAN` does.
  std::vector<StateResult> apply_saved(const PlanResult& plan, const std::string& text) {
    settings().expected_plans.clear();
    settings().plan_salt = kSalt;
    for (const PlannedState& state : plan.states)
      settings().expected_plans.push_back(state.fingerprint);
    auto results = apply(text);
    settings().expected_plans.clear();
    return results;
  }
};

// What the plan says of a recipe's last state.
PlannedState last(const PlanResult& plan) {
  REQUIRE_FALSE(plan.states.empty());
  return plan.states.back();
}

}  // namespace

TEST_CASE("a state that watches a file which an earlier state would change is planned to act") {
  Machine machine;
  const auto recipe = [](const char* content) {
    return std::string("states: [{ id: env, module: linux.file, parameter: { path: /dir/env, content: ") +
           content + " } }, { id: app, module: test.watcher, parameter: { watch: [/dir/other, /dir/env] } }]";
  };
  machine.write("/dir/other", "x");
  CHECK(machine.apply(recipe("old")).size() == 2);
  CHECK(last(machine.plan(recipe("old"))).verdict == Verdict::kept);

  const PlanResult plan = machine.plan(recipe("new"));
  CHECK(plan.states[0].verdict == Verdict::change);
  CHECK(plan.states[1].verdict == Verdict::change);
  CHECK(plan.states[1].message == "Restart it, because 'env' changes");
  REQUIRE(plan.states[1].changes.size() == 1);
  CHECK(plan.states[1].changes[0].after == "restarted: /dir/env");

  // Saved, it can be applied to its end.
  for (const StateResult& result : machine.apply_saved(plan, recipe("new")))
    CHECK_MESSAGE(result.outcome == Outcome::changed, result.comment);
  CHECK(last(machine.plan(recipe("new"))).verdict == Verdict::kept);
}

TEST_CASE("a watched file that only gets another mode is no reason to act") {
  Machine machine;
  const auto recipe = [](const char* mode) {
    return std::string("states: [{ id: env, module: linux.file, parameter: { path: /dir/env, content: x, ") +
           "mode: '" + mode + "' } }, { id: app, module: test.watcher, parameter: { watch: [/dir/env] } }]";
  };
  machine.apply(recipe("0644"));
  const PlanResult plan = machine.plan(recipe("0600"));
  CHECK(plan.states[0].verdict == Verdict::change);
  CHECK(plan.states[1].verdict == Verdict::kept);
  const auto results = machine.apply_saved(plan, recipe("0600"));
  REQUIRE(results.size() == 2);
  CHECK(results[1].outcome == Outcome::kept);
}

TEST_CASE("what is below a folder that an earlier state removes is missing") {
  Machine machine;
  machine.write("/dir/app/conf", "x");
  machine.write("/dir/app/sub/data", "x");
  const std::string removal =
      "states: [{ id: rm, module: linux.dir, parameter: { path: /dir/app, absent: true } }, ";
  const auto planned = [&](const std::string& state) { return last(machine.plan(removal + state + "]")); };

  const PlannedState file =
      planned("{ id: s, module: linux.file, parameter: { path: /dir/app/conf, content: x } }");
  CHECK(file.verdict == Verdict::change);
  CHECK(file.message == "Create /dir/app/conf");
  CHECK(planned("{ id: s, module: linux.file, parameter: { path: /dir/app/conf, absent: true } }").verdict ==
        Verdict::kept);
  CHECK(planned("{ id: s, module: linux.dir, parameter: { path: /dir/app/sub, absent: true } }").verdict ==
        Verdict::kept);
  CHECK(planned("{ id: s, module: linux.symlink, parameter: { target: /dir/app/l, source: x } }").verdict ==
        Verdict::fail);
  CHECK(planned("{ id: s, module: meta.comment, when: { path_exists: /dir/app/conf } }").skipped);
  CHECK_FALSE(planned("{ id: s, module: meta.comment, when: { path_absent: /dir/app/sub/data } }").skipped);
}

TEST_CASE("what is in a folder that an earlier state makes is known") {
  Machine machine;
  const PlanResult plan = machine.plan(
      "states: [{ id: one, module: linux.file, parameter: { path: /new/a/one, content: x } },"
      "{ id: two, module: linux.file, parameter: { path: /new/a/two, content: x } },"
      "{ id: none, module: linux.file, parameter: { path: /new/b/none, absent: true } },"
      "{ id: link, module: linux.symlink, parameter: { target: /new/a/link, source: one } }]");
  CHECK(plan.states[1].verdict == Verdict::change);
  CHECK(plan.states[2].verdict == Verdict::kept);
  CHECK(plan.states[3].verdict == Verdict::change);
}

TEST_CASE("a folder that is removed and made anew is empty") {
  Machine machine;
  machine.write("/dir/app/conf", "x");
  const std::string text =
      "states: [{ id: rm, module: linux.dir, parameter: { path: /dir/app, absent: true } },"
      "{ id: new, module: linux.file, parameter: { path: /dir/app/new, content: x } },"
      "{ id: old, module: linux.file, parameter: { path: /dir/app/conf, content: x } }]";
  const PlanResult plan = machine.plan(text);
  CHECK(last(plan).message == "Create /dir/app/conf");
  for (const StateResult& result : machine.apply_saved(plan, text))
    CHECK_MESSAGE(result.outcome == Outcome::changed, result.comment);
}

TEST_CASE("what is reached through a link that an earlier state moves is not known") {
  Machine machine;
  machine.write("/dir/v1/conf", "x");
  machine.write("/dir/v2/conf", "y");
  fs::create_directory_symlink("v1", machine.path("/dir/now"));
  const std::string move =
      "states: [{ id: move, module: linux.symlink, parameter: { target: /dir/now, source: v2 } }, ";
  const auto planned = [&](const std::string& state) { return last(machine.plan(move + state + "]")); };
  for (const char* state : {"{ id: s, module: linux.file, parameter: { path: /dir/now/conf, content: x } }",
                            "{ id: s, module: linux.dir, parameter: { path: /dir/now/sub } }",
                            "{ id: s, module: meta.comment, when: { path_exists: /dir/now/conf } }",
                            "{ id: s, module: test.watcher, parameter: { watch: [/dir/now/conf] } }"}) {
    const PlannedState found = planned(state);
    CHECK_MESSAGE(found.verdict == Verdict::unknown, state);
    CHECK(found.depends_on == "move");
  }
  // What the link leads to now is not touched.
  CHECK(planned("{ id: s, module: linux.file, parameter: { path: /dir/v1/conf, content: x } }").verdict ==
        Verdict::kept);
}

TEST_CASE("a link that leads nowhere may lead somewhere by then") {
  Machine machine;
  fs::create_directory_symlink("new", machine.path("/dir/link"));
  const std::string make = "states: [{ id: make, module: linux.dir, parameter: { path: /dir/new } }, ";
  for (const char* state : {"{ id: s, module: linux.file, parameter: { path: /dir/link/conf, content: x } }",
                            "{ id: s, module: linux.dir, parameter: { path: /dir/link } }",
                            "{ id: s, module: meta.comment, when: { path_exists: /dir/link } }",
                            "{ id: s, module: test.watcher, parameter: { watch: [/dir/link] } }"}) {
    const PlannedState found = last(machine.plan(make + state + "]"));
    CHECK_MESSAGE(found.verdict == Verdict::unknown, state);
    CHECK(found.depends_on == "make");
  }
}

TEST_CASE("what is written by way of a moved link may be anywhere") {
  Machine machine;
  fs::create_directories(machine.path("/dir/v1"));
  fs::create_directories(machine.path("/dir/v2"));
  fs::create_directory_symlink("v1", machine.path("/dir/now"));
  const PlanResult plan = machine.plan(
      "states: [{ id: move, module: linux.symlink, parameter: { target: /dir/now, source: v2 } },"
      "{ id: through, module: linux.file, parameter: { path: /dir/now/conf, content: x } },"
      "{ id: same, module: linux.file, parameter: { path: /dir/v2/conf, content: x } },"
      "{ id: other, module: linux.file, parameter: { path: /dir/v2/other, content: x } }]");
  CHECK(plan.states[2].verdict == Verdict::unknown);
  CHECK(plan.states[2].depends_on == "through");
  CHECK(plan.states[3].verdict == Verdict::change);
}

TEST_CASE("a file has many names, and a plan knows them all") {
  Machine machine;
  machine.write("/dir/real/conf", "old");
  fs::create_directory_symlink("real", machine.path("/dir/link"));
  const PlanResult plan = machine.plan(
      "states: [{ id: one, module: linux.file, parameter: { path: /dir/link/conf, content: new } },"
      "{ id: two, module: linux.file, parameter: { path: /dir/real/conf, content: new } }]");
  CHECK(last(plan).verdict == Verdict::unknown);
  CHECK(last(plan).depends_on == "one");
}

TEST_CASE("what a state that is not known may touch is not known either") {
  Machine machine;
  machine.write("/dir/f", "x");
  const PlanResult plan = machine.plan(
      "states: [{ id: rm, module: linux.file, parameter: { path: /dir/f, absent: true } },"
      "{ id: back, module: linux.file, parameter: { path: /dir/f, content: x } },"
      "{ id: last, module: meta.comment, when: { path_exists: /dir/f } }]");
  CHECK(plan.states[1].verdict == Verdict::unknown);
  CHECK(plan.states[2].verdict == Verdict::unknown);
  CHECK(plan.states[2].depends_on == "back");
}

TEST_CASE("where a state that is not known may make folders, nobody counts on their absence") {
  Machine machine;
  fs::create_directories(machine.path("/dir/a"));
  fs::create_directories(machine.path("/dir/b"));
  fs::create_directory_symlink("a", machine.path("/dir/link"));
  const std::string text =
      "states: [{ id: turn, module: linux.symlink, parameter: { target: /dir/link, source: b } },"
      "{ id: through, module: linux.file, parameter: { path: /dir/link/new/f, content: x } },"
      "{ id: there, module: linux.dir, parameter: { path: /dir/b/new, mode: '0700' } }]";
  const PlanResult plan = machine.plan(text);
  CHECK(plan.states[0].verdict == Verdict::change);
  CHECK(plan.states[1].verdict == Verdict::unknown);
  CHECK(plan.states[2].verdict == Verdict::unknown);
  CHECK(plan.states[2].depends_on == "through");
  for (const StateResult& result : machine.apply_saved(plan, text))
    CHECK_MESSAGE(result.outcome == Outcome::changed, result.comment);
}

TEST_CASE("the attributes of what is below a folder are not known when an earlier state sets them") {
  Machine machine;
  machine.write("/dir/app/conf", "x");
  fs::permissions(machine.path("/dir/app/conf"), fs::perms(0600));
  const PlanResult plan = machine.plan(
      "states: [{ id: all, module: linux.dir, parameter: { path: /dir/app, mode: '0755', recursive: true } },"
      "{ id: one, module: linux.file, parameter: { path: /dir/app/conf, mode: '0644' } }]");
  CHECK(plan.states[0].verdict == Verdict::change);
  CHECK(plan.states[1].verdict == Verdict::unknown);
}

TEST_CASE("a folder may have another owner after a state that is not known, also by way of a link") {
  Machine machine;
  machine.write("/dir/one/f", "x");
  machine.write("/dir/one/sub/f", "x");
  fs::create_symlink("one", machine.path("/dir/link"));
  // The second state does not know how much there is to do below.
  const PlanResult plan = machine.plan(
      "states: [{ id: sub, module: linux.dir, parameter: { path: /dir/one/sub, mode: '0700' } },"
      "{ id: all, module: linux.dir, parameter: { path: /dir/link, mode: '0750', recursive: true } },"
      "{ id: cond, module: meta.comment, parameter: {}, when: { path_exists: /dir/one/f } },"
      "{ id: one, module: linux.dir, parameter: { path: /dir/one, mode: '0755' } },"
      "{ id: content, module: linux.file, parameter: { path: /dir/one/f, content: y, mode: '0644' } }]");
  CHECK(plan.states[1].verdict == Verdict::unknown);
  CHECK(plan.states[2].verdict == Verdict::kept);  // what is there stays
  CHECK(plan.states[3].verdict == Verdict::unknown);
  CHECK(plan.states[3].depends_on == "all");
  CHECK(plan.states[4].verdict == Verdict::unknown);
}

TEST_CASE("a relative link that leads nowhere stays so after a state that has nothing to do with it") {
  Machine machine;
  machine.write("/dir/sub/f", "x");
  fs::create_symlink("../gone", machine.path("/dir/sub/link"));
  const std::string text =
      "states: [{ id: other, module: linux.file, parameter: { path: /dir/other, content: x } },"
      "{ id: file, module: linux.file, parameter: { path: /dir/sub/link/f, content: x } }]";
  CHECK(last(machine.plan(text)).verdict == Verdict::fail);
  const std::string made =
      "states: [{ id: dir, module: linux.dir, parameter: { path: /dir/gone } },"
      "{ id: file, module: linux.file, parameter: { path: /dir/sub/link/f, content: x } }]";
  const PlanResult plan = machine.plan(made);
  for (const StateResult& result : machine.apply_saved(plan, made))
    CHECK_MESSAGE(result.outcome == Outcome::changed, result.comment);
}

TEST_CASE("one path that decides is enough for a condition, whatever cannot be told of another" *
          doctest::skip(::geteuid() != 0)) {
  Machine machine;
  machine.write("/dir/f", "x");
  fs::create_symlink("f", machine.path("/dir/link"));
  REQUIRE(::lchown(machine.path("/dir/link").c_str(), 65534, 65534) == 0);
  const auto text = [](const char* paths) {
    return "states: [{ id: s, module: meta.comment, parameter: {}, when: { path_exists: " +
           std::string(paths) + " } }]";
  };
  for (const char* paths : {"[/dir/link, /dir/none]", "[/dir/none, /dir/link]"}) {
    CHECK(last(machine.plan(text(paths))).skipped);
    CHECK(machine.apply(text(paths)).at(0).outcome == Outcome::skipped);
  }
  CHECK(last(machine.plan(text("[/dir/link, /dir/f]"))).verdict == Verdict::fail);
}

TEST_CASE("a file that a package may bring is not promised to be a new one") {
  Machine machine;
  const PlanResult plan = machine.plan(
      "states: [{ id: web, module: test.package, parameter: {} },"
      "{ id: conf, module: linux.file, parameter: { path: /etc/nginx/nginx.conf, content: x } },"
      "{ id: ours, module: linux.file, parameter: { path: /srv/nginx/x, content: x } }]");
  CHECK(plan.states[1].verdict == Verdict::unknown);
  CHECK(plan.states[1].depends_on == "web");
  CHECK(plan.states[2].verdict == Verdict::change);
}

TEST_CASE("what a package brings need not have its name") {
  Machine machine;
  fs::create_directories(machine.path("/etc/cron.d"));
  const PlanResult plan = machine.plan(
      "states: [{ id: old, module: linux.dir, parameter: { path: /etc/other.d, absent: true } },"
      "{ id: web, module: test.package, parameter: {} },"
      "{ id: gone, module: linux.dir, parameter: { path: /etc/other.d, absent: true } },"
      "{ id: made, module: linux.dir, parameter: { path: /etc/mine } },"
      "{ id: job, module: linux.file, parameter: { path: /etc/cron.d/mine, content: x } },"
      "{ id: no-job, module: linux.file, parameter: { path: /etc/cron.d/other, absent: true } }]");
  CHECK(plan.states[0].verdict == Verdict::kept);
  for (const std::size_t open : {std::size_t{2}, std::size_t{3}, std::size_t{5}}) {
    CHECK(plan.states[open].verdict == Verdict::unknown);
    CHECK(plan.states[open].depends_on == "web");
  }
  CHECK(plan.states[3].message ==
        "It depends on what the package nginx brings. If it brings nothing there: Create /etc/mine");
  // In a folder that packages share their files have their names, so this one is the recipe's.
  CHECK(plan.states[4].verdict == Verdict::change);
}

TEST_CASE("a plan knows which waits are done") {
  Machine machine;
  const std::string text = "states: [{ id: db, module: meta.wait, parameter: { state: [a/b] } }]";
  CHECK(last(machine.plan(text)).verdict == Verdict::change);
  CHECK(last(machine.plan(text)).message ==
        "Waits until the backend says that it is done. Without a backend nobody can say so: --assume-done db "
        "goes on as if it were done");
  CHECK(last(machine.plan(text, {"db"})).verdict == Verdict::kept);
}
