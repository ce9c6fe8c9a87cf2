// The options of opsctl: what was asked for, and the rows that say how. See terminal/command_table.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "terminal/command_table.hpp"
#include "terminal/console.hpp"

namespace ctl {

class Api;

inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kUnreachable = 3;
inline constexpr int kChanges = 4;  // with --exit-code: there is a difference

enum class Format { table, json, yaml };

// What `opsctl userdata` is asked for, besides app, tags and the token's life.
struct UserdataOptions {
  std::vector<std::string> backends;
  std::string release_base;
  std::string join_token;  // or a file
  std::string release_ca;  // a file
  std::string identity_source;
  bool cloud_config = false;
  std::string out;
};

// What was asked for. Constant after parsing.
struct Options : terminal::CommandLine {
  // for all commands
  std::string server;
  std::string token_file;
  std::string ca;
  Format format = Format::table;
  std::optional<bool> color;

  // which machines
  std::string app;
  std::string selector;
  std::vector<std::string> instances;
  std::optional<bool> online;
  std::string machine;  // whose variables

  // which rows
  std::optional<std::size_t> limit;
  std::string state;
  std::string outcome;
  std::string since;
  std::string until;
  std::string run;
  std::string types;

  // recipes and assignments
  std::string report;
  std::string trust_self_reported;
  std::string compat;  // "none": none
  std::string recipe;
  std::string revision;  // a number, or "newest"
  std::string message;
  std::string to;  // a revision to go back to; of updates: as `selector`
  std::optional<std::int64_t> order;
  std::string on_change;
  std::optional<std::int64_t> round_delay;
  bool wait = false;

  // apply
  std::vector<std::string> files;  // or folders
  std::string set;
  bool prune = false;
  bool dry_run = false;
  bool yes = false;

  // tokens and identities
  std::string role;
  std::string scope;
  std::string owner;  // "none": tokens without a scope
  std::string ttl;
  std::optional<std::int64_t> uses;
  std::string name_pattern;
  bool approve = false;
  std::vector<std::string> tags;
  std::string reason;
  // Of a pause.
  std::string pause_for;
  bool ends_round = false;
  std::string head;
  bool force = false;

  // updates
  std::string agent_version;  // "none": not pinned
  std::string canary;
  std::string rings;
  std::string module_repo, module_tag;
  std::optional<std::int64_t> canaries;
  std::optional<std::int64_t> may_fail;  // per cent
  bool at_once = false;                  // --now
  std::string pause;
  std::string jitter;
  std::string silence;

  // settings of agents
  std::vector<std::string> ws_uris;
  std::optional<std::int64_t> heartbeat;

  // asking machines
  std::optional<std::int64_t> timeout;
  std::string url;
  std::string id;

  // userdata
  UserdataOptions userdata;

  // how to show it
  bool output = false;
  bool verbose = false;
  bool exit_code = false;
  std::int64_t interval = 2;
  bool markdown = false;
  bool json = false;  // as --format json

  // releases (opsctl release)
  std::vector<std::string> root_keys;
  std::vector<std::string> release_keys;
  std::vector<std::string> timestamp_keys;
  std::vector<std::string> sign_keys;
  std::vector<std::string> thresholds;  // "root=2"
  std::vector<std::string> passphrase_files;
  std::string release_version;
  std::string release_channel;
  std::string min_from;
  std::string expires;
  std::string timestamp_expires;
  std::string offer;
  std::string pinned_root;
  bool drop = false;
  std::string within;
};

// What a command works with. Its error is shown with what the user can do about it; ErrorCode::invalid means
// wrong usage.
struct Session {
  const Options& options;
  terminal::Console& console;
  Api& api;
};

std::span<const terminal::OptionRow> option_rows();
std::span<const terminal::OptionRow> recipe_option_rows();   // of them: recipes and assignments
std::span<const terminal::OptionRow> release_option_rows();  // of them: userdata and release
std::span<const terminal::CommandRow> command_rows();
// By what they are about, each in a file of its own (command_rows_*.cpp).
std::span<const terminal::CommandRow> recipe_command_rows();
std::span<const terminal::CommandRow> variable_command_rows();
std::span<const terminal::CommandRow> access_command_rows();
std::span<const terminal::CommandRow> release_command_rows();
std::span<const terminal::CommandRow> update_command_rows();
std::span<const terminal::CommandRow> userdata_command_rows();

}  // namespace ctl
