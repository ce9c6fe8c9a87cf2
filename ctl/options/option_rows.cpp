#include <algorithm>
#include <array>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "ctl/options.hpp"
#include "ctl/options/option_values.hpp"
#include "terminal/option_store.hpp"

namespace ctl {

using terminal::must_be;
using terminal::OptionRow;
using terminal::Scope;
using terminal::store_by;
using terminal::store_flag;
using terminal::store_more;
using terminal::store_number;
using terminal::store_text;
using terminal::ValueKind;

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<void> store_limit(Options& options, std::string_view value) {
  const auto number = base::parse_integer(value);
  if (!number || *number < 1) return must_be("a number from 1 on", value);
  options.limit = static_cast<std::size_t>(*number);
  return {};
}

Result<void> store_format(Options& options, std::string_view value) {
  if (value == "table")
    options.format = Format::table;
  else if (value == "json")
    options.format = Format::json;
  else if (value == "yaml")
    options.format = Format::yaml;
  else
    return must_be("table, json or yaml", value);
  return {};
}

Result<void> store_report(Options& options, std::string_view value) {
  return store_word<&Options::report>(options, value, "all changes");
}

Result<void> store_trust(Options& options, std::string_view value) {
  return store_word<&Options::trust_self_reported>(options, value, "off named all");
}

base::Result<void> store_compat(Options& options, std::string_view value) {
  return store_word<&Options::compat>(options, value, "v1 none");
}

Result<void> store_role(Options& options, std::string_view value) {
  return store_word<&Options::role>(options, value, "viewer operator admin");
}

Result<void> store_head(Options& options, std::string_view value) {
  if (!base::is_sha256_hex(value))
    return must_be("a hash of 64 hexadecimal digits, as 'opsctl audit verify' prints it", value);
  options.head = value;
  return {};
}

// The same word for two things: of which kind it is, the command says.
Result<void> store_to(Options& options, std::string_view value) {
  options.to = options.selector = value;
  return {};
}

constexpr std::string_view kOutcomes = "kept changed failed skipped cancelled timed_out";

Result<void> store_outcome(Options& options, std::string_view value) {
  return store_word<&Options::outcome>(options, value, kOutcomes);
}

constexpr std::array kOwnOptions{
    OptionRow{.name = "app",
              .letter = 'a',
              .kind = ValueKind::text,
              .placeholder = "APP",
              .doc = "machines of this app (default: 'default'; lists: all apps)",
              .configurable = true,
              .store = store_text<&Options::app>},
    OptionRow{
        .name = "selector",
        .letter = 'l',
        .kind = ValueKind::text,
        .placeholder = "SELECTOR",
        .doc = "which machines: role=db, tag.role=db, instance=web*, '*', and what they say of themselves: "
               "self.role=db, fact.os.id=debian; fact.memory.total_mb>4096; with and, or, "
               "not, !=, <, >, <=, >=, in (a, b) and parentheses",
        .store = store_text<&Options::selector>},
    OptionRow{.name = "instance",
              .letter = 'i',
              .kind = ValueKind::text,
              .placeholder = "ID",
              .doc = "this machine, or APP/ID; may be given several times",
              .repeatable = true,
              .store = store_more<&Options::instances>},
    OptionRow{
        .name = "online", .doc = "only machines that are connected", .store = store_flag<&Options::online>},
    OptionRow{.name = "offline",
              .doc = "only machines that are not connected",
              .store = store_flag<&Options::online, false>},
    OptionRow{.name = "limit",
              .letter = 'n',
              .kind = ValueKind::text,
              .placeholder = "NUMBER",
              .doc = "at most so many rows; pages are followed until then",
              .store = store_by<store_limit>},
    OptionRow{.name = "state",
              .kind = ValueKind::text,
              .placeholder = "ID",
              .doc = "only results of this state",
              .store = store_text<&Options::state>},
    OptionRow{.name = "outcome",
              .kind = ValueKind::text,
              .placeholder = "OUTCOME",
              .doc = "only results that ended so: kept, changed, failed, skipped, cancelled, timed_out",
              .choices = kOutcomes,
              .store = store_by<store_outcome>},
    OptionRow{.name = "since",
              .kind = ValueKind::text,
              .placeholder = "WHEN",
              .doc = "only what is newer: an age (90s, 10m, 2h, 7d) or an instant (2026-03-01T12:00:00Z)",
              .store = store_text<&Options::since>},
    OptionRow{.name = "until",
              .kind = ValueKind::text,
              .placeholder = "WHEN",
              .doc = "only what is older, as --since; of a pause: its end, like 2026-03-01T12:00:00Z",
              .store = store_text<&Options::until>},
    OptionRow{.name = "run",
              .kind = ValueKind::text,
              .placeholder = "RUN",
              .doc = "only results of this run",
              .store = store_text<&Options::run>},
    OptionRow{
        .name = "types",
        .kind = ValueKind::text,
        .placeholder = "TYPES",
        .doc =
            "only these events, with commas: presence, recipe, result, round, wait, output, update, rollout",
        .store = store_text<&Options::types>},
    OptionRow{.name = "report",
              .kind = ValueKind::text,
              .placeholder = "WHAT",
              .doc = "what its machines report: all results (default), or changes only",
              .choices = "all changes",
              .store = store_by<store_report>},
    OptionRow{.name = "trust-self-reported",
              .kind = ValueKind::text,
              .placeholder = "HOW",
              .doc =
                  "whether selectors may rely on what machines say of themselves: off (default), named "
                  "(where they ask for self.KEY or fact.KEY), all (their own tags count as the operator's)",
              .choices = "off named all",
              .store = store_by<store_trust>},
    OptionRow{.name = "wait",
              .letter = 'w',
              .doc = "wait until it has ended, well or not, on all machines (agents: until there is one); "
                     "exit status 1 if "
                     "it did not end well",
              .store = store_flag<&Options::wait>},
    OptionRow{.name = "timeout",
              .letter = 't',
              .kind = ValueKind::text,
              .placeholder = "SECONDS",
              .doc = "give up waiting after so long (plan, query: 30; run, ready, agents: 60; --wait: 600, "
                     "of a rollout: a week)",
              .store = store_number<&Options::timeout, 1, 24LL * 3600>},
    OptionRow{.name = "url",
              .kind = ValueKind::text,
              .placeholder = "URL",
              .doc = "where the release is (default: where the agents look)",
              .store = store_text<&Options::url>},
    OptionRow{.name = "id",
              .kind = ValueKind::text,
              .placeholder = "ID",
              .doc = "the state's id in results (default: the module's name)",
              .store = store_text<&Options::id>},
    OptionRow{.name = "role",
              .kind = ValueKind::text,
              .placeholder = "ROLE",
              .doc = "what it may do: viewer (default), operator or admin",
              .choices = "viewer operator admin",
              .store = store_by<store_role>},
    OptionRow{.name = "scope",
              .kind = ValueKind::text,
              .placeholder = "SELECTOR",
              .doc = "it sees and reaches only these machines (default: all)",
              .store = store_text<&Options::scope>},
    OptionRow{
        .name = "ttl",
        .kind = ValueKind::text,
        .placeholder = "TIME",
        .doc = "how long it is good: 90s, 15m, 2h, 7d (join tokens: 15m; access tokens: 90d, and never for "
               "one that does not expire)",
        .store = store_text<&Options::ttl>},
    OptionRow{.name = "uses",
              .kind = ValueKind::text,
              .placeholder = "N",
              .doc = "how many machines can join with it (1)",
              .store = store_number<&Options::uses, 1, 100'000>},
    OptionRow{.name = "approve",
              .doc = "machines that join with it wait until 'opsctl agent approve' lets them in",
              .store = store_flag<&Options::approve>},
    OptionRow{.name = "name",
              .kind = ValueKind::text,
              .placeholder = "PATTERN",
              .doc =
                  "names that machines may choose with it: 'web-*'; '*' is any (default: the backend makes "
                  "them)",
              .store = store_text<&Options::name_pattern>},
    OptionRow{.name = "tag",
              .kind = ValueKind::text,
              .placeholder = "KEY=VALUE",
              .doc = "a tag that the machine gets; may be given several times",
              .repeatable = true,
              .store = store_more<&Options::tags>},
    OptionRow{.name = "reason",
              .kind = ValueKind::text,
              .placeholder = "TEXT",
              .doc = "why, for the audit and for the machine",
              .store = store_text<&Options::reason>},
    OptionRow{.name = "for",
              .kind = ValueKind::text,
              .placeholder = "TIME",
              .doc = "for so long: 90s, 30m, 2h, 7d (8h; 30d at most)",
              .store = store_text<&Options::pause_for>},
    OptionRow{.name = "end-round",
              .doc = "also end the round under way: the running state is cancelled",
              .store = store_flag<&Options::ends_round>},
    OptionRow{.name = "head",
              .kind = ValueKind::text,
              .placeholder = "HASH",
              .doc = "verify: a head that was noted earlier must be in the chain",
              .store = store_by<store_head>},
    OptionRow{.name = "force",
              .doc = "retire: although machines rely on it; they then need a new join token each",
              .store = store_flag<&Options::force>},
    OptionRow{
        .name = "to",
        .kind = ValueKind::text,
        .placeholder = "WHAT",
        .doc = "update: which machines, as --selector; rollback: the revision (the one before the newest)",
        .store = store_by<store_to>},
    OptionRow{.name = "canary",
              .kind = ValueKind::text,
              .placeholder = "SELECTOR",
              .doc = "the first ring is taken from these (default: any)",
              .store = store_text<&Options::canary>},
    OptionRow{.name = "rings",
              .kind = ValueKind::text,
              .placeholder = "PERCENTS",
              .doc = "ring by ring: per cent of the machines up to the end of each later ring (10,50,100)",
              .store = store_text<&Options::rings>},
    OptionRow{.name = "pause",
              .kind = ValueKind::text,
              .placeholder = "TIME",
              .doc = "between two rings: 0s, 60s, 15m, 2h (60s)",
              .store = store_text<&Options::pause>},
    OptionRow{.name = "jitter",
              .kind = ValueKind::text,
              .placeholder = "TIME",
              .doc = "the machines of a ring are told one after the other within this time (5s)",
              .store = store_text<&Options::jitter>},
    OptionRow{.name = "silence",
              .kind = ValueKind::text,
              .placeholder = "TIME",
              .doc = "a machine that was told and says nothing for so long is lost (15m)",
              .store = store_text<&Options::silence>},
    OptionRow{
        .name = "compat",
        .kind = ValueKind::text,
        .placeholder = "WHAT",
        .doc = "v1: recipes that do not say 'version: 2' are taken as far as they can be, and what is wrong "
               "with a state shows when its turn comes; none takes it back",
        .choices = "v1 none",
        .store = store_by<store_compat>},
    OptionRow{.name = "agent-version",
              .kind = ValueKind::text,
              .placeholder = "VERSION",
              .doc = "agents that come with another one are told to update to it; none takes it back",
              .store = store_text<&Options::agent_version>},
    OptionRow{.name = "ws-uri",
              .kind = ValueKind::text,
              .placeholder = "URI",
              .doc = "where the agents find their backend; may be given several times",
              .repeatable = true,
              .store = store_more<&Options::ws_uris>},
    OptionRow{.name = "heartbeat",
              .kind = ValueKind::text,
              .placeholder = "SECONDS",
              .doc = "pause between pings",
              .store = store_number<&Options::heartbeat, 5, 3600>},
    OptionRow{.name = "output",
              .doc = "also what programs print, live; needs --instance",
              .store = store_flag<&Options::output>},
    OptionRow{.name = "verbose",
              .letter = 'v',
              .doc = "also what is kept, and all of what programs printed",
              .store = store_flag<&Options::verbose>},
    OptionRow{.name = "exit-code",
              .doc = "exit status 4 when there is a difference",
              .store = store_flag<&Options::exit_code>},
    OptionRow{.name = "interval",
              .kind = ValueKind::text,
              .placeholder = "SECONDS",
              .doc = "how often it looks again (2)",
              .store = store_number<&Options::interval, 1, 3600>},
    OptionRow{.name = "json", .doc = "as --format json", .store = store_flag<&Options::json>},
    OptionRow{.name = "markdown",
              .doc = "print the reference of all commands as Markdown",
              .store = store_flag<&Options::markdown>},
};

constexpr std::array kGlobalOptions{
    OptionRow{.name = "server",
              .letter = 's',
              .kind = ValueKind::text,
              .placeholder = "URL",
              .doc = "the backend (https://127.0.0.1:8963, or what 'opsctl login' stored)",
              .scope = Scope::every,
              .configurable = true,
              .store = store_text<&Options::server>},
    OptionRow{
        .name = "token-file",
        .kind = ValueKind::file,
        .placeholder = "FILE",
        .doc = "a file with the access token (what 'opsctl login' stored, else ./opsbackend-data/admin.token "
               "for a backend on this machine)",
        .scope = Scope::every,
        .configurable = true,
        .store = store_text<&Options::token_file>},
    OptionRow{
        .name = "ca",
        .kind = ValueKind::file,
        .placeholder = "FILE",
        .doc = "the certificates that may vouch for the backend, for https (what 'opsctl login' stored, else "
               "./opsbackend-data/ca.crt for a backend on this machine)",
        .scope = Scope::every,
        .configurable = true,
        .store = store_text<&Options::ca>},
    OptionRow{.name = "format",
              .letter = 'o',
              .kind = ValueKind::text,
              .placeholder = "FORMAT",
              .doc = "table (default, for people), json or yaml",
              .choices = "table json yaml",
              .scope = Scope::every,
              .configurable = true,
              .store = store_by<store_format>},
    OptionRow{.name = "color",
              .doc = "colours, even if this is no terminal",
              .scope = Scope::every,
              .store = store_flag<&Options::color>},
    OptionRow{.name = "no-color",
              .doc = "no colours, even on a terminal (NO_COLOR in the environment does the same)",
              .scope = Scope::every,
              .store = store_flag<&Options::color, false>},
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

}  // namespace

std::span<const OptionRow> option_rows() {
  static const std::vector<OptionRow> all = [] {
    std::vector<OptionRow> rows(kOwnOptions.begin(), kOwnOptions.end());
    const auto recipes = recipe_option_rows();
    rows.insert(rows.end(), recipes.begin(), recipes.end());
    const auto release = release_option_rows();
    rows.insert(rows.end(), release.begin(), release.end());
    rows.insert(rows.end(), kGlobalOptions.begin(), kGlobalOptions.end());
    return rows;
  }();
  return all;
}

}  // namespace ctl
