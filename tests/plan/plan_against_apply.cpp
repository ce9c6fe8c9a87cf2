// Random recipes over random machines: what the plan says of each state, against what applying it does.
//
//   plan_against_apply [--cases N] [--seed FIRST] [--verbose]
//
// Each case has a seed; `--seed S --cases 1` runs one again. A difference is a state of which the plan said
// something else than happened, unless it said `unknown`: another outcome, or other changes than those that
// a saved plan is compared by. On a scratch machine (tests/container) it works on the running system, with
// accounts, commands, cron jobs and packages; elsewhere below a root of its own, with what can work there.
// SIGTERM ends it after the case that is under way, with the counts so far.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "agent/engine/execution/planner.hpp"
#include "agent/engine/secrets.hpp"
#include "agent/engine/worker/worker.hpp"
#include "base/host/os_release.hpp"
#include "base/text.hpp"
#include "builtins/builtins.hpp"
#include "tests/plan/random_machine.hpp"
#include "tests/plan/random_recipe.hpp"

namespace {

constexpr const char* kSalt = "any will do: nobody else reads these plans";

using namespace agent::engine;
using states::Verdict;

volatile std::sig_atomic_t is_to_end = 0;

struct Totals {
  std::size_t cases = 0;
  std::size_t states = 0;  // that were planned and reached
  std::size_t unknown = 0;
  std::size_t not_reached = 0;  // after one that failed
  std::size_t differences = 0;
  std::size_t rendered = 0;  // of the states: of recipes with variables, expressions and templates
  std::map<std::string, std::size_t> kinds;                            // of verdicts, by name
  std::map<std::string, std::pair<std::size_t, std::size_t>> modules;  // states, and unknown ones among them
};

const states::Registry& registry() {
  static const states::Registry known{states::native_states(), builtins::builtin_states(),
                                      tests::kWatcherModule};
  return known;
}

std::vector<StateResult> apply_recipe(const WorkerSettings& settings,
                                      const std::shared_ptr<const recipe::Recipe>& recipe,
                                      const std::vector<std::string>& waits) {
  std::vector<StateResult> results;
  Worker worker(settings, std::make_shared<base::Redactor>());
  worker.commands().push(RunRecipe{.recipe = recipe, .resume = false, .done_waits = waits});
  worker.commands().push(Stop{Stop::When::end});
  while (auto event = worker.events().pop()) {
    if (auto* result = std::get_if<StateResult>(&*event)) results.push_back(std::move(*result));
    if (std::holds_alternative<Stopped>(*event)) break;
  }
  return results;
}

std::string said(const PlannedState& planned) {
  return planned.skipped ? "skipped" : std::string(verdict_name(planned.verdict));
}

// What the plan promised and what came of it; "" when they agree.
std::string difference(const PlannedState& planned, const StateResult& result, bool is_after_unknown) {
  if (!planned.skipped && planned.verdict == Verdict::unknown) return {};
  // What it requires was not known, and has failed.
  if (result.is_blocked && is_after_unknown) return {};
  const std::string expected = planned.skipped                      ? "skipped"
                               : planned.verdict == Verdict::kept   ? "kept"
                               : planned.verdict == Verdict::change ? "changed"
                                                                    : "failed";
  const std::string got(outcome_name(result.outcome));
  const bool is_another_plan = result.comment.starts_with("The machine is not as it was");
  if (expected == got && !is_another_plan) return {};
  return planned.id + " (" + planned.module + "): planned " + said(planned) + " (" + planned.message +
         "), got " + got + " (" + result.comment + ")";
}

class Runner {
 public:
  Runner(tests::RandomMachine& machine, bool verbose) : machine_(machine), verbose_(verbose) {
    settings_.host.root = machine.root();
    settings_.host.os = base::read_os_release(machine.root());
    settings_.state_dir = settings_.host.state_dir = machine.root() + "/var/lib/plan-test-state";
  }

  void run(std::uint64_t seed) {
    tests::Dice dice(seed);
    machine_.reset(dice);
    ++totals.cases;
    const std::size_t rounds = 1 + dice.below(3);
    tests::RandomRecipe recipe = tests::random_recipe(dice, machine_);
    for (std::size_t round = 1; round <= rounds; ++round) {
      if (recipe.has_packages) machine_.used_packages();
      if (recipe.has_services) machine_.used_services();
      if (!run_round(seed, round, recipe, tests::random_inputs(dice))) return;
      machine_.disturb(dice);
      if (dice.percent(40)) recipe = tests::random_recipe(dice, machine_);
    }
  }

  Totals totals;

