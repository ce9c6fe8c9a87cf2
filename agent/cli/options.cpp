#include "agent/cli/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.hpp"
#include "base/value.hpp"

namespace agent::cli {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::uint32_t on(CommandName command) {
  return std::uint32_t{1} << static_cast<unsigned>(command);
}
constexpr std::uint32_t kTop = on(CommandName::none);
constexpr std::uint32_t kPlan = on(CommandName::plan);
constexpr std::uint32_t kApply = on(CommandName::apply);
constexpr std::uint32_t kValidate = on(CommandName::validate);
constexpr std::uint32_t kStates = on(CommandName::states);
constexpr std::uint32_t kRun = on(CommandName::run);
constexpr std::uint32_t kAll = ~std::uint32_t{0};

Error must_be(std::string_view what, std::string_view value) {
  return Error(ErrorCode::invalid, "must be " + std::string(what) + ", not '" + std::string(value) + "'");
}

template <auto Member>
Result<void> store_text(Options& options, std::string_view value) {
  if (value.empty()) return Error(ErrorCode::invalid, "needs a value");
  options.*Member = value;
  return {};
}

template <auto Member>
Result<void> store_more(Options& options, std::string_view value) {
  if (value.empty()) return Error(ErrorCode::invalid, "needs a value");
  (options.*Member).emplace_back(value);
  return {};
}

template <auto Member>
Result<void> store_flag(Options& options, std::string_view value) {
  const auto given = value.empty() ? std::optional(true) : base::Value::string(value).as_bool();
  if (!given) return must_be("true or false", value);
  options.*Member = *given;
  return {};
}

Result<void> store_color(Options& options, std::string_view value) {
  if (value == "auto")
    options.color = ColorWhen::automatic;
  else if (value == "always")
    options.color = ColorWhen::always;
  else if (value == "never")
    options.color = ColorWhen::never;
  else
    return must_be("auto, always or never", value);
  return {};
}

Result<void> store_log_level(Options& options, std::string_view value) {
  if (value == "debug")
    options.log_level = LogLevel::debug;
  else if (value == "info")
    options.log_level = LogLevel::info;
  else if (value == "warning")
    options.log_level = LogLevel::warning;
  else if (value == "error")
    options.log_level = LogLevel::error;
  else
    return must_be("debug, info, warning or error", value);
  return {};
}

Result<void> store_on_change(Options& options, std::string_view value) {
  if (value == "finish")
    options.on_change = OnChange::finish;
  else if (value == "kill")
    options.on_change = OnChange::kill;
  else
    return must_be("finish or kill", value);
  return {};
}

Result<void> store_round_delay(Options& options, std::string_view value) {
  constexpr std::int64_t kLongest = 30LL * 24 * 3600;
  const auto seconds = base::parse_integer(value);
  if (!seconds || *seconds < 1 || *seconds > kLongest)
    return must_be("a number of seconds from 1 to 2592000", value);
  options.round_delay = std::chrono::seconds(*seconds);
  return {};
}

constexpr std::array kOptions{
    OptionRow{.name = "out",
              .letter = 'o',
              .kind = ValueKind::file,
              .placeholder = "PLAN",
              .doc = "save the plan for 'opsagent apply PLAN'; it holds no values and no secrets",
              .commands = kPlan,
              .configurable = false,
              .store = store_text<&Options::out>},
    OptionRow{.name = "recipe",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "the recipe to keep true; read again on SIGHUP",
              .commands = kRun,
              .store = store_text<&Options::recipe>},
    OptionRow{.name = "root",
              .kind = ValueKind::folder,
              .placeholder = "DIR",
              .doc = "work on the files below DIR instead of on this system; states that cannot do so refuse",
              .commands = kPlan | kApply | kRun,
              .store = store_text<&Options::root>},
    OptionRow{.name = "assume-done",
              .kind = ValueKind::text,
              .placeholder = "ID",
              .doc = "count the wait state ID as done; may be given several times",
              .commands = kApply,
              .repeatable = true,
              .store = store_more<&Options::assume_done>},
    OptionRow{.name = "round-delay",
              .kind = ValueKind::text,
              .placeholder = "SECONDS",
              .doc = "pause between rounds (600)",
              .commands = kRun,
              .store = store_round_delay},
    OptionRow{.name = "on-change",
              .kind = ValueKind::text,
              .placeholder = "HOW",
              .doc = "what a new recipe does to the state that is running: finish (default) or kill",
              .commands = kRun,
              .choices = "finish kill",
              .store = store_on_change},
    OptionRow{.name = "log-file",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "log to FILE too; kept at 5 files of 10 MiB",
              .commands = kRun,
              .store = store_text<&Options::log_file>},
    OptionRow{.name = "log-level",
              .kind = ValueKind::text,
              .placeholder = "LEVEL",
              .doc = "debug, info (default), warning or error",
              .commands = kRun,
              .choices = "debug info warning error",
              .store = store_log_level},
    OptionRow{.name = "markdown",
              .kind = ValueKind::folder,
              .placeholder = "DIR",
              .doc = "write the reference of all states to DIR, a page each",
              .commands = kStates,
              .configurable = false,
              .store = store_text<&Options::markdown>},
    OptionRow{.name = "state-dir",
              .kind = ValueKind::folder,
              .placeholder = "DIR",
              .doc = "where the agent keeps what must last (/var/lib/opsagent, or ~/.local/state/opsagent)",
              .commands = kPlan | kApply | kRun,
              .store = store_text<&Options::state_dir>},
    OptionRow{.name = "json",
              .doc = "print JSON for programs: one document, or one per line for 'apply'",
              .commands = kPlan | kApply | kValidate | kStates,
              .store = store_flag<&Options::json>},
    OptionRow{.name = "quiet",
              .letter = 'q',
              .doc = "print nothing but what is wrong; the exit status tells the rest (states: names only)",
              .commands = kPlan | kApply | kValidate | kStates,
              .store = store_flag<&Options::quiet>},
    OptionRow{.name = "verbose",
              .letter = 'v',
              .doc = "also show what is kept, every change with its diff, and what programs print",
              .commands = kPlan | kApply,
              .store = store_flag<&Options::verbose>},
    OptionRow{.name = "color",
              .kind = ValueKind::text,
              .placeholder = "WHEN",
              .doc = "auto (default: on a terminal, unless NO_COLOR is set), always or never",
              .commands = kPlan | kApply | kValidate | kStates,
              .choices = "auto always never",
              .store = store_color},
    OptionRow{.name = "config",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "options from FILE instead of from /etc/opsagent.conf",
              .commands = kPlan | kApply | kValidate | kStates | kRun,
              .configurable = false,
              .store = store_text<&Options::config>},
    OptionRow{.name = "help",
              .letter = 'h',
              .doc = "show this text",
              .commands = kAll,
              .configurable = false,
              .store = store_flag<&Options::help>},
    OptionRow{.name = "version",
              .doc = "show the version",
              .commands = kTop,
              .configurable = false,
              .store = store_flag<&Options::version>},
};

constexpr std::array kCommands{
    CommandRow{.command = CommandName::plan,
               .name = "plan",
               .argument = "FILE",
               .argument_kind = ValueKind::file,
               .summary = "show what applying a recipe would change; changes nothing",
               .description =
                   "Looks at the machine and shows what 'opsagent apply FILE' would do, with diffs. "
                   "FILE is a recipe in YAML or JSON, or - for standard input.\n\n"
                   "Exit status: 0 nothing to do, 2 there are changes, 1 something is wrong.",
               .examples = "opsagent plan web.yaml\n"
                           "opsagent plan web.yaml --out web.plan; opsagent apply web.plan\n"
                           "opsagent plan image.yaml --root /mnt/image"},
    CommandRow{.command = CommandName::apply,
               .name = "apply",
               .argument = "FILE|PLAN",
               .argument_kind = ValueKind::file,
               .summary = "make a recipe true, once",
               .description =
                   "Makes the states of a recipe true, one after another, and stops at the first that "
                   "fails. A PLAN saved by 'opsagent plan --out' is applied only where the machine and "
                   "the recipe are still as they were when it was made.\n\n"
                   "Ctrl-C lets the running state finish (30 s at most); a second one ends it at once.\n\n"
                   "Exit status: 0 all is as asked, 1 a state failed or the run was ended.",
               .examples = "opsagent apply web.yaml\n"
                           "opsagent apply web.yaml --verbose\n"
                           "opsagent apply web.plan --json"},
    CommandRow{.command = CommandName::validate,
               .name = "validate",
               .argument = "FILE",
               .argument_kind = ValueKind::file,
               .summary = "check a recipe without looking at the machine",
               .description = "Lists all problems of a recipe at once, each with its line and column.\n\n"
                              "Exit status: 0 the recipe is fine, 1 it is not.",
               .examples = "opsagent validate web.yaml"},
    CommandRow{.command = CommandName::states,
               .name = "states",
               .argument = "[NAME]",
               .argument_kind = ValueKind::text,
               .summary = "list the state modules, or explain one",
               .description =
                   "Without NAME: every module with a line about it. With NAME: its parameters and its "
                   "page.",
               .examples = "opsagent states\n"
                           "opsagent states linux.file"},
    CommandRow{.command = CommandName::run,
               .name = "run",
               .summary = "keep a recipe true: round after round, until stopped",
               .description =
                   "Applies the recipe, pauses, and starts again, so that whatever drifts is repaired. "
                   "Logs to standard error, in the form that the journal understands when it is "
                   "connected to it.\n\n"
                   "SIGHUP reads the recipe again (a broken one is reported and the old one stays). "
                   "SIGTERM lets the running state finish (30 s at most); a second one ends it at once.",
               .examples = "opsagent run --recipe /etc/opsagent/web.yaml\n"
                           "opsagent run --recipe web.yaml --round-delay 60 --log-level debug"},
    CommandRow{.command = CommandName::completion,
               .name = "completion",
               .argument = "SHELL",
               .argument_kind = ValueKind::text,
               .argument_choices = "bash zsh fish",
               .summary = "print the completion script for bash, zsh or fish",
               .description = "Prints a script that makes the Tab key know the commands, options and states.",
               .examples = "source <(opsagent completion bash)\n"
                           "opsagent completion zsh > ~/.zfunc/_opsagent\n"
                           "opsagent completion fish > ~/.config/fish/completions/opsagent.fish"},
    CommandRow{.command = CommandName::version,
               .name = "version",
               .summary = "show the version",
               .description = "Shows the version of this program.",
               .examples = "opsagent version"},
};

}  // namespace

std::span<const OptionRow> option_rows() {
  return kOptions;
}

std::span<const CommandRow> command_rows() {
  return kCommands;
}

const CommandRow* find_command(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &CommandRow::name);
  return found == kCommands.end() ? nullptr : &*found;
}

const CommandRow& command_row(CommandName command) {
  return *std::ranges::find(kCommands, command, &CommandRow::command);
}

std::vector<std::string_view> command_names() {
  std::vector<std::string_view> names;
  for (const CommandRow& row : kCommands)
    names.push_back(row.name);
  return names;
}

const OptionRow* find_option(std::string_view name) {
  const auto found = std::ranges::find(kOptions, name, &OptionRow::name);
  return found == kOptions.end() ? nullptr : &*found;
}

std::string default_state_dir() {
  if (::geteuid() == 0) return "/var/lib/opsagent";
  const char* state_home = std::getenv("XDG_STATE_HOME");
  if (state_home && *state_home == '/') return std::string(state_home) + "/opsagent";
  const char* home = std::getenv("HOME");
  return home && *home == '/' ? std::string(home) + "/.local/state/opsagent" : "/var/lib/opsagent";
}

}  // namespace agent::cli
