// The options of opsagent: what was asked for, and the rows that say how. See terminal/command_table.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/engine/messages.hpp"
#include "base/result.hpp"
#include "terminal/command_table.hpp"
#include "terminal/log.hpp"
#include "update/layout.hpp"

namespace agent::cli {

enum class ColorWhen { automatic, always, never };

// What was asked for. Constant after parsing.
struct Options : terminal::CommandLine {
  std::string state_dir;
  std::string root;
  std::string out;
  std::string recipe;
  std::string module_dir;
  std::vector<std::string> module_wins;
  std::string language = "sh";
  bool plan_only = false;
  bool strict = false;  // recipes of version 1 are checked as those of version 2
  std::string markdown;
  bool json_schema = false;
  std::string log_file;
  std::vector<std::string> assume_done;
  // What a recipe's expressions are filled in with.
  std::vector<std::string> vars;  // "name=value"
  std::vector<std::string> vars_files;
  std::string explain;  // the id of a state
  std::string secrets_dir = "/etc/opsagent/secrets";
  std::string secret_program;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  ColorWhen color = ColorWhen::automatic;
  terminal::LogLevel log_level = terminal::LogLevel::info;
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
  std::vector<std::string> allow_unverified_http;
  int protocol_min = 1;
  bool allow_plain = false;
  std::vector<std::string> allowed_hosts;
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
  bool undo = false;  // of a migration
  // Who tells this machine its name and its app, if not the configuration.
  std::string identity_source = "auto";
  std::string metadata_url;
  std::string identity_file;
  // Module repositories: how they are reached, whom to believe, and how much they may be.
  std::string module_repo;
  std::string module_tag;
  std::string commit;
  bool offline = false;
  std::string module_ca_file;
  std::string module_known_hosts;
  std::string module_ssh_key;
  std::string module_credentials;
  std::string module_keys;
  std::string module_gpg_keyring;
  std::vector<std::string> module_schemes;
  std::vector<std::string> module_moving_tags;
  std::int64_t module_fetch_timeout = 300;
  std::int64_t module_max_size = 256;
  // Holding the machine.
  std::string hold_for;
  std::string hold_until;
  std::string reason;
  bool ends_round = false;
  bool is_release = false;
  bool while_held = false;
  bool background = false;  // `opsagent -d start`, of the original
  // What was wrong with the configuration; only `doctor` and `self-test` go on with that.
  std::string config_problem;
  // Which rules `lint` looks for, and what `fmt` does.
  bool lint_rules = false;
  std::vector<std::string> with_rules;
  std::vector<std::string> without_rules;
  bool format_check = false;
  bool format_diff = false;
};

// All options of all commands, as rows.
std::span<const terminal::OptionRow> option_rows();

// Where journal, watch records and lock live unless told otherwise.
std::string default_state_dir();

}  // namespace agent::cli