 private:
  // False: there was a difference, so what follows says nothing.
  bool run_round(std::uint64_t seed, std::size_t round, const tests::RandomRecipe& given,
                 const recipe::Inputs& inputs) {
    const std::string text = given.text + (given.has_language ? "with " + inputs.vars[0].values + "\n" : "");
    const auto loaded = recipe::load_text("case", given.text, registry(), inputs);
    if (!loaded.recipe) {
      std::printf("seed %llu: the recipe cannot be read: %s\n%s", static_cast<unsigned long long>(seed),
                  loaded.problems.empty() ? "" : loaded.problems[0].message.c_str(), text.c_str());
      ++totals.differences;
      return false;
    }
    const std::string before = machine_.listing();
    base::NoInterrupt none;
    base::Redactor redactor;
    (void)follow_secrets(nullptr, *loaded.recipe, redactor);  // as `opsagent plan` does
    const PlanResult plan =
        plan_recipe(*loaded.recipe, settings_.host, redactor, none,
                    {.salt = kSalt, .state_dir = settings_.state_dir, .done_waits = given.waits});
    settings_.plan_salt = kSalt;
    settings_.expected_plans.clear();
    for (const PlannedState& planned : plan.states)
      settings_.expected_plans.push_back(planned.fingerprint);
    const auto results = apply_recipe(settings_, loaded.recipe, given.waits);

    std::string found;
    bool has_unknown = false;
    for (std::size_t i = 0; i < plan.states.size(); ++i) {
      if (i >= results.size()) {
        ++totals.not_reached;
        continue;
      }
      const PlannedState& planned = plan.states[i];
      const bool unknown = !planned.skipped && planned.verdict == Verdict::unknown;
      has_unknown = has_unknown || unknown;
      ++totals.states;
      totals.rendered += given.has_language;
      ++totals.kinds[said(planned)];
      totals.unknown += unknown;
      auto& [states, unknowns] = totals.modules[planned.module];
      ++states;
      unknowns += unknown;
      if (const std::string text_of = difference(planned, results[i], has_unknown); !text_of.empty()) {
        ++totals.differences;
        found += "  " + text_of + "\n";
      }
    }
    if (!found.empty() || verbose_) tell(seed, round, text, before, plan, found);
    return found.empty();
  }

  void tell(std::uint64_t seed, std::size_t round, const std::string& text, const std::string& before,
            const PlanResult& plan, const std::string& found) const {
    std::printf("seed %llu, round %zu%s\n%s%s", static_cast<unsigned long long>(seed), round,
                found.empty() ? "" : ": DIFFERENT", found.c_str(), text.c_str());
    for (const PlannedState& planned : plan.states)
      std::printf("  plan %s %s: %s%s%s\n", planned.id.c_str(), said(planned).c_str(),
                  planned.message.c_str(), planned.depends_on.empty() ? "" : " <- ",
                  planned.depends_on.c_str());
    std::printf("machine before:\n%s\n", before.c_str());
  }

  tests::RandomMachine& machine_;
  const bool verbose_;
  WorkerSettings settings_;
};

void print(const Totals& totals, std::chrono::milliseconds took) {
  std::printf(
      "%zu cases, %zu states compared in %lld ms: %zu differences, %zu unknown (%.1f %%), "
      "%zu not reached after a failure, %zu of recipes with expressions\n",
      totals.cases, totals.states, static_cast<long long>(took.count()), totals.differences, totals.unknown,
      totals.states ? 100.0 * static_cast<double>(totals.unknown) / static_cast<double>(totals.states) : 0.0,
      totals.not_reached, totals.rendered);
  for (const auto& [kind, number] : totals.kinds)
    std::printf("  %-8s %zu\n", kind.c_str(), number);
  for (const auto& [module, numbers] : totals.modules)
    std::printf("  %-18s %zu states, %zu unknown\n", module.c_str(), numbers.first, numbers.second);
}

}  // namespace

int main(int argc, char** argv) {
  if (::geteuid() != 0) {
    std::puts("skipped: needs root, recipes give files away");
    return 77;
  }
  std::size_t cases = 300;
  std::uint64_t first = 1;
  bool verbose = false;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const auto number = i + 1 < argc ? base::parse_integer(argv[i + 1]) : std::nullopt;
    if (option == "--verbose") {
      verbose = true;
    } else if ((option == "--cases" || option == "--seed") && number && *number >= 0) {
      (option == "--cases" ? cases : first) = static_cast<std::uint64_t>(*number);
      ++i;
    } else {
      std::fprintf(stderr, "usage: %s [--cases N] [--seed FIRST] [--verbose]\n", argv[0]);
      return 2;
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const bool is_scratch_machine = ::access("/etc/opsagent-scratch", F_OK) == 0 && ::geteuid() == 0;
  std::string root;
  if (!is_scratch_machine) {
    const bool has_memory = ::access("/dev/shm", W_OK) == 0;  // syncs cost nothing there
    root = has_memory ? "/dev/shm/opsagent-plan-XXXXXX"
                      : (std::filesystem::temp_directory_path() / "opsagent-plan-XXXXXX").string();
    if (!::mkdtemp(root.data())) {
      std::perror(root.c_str());
      return 2;
    }
  }
  std::printf("%s, seeds %llu to %llu\n",
              is_scratch_machine ? "on the scratch machine itself" : "below a root",
              static_cast<unsigned long long>(first), static_cast<unsigned long long>(first + cases - 1));

  tests::RandomMachine machine(root);
  Runner runner(machine, verbose);
  const auto started = std::chrono::steady_clock::now();
  constexpr std::size_t kMostTold = 20;
  (void)std::signal(SIGTERM, [](int) { is_to_end = 1; });
  for (std::uint64_t seed = first; seed < first + cases && runner.totals.differences < kMostTold; ++seed) {
    if (is_to_end != 0) break;
    runner.run(seed);
  }
  print(runner.totals,
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started));
  if (!root.empty()) std::filesystem::remove_all(root);
  return runner.totals.differences == 0 && runner.totals.states > 0 ? 0 : 1;
}
