#include "agent/daemon/daemon.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "agent/connection/connector.hpp"
#include "agent/control/control_address.hpp"
#include "agent/control/control_server.hpp"
#include "agent/control/pid_file.hpp"
#include "agent/control/stop_signals.hpp"
#include "agent/daemon/status_json.hpp"
#include "agent/inputs/recipe_facts.hpp"
#include "agent/runtime/active_recipe.hpp"
#include "agent/runtime/daemon_state.hpp"
#include "agent/runtime/machine_holds.hpp"
#include "agent/runtime/recipe_modules.hpp"
#include "agent/updater/updater.hpp"
#include "base/background_thread.hpp"
#include "base/files/private_folder.hpp"
#include "base/host/notify.hpp"
#include "base/values/json_text.hpp"
#include "transport/fd_watcher.hpp"
#include "update/must_finish.hpp"

namespace agent::daemon {

namespace {

using namespace std::chrono_literals;
using transport::Task;

constexpr mode_t kStateFolderMode = 0711;
// How long the end waits for the backend to acknowledge the last reports.
constexpr std::chrono::milliseconds kFarewell = 2s;
// While a package manager has to finish before we end: how much more time is asked for, and how often.
constexpr std::chrono::seconds kMoreTime = 60s;
// However often rounds start: a recipe is filled in again no more often.
constexpr std::chrono::seconds kBetweenFills = 30s;
constexpr std::chrono::milliseconds kAskForTime = 5s;

class Daemon {
 public:
  Daemon(runtime::DaemonSettings settings, control::SignalFd& signals)
      : settings_(std::move(settings)),
        signals_(signals),
        notify_(base::Notify::from_environment()),
        recipe_(settings_.state_dir, runtime::types_of(*settings_.sources)) {}

  DaemonEnd run() {
    if (auto begun = begin(); !begun) {
      settings_.log(Level::error, begun.error().message());
      return DaemonEnd::failed;
    }
    transport::spawn(loop_.get_executor(), read_worker_events());
    transport::spawn(loop_.get_executor(), read_signals());
    if (notify_.watchdog_period()) transport::spawn(loop_.get_executor(), feed_watchdog());
    if (live_) transport::spawn(loop_.get_executor(), connector_->run());
    notify_.ready();
    loop_.run();
    control_.reset();
    if (!asked_to_stop_) return DaemonEnd::failed;
    if (for_update_) return is_drained_ ? DaemonEnd::switched : DaemonEnd::failed;
    return restart_ ? DaemonEnd::restart : DaemonEnd::stopped;
  }

 private:
  base::Result<void> begin() {
    if (auto made = base::make_private_folder(settings_.state_dir, kStateFolderMode); !made)
      return std::move(made).error();
    auto pid_file = control::PidFile::acquire(control::pid_path(settings_.state_dir));
    if (!pid_file) return std::move(pid_file).error();
    pid_file_ = std::move(*pid_file);
    engine::WorkerSettings worker{.host = settings_.host,
                                  .state_dir = settings_.state_dir,
                                  .journal_name = "run",
                                  .round_delay = settings_.round_delay};
    FirstRecipe first;
    if (settings_.recipe) first.command = *settings_.recipe;
    if (settings_.backend) {
      auto live = runtime::DaemonState::open(settings_);
      if (!live) return std::move(live).error();
      live_ = std::move(*live);
      if (!live_->background.can_be_ended()) return base::os_error(EMFILE, "cannot start");
      const auto round_delay = live_->settings.in_use().round_delay.value_or(settings_.round_delay);
      modules_ = std::make_unique<runtime::RecipeModules>(runtime::RecipeModules::Parts{
          .executor = loop_.get_executor(),
          .settings = settings_.modules,
          .local = settings_.sources,
          .recipe = recipe_,
          .round_delay = round_delay,
          .log = settings_.log,
          .carry_out = [this](runtime::RecipeDecision decision) { carry_out(std::move(decision)); }});
      recipe_.set_machine([this](recipe::Inputs& inputs) { add_machine(inputs); });
      first = start_recipe();
      if (const auto delay = live_->settings.in_use().round_delay) worker.round_delay = *delay;
      worker.has_backend = true;
      worker.reports = live_->sink();
    }
    auto started = engine::Worker::start(std::move(worker), settings_.redactor);
    if (!started) return std::move(started).error();
    worker_ = std::move(*started);
    port_ = std::make_unique<runtime::WorkerPort>(*worker_, loop_.get_executor());
    holds_.start(*port_);  // before there is anything to run
    if (first.command) port_->send(std::move(*first.command));
    if (live_) {
      updater_ = std::make_unique<updater::Updater>(loop_, settings_.backend->update, *live_->spool,
                                                    updater_hooks());
      connector_ = std::make_unique<connection::Connector>(
          loop_, settings_, *live_, *port_, recipe_, *modules_, holds_, *updater_,
          [this](const std::string& text) { notify_.status(text); });
      holds_.on_change([this] {
        connector_->holds_changed();
        if (waits_for_release_ && holds_.holds().empty()) drain_for_update();
      });
      modules_->recipe_changed();
      updater_->start(first.is_lost ? "it cannot use the recipe that the version before has accepted" : "");
    }
    auto control =
        control::ControlServer::listen(loop_, control::socket_path(settings_.state_dir),
                                       [this](const base::Value& request) { return answer(request); });
    if (!control) return std::move(control).error();
    control_ = std::move(*control);
    if (!live_) background_ = std::make_unique<base::BackgroundThread>();
    return {};
  }

