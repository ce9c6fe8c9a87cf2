#include <unistd.h>

#include <csignal>

#include "agent/cli/apply_view.hpp"
#include "agent/cli/commands.hpp"
#include "agent/cli/log.hpp"
#include "agent/cli/pump.hpp"
#include "agent/cli/recipe_input.hpp"
#include "base/text.hpp"

namespace agent::cli {

namespace {

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

// Writes what the worker does to the log, and brings it a new recipe when asked to.
class DaemonView final : public EventView {
 public:
  DaemonView(const Options& options, Worker& worker, Log& log)
      : options_(options), worker_(worker), log_(log) {}

  void show(const Event& event) override {
    std::visit([this](const auto& each) { on(each); }, event);
  }

  void stopping(Stop::When when) override {
    asked_to_stop_ = true;
    log_.info(when == Stop::When::now ? "stopping now"
                                      : "stopping when the running state is done, in " +
                                            std::to_string(kStopGrace.count()) + " s at the latest");
  }

  void hang_up() override {
    const recipe::Loaded loaded = recipe::load_file(options_.recipe, make_registry());
    for (const recipe::Problem& warning : loaded.warnings)
      log_.warning(describe(warning, options_.recipe));
    for (const recipe::Problem& problem : loaded.problems)
      log_.error(describe(problem, options_.recipe));
    if (!loaded.recipe)
      return log_.error("the recipe was not read again because of these problems; the old one stays");
    log_.info("the recipe was read again: " + states_text(loaded.recipe->states().size()));
    worker_.commands().push(RunRecipe{
        .recipe = loaded.recipe, .version = ++version_, .on_change = options_.on_change, .resume = false});
  }

  // False: the worker ended by itself, because it could not work at all.
  bool asked_to_stop() const { return asked_to_stop_; }

 private:
  void on(const RoundStarted& event) {
    log_.debug("round " + std::to_string(event.round) + " starts");
    if (event.first > 0)
      log_.info("continuing an interrupted run with state " + std::to_string(event.first + 1) + " of " +
                std::to_string(event.states));
  }
  void on(const StateStarted& event) { log_.debug("starting " + quoted(event.id) + ": " + event.message); }
  void on(const StateOutput&) {}  // it is in the result, bounded
  void on(const StateResult& result) {
    const std::string text = std::string(outcome_name(result.outcome)) + " " + quoted(result.id) + " (" +
                             result.module + "): " + result.comment +
                             (result.resumed ? " (by a run that was interrupted)" : "");
    if (!is_success(result.outcome)) {
      log_.error(text);
      log_output(result.output);
    } else {
      log_.write(result.outcome == Outcome::changed ? LogLevel::info : LogLevel::debug, text);
    }
  }
  void on(const RoundEnd& end) {
    if (!end.drift.empty()) log_.warning("repaired what had drifted: " + base::join(end.drift, ", "));
    std::string text = "round " + std::to_string(end.round) + ": " + round_summary(end);
    if (end.next) text += "; next in " + duration_text(*end.next);
    const bool calm = end.round > 1 && end.not_reached == 0 && is_calm(end);
    log_.write(calm ? LogLevel::debug : LogLevel::info, text);
  }
  void on(const PlanResult&) {}
  void on(const Notice& notice) {
    log_.write(notice.level == Notice::Level::warning ? LogLevel::warning : LogLevel::info, notice.text);
  }
  void on(const Stopped&) { log_.info("stopped"); }

  static bool is_calm(const RoundEnd& end) {
    for (std::size_t i = 0; i < kOutcomes; ++i) {
      const auto outcome = static_cast<Outcome>(i);
      if (end.counts[i] > 0 && outcome != Outcome::kept && outcome != Outcome::skipped) return false;
    }
    return true;
  }

  // The end of what programs printed before they failed.
  void log_output(std::string_view output) {
    constexpr std::size_t kLines = 20;
    const std::vector<std::string_view> lines = base::split(base::trim(output), '\n');
    for (std::size_t i = lines.size() > kLines ? lines.size() - kLines : 0; i < lines.size(); ++i)
      log_.error("  | " + std::string(lines[i]));
  }

  const Options& options_;
  Worker& worker_;
  Log& log_;
  std::int64_t version_ = 1;
  bool asked_to_stop_ = false;
};

}  // namespace

int run_command(const Options& options, Console& console) {
  std::signal(SIGPIPE, SIG_IGN);
  SignalFd signals({SIGINT, SIGTERM, SIGHUP});
  auto host = make_host(options.root, options.state_dir);
  if (!host) {
    console.complain(host.error().message());
    return kFailure;
  }
  const auto recipe = load_recipe(options.recipe, options, console);
  if (!recipe) return kFailure;
  auto log = Log::open(options.log_level, options.log_file, console.redactor);
  if (!log) {
    console.complain(log.error().message());
    return kFailure;
  }

  log->info("keeping " + quoted(options.recipe) + " true: " + states_text(recipe->states().size()) +
            ", a round every " + std::to_string(options.round_delay.count()) + " s");
  Worker worker({.host = std::move(*host),
                 .state_dir = options.state_dir,
                 .journal_name = "run",
                 .round_delay = options.round_delay},
                console.redactor);
  worker.commands().push(RunRecipe{.recipe = recipe, .on_change = options.on_change});
  DaemonView view(options, worker, *log);
  pump(worker, signals, view);
  return view.asked_to_stop() ? kOk : kFailure;
}

}  // namespace agent::cli
