#include "backend/server/options.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "base/value.hpp"
#include "terminal/option_store.hpp"

namespace backend::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using terminal::must_be;
using terminal::store_flag;
using terminal::store_text;

template <auto Member>
Result<void> store_count(Options& options, std::string_view value) {
  constexpr std::int64_t kLargest = 1'000'000'000;
  const auto number = base::parse_integer(value);
  if (!number || *number < 1 || *number > kLargest) return must_be("a number from 1 to 1000000000", value);
  options.*Member = *number;
  return {};
}

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
              .placeholder = "DIR",
              .doc = "folder of the database, the authority and admin.token (./opsbackend-data)",
              .store = store_text<&Options::data>},
    OptionRow{.name = "listen",
              .placeholder = "ADDRESS:PORT",
              .doc = "for agents and the API (127.0.0.1:8963); port 0 lets the system choose",
              .store = store_text<&Options::listen>},
    OptionRow{.name = "plain",
              .doc = "no TLS, on loopback only; agents are known by their tokens there",
              .store = store_flag<&Options::plain>},
    OptionRow{.name = "allow-v1",
              .doc = "accept agents without a certificate too, as those of version 1 are",
              .store = store_flag<&Options::allow_v1>},
    OptionRow{
        .name = "name",
        .placeholder = "HOST",
        .doc = "what agents and people call this server, for its certificate; may be given several times",
        .repeatable = true,
        .store = store_name},
    OptionRow{
        .name = "ca-cert",
        .placeholder = "FILE",
        .doc =
            "an authority of your own instead of DATA/ca.pem: its certificate, then the chain up to its root",
        .store = store_text<&Options::ca_cert>},
    OptionRow{
        .name = "ca-key", .placeholder = "FILE", .doc = "its key", .store = store_text<&Options::ca_key>},
    OptionRow{.name = "certificate-life",
              .placeholder = "SECONDS",
              .doc = "of agents' certificates; they renew at two thirds (604800: a week)",
              .store = store_certificate_life},
    OptionRow{.name = "report",
              .placeholder = "WHAT",
              .doc = "what agents report unless their app says otherwise: all (default) or changes",
              .store = store_report},
    OptionRow{.name = "heartbeat",
              .placeholder = "SECONDS",
              .doc = "between pings; an agent that misses two is gone (30)",
              .store = store_heartbeat},
    OptionRow{.name = "retention-days",
              .placeholder = "N",
              .doc = "results and rounds older than that are removed (30)",
              .store = store_count<&Options::retention_days>},
    OptionRow{.name = "retention-results",
              .placeholder = "N",
              .doc = "results kept at most (20000000)",
              .store = store_count<&Options::retention_results>},
    OptionRow{.name = "releases",
              .placeholder = "DIR",
              .doc = "serve the release folder DIR at /releases/, to everybody",
              .store = store_text<&Options::releases>},
    OptionRow{.name = "log-file",
              .placeholder = "FILE",
              .doc = "log to FILE too; kept at 5 files of 10 MiB",
              .store = store_text<&Options::log_file>},
    OptionRow{.name = "log-level",
              .placeholder = "LEVEL",
              .doc = "debug, info (default), warning or error",
              .store = store_log_level},
    OptionRow{.name = "config",
              .placeholder = "FILE",
              .doc = "options from FILE instead of from /etc/opsbackend.conf",
              .configurable = false,
              .store = store_text<&Options::config>},
    OptionRow{
        .name = "help", .doc = "show this text", .configurable = false, .store = store_flag<&Options::help>},
    OptionRow{.name = "version",
              .doc = "show the version",
              .configurable = false,
              .store = store_flag<&Options::version>},
};

}  // namespace

std::span<const OptionRow> option_rows() {
  return kOptions;
}

std::string help_text() {
  constexpr std::size_t kColumn = 26;
  std::string text =
      "Usage: opsbackend [OPTION]…\n\n"
      "The backend of OpsAgent: agents' websockets, recipes, results and the API, over one SQLite file.\n"
      "Needs no configuration.\n\nOptions:\n";
  for (const OptionRow& row : kOptions) {
    std::string left = "  --" + std::string(row.name);
    if (!row.is_flag()) left += " " + std::string(row.placeholder);
    left.resize(std::max(kColumn, left.size() + 2), ' ');
    text += left + std::string(row.doc) + "\n";
  }
  return text +
         "\nThe same names work in the environment (OPSBACKEND_LISTEN) and in the config file "
         "(listen = …).\n"
         "SIGTERM sends the agents away, stores what has arrived and ends; a second one ends at once.\n";
}

}  // namespace backend::server
