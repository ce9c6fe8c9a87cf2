// The options of opsbackend: every one is a row, from which parsing, help, the environment's names and the
// config file's keys all follow.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "terminal/log.hpp"

namespace backend::server {

// What was asked for. Constant after parsing.
struct Options {
  bool help = false;
  bool version = false;
  std::string config;

  std::string data = "./opsbackend-data";
  std::string listen = "127.0.0.1:8963";
  bool plain = false;
  bool allow_v1 = false;
  std::vector<std::string> names;
  std::string ca_cert;
  std::string ca_key;
  std::int64_t certificate_life = 7 * 24 * 3600;  // seconds
  std::int64_t heartbeat = 30;                    // seconds
  bool report_changes_only = false;               // of apps that do not say otherwise
  std::int64_t retention_days = 30;
  std::int64_t retention_results = 20'000'000;
  std::string releases;  // folder that is served at /releases/; "": none
  std::string log_file;
  terminal::LogLevel log_level = terminal::LogLevel::info;

  bool configured = false;  // anything at all was set
};

struct OptionRow {
  std::string_view name;         // "allow-v1"; OPSBACKEND_ALLOW_V1 in the environment, allow_v1 in the file
  std::string_view placeholder;  // "DIR"; empty: a flag
  std::string_view doc;
  bool configurable = true;  // may stand in the environment and the config file
  bool repeatable = false;   // each adds to what there is, wherever it stands
  // Notes the value; the error says what is accepted. Flags get "" or a word for true or false.
  base::Result<void> (*store)(Options&, std::string_view value) = nullptr;

  bool is_flag() const { return placeholder.empty(); }
};

std::span<const OptionRow> option_rows();
std::string help_text();

inline constexpr const char* kDefaultConfig = "/etc/opsbackend.conf";

// Where options come from; tests give their own.
struct OptionSources {
  std::vector<std::string> arguments;  // without the program's name
  std::function<const char*(const char*)> environment;
  std::string default_config = kDefaultConfig;  // read when --config is not given; may be missing
};

// Command line over environment over config file. The error says everything that is wrong, one problem per
// line, with the nearest known name.
base::Result<Options> parse_options(const OptionSources& sources);

}  // namespace backend::server
