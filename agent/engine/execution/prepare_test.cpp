// A plan of the recipe and a run give a module the same Context.
//
// Compiled alone: its names are those of other tests.
#include "agent/engine/execution/prepare.hpp"

#include <doctest/doctest.h>

#include "agent/engine/execution/planner.hpp"
#include "base/text.hpp"
#include "tests/support/worker_bench.hpp"

namespace {

using namespace agent::engine;
using Bench = tests::WorkerBench;
using namespace std::chrono_literals;

struct Params {
  states::Watch watch;
  std::optional<states::Seconds> limit;
  bool throws = false;
};
constexpr auto kParams = states::param_table(states::param<&Params::watch>("watch", ""),
                                             states::param<&Params::limit>("limit", ""),
                                             states::param<&Params::throws>("throws", ""));

// What a module can see in its Context. A new field of Context does not compile here until somebody has said
// how it is compared.
struct SeenContext {
  explicit SeenContext(states::Context& context) {
    auto& [state_id, host, tree, accounts, overlay, commands, interrupt, facts, notes, waits, watch_triggered,
           watch_changed, watch_reacted, orders, sensitive, wants_diffs, plans_only, plan_salt, redactor,
           is_paced, recipe] = context;
    id = state_id;
    root = host.root;
    os = host.os.id;
    state_dir = host.state_dir;
    const auto folder = tree.look("/dir");
    sees_root = folder && folder->has_value();
    administrator = accounts.user_name(0);
    nothing_planned = overlay.empty();
    limit = std::chrono::ceil<std::chrono::seconds>(commands.time_left());
    programs = commands.usage().programs;
    interrupted = interrupt.requested();
    facts_kept = facts.get<std::string>("new");
    notes_kept = notes.get<std::string>("new");
    is_done = waits.is_done(state_id);
    triggered = watch_triggered;
    changed.assign(watch_changed.begin(), watch_changed.end());
    reacted.assign(watch_reacted.begin(), watch_reacted.end());
    if (orders)
      for (const auto* ids :
           {&orders->restart_for, &orders->reload_for, &orders->restarted, &orders->reloaded})
        ordered.push_back(base::join(*ids, ","));
    if (orders && orders->empty()) ordered.clear();  // as if there were none
    is_sensitive = sensitive;
    makes_diffs = wants_diffs;
    only_planned = plans_only;
    salt = plan_salt;
    knows_secrets = redactor != nullptr;
    has_pace = is_paced;
    for (const states::RecipePart& part : recipe)
      modules.emplace_back(part.type->name());
  }
  bool operator==(const SeenContext&) const = default;

  std::string id, root, os, state_dir, administrator, facts_kept, notes_kept, salt;
  std::chrono::seconds limit{};
  std::vector<std::string> changed, reacted, ordered, modules;
  unsigned programs = 0;
  bool sees_root = false, nothing_planned = false, interrupted = false, is_done = false, triggered = false,
       is_sensitive = false, makes_diffs = false, only_planned = false, knows_secrets = false,
       has_pace = false;
};

// By the planner's thread, then by the worker's, which has ended when they are read.
std::vector<SeenContext> plans;
std::vector<SeenContext> applies;

class Witness final : public states::State<Params> {
 public:
  constexpr Witness()
      : State({.name = "test.witness", .works_below_root = true, .watches_files = true, .timeout = 33s},
              kParams) {}