  // What expressions of a recipe can ask of this machine.
  void add_machine(recipe::Inputs& given) const {
    given.facts = inputs::recipe_facts(live_->facts.json);
    given.secrets = std::make_shared<inputs::MachineSecrets>(settings_.secrets);
    given.app = live_->identity.app_id;
    given.instance = live_->identity.instance_id;
    if (const auto* credentials = live_->membership->credentials()) {
      given.app = credentials->name.app_id;
      given.instance = credentials->name.instance_id;
    }
    given.agent = {{"version", settings_.version}};
  }

  // The recipe that is run before anybody is connected.
  struct FirstRecipe {
    std::optional<engine::Command> command;
    bool is_lost = false;  // one was accepted before, and cannot be used
  };

  FirstRecipe start_recipe() {
    runtime::RecipeDecision decision =
        recipe_.start([this](const runtime::StoredRecipe& recipe) { return modules_->open(recipe); });
    const bool is_lost = !decision.command && !decision.problems.empty();
    for (const std::string& problem : decision.problems)
      settings_.log(is_lost ? Level::error : Level::warning,
                    is_lost ? "the stored recipe cannot be used: " + problem : problem);
    if (decision.command)
      settings_.log(Level::info, "starting with the stored recipe, version " +
                                     std::to_string(recipe_.current()->version) + ": " +
                                     std::to_string(recipe_.states()) + " states");
    return {.command = std::move(decision.command), .is_lost = is_lost};
  }

  // What follows from modules that have come, or have not.
  void carry_out(runtime::RecipeDecision decision) {
    for (const std::string& problem : decision.problems)
      settings_.log(Level::warning, problem);
    append(std::move(decision.statuses));
    append(std::move(decision.results));
    if (decision.command && !port_->send(std::move(*decision.command)))
      settings_.log(Level::error, "the worker takes no commands: the recipe goes on as it was");
    if (!connector_) return;
    connector_->recipe_changed();
    connector_->reports_available();
  }

  template <class Report>
  void append(std::vector<Report> all) {
    for (Report& report : all) {
      const reports::Spool::Entry entry = reports::to_entry(std::move(report));
      if (auto appended = live_->spool->append({&entry, 1}); !appended)
        settings_.log(Level::error, appended.error().message());
    }
  }

  // ---- updates

  // By the launcher, which is the service's main process and says itself when it is stopping.
  bool is_launched() const {
    const char* mark = std::getenv(update::kLaunchedMark);
    return mark && std::string_view(mark) == "1";
  }

  updater::Updater::Hooks updater_hooks() {
    return {.log = settings_.log,
            .spooled =
                [this] {
                  if (connector_) connector_->reports_available();
                },
            .drain = [this] { drain_for_update(); },
            .authorities = [this] { return live_->membership->authorities(); }};
  }

  // As a stop, but somebody else starts where we ended.
  void drain_for_update() {
    if (asked_to_stop_) return;  // whoever starts next tries again
    // Nothing is replaced on a machine that somebody wants left alone; also, the other version may not know
    // what a hold is.
    waits_for_release_ = !holds_.holds().empty();
    if (waits_for_release_) {
      settings_.log(Level::info, "the update waits: " + holds_.refusal());
      return;
    }
    for_update_ = true;
    stop(engine::Stop{.when = engine::Stop::When::wait, .keeps_place = true});
  }

  // ---- the worker

  Task<> read_worker_events() {
    // So many at a time that nothing else on the loop has to wait long.
    constexpr int kAtOnce = 256;
    transport::FdWatcher watcher(loop_.get_executor(), worker_->events().readable_fd());
    bool is_over = false;
    while (!is_over && co_await watcher.readable()) {
      bool any = false;
      for (int i = 0; i < kAtOnce && !is_over; ++i) {
        const std::optional<engine::Event> event = worker_->events().try_pop();
        if (!event) break;
        any = true;
        on_worker_event(*event);
        is_over = std::holds_alternative<engine::Stopped>(*event);
      }
      if (!any && worker_->events().is_closed()) is_over = true;
      if (connector_) connector_->reports_available();
    }
    worker_is_over_ = true;
    co_await end();
  }

