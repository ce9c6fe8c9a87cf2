#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/commands/recipe_reader.hpp"
#include "agent/cli/commands/version.hpp"
#include "agent/cli/input/recipe_input.hpp"
#include "agent/cli/input/variable_input.hpp"
#include "agent/cli/output/apply_view.hpp"
#include "agent/control/stop_signals.hpp"
#include "agent/daemon/daemon.hpp"
#include "agent/install/original.hpp"
#include "agent/runtime/address_rules.hpp"
#include "base/files/file_read.hpp"
#include "base/files/private_folder.hpp"
#include "base/text.hpp"
#include "terminal/log.hpp"
#include "update/journal.hpp"

namespace agent::cli {

namespace {

std::string in_quotes(std::string_view text) {
  return "'" + std::string(text) + "'";
}

// Writes what the worker does to the log.
class EventLog {
 public:
  EventLog(const Options& options, terminal::Log& log) : options_(options), log_(log) {}

  void show(const engine::Event& event) {
    std::visit([this](const auto& each) { on(each); }, event);
  }

 private:
  void on(const engine::RoundStarted& event) {
    log_.debug("round " + std::to_string(event.round) + " starts");
    if (event.first > 0)
      log_.info("continuing an interrupted run with state " + std::to_string(event.first + 1) + " of " +
                std::to_string(event.states));
  }
  void on(const engine::StateStarted& event) {
    log_.debug("starting " + in_quotes(event.id) + ": " + event.message);
  }
  void on(const engine::StateOutput&) {}  // it is in the result, bounded
  void on(const engine::StateResult& result) {
    const std::string text = std::string(engine::outcome_name(result.outcome)) + " " + in_quotes(result.id) +
                             " (" + result.module + "): " + result.comment +
                             (result.resumed ? " (by a run that was interrupted)" : "");
    if (!engine::is_success(result.outcome)) {
      log_.error(text);
      log_output(result.output);
    } else {
      log_.write(result.is_blocked                            ? terminal::LogLevel::warning
                 : result.outcome == engine::Outcome::changed ? terminal::LogLevel::info
                                                              : terminal::LogLevel::debug,
                 text);
    }
  }
  void on(const engine::RoundEnd& end) {
    if (!end.problem.empty())
      return log_.error(end.problem + (end.next ? "; next try in " + duration_text(*end.next) : ""));
    if (!end.drift.empty()) log_.warning("repaired what had drifted: " + base::join(end.drift, ", "));
    std::string text = "round " + std::to_string(end.round) + ": " + round_summary(end);
    if (end.next) text += "; next in " + duration_text(*end.next);
    const bool calm = end.round > 1 && end.not_reached == 0 && is_calm(end);
    log_.write(calm ? terminal::LogLevel::debug : terminal::LogLevel::info, text);
  }
  void on(const engine::PlanResult&) {}
  void on(const engine::Notice& notice) {
    log_.write(notice.level == engine::Notice::Level::warning ? terminal::LogLevel::warning
                                                              : terminal::LogLevel::info,
               notice.text);
  }
  void on(const engine::Stopped&) { log_.info("stopped"); }

