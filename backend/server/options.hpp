// The options of opsbackend: what was asked for, and the rows that say how. See terminal/command_table.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "terminal/command_parser.hpp"
#include "terminal/log.hpp"

namespace backend::server {

// What was asked for. Constant after parsing.
struct Options : terminal::CommandLine {
  std::string data = "./opsbackend-data";
  std::string listen = "127.0.0.1:8963";
  bool plain = false;
  bool allow_v1 = false;
  std::vector<std::string> names;
  std::string ca_cert;
  std::string ca_key;
  std::string ca_key_passphrase_file;
  std::string next_ca_cert;
  std::string next_ca_key;
  std::string next_ca_key_passphrase_file;
  std::int64_t certificate_life = 7 * 24 * 3600;  // seconds
  std::int64_t heartbeat = 30;                    // seconds
  bool report_changes_only = false;               // of apps that do not say otherwise
  std::int64_t retention_days = 30;
  std::int64_t retention_results = 20'000'000;
  std::int64_t retention_bytes = std::int64_t{16} << 30;
  std::int64_t agent_results = 1'000'000;  // of one machine
  std::int64_t agent_bytes = std::int64_t{256} << 20;
  std::int64_t recipe_revisions = 10'000;  // of one scope
  std::int64_t recipe_bytes = std::int64_t{256} << 20;
  std::string releases;  // folder that is served at /releases/; "": none
  // Module repositories that recipes are checked with.
  std::vector<std::string> module_repos;  // patterns: see backend/repositories/repository_list.hpp
  bool module_refuse_others = false;
  std::vector<std::string> module_wins;
  std::string module_ca_file;
  std::string module_known_hosts;
  std::string module_ssh_key;
  std::string module_credentials;
  std::string module_keys;
  std::string module_gpg_keyring;
  std::string module_proxy;
  std::vector<std::string> module_schemes;
  std::vector<std::string> module_moving_tags;
  std::int64_t module_fetch_timeout = 30;  // seconds
  std::int64_t module_max_size = 64;       // MiB
  std::string log_file;
  terminal::LogLevel log_level = terminal::LogLevel::info;
};

inline constexpr const char* kDefaultConfig = "/etc/opsbackend.conf";

const terminal::CommandTable& command_table();

// Command line over environment over config file. The error says everything that is wrong, one problem per
// line, with the nearest known name.
base::Result<Options> parse_options(const terminal::OptionSources& sources);

}  // namespace backend::server