  void on_worker_event(const engine::Event& event) {
    settings_.show(event);
    port_->on_worker_event(event);
    // Without a backend there is nothing to tell.
    append(recipe_.on_worker_event(event, std::chrono::system_clock::now()));
    if (connector_) connector_->on_worker_event(event);
    if (modules_) modules_->on_worker_event(event);
    if (!std::holds_alternative<engine::RoundStarted>(event)) return;
    if (live_)
      fill_again();
    else
      next_recipe(settings_.moved_modules);
  }

  // Facts and secrets may make another recipe of the same text by now.
  void fill_again() {
    using Clock = std::chrono::steady_clock;
    if (filled_ && Clock::now() - *filled_ < kBetweenFills) return;
    filled_ = Clock::now();
    runtime::RecipeDecision decision = recipe_.fill_again();
    if (decision.command)
      settings_.log(Level::info,
                    "facts or secrets have changed: the recipe is another one from the next round on");
    if (decision.command || !decision.statuses.empty() || !decision.problems.empty())
      carry_out(std::move(decision));
  }

  // Of a file, on a thread of its own: modules may have to be fetched. One at a time; what is asked for
  // meanwhile is what the next one finds.
  void next_recipe(const runtime::DaemonSettings::NextRecipe& read) {
    if (!read || std::exchange(is_reading_, true)) return;
    const bool submitted = background_->submit([this, &read](base::Interrupt& interrupt) {
      transport::asio::post(loop_, [this, recipe = read(interrupt)]() mutable {
        is_reading_ = false;
        if (recipe) port_->send(std::move(*recipe));
        if (std::exchange(reads_again_, false)) next_recipe(settings_.reread);
      });
    });
    if (!submitted) is_reading_ = false;
  }

  // The worker has stopped: what it said last should still reach the backend.
  Task<> end() {
    if (for_update_) is_drained_ = updater_->drained();
    if (connector_)
      co_await connector_->end(for_update_ ? "updating" : restart_ ? "restarting" : "stopping", kFarewell);
    // What still waits (a name that is being looked up, clients of the control socket) is of no interest.
    loop_.stop();
  }

  // ---- requests to stop

  Task<> read_signals() {
    transport::FdWatcher watcher(loop_.get_executor(), signals_.fd());
    while (!worker_is_over_) {
      bool came = false;
      if (const auto deadline = stops_.deadline()) {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(*deadline - control::StopRequests::Clock::now());
        came = co_await watcher.readable_for(std::max(left, std::chrono::milliseconds(1)));
      } else {
        came = co_await watcher.readable();
      }
      if (worker_is_over_) break;
      while (const auto signal = came ? signals_.take() : std::nullopt) {
        if (*signal == SIGHUP) {
          hang_up();
          continue;
        }
        restart_ = false;
        for_update_ = false;
        stop(stops_.signalled(control::StopRequests::Clock::now()));
      }
      stop(stops_.expired(control::StopRequests::Clock::now()));
    }
  }

  void stop(std::optional<engine::Stop> request) {
    if (!request) return;
    asked_to_stop_ = true;
    if (!restart_ && !for_update_ && !is_launched()) notify_.stopping();
    if (!asks_for_time_) {
      asks_for_time_ = true;
      transport::spawn(loop_.get_executor(), ask_for_time());
    }
    settings_.log(Level::info, request->when == engine::Stop::When::now ? "stopping now"
                               : request->when == engine::Stop::When::end
                                   ? "stopping when the recipe is through"
                                   : "stopping when the running state is done");
    port_->send(*request);
  }

  // A package manager is not ended half-way. Whoever waits for our end, and would kill us, is told: the
  // service manager by a message, the launcher by a lock.
  Task<> ask_for_time() {
    base::UniqueFd lock;
    for (bool is_said = false; !worker_is_over_;) {
      const bool waits = worker_->must_finish();
      if (!waits) lock.reset();
      if (waits && !lock) lock = update::lock_must_finish(settings_.state_dir);
      if (waits) notify_.extend_timeout(kMoreTime);
      if (waits && !std::exchange(is_said, true))
        settings_.log(Level::info, "a package manager is at work: stopping when it is done");
      co_await transport::sleep_for(kAskForTime);
    }
  }

  void hang_up() {
    if (live_) {
      settings_.log(Level::info, "looking at the facts again");
      connector_->refresh_facts();
    } else if (is_reading_) {
      reads_again_ = true;
    } else {
      next_recipe(settings_.reread);
    }
  }

  // ---- the control socket

