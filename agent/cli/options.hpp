// The command line as data: every command and every option is one row, from which parsing, help, completion,
// the environment's names and the config file's keys all follow.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/cli/log.hpp"
#include "agent/engine/messages.hpp"
#include "base/result.hpp"
#include "update/layout.hpp"

namespace agent::cli {

enum class CommandName {
  none,
  plan,
  apply,
  validate,
  states,
  run,
  status,
  stop,
  stop_wait,
  stop_end,
  restart,
  restart_wait,
  restart_end,
  doctor,
  completion,
  version,
  install,
  uninstall,
  clean,
  self_test
};
enum class ColorWhen { automatic, always, never };

// What was asked for. Constant after parsing.
struct Options {
  CommandName command = CommandName::none;
  std::string argument;  // FILE, PLAN, NAME or SHELL
  bool help = false;
  bool version = false;

  std::string config;
  std::string state_dir;
  std::string root;
  std::string out;
  std::string recipe;
  std::string markdown;
  bool json_schema = false;
  std::string log_file;
  std::vector<std::string> assume_done;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  ColorWhen color = ColorWhen::automatic;
  LogLevel log_level = LogLevel::info;
  engine::OnChange on_change = engine::OnChange::finish;
  std::chrono::seconds round_delay{600};

  // The backend, and who we are to it.
  std::vector<std::string> ws_uris;
  std::string app_id = "default";
  std::string instance_id;
  std::string token_file;
  std::string join_token;
  std::string ca_file;
  std::vector<std::string> tags;  // "key=value"
  std::string proxy;
  int protocol_min = 1;
  bool allow_plain = false;
  std::vector<std::string> allow;

  // Where releases come from, and where they are installed.
  std::string release_base;
  std::string channel = "stable";
  std::string prefix{update::kDefaultPrefix};
  std::chrono::seconds update_trial{60};
  std::chrono::seconds update_delay{5};
  // Installing, and removing.
  std::string sha256;
  std::int64_t release = 0;
  bool no_start = false;
  bool keep_state = false;
  // Who tells this machine its name and its app, if not the configuration.
  std::string identity_source = "auto";
  std::string metadata_url;
  std::string identity_file;
  // What was wrong with the configuration; only `doctor` and `self-test` go on with that.
  std::string config_problem;
};

enum class ValueKind { none, text, file, folder };  // none: a flag

struct OptionRow {
  std::string_view name;  // "state-dir"; OPSAGENT_STATE_DIR in the environment, state_dir in the config file
  char letter = 0;        // "-q"
  ValueKind kind = ValueKind::none;
  std::string_view placeholder;  // "DIR"
  std::string_view doc;
  std::uint32_t commands = 0;  // a bit per CommandName
  std::string_view choices;    // the accepted words, separated by blanks
  bool repeatable = false;
  bool configurable = true;  // may stand in the environment and the config file
  // Notes the value; the error says what is accepted. Flags get "" or a word for true or false.
  base::Result<void> (*store)(Options&, std::string_view value) = nullptr;

  bool applies_to(CommandName command) const { return (commands >> static_cast<unsigned>(command) & 1) != 0; }
};

struct CommandRow {
  CommandName command = CommandName::none;
  std::string_view name;
  std::string_view argument;  // "FILE", "[NAME]"; "" if it takes none
  ValueKind argument_kind = ValueKind::none;
  std::string_view argument_choices;
  std::string_view summary;
  std::string_view description;
  std::string_view examples;
};

std::span<const OptionRow> option_rows();
std::span<const CommandRow> command_rows();
const CommandRow* find_command(std::string_view name);
const CommandRow& command_row(CommandName command);
std::vector<std::string_view> command_names();
const OptionRow* find_option(std::string_view name);

// Where journal, watch records and lock live unless told otherwise.
std::string default_state_dir();

// The text of `opsagent --help` (CommandName::none) or of `opsagent COMMAND --help`.
std::string help_text(CommandName command);

}  // namespace agent::cli
