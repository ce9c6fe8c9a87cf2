#include <csignal>

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/recipe_reader.hpp"
#include "agent/cli/input/plan_file.hpp"
#include "agent/cli/input/recipe_input.hpp"
#include "agent/cli/output/apply_view.hpp"
#include "agent/runtime/hold_record.hpp"

namespace agent::cli {

namespace {

// What is to be applied, whether it was named itself or by a plan.
struct Target {
  std::shared_ptr<const recipe::Recipe> recipe;
  std::string root;
  std::vector<std::string> expected_plans;
  std::string plan_salt;
};

std::optional<Target> load_target(const Options& options, RecipeReader& reader, terminal::Console& console) {
  if (!is_plan_file(options.argument())) {
    auto recipe = usable_recipe(reader.load_file(options.argument()), options.argument(), options, console);
    if (!recipe) return std::nullopt;
    return Target{.recipe = std::move(recipe), .root = options.root};
  }
  auto plan = load_plan_file(options.argument());
  if (!plan) {
    console.complain(plan.error().message());
    return std::nullopt;
  }
  if (!options.root.empty()) {
    auto root = root_path(options.root);
    if (!root || *root != plan->root) {
      console.complain("the plan was made for the root '" + (plan->root.empty() ? "/" : plan->root) +
                       "'; leave --root out, or plan again");
      return std::nullopt;
    }
  }
  if (plan->modules) reader.pin(*plan->modules);
  auto recipe = usable_recipe(reader.load_file(plan->recipe), plan->recipe, options, console);
  if (!recipe) return std::nullopt;
  if (recipe->text_digest() != plan->digest) {
    console.complain(plan->recipe + ": the recipe has changed since the plan was made; plan again");
    return std::nullopt;
  }
  return Target{.recipe = std::move(recipe),
                .root = plan->root,
                .expected_plans = expected_plans(*plan),
                .plan_salt = plan->salt};
}

// Somebody works on this machine, or wants it left as it is.
bool is_left_alone(const Options& options, terminal::Console& console) {
  const runtime::HoldClock now = runtime::read_hold_clock();
  const std::string why = refusal_text(runtime::read_holds(options.state_dir, now), now);
  if (why.empty()) return false;
  if (options.while_held) {
    console.warn(why + "; going on, as --while-held says");
    return false;
  }
  console.complain(why + "\nNothing is applied; --while-held does it all the same.");
  return true;
}

}  // namespace

int apply_command(const Options& options, terminal::Console& console) {
  // A reader that goes away ("| head") must not end the run in the middle of a change.
  std::signal(SIGPIPE, SIG_IGN);
  auto reader = RecipeReader::open(options, fetch_lines(options, console));
  if (!reader) {
    console.complain(reader.error().message());
    return kFailure;
  }
  auto target = load_target(options, *reader, console);
  if (!target) return kFailure;
  // A root of its own is another machine's.
  if (target->root.empty() && is_left_alone(options, console)) return kFailure;
  // Only now: until here there is nothing to finish, and a pipe that nobody writes to may be waited for.
  control::SignalFd signals({SIGINT, SIGTERM});
  auto host = make_host(target->root, options.state_dir);
  if (!host) {
    console.complain(host.error().message());
    return kFailure;
  }

  host->downloads = download_settings(options);
  auto started = engine::Worker::start({.host = std::move(*host),
                                        .state_dir = options.state_dir,
                                        .journal_name = "apply",
                                        .wants_diffs = options.json || options.verbose,
                                        .expected_plans = std::move(target->expected_plans),
                                        .plan_salt = std::move(target->plan_salt)},
                                       console.redactor);
  if (!started) {
    console.complain(started.error().message());
    return kFailure;
  }
  engine::Worker& worker = **started;
  // All at once: the worker must not have finished the recipe before it hears that it should stop then.
  std::vector<engine::Command> commands;
  commands.push_back(
      engine::RunRecipe{.recipe = target->recipe, .resume = false, .done_waits = options.assume_done});
  commands.push_back(engine::Stop{engine::Stop::When::end});
  worker.commands().push_all(std::move(commands));

  const auto view = options.json ? make_json_view(console) : make_text_view(options, console);
  pump(worker, signals, *view);
  return view->converged() ? kOk : kFailure;
}

}  // namespace agent::cli
