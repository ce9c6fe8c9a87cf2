// The options of opsbackend, as rows, and its table.
#include "backend/server/options.hpp"

#include <algorithm>
#include <array>

#include "backend/server/module_options.hpp"
#include "base/text.hpp"
#include "terminal/completion.hpp"
#include "terminal/option_store.hpp"

namespace backend::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using terminal::CommandRow;
using terminal::must_be;
using terminal::OptionRow;
using terminal::Scope;
using terminal::store_by;
using terminal::store_flag;
using terminal::store_number;
using terminal::store_text;
using terminal::ValueKind;

constexpr std::int64_t kLargestCount = 1'000'000'000;
constexpr std::int64_t kLeastBytes = std::int64_t{1} << 20;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;

Result<void> store_name(Options& options, std::string_view value) {
  constexpr std::size_t kLongest = 253;  // of a DNS name
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == ':';
  };
  if (value.empty() || value.size() > kLongest || !std::ranges::all_of(value, allowed))
    return must_be("a host name or an address", value);
  if (std::ranges::find(options.names, value) == options.names.end()) options.names.emplace_back(value);
  return {};
}

Result<void> store_certificate_life(Options& options, std::string_view value) {
  constexpr std::int64_t kShortest = 10, kLongest = 366LL * 24 * 3600;
  const auto seconds = base::parse_integer(value);
  if (!seconds || *seconds < kShortest || *seconds > kLongest)
    return must_be("a number of seconds from 10 to 31622400", value);
  options.certificate_life = *seconds;
  return {};
}

Result<void> store_heartbeat(Options& options, std::string_view value) {
  const auto seconds = base::parse_integer(value);
  if (!seconds || *seconds < 1 || *seconds > 3600)
    return must_be("a number of seconds from 1 to 3600", value);
  options.heartbeat = *seconds;
  return {};
}

Result<void> store_report(Options& options, std::string_view value) {
  if (value != "all" && value != "changes") return must_be("all or changes", value);
  options.report_changes_only = value == "changes";
  return {};
}

Result<void> store_log_level(Options& options, std::string_view value) {
  constexpr std::array<std::string_view, 4> kLevels{"debug", "info", "warning", "error"};
  for (std::size_t i = 0; i < kLevels.size(); ++i)
    if (value == kLevels[i]) {
      options.log_level = static_cast<terminal::LogLevel>(i);
      return {};
    }
  return must_be("debug, info, warning or error", value);
}