  static bool is_calm(const engine::RoundEnd& end) {
    for (std::size_t i = 0; i < engine::kOutcomes; ++i) {
      const auto outcome = static_cast<engine::Outcome>(i);
      if (end.counts[i] > 0 && outcome != engine::Outcome::kept && outcome != engine::Outcome::skipped)
        return false;
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
  terminal::Log& log_;
};

// The recipe of a file, for a daemon without a backend. Not the loop's thread: modules may have to be
// fetched.
class FileRecipe {
 public:
  FileRecipe(const Options& options, RecipeReader& reader, terminal::Log& log)
      : options_(options), reader_(reader), log_(log) {}

  // The file, as it is now; nothing when it has problems.
  std::optional<engine::RunRecipe> reread(base::Interrupt& interrupt) {
    // Of a pipe there is nothing more to come, and waiting for it would be deaf to all signals.
    struct stat st {};
    if (::stat(options_.recipe.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) {
      log_.error("the recipe cannot be read again: " + in_quotes(options_.recipe) +
                 " is not a regular file; the old one stays");
      return std::nullopt;
    }
    const recipe::Loaded loaded = reader_.load_file(options_.recipe, interrupt);
    tell(loaded);
    if (!loaded.recipe) {
      log_.error("the recipe was not read again because of these problems; the old one stays");
      return std::nullopt;
    }
    log_.info("the recipe was read again: " + states_text(loaded.recipe->states().size()));
    recipe_ = loaded.recipe;
    return engine::RunRecipe{
        .recipe = loaded.recipe, .version = ++version_, .on_change = options_.on_change, .resume = false};
  }

  // The recipe as it was read, when its tag has moved to other modules.
  std::optional<engine::RunRecipe> with_moved_modules(base::Interrupt& interrupt) {
    using Clock = std::chrono::steady_clock;
    constexpr std::chrono::seconds kSoonest{30};  // however often rounds start
    if (asked_ && Clock::now() - *asked_ < std::min(kSoonest, options_.round_delay)) return std::nullopt;
    const auto loaded = reader_.load_if_moved(interrupt);
    asked_ = Clock::now();
    if (!loaded) return filled_differently();
    tell(*loaded);
    if (!loaded->recipe) {
      log_.error("the modules were not brought up to date because of these problems; the old ones stay");
      return std::nullopt;
    }
    log_.info("the modules are at commit " + reader_.fetched()->commit + " from the next round on");
    recipe_ = loaded->recipe;
    return engine::RunRecipe{
        .recipe = loaded->recipe, .version = ++version_, .resume = false, .after_round = true};
  }

  // The recipe that the worker has.
  void begin_with(std::shared_ptr<const recipe::Recipe> recipe) { recipe_ = std::move(recipe); }

 private:
  // The same text, when facts, variables or secrets make another recipe of it.
  std::optional<engine::RunRecipe> filled_differently() {
    if (!recipe_) return std::nullopt;
    const auto loaded = reader_.load_if_filled_differently(*recipe_);
    if (!loaded) {
      is_told_ = false;
      return std::nullopt;
    }
    if (!loaded->recipe) {
      if (!std::exchange(is_told_, true)) {  // once, not in every round
        tell(*loaded);
        log_.error(
            "with the facts, variables and secrets of now the recipe has these problems; it goes on as it "
            "was");
      }
      return std::nullopt;
    }
    is_told_ = false;
    recipe_ = loaded->recipe;
    log_.info("facts, variables or secrets have changed: the recipe is another one from the next round on");
    return engine::RunRecipe{
        .recipe = loaded->recipe, .version = ++version_, .resume = false, .after_round = true};
  }

  void tell(const recipe::Loaded& loaded) {
    for (const recipe::Problem& warning : loaded.warnings)
      log_.warning(describe(warning, options_.recipe));
    for (const recipe::Problem& problem : loaded.problems)
      log_.error(describe(problem, options_.recipe));
  }

  const Options& options_;
  RecipeReader& reader_;
  terminal::Log& log_;
  std::int64_t version_ = 1;
  std::shared_ptr<const recipe::Recipe> recipe_;
  bool is_told_ = false;                                        // that it cannot be filled in any more
  std::optional<std::chrono::steady_clock::time_point> asked_;  // about a moving tag
};

}  // namespace

namespace {

terminal::LogLevel level_of(Level level) {
  switch (level) {
    case Level::debug:
      return terminal::LogLevel::debug;
    case Level::info:
      return terminal::LogLevel::info;
    case Level::warning:
      return terminal::LogLevel::warning;
    case Level::error:
      break;
  }
  return terminal::LogLevel::error;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

updater::Settings update_settings(const Options& options) {
  updater::Settings settings{.state_dir = options.state_dir,
                             .version = std::string(kVersion),
                             .prefix = options.prefix,
                             .release_base = options.release_base,
                             .channel = options.channel,
                             .is_launched = environment(update::kLaunchedMark) == "1",
                             .self_test = {"--state-dir", options.state_dir},
                             .trial = options.update_trial,
                             .most_delay = options.update_delay};
  if (!options.config.empty()) {
    settings.self_test.emplace_back("--config");
    settings.self_test.push_back(options.config);
  }
  return settings;
}

base::Result<runtime::BackendSettings> backend_settings(const Options& options) {
  runtime::BackendSettings backend{.ws_uris = options.ws_uris,
                                   .identity = {.state_dir = options.state_dir,
                                                .app_id = options.app_id,
                                                .instance_id = options.instance_id,
                                                .token_file = options.token_file},
                                   .membership = {.state_dir = options.state_dir,
                                                  .join_token = options.join_token,
                                                  .ca_file = options.ca_file},
                                   .protocol_min = options.protocol_min,
                                   .allow_plain = options.allow_plain,
                                   .allowed_hosts = options.allowed_hosts,
                                   .allow = options.allow};
  auto source = metadata::parse_sources(options.identity_source);
  if (!source) return std::move(source).error().with_context("identity_source");
  if (!options.metadata_url.empty()) source->url = options.metadata_url;
  if (!options.identity_file.empty()) source->file = options.identity_file;
  backend.identity.use_cloud_init = source->use_cloud_init;
  backend.source = std::move(*source);
  backend.update = update_settings(options);
  // Whether this machine is a member is known once its state folder was read.
  for (const std::string& uri : options.ws_uris)
    if (auto why = runtime::refuse_uri(uri, {.allow_plain = options.allow_plain}))
      return base::Error(base::ErrorCode::invalid, uri + ": " + *why);
  for (const std::string& tag : options.tags)
    backend.tags[tag.substr(0, tag.find('='))] = tag.substr(tag.find('=') + 1);
  auto proxies = transport::Proxies::parse(proxy_settings(options));
  if (!proxies) return std::move(proxies).error();
  backend.proxies = std::move(*proxies);
  backend.update.proxies = backend.proxies;
  return backend;
}

// Where this program is, whatever is there by now.
std::optional<std::string> program_path() {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) return std::nullopt;
  std::string text(path.data(), static_cast<std::size_t>(length));
  constexpr std::string_view kDeleted = " (deleted)";
  if (text.ends_with(kDeleted)) text.resize(text.size() - kDeleted.size());
  return text;
}

// Becomes the program anew, with the arguments that it was started with.
int start_anew(terminal::Log& log) {
  const auto text = base::read_file("/proc/self/cmdline", 1024 * 1024);
  std::vector<std::string> arguments;
  if (text)
    for (const std::string_view word : base::split(std::string_view(*text).substr(0, text->size() - 1), '\0'))
      arguments.emplace_back(word);
  std::vector<char*> argv;
  for (std::string& argument : arguments)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  // Not /proc/self/exe itself: an update has put another file in its place.
  std::string program = arguments.empty() ? "" : arguments.front();
  if (auto path = program_path()) program = std::move(*path);
  ::execv(program.c_str(), argv.data());
  log.error("cannot start anew: " + base::os_error(errno, program).message());
  return kFailure;
}

// The machine's own daemon, where the original is or was: never beside it; and at its first start it takes
// over what the original remembers, so that no watched service is restarted for nothing. False: it must not
// start.
bool follow_original(const Options& options, terminal::Log& log) {
  if (options.state_dir != install::kStateFolder || !options.root.empty() || ::geteuid() != 0) return true;
  if (const auto processes = install::original_processes(); !processes.empty()) {
    log.error("the original OpsAgent runs on this machine (process " + std::to_string(processes.front()) +
              "): 'opsagent migrate' takes over from it");
    return false;
  }
  const bool is_first = ::access((options.state_dir + "/token").c_str(), F_OK) != 0 &&
                        ::access((options.state_dir + "/watch").c_str(), F_OK) != 0;
  if (!is_first || ::access(install::kOriginalState, F_OK) != 0) return true;
  if (auto made = base::make_private_folder(options.state_dir); !made) return true;  // the daemon says why
  const auto adopted = install::adopt_state(install::kOriginalState, "", options.state_dir);
  if (!adopted) {
    log.warning(adopted.error().message());
    return true;
  }
  for (const std::string& problem : adopted->problems)
    log.warning("not taken over from the original OpsAgent: " + problem);
  if (adopted->token || adopted->watch_records > 0)
    log.info("took over from the original OpsAgent: " + std::string(adopted->token ? "its token, " : "") +
             std::to_string(adopted->watch_records) + " watch records");
  return true;
}

}  // namespace

transport::ProxySettings proxy_settings(const Options& options) {
  return {.proxy = options.proxy,
          .http_proxy = environment("http_proxy"),
          .https_proxy = environment("https_proxy"),
          .no_proxy = environment("no_proxy")};
}

states::DownloadSettings download_settings(const Options& options) {
  const transport::ProxySettings proxies = proxy_settings(options);
  return {.proxy = proxies.proxy,
          .http_proxy = proxies.http_proxy,
          .https_proxy = proxies.https_proxy,
          .no_proxy = proxies.no_proxy,
          .allow_unverified_http = options.allow_unverified_http};
}

int run_command(const Options& options, terminal::Console& console) {
  const control::SignalFd hang_ups({SIGHUP});  // one that comes while the recipe is read is heard afterwards
  const auto fail = [&](const std::string& text) {
    console.complain(text);
    return kFailure;
  };
  if (options.recipe.empty() && options.ws_uris.empty())
    return fail("for whom? opsagent run --ws-uri URI, or without a backend: opsagent run --recipe FILE");
  if (!options.recipe.empty() && !options.ws_uris.empty())
    return fail("--recipe is for a daemon without backend; with --ws-uri the backend sends the recipe");
  auto host = make_host(options.root, options.state_dir);
  if (!host) return fail(host.error().message());
  host->downloads = download_settings(options);
  auto log = terminal::Log::open(options.log_level, options.log_file, console.redactor);
  if (!log) return fail(log.error().message());
  if (!follow_original(options, *log)) return kFailure;
  auto reader = RecipeReader::open(options, {.progress = [&](const auto& line) { log->info(line); },
                                             .warning = [&](const auto& line) { log->warning(line); }});
  if (!reader) return fail(reader.error().message());
  runtime::DaemonSettings settings{.host = std::move(*host),
                                   .state_dir = options.state_dir,
                                   .round_delay = options.round_delay,
                                   .version = std::string(kVersion),
                                   .redactor = console.redactor,
                                   .secrets = secret_settings(options),
                                   .modules = module_settings(options),
                                   .sources = reader->local()};
  if (!options.ws_uris.empty()) {
    auto backend = backend_settings(options);
    if (!backend) return fail(backend.error().message());
    settings.backend = std::move(*backend);
  } else {
    auto recipe = usable_recipe(reader->load_file(options.recipe), options.recipe, options, console);
    if (!recipe) return kFailure;
    settings.recipe = engine::RunRecipe{.recipe = std::move(recipe), .on_change = options.on_change};
  }

  if (settings.recipe)
    log->info("keeping " + in_quotes(options.recipe) +
              " true: " + states_text(settings.recipe->recipe->states().size()) + ", a round every " +
              std::to_string(options.round_delay.count()) + " s");
  EventLog events(options, *log);
  FileRecipe file(options, *reader, *log);
  if (settings.recipe) file.begin_with(settings.recipe->recipe);
  settings.log = [&](Level level, const std::string& text) { log->write(level_of(level), text); };
  settings.show = [&](const engine::Event& event) { events.show(event); };
  settings.reread = [&](base::Interrupt& interrupt) { return file.reread(interrupt); };
  settings.moved_modules = [&](base::Interrupt& interrupt) { return file.with_moved_modules(interrupt); };
  switch (daemon::run_daemon(std::move(settings))) {
    case daemon::DaemonEnd::stopped:
      return kOk;
    case daemon::DaemonEnd::restart:
      return start_anew(*log);
    case daemon::DaemonEnd::switched:
      return update::kStartCurrent;
    case daemon::DaemonEnd::failed:
      break;
  }
  return kFailure;
}

}  // namespace agent::cli
