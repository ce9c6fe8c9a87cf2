#include "agent/cli/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "agent/cli/option_values.hpp"

namespace agent::cli {

namespace {

constexpr std::uint32_t on(CommandName command) {
  return std::uint32_t{1} << static_cast<unsigned>(command);
}
constexpr std::uint32_t kTop = on(CommandName::none);
constexpr std::uint32_t kPlan = on(CommandName::plan);
constexpr std::uint32_t kApply = on(CommandName::apply);
constexpr std::uint32_t kValidate = on(CommandName::validate);
constexpr std::uint32_t kStates = on(CommandName::states);
constexpr std::uint32_t kRun = on(CommandName::run);
constexpr std::uint32_t kStatus = on(CommandName::status);
constexpr std::uint32_t kDoctor = on(CommandName::doctor);
constexpr std::uint32_t kStops = on(CommandName::stop) | on(CommandName::stop_wait) |
                                 on(CommandName::stop_end) | on(CommandName::restart) |
                                 on(CommandName::restart_wait) | on(CommandName::restart_end);
constexpr std::uint32_t kLive = kRun | kDoctor;
constexpr std::uint32_t kInstall = on(CommandName::install);
constexpr std::uint32_t kUninstall = on(CommandName::uninstall);
constexpr std::uint32_t kClean = on(CommandName::clean);
constexpr std::uint32_t kSelfTest = on(CommandName::self_test);
constexpr std::uint32_t kSetUp = kInstall | kUninstall | kClean;
constexpr std::uint32_t kAll = ~std::uint32_t{0};

constexpr std::array kOptions{
    OptionRow{.name = "ws-uri",
              .kind = ValueKind::text,
              .placeholder = "URI",
              .doc = "the backend, wss://host:port/agent/; several are tried in turn",
              .commands = kLive,
              .repeatable = true,
              .store = store_ws_uri},
    OptionRow{.name = "app-id",
              .kind = ValueKind::text,
              .placeholder = "ID",
              .doc = "which app this machine belongs to (default)",
              .commands = kLive,
              .store = store_id<&Options::app_id>},
    OptionRow{
        .name = "instance-id",
        .kind = ValueKind::text,
        .placeholder = "ID",
        .doc = "this machine's name (the file instance_id of the state folder, else the cloud's name for it, "
               "else the host's name; kept)",
        .commands = kLive,
        .store = store_id<&Options::instance_id>},
    OptionRow{.name = "token-file",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "what proves that we are we to a backend that wants no certificate; made when missing "
                     "(DIR/token)",
              .commands = kLive,
              .store = store_text<&Options::token_file>},
    OptionRow{.name = "join-token",
              .kind = ValueKind::text,
              .placeholder = "TOKEN",
              .doc = "how this machine gets its certificate: what 'opsctl join-token create' printed, or "
                     "the path of a file that holds it",
              .commands = kLive,
              .store = store_join_token},
    OptionRow{.name = "ca-file",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "the authority that backends are known by (the one that issued our certificate)",
              .commands = kLive,
              .store = store_text<&Options::ca_file>},
    OptionRow{.name = "tag",
              .kind = ValueKind::text,
              .placeholder = "KEY=VALUE",
              .doc = "what selectors find this machine by; may be given several times",
              .commands = kLive,
              .repeatable = true,
              .store = store_tag},
    OptionRow{
        .name = "proxy",
        .kind = ValueKind::text,
        .placeholder = "URL",
        .doc = "http proxy that leads to the backend (http_proxy, https_proxy, no_proxy of the environment)",
        .commands = kLive,
        .store = store_proxy},
    OptionRow{.name = "release-base",
              .kind = ValueKind::text,
              .placeholder = "URL",
              .doc = "where releases are downloaded from; without it the agent does not update itself",
              .commands = kLive,
              .store = store_text<&Options::release_base>},
    OptionRow{.name = "channel",
              .kind = ValueKind::text,
              .placeholder = "NAME",
              .doc = "which releases are meant for this machine (stable)",
              .commands = kLive,
              .store = store_id<&Options::channel>},
    OptionRow{.name = "prefix",
              .kind = ValueKind::folder,
              .placeholder = "DIR",
              .doc = "where versions of the agent are installed (/opt/opsagent)",
              .commands = kLive | kSetUp,
              .store = store_text<&Options::prefix>},
    OptionRow{.name = "update-trial",
              .kind = ValueKind::text,
              .placeholder = "SECONDS",
              .doc =
                  "how long a new version of the agent must do well before it is kept (60); in three times "
                  "as long it must have been accepted by a backend, or the old one comes back",
              .commands = kRun,
              .store = store_update_time<&Options::update_trial, 1>},
    OptionRow{.name = "update-delay",
              .kind = ValueKind::text,
              .placeholder = "SECONDS",
              .doc = "an update begins after a random time, no longer than this (5)",
              .commands = kRun,
              .store = store_update_time<&Options::update_delay, 0>},
    OptionRow{.name = "protocol-min",
              .kind = ValueKind::text,
              .placeholder = "N",
              .doc = "1 (default), or 2 to refuse backends that speak version 1 only",
              .commands = kLive,
              .choices = "1 2",
              .store = store_protocol_min},
    OptionRow{.name = "allow-plain",
              .doc = "let ws:// lead to another machine, where everybody on the way can read and change it",
              .commands = kLive,
              .store = store_flag<&Options::allow_plain>},
    OptionRow{.name = "allow",
              .kind = ValueKind::text,
              .placeholder = "WHAT",
              .doc = "what the backend may ask for beyond the recipe: run, query:file, query:journal, "
                     "query:processes, query:unit, query (all of these); nothing unless given",
              .commands = kLive,
              .choices = kAllowable,
              .repeatable = true,
              .store = store_allow},
    OptionRow{
        .name = "identity-source",
        .kind = ValueKind::text,
        .placeholder = "LIST",
        .doc = "who tells this machine its name, app and join token where the configuration or the state "
               "folder do not: ec2, openstack, nocloud, file, several separated by commas; auto (default): "
               "the name that cloud-init knows; none",
        .commands = kLive,
        .choices = "auto none ec2 openstack nocloud file",
        .store = store_identity_source},
    OptionRow{.name = "metadata-url",
              .kind = ValueKind::text,
              .placeholder = "URL",
              .doc = "where ec2 and openstack are asked (http://169.254.169.254)",
              .commands = kLive,
              .store = store_metadata_url},
    OptionRow{.name = "identity-file",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "what the source 'file' reads: instance_id, app_id, join_token (/etc/opsagent.identity)",
              .commands = kLive,
              .store = store_text<&Options::identity_file>},
    OptionRow{.name = "sha256",
              .kind = ValueKind::text,
              .placeholder = "HEX",
              .doc = "of the archive that this program was unpacked from; names the version's folder",
              .commands = kInstall,
              .configurable = false,
              .store = store_text<&Options::sha256>},
    OptionRow{
        .name = "release",
        .kind = ValueKind::text,
        .placeholder = "NUMBER",
        .doc = "the release's number, as its signed document says: no older one is installed by updates",
        .commands = kInstall,
        .configurable = false,
        .store = store_release},
    OptionRow{.name = "no-start",
              .doc = "enable the service and do not start it",
              .commands = kInstall | kClean,
              .configurable = false,
              .store = store_flag<&Options::no_start>},
    OptionRow{.name = "keep-state",
              .doc = "leave the state folder and the configuration: a later install is the same machine",
              .commands = kUninstall | kClean,
              .configurable = false,
              .store = store_flag<&Options::keep_state>},
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
              .doc = "the recipe to keep true, without a backend; read again on SIGHUP",
              .commands = kRun,
              .store = store_text<&Options::recipe>},
    OptionRow{.name = "root",
              .kind = ValueKind::folder,
              .placeholder = "DIR",
              .doc = "work on the files below DIR instead of on this system; states that cannot do so refuse",
              .commands = kPlan | kApply | kRun | kInstall | kUninstall,
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
    OptionRow{.name = "json-schema",
              .doc = "print the JSON Schema of the parameters of state NAME",
              .commands = kStates,
              .configurable = false,
              .store = store_flag<&Options::json_schema>},
    OptionRow{.name = "state-dir",
              .kind = ValueKind::folder,
              .placeholder = "DIR",
              .doc = "where the agent keeps what must last (/var/lib/opsagent, or ~/.local/state/opsagent)",
              .commands = kPlan | kApply | kRun | kStatus | kStops | kDoctor | kSetUp | kSelfTest,
              .store = store_text<&Options::state_dir>},
    OptionRow{.name = "json",
              .doc = "print JSON for programs: one document, or one per line for 'apply'",
              .commands = kPlan | kApply | kValidate | kStates | kStatus | kDoctor | kSelfTest,
              .store = store_flag<&Options::json>},
    OptionRow{.name = "quiet",
              .letter = 'q',
              .doc = "print nothing but what is wrong; the exit status tells the rest (states: names only)",
              .commands = kPlan | kApply | kValidate | kStates | kSetUp | kSelfTest,
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
              .commands = kPlan | kApply | kValidate | kStates | kStatus | kDoctor,
              .choices = "auto always never",
              .store = store_color},
    OptionRow{.name = "config",
              .kind = ValueKind::file,
              .placeholder = "FILE",
              .doc = "options from FILE instead of from /etc/opsagent.conf",
              .commands = kPlan | kApply | kValidate | kStates | kRun | kStatus | kStops | kDoctor | kSetUp |
                          kSelfTest,
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

}  // namespace

std::span<const OptionRow> option_rows() {
  return kOptions;
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