constexpr std::array kOptions{
    OptionRow{.name = "data",
              .kind = ValueKind::folder,
              .placeholder = "DIR",
              .doc = "folder of the database, the authority and admin.token (./opsbackend-data)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::data>},
    OptionRow{.name = "listen",
              .kind = ValueKind::text,
              .placeholder = "ADDRESS:PORT",
              .doc = "for agents and the API (127.0.0.1:8963); port 0 lets the system choose",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::listen>},
    OptionRow{.name = "plain",
              .doc = "no TLS, on loopback only; agents are known by their tokens there",
              .scope = Scope::top,
              .configurable = true,
              .store = store_flag<&Options::plain>},
    OptionRow{.name = "allow-v1",
              .doc =
                  "accept agents without a certificate too, as those of version 1 are; new ones wait until "
                  "'opsctl agent approve'",
              .scope = Scope::top,
              .configurable = true,
              .store = store_flag<&Options::allow_v1>},
    OptionRow{
        .name = "name",
        .kind = ValueKind::text,
        .placeholder = "HOST",
        .doc = "what agents and people call this server, for its certificate; may be given several times",
        .scope = Scope::top,
        .repeatable = true,
        .configurable = true,
        .store = store_by<store_name>},
    OptionRow{
        .name = "ca-cert",
        .kind = ValueKind::file,
        .placeholder = "FILE",
        .doc =
            "an authority of your own instead of DATA/ca.pem: its certificate, then the chain up to its root",
        .scope = Scope::top,
        .configurable = true,
        .store = store_text<&Options::ca_cert>},
    OptionRow{.name = "ca-key",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "its key",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::ca_key>},
    OptionRow{.name = "ca-key-passphrase-file",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc =
                  "its key is encrypted, or that in DATA/ca.pem is to be: the passphrase is the first line "
                  "of FILE; without it, of the systemd credential ca-key-passphrase",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::ca_key_passphrase_file>},
    OptionRow{.name = "next-ca-cert",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "the authority that is to follow, for 'opsctl ca rotate': its certificate and chain",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::next_ca_cert>},
    OptionRow{.name = "next-ca-key",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "its key",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::next_ca_key>},
    OptionRow{.name = "next-ca-key-passphrase-file",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "its passphrase, unless it is the same; the credential is next-ca-key-passphrase",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::next_ca_key_passphrase_file>},
    OptionRow{.name = "certificate-life",
              .kind = ValueKind::text,
              .placeholder = "SECONDS",
              .doc = "of agents' certificates; they renew at two thirds (604800: a week)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_by<store_certificate_life>},
    OptionRow{.name = "report",
              .kind = ValueKind::text,
              .placeholder = "WHAT",
              .doc = "what agents report unless their app says otherwise: all (default) or changes",
              .choices = "all changes",
              .scope = Scope::top,
              .configurable = true,
              .store = store_by<store_report>},
    OptionRow{.name = "heartbeat",
              .kind = ValueKind::text,
              .placeholder = "SECONDS",
              .doc = "between pings; an agent that misses two is gone (30)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_by<store_heartbeat>},
    OptionRow{.name = "retention-days",
              .kind = ValueKind::text,
              .placeholder = "N",
              .doc = "results and rounds older than that are removed (30)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_number<&Options::retention_days, 1, kLargestCount>},
    OptionRow{.name = "retention-results",
              .kind = ValueKind::text,
              .placeholder = "N",
              .doc = "results kept at most (20000000)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_number<&Options::retention_results, 1, kLargestCount>},
    OptionRow{.name = "retention-bytes",
              .kind = ValueKind::text,
              .placeholder = "N",
              .doc = "bytes of results kept at most (17179869184: 16 GiB)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_number<&Options::retention_bytes, kLeastBytes, kMostBytes>},
    OptionRow{.name = "agent-results",
              .kind = ValueKind::text,
              .placeholder = "N",
              .doc = "results of one machine kept at most; its oldest make room (1000000)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_number<&Options::agent_results, 1, kLargestCount>},
    OptionRow{.name = "agent-bytes",
              .kind = ValueKind::text,
              .placeholder = "N",
              .doc = "bytes of results of one machine kept at most (268435456: 256 MiB)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_number<&Options::agent_bytes, kLeastBytes, kMostBytes>},
    OptionRow{.name = "recipe-revisions",
              .kind = ValueKind::text,
              .placeholder = "N",
              .doc = "revisions of recipes that one scope may have; without a scope 16 times as many (10000)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_number<&Options::recipe_revisions, 1, kLargestCount>},
    OptionRow{.name = "recipe-bytes",
              .kind = ValueKind::text,
              .placeholder = "N",
              .doc = "bytes of these at most (268435456: 256 MiB)",
              .scope = Scope::top,
              .configurable = true,
              .store = store_number<&Options::recipe_bytes, kLeastBytes, kMostBytes>},
    OptionRow{.name = "releases",
              .kind = ValueKind::folder,
              .placeholder = "DIR",
              .doc = "serve the release folder DIR at /releases/, to everybody",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::releases>},
    OptionRow{.name = "log-file",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "log to FILE too; kept at 5 files of 10 MiB",
              .scope = Scope::top,
              .configurable = true,
              .store = store_text<&Options::log_file>},
    OptionRow{.name = "log-level",
              .kind = ValueKind::text,
              .placeholder = "LEVEL",
              .doc = "debug, info (default), warning or error",
              .choices = "debug info warning error",
              .scope = Scope::top,
              .configurable = true,
              .store = store_by<store_log_level>},
    OptionRow{.name = "config",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "options from FILE instead of from /etc/opsbackend.conf",
              .scope = Scope::top,
              .store = store_text<&Options::config>},
    OptionRow{.name = "help",
              .letter = 'h',
              .doc = "show this text",
              .scope = Scope::every,
              .store = store_flag<&Options::help>},
    OptionRow{.name = "version",
              .doc = "show the version",
              .scope = Scope::top,
              .store = store_flag<&Options::version>},
};

constexpr std::array kCommands{
    CommandRow{.name = "completion",
               .arguments = "SHELL",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .argument_choices = terminal::kCompletionShells,
               .question = "for which shell? opsbackend completion bash|zsh|fish",
               .summary = "print the completion script for bash, zsh or fish",
               .description = "Prints a script that makes the Tab key know the options.",
               .examples = "source <(opsbackend completion bash)\n"
                           "opsbackend completion zsh > ~/.zfunc/_opsbackend\n"
                           "opsbackend completion fish > ~/.config/fish/completions/opsbackend.fish"},
};

std::vector<OptionRow> all_options() {
  std::vector<OptionRow> all(kOptions.begin(), kOptions.end());
  const auto modules = module_option_rows();
  // Before where to log, and what is not configured.
  const auto place = std::ranges::find(all, "log-file", &OptionRow::name);
  all.insert(place, modules.begin(), modules.end());
  return all;
}

}  // namespace

const terminal::CommandTable& command_table() {
  static const std::vector<OptionRow> kAll = all_options();
  static const terminal::CommandTable kTable{
      .program = "opsbackend",
      .default_config = kDefaultConfig,
      .options = kAll,
      .commands = kCommands,
      .help = {.about = "Usage: opsbackend [OPTION]…\n\n"
                        "The backend of OpsAgent: agents' websockets, recipes, results and the API, over one "
                        "SQLite file.\n"
                        "Needs no configuration.\n",
               .closing =
                   "The same names work in the environment (OPSBACKEND_LISTEN) and in the config file "
                   "(listen = …).\n"
                   "SIGTERM sends the agents away, stores what has arrived and ends; a second one ends at "
                   "once.\n"
                   "'opsbackend completion bash|zsh|fish' prints the script that completes these options.\n",
               .option_column = 26,
               .top_hint = "lists the options",
               .command_hint = "explains it"},
      .needs_command = false};
  return kTable;
}

base::Result<Options> parse_options(const terminal::OptionSources& sources) {
  return terminal::parse_command_line<Options>(command_table(), sources);
}

}  // namespace backend::server