 private:
  states::PlanWith<states::NoSteps> plan(const Params& params, states::Context& context) const override {
    plans.emplace_back(context);
    if (params.throws) throw 42;
    if (!applies.empty()) return states::Plan::kept("seen");
    return states::Plan{.verdict = states::Verdict::change, .changes = {{.what = "it", .after = "seen"}}};
  }
  states::Applied apply(const Params&, const states::Plan&, const states::NoSteps&,
                        states::ApplyContext& context) const override {
    applies.emplace_back(context);
    return states::Applied::done("seen");
  }
  states::WatchRequest watch(const Params& params) const override {
    return {.paths = params.watch.paths, .always = params.watch.always};
  }
  std::optional<std::chrono::seconds> time_limit(const Params& params) const override {
    return params.limit ? std::optional(params.limit->value) : std::nullopt;
  }
};

constexpr Witness kWitness;
const states::RegistryEntry kWitnesses[] = {{.type = &kWitness}};

const states::Registry& witnesses() {
  static const states::Registry known{std::span(kWitnesses)};
  return known;
}

PlanResult plan(Bench& bench, const std::string& text) {
  const auto loaded = recipe::load_text("test", text, witnesses());
  REQUIRE(loaded.recipe);
  const base::Redactor redactor;
  base::NoInterrupt none;
  return plan_recipe(*loaded.recipe, bench.settings().host, redactor, none,
                     {.state_dir = bench.settings().state_dir});
}

// What a plan sees, which is what the run has seen, too; but for who asks: a run has to change things next.
SeenContext seen_by_both(const std::string& state) {
  Bench bench;
  bench.use_modules(witnesses());
  bench.settings().host.state_dir = bench.settings().state_dir;
  std::filesystem::create_directory(bench.path("/dir/watched"));
  plans.clear();
  applies.clear();
  const std::string text = "states: [{ id: s, module: test.witness" + state + " }]";
  CHECK(plan(bench, text).states.size() == 1);
  REQUIRE(plans.size() == 1);
  CHECK(bench.apply(text).size() == 1);
  bench.stop();
  REQUIRE(plans.size() == 3);
  REQUIRE(applies.size() == 1);
  CHECK(plans[0].only_planned);
  SeenContext in_run = plans[0];
  in_run.only_planned = false;
  CHECK(plans[1] == in_run);
  CHECK(applies[0] == in_run);
  // The look afterwards: nothing triggers it once more, and nobody reads diffs.
  SeenContext again = in_run;
  again.triggered = again.makes_diffs = false;
  again.changed.clear();
  CHECK(plans[2] == again);
  return plans[0];
}

}  // namespace

TEST_CASE("a module sees the same Context in a plan and in a run") {
  const SeenContext plain = seen_by_both("");
  CHECK(plain.id == "s");
  CHECK(plain.sees_root);
  CHECK(plain.nothing_planned);
  CHECK(plain.limit == 33s);
  CHECK(plain.modules == std::vector<std::string>{"test.witness"});
  CHECK_FALSE(plain.triggered);
  CHECK_FALSE(plain.is_sensitive);
  CHECK(plain.makes_diffs);

  const SeenContext sensitive = seen_by_both(", sensitive: true");
  CHECK(sensitive.is_sensitive);
  CHECK_FALSE(sensitive.makes_diffs);

  CHECK(seen_by_both(", parameter: { watch: true }").triggered);
}

TEST_CASE("the time limit of the recipe wins over the state's own, and that over its type's") {
  CHECK(seen_by_both(", parameter: { limit: 44 }").limit == 44s);
  CHECK(seen_by_both(", timeout: 55, parameter: { limit: 44 }").limit == 55s);
}

TEST_CASE("what a module throws while a recipe is planned is a state that fails") {
  Bench bench;
  const PlanResult planned =
      plan(bench, "states: [{ id: s, module: test.witness, parameter: { throws: true } }]");
  REQUIRE(planned.states.size() == 1);
  CHECK(planned.states[0].verdict == states::Verdict::fail);
  CHECK(planned.states[0].message == "Internal error");
}

TEST_CASE("a condition that cannot be told does not count as met, nor as not met") {
  Bench bench;
  // As a disk or a server does that fails: what is on it is not known.
  std::filesystem::create_symlink("circle", bench.path("/dir/circle"));
  for (const char* when : {"path_absent", "path_exists"}) {
    const PlanResult planned = plan(bench, "states: [{ id: s, module: test.witness, when: { " +
                                               std::string(when) + ": /dir/circle/marker } }]");
    REQUIRE(planned.states.size() == 1);
    CHECK(planned.states[0].verdict == states::Verdict::fail);
    CHECK(planned.states[0].message.starts_with("Its condition cannot be told: /dir/circle"));
  }
}
