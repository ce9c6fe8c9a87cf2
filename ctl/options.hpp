// The command line of opsctl as data: every command and every option is one row, from which parsing, help,
// completion, the reference page and the environment's names all follow.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "terminal/console.hpp"

namespace ctl {

struct CommandRow;
struct Options;
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
struct Options {
  const CommandRow* command = nullptr;
  std::string group;  // "recipe", of "recipe --help"
  std::vector<std::string> arguments;
  bool help = false;
  bool version = false;

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

  // which rows
  std::optional<std::size_t> limit;
  std::string state;
  std::string outcome;
  std::string since;
  std::string run;
  std::string types;

  // recipes and assignments
  std::string report;
  std::string recipe;
  std::string revision;  // a number, or "newest"
  std::optional<std::int64_t> order;
  std::string on_change;
  std::optional<std::int64_t> round_delay;
  bool wait = false;

  // tokens and identities
  std::string role;
  std::string scope;
  std::string ttl;
  std::optional<std::int64_t> uses;
  std::vector<std::string> tags;
  std::string reason;
  std::string head;

  // updates
  std::string agent_version;  // "none": not pinned
  std::string canary;
  std::string rings;
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

enum class ValueKind { none, text, file };  // none: a flag

struct OptionRow {
  std::string_view name;
  char letter = 0;
  ValueKind kind = ValueKind::none;
  std::string_view placeholder;
  std::string_view doc;
  std::string_view choices = {};  // the accepted words, separated by blanks
  bool repeatable = false;
  bool global = false;       // for every command, and may stand before it
  bool environment = false;  // OPSCTL_SERVER
  // Notes the value; the error says what is accepted. Flags get "" or a word for true or false.
  base::Result<void> (*store)(Options&, std::string_view value) = nullptr;
};

struct CommandRow {
  std::string_view name;       // "recipe push"
  std::string_view arguments;  // "[NAME] FILE"; "" if it takes none
  std::size_t least = 0;       // arguments
  std::size_t most = 0;
  ValueKind argument_kind = ValueKind::none;
  std::string_view argument_choices = {};
  std::string_view options = {};  // names of its own options, separated by blanks
  std::string_view summary;
  std::string_view description;
  std::string_view examples;
  // One of these: with the server, or without.
  base::Result<int> (*run)(Session&) = nullptr;
  base::Result<int> (*run_local)(const Options&, terminal::Console&) = nullptr;

  bool has_option(const OptionRow& row) const;
};

std::span<const OptionRow> option_rows();
std::span<const OptionRow> release_option_rows();  // of them: userdata and release
std::span<const CommandRow> command_rows();
// By what they are about, each in a file of its own (command_rows_*.cpp).
std::span<const CommandRow> access_command_rows();
std::span<const CommandRow> release_command_rows();
std::span<const CommandRow> update_command_rows();
std::span<const CommandRow> userdata_command_rows();
const CommandRow* find_command(std::string_view name);
const OptionRow* find_option(std::string_view name);

// The first words of commands ("recipe"), each once, in order.
std::vector<std::string_view> command_groups();
// The second words below one ("push", "list" …); none when it is a command itself.
std::vector<std::string_view> subcommands(std::string_view group);

std::string environment_name(const OptionRow& row);

}  // namespace ctl