  std::string answer(const base::Value& request) {
    const auto text = [&](std::string_view key) {
      const base::Value* value = request.find(key);
      return value ? std::string(value->text()) : std::string();
    };
    const std::string command = text("command");
    if (command == "status")
      return status_json({.settings = settings_,
                          .started = started_,
                          .recipe = recipe_,
                          .live = live_.get(),
                          .connector = connector_.get(),
                          .modules = modules_.get(),
                          .holds = holds_,
                          .is_stopping = asked_to_stop_});
    if (command == "hold" || command == "release" || command == "run-now")
      return answer_about_holds(command, request);
    if (command != "stop") return R"({"error":"no such command"})";
    const std::string when = text("when");
    if (when != "now" && when != "wait" && when != "end") return R"({"error":"'when' is now, wait or end"})";
    const base::Value* restart = request.find("restart");
    restart_ = restart && restart->as_bool().value_or(false);
    for_update_ = false;
    stop(engine::Stop{when == "now"    ? engine::Stop::When::now
                      : when == "wait" ? engine::Stop::When::wait
                                       : engine::Stop::When::end});
    return R"({"ok":true})";
  }

  std::string answer_about_holds(const std::string& command, const base::Value& request) {
    const auto text = [&](std::string_view key) {
      const base::Value* value = request.find(key);
      return value ? std::string(value->text()) : std::string();
    };
    const auto error = [](const std::string& why) {
      return base::JsonText().begin_object().member("error", why).end_object().take();
    };
    if (command == "run-now") {
      const auto begun = holds_.begin_round();
      return begun ? R"({"ok":true})" : error(begun.error().message());
    }
    if (command == "release") {
      const auto released = holds_.release(runtime::HoldOrigin::machine);
      if (!released) return error(released.error().message());
      return base::JsonText()
          .begin_object()
          .member("was_held", *released)
          .member("still", holds_.refusal())
          .end_object()
          .take();
    }
    const base::Value* for_s = request.find("for_s");
    const base::Value* now = request.find("now");
    const std::int64_t seconds = for_s ? for_s->as_integer().value_or(0) : 0;
    runtime::Hold hold{
        .by = text("by"),
        .reason = text("reason"),
        .since = std::chrono::system_clock::now(),
        .left = std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, protocol::kLongestHold))};
    if (auto wrong = runtime::MachineHolds::problem_of(hold.by, hold.reason, seconds); !wrong.empty())
      return error(wrong);
    const std::string held = hold_text(hold, holds_.now());
    if (auto kept = holds_.set(std::move(hold), now && now->as_bool().value_or(false)); !kept)
      return error(kept.error().message());
    return base::JsonText().begin_object().member("held", held).end_object().take();
  }

  // Fed by the loop, and only as long as the worker lives.
  Task<> feed_watchdog() {
    while (!worker_is_over_) {
      notify_.alive();
      co_await transport::sleep_for(*notify_.watchdog_period());
    }
  }

  const runtime::DaemonSettings settings_;
  control::SignalFd& signals_;
  const base::Notify notify_;
  const std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();

  runtime::ActiveRecipe recipe_;
  // The loop outlives all that runs on it.
  transport::Loop loop_{1};
  runtime::MachineHolds holds_{loop_.get_executor(), settings_.state_dir, settings_.log};
  std::optional<control::PidFile> pid_file_;
  std::unique_ptr<runtime::DaemonState> live_;  // with a backend
  std::unique_ptr<engine::Worker> worker_;
  std::unique_ptr<runtime::WorkerPort> port_;
  std::unique_ptr<runtime::RecipeModules> modules_;  // with a backend
  std::unique_ptr<updater::Updater> updater_;        // with a backend
  std::unique_ptr<connection::Connector> connector_;
  std::unique_ptr<control::ControlServer> control_;
  control::StopRequests stops_;
  bool asked_to_stop_ = false;
  bool restart_ = false;
  bool for_update_ = false;         // the launcher starts what is current then
  bool waits_for_release_ = false;  // to be drained, when the machine is not held any more
  bool is_drained_ = false;         // and the updater has noted all that it must know
  bool worker_is_over_ = false;
  bool asks_for_time_ = false;
  std::optional<std::chrono::steady_clock::time_point> filled_;
  bool is_reading_ = false;                             // the recipe's file, or its modules
  bool reads_again_ = false;                            // somebody has asked for it meanwhile
  std::unique_ptr<base::BackgroundThread> background_;  // without a backend; last: it uses the others
};

}  // namespace

DaemonEnd run_daemon(runtime::DaemonSettings settings) {
  std::signal(SIGPIPE, SIG_IGN);
  control::SignalFd signals({SIGINT, SIGTERM, SIGHUP});
  return Daemon(std::move(settings), signals).run();
}

}  // namespace agent::daemon
