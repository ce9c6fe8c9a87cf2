// The rows of most commands, and the table of opsctl.
#include <algorithm>
#include <array>

#include "ctl/commands/commands.hpp"
#include "ctl/options/command_line.hpp"

namespace ctl {

namespace {

using terminal::CommandRow;
using terminal::ValueKind;

constexpr std::array kMostCommands{
    CommandRow{
        .name = "login",
        .arguments = "[URL]",
        .most = 1,
        .argument_kind = ValueKind::text,
        .summary = "remember a backend and its access token",
        .description = "Checks the token with the backend and stores both in $XDG_CONFIG_HOME/opsctl/config "
                       "(~/.config/opsctl/config), which only its owner can read. The token comes from "
                       "--token-file; - is "
                       "standard input. The certificates that --ca names are copied beside it, to ca.pem.",
        .examples =
            "opsctl login https://127.0.0.1:8963 --token-file /var/lib/opsbackend/admin.token --ca "
            "/var/lib/opsbackend/ca.crt\n"
            "ssh backend cat admin.token | opsctl login https://ops.example --token-file - --ca ca.pem",
        .run = local<login_command>},
    CommandRow{
        .name = "ready",
        .options = "timeout",
        .summary = "wait until the backend answers, and takes the access token",
        .description =
            "For scripts that have just started a backend: it looks again for the token and the authority "
            "(./opsbackend-data, --token-file, --ca), which a new backend makes first. Gives up after 60 "
            "seconds, or --timeout.",
        .examples = "opsbackend & opsctl ready && opsctl agents\n"
                    "opsctl ready --server https://ops.example:8963 --timeout 300",
        .run = local<ready_command>},
    CommandRow{.name = "app list",
               .options = "limit",
               .summary = "list the apps",
               .description = "An app is a group of machines that belong together.",
               .examples = "opsctl app list",
               .run = with_server<app_list_command>},
    CommandRow{
        .name = "app create",
        .arguments = "APP",
        .least = 1,
        .most = 1,
        .argument_kind = ValueKind::text,
        .options = "report agent-version trust-self-reported rings module-repo module-tag compat",
        .summary = "make an app, or change what it reports, which version its agents have, and what it "
                   "relies on",
        .description =
            "Machines whose agent names an app that does not exist are told to try again later. What is not "
            "given stays as it is. --rings says how changes of its recipes and assignments go out to 50 "
            "machines or more: 10,50,100 (a new app's), or now. --module-repo is for recipes that are pushed "
            "from "
            "then on: what machines run stays as it was checked.",
        .examples = "opsctl app create shop\n"
                    "opsctl app create shop --rings 5,25,100\n"
                    "opsctl app create shop --report changes\n"
                    "opsctl app create shop --agent-version 1.4.0\n"
                    "opsctl app create shop --module-repo https://git.example.com/ops/modules.git "
                    "--module-tag v1.4\n"
                    "opsctl app create shop --compat v1\n"
                    "opsctl app create shop --trust-self-reported off",
        .run = with_server<app_create_command>},
    CommandRow{.name = "app show",
               .arguments = "APP",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .summary = "an app, and what in it rests on the word of its machines",
               .description =
                   "Lists the assignments and waits that mean other machines when the app does not "
                   "rely on what machines say of themselves (--trust-self-reported off): whom they "
                   "lose, whom they gain, and who claims to belong to them now.",
               .examples = "opsctl app show shop",
               .run = with_server<app_show_command>},
    CommandRow{.name = "agents",
               .options = "app selector instance online offline limit wait timeout",
               .summary = "list the machines",
               .description =
                   "A line per machine: is it connected, what does it run, how did that go. With --wait: "
                   "once there is one; exit status 1 when none has come after 60 seconds, or --timeout.",
               .examples = "opsctl agents\n"
                           "opsctl agents -l role=web --online --wait\n"
                           "opsctl agents -l 'role=db and not fact.os.id=debian' --online\n"
                           "opsctl agents -o json | jq -r '.items[].instance_id'",
               .run = with_server<agents_command>},
    CommandRow{.name = "agent show",
               .arguments = "INSTANCE",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "app",
               .summary = "all that is known about a machine",
               .description = "INSTANCE is the machine's id, or APP/ID.",
               .examples = "opsctl agent show web1\n"
                           "opsctl agent show shop/web1 -o yaml",
               .run = with_server<agent_show_command>},
    CommandRow{
        .name = "agent tag",
        .arguments = "INSTANCE KEY=VALUE|KEY- …",
        .least = 2,
        .most = 64,
        .argument_kind = ValueKind::text,
        .options = "app",
        .summary = "set or remove tags of a machine",
        .description =
            "KEY=VALUE sets a tag, KEY- removes it. Selectors see these tags; what the agent brings along "
            "with --tag is self.KEY.",
        .examples = "opsctl agent tag web1 role=web zone=a\n"
                    "opsctl agent tag web1 zone-",
        .run = with_server<agent_tag_command>},
    CommandRow{.name = "agent forget",
               .arguments = "INSTANCE",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "app",
               .summary = "remove a machine that is gone",
               .description = "Not possible while it is connected. A machine that comes back is new.",
               .examples = "opsctl agent forget web1",
               .run = with_server<agent_forget_command>},
    CommandRow{.name = "agent revoke",
               .arguments = "INSTANCE",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "app reason",
               .summary = "end a machine's certificates and its connection, at once",
               .description =
                   "The machine is not let in again until it is enrolled with a join token that names "
                   "it. What it has been given stays on it.",
               .examples = "opsctl agent revoke web1 --reason stolen",
               .run = with_server<agent_revoke_command>},
    CommandRow{.name = "agent pending",
               .options = "app limit",
               .summary = "list the machines that wait to be approved",
               .description =
                   "Machines without a certificate that come for the first time (opsbackend "
                   "--allow-v1), and those of a join token with --approve. TOKEN is the beginning of "
                   "the SHA-256 of the instance_token that the machine came with.",
               .examples = "opsctl agent pending",
               .run = with_server<agent_pending_command>},
    CommandRow{.name = "agent approve",
               .arguments = "INSTANCE [TOKEN]",
               .least = 1,
               .most = 2,
               .argument_kind = ValueKind::text,
               .options = "app",
               .summary = "let in a machine that waits",
               .description =
                   "With TOKEN, as 'opsctl agent pending' shows it, only if the machine waits with "
                   "that one: compare it with what the machine itself has.",
               .examples = "opsctl agent approve old1 9f86d081884c7d65",
               .run = with_server<agent_approve_command>},
    CommandRow{.name = "agent expect",
               .arguments = "INSTANCE HASH|FILE",
               .least = 2,
               .most = 2,
               .argument_kind = ValueKind::file,
               .options = "app",
               .summary = "let in a machine without a certificate before it comes",
               .description =
                   "HASH is the SHA-256 of its instance_token, FILE one that holds the token, which "
                   "does not leave this machine. Whoever waits under this name with another token is "
                   "turned away.",
               .examples = "opsctl agent expect old1 old1.token",
               .run = with_server<agent_expect_command>},
    CommandRow{.name = "agent exclude",
               .arguments = "INSTANCE",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "app reason",
               .summary = "go on without a machine: nobody waits for it, and no rollout stops for it",
               .description =
                   "Waits that mean it by a selector go on without it; where it is waited for by "
                   "name it counts as done. It keeps its recipes. 'opsctl waits' says who holds up "
                   "others.",
               .examples = "opsctl agent exclude db9 --reason 'broken disk'",
               .run = with_server<agent_exclude_command>},
    CommandRow{.name = "agent include",
               .arguments = "INSTANCE",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "app",
               .summary = "count on a machine again that was excluded",
               .description = "",
               .examples = "opsctl agent include db9",
               .run = with_server<agent_include_command>},
    CommandRow{.name = "agent pause",
               .arguments = "[INSTANCE]",
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "app selector for until reason end-round timeout",
               .summary = "let no round begin on machines for a while",
               .description =
                   "The machines begin no round of their recipe until the time is over or 'opsctl agent "
                   "resume'. The round under way comes to its end, or to a wait for other machines; with "
                   "--end-round "
                   "it ends at once. New recipes are taken and wait; plans and queries are answered; 'opsctl "
                   "run' is refused; an update of the agent waits. A machine that is not connected is paused "
                   "when it comes. 'opsctl agents' shows who has paused what.\n\n"
                   "Needs an instance or a selector; -l '*' is all of the app. A pause of a machine that is "
                   "paused replaces the one before.\n\n"
                   "Exit status: 0 all are paused, or will be when they come; 1 some are not.",
               .examples = "opsctl agent pause db1 --for 2h --reason 'disk is being replaced'\n"
                           "opsctl agent pause -l role=web --until 2026-03-01T12:00:00Z --end-round",
               .run = with_server<agent_pause_command>},
    CommandRow{.name = "agent resume",
               .arguments = "[INSTANCE]",
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "app selector timeout",
               .summary = "let rounds begin again on machines that are paused",
               .description =
                   "Ends the pauses of 'opsctl agent pause'. A hold that somebody has begun at the machine "
                   "('opsagent hold') stays: the machine is shown with it, and it is ended there.\n\n"
                   "Exit status: 0 no pause is left, 1 some machine could not be told, or is still held.",
               .examples = "opsctl agent resume db1\n"
                           "opsctl agent resume -l '*'",
               .run = with_server<agent_resume_command>},
    CommandRow{.name = "agent run-now",
               .arguments = "[INSTANCE]",
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "app selector timeout",
               .summary = "begin a round on machines now, instead of when its turn comes",
               .description =
                   "Also where a machine waits after a failure; where a round is under way, when that one is "
                   "over. Machines that are paused, held or not connected are named.\n\n"
                   "Exit status: 0 it begins everywhere, 1 it does not.",
               .examples = "opsctl agent run-now web1\n"
                           "opsctl agent run-now -l role=web",
               .run = with_server<agent_run_now_command>},
    CommandRow{.name = "plan",
               .arguments = "[FILE|NAME]",
               .most = 1,
               .argument_kind = ValueKind::file,
               .options = "app selector instance revision timeout verbose exit-code",
               .summary = "ask machines what they would change; changes nothing",
               .description =
                   "Asks the connected machines for the plan of a recipe: a file, one that was pushed, or, "
                   "without an "
                   "argument, what each is assigned. Machines with the same plan are shown together.\n\n"
                   "Exit status: 0 all answered; 1 a state cannot work, or a machine did not answer; with "
                   "--exit-code 4 "
                   "when something would change.",
               .examples = "opsctl plan web.yaml -l role=web\n"
                           "opsctl plan web --revision 3 -i web1\n"
                           "opsctl plan",
               .run = with_server<plan_command>},
    CommandRow{.name = "run",
               .arguments = "MODULE [KEY=TEXT|KEY:=JSON …]",
               .least = 1,
               .most = 64,
               .argument_kind = ValueKind::text,
               .options = "app selector instance id timeout verbose",
               .summary = "make one state true on machines, now",
               .description = "Runs one state outside of the recipe and shows how it went on each machine. "
                              "Needs a selector or an "
                              "instance; -l '*' is all of the app.\n\n"
                              "Exit status: 0 it succeeded everywhere, 1 it did not.",
               .examples = "opsctl run linux.cmd cmd='systemctl restart nginx' -l role=web\n"
                           "opsctl run linux.file path=/etc/motd content=hello mode=0644 -i web1",
               .run = with_server<run_command>},
    CommandRow{.name = "cancel",
               .arguments = "RUN",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "app selector instance",
               .summary = "end a run",
               .description = "RUN is the id that 'opsctl run' shows.",
               .examples = "opsctl cancel 0190f3c2",
               .run = with_server<cancel_command>},
    CommandRow{.name = "query",
               .arguments = "INSTANCE KIND [KEY=TEXT|KEY:=JSON …]",
               .least = 2,
               .most = 64,
               .argument_kind = ValueKind::text,
               .options = "app limit timeout",
               .summary = "ask a machine: facts, unit, journal, file_hash, processes",
               .description = "Asks the connected machine itself.",
               .examples = "opsctl query web1 facts\n"
                           "opsctl query web1 journal unit=nginx.service --limit 50\n"
                           "opsctl query web1 file_hash path=/etc/motd",
               .run = with_server<query_command>},
    CommandRow{.name = "watch",
               .options = "app selector instance types outcome output",
               .summary = "show what happens, as it happens",
               .description = "Until Ctrl-C: machines that come and go, recipes that arrive, results, "
                              "rounds. A lost connection is made "
                              "again and continues where it was. With -o json a document per line. With "
                              "--outcome only results that ended so.",
               .examples = "opsctl watch\n"
                           "opsctl watch -i web1 --output\n"
                           "opsctl watch -l role=web --outcome failed\n"
                           "opsctl watch --types result,round -o json",
               .run = with_server<watch_command>},
    CommandRow{.name = "results",
               .options = "app selector instance state outcome since until run limit verbose",
               .summary = "results of states, newest first",
               .description = "",
               .examples = "opsctl results --outcome failed --since 1h\n"
                           "opsctl results -l role=web --since 2d --until 1d\n"
                           "opsctl results -i web1 --state motd --verbose",
               .run = with_server<results_command>},
    CommandRow{.name = "rounds",
               .options = "app selector instance since until limit",
               .summary = "rounds, newest first",
               .description = "A round is one pass of a machine through its recipe.",
               .examples = "opsctl rounds -i web1",
               .run = with_server<rounds_command>},
    CommandRow{.name = "waits",
               .options = "app limit",
               .summary = "which machines wait for what",
               .description = "",
               .examples = "opsctl waits",
               .run = with_server<waits_command>},
    CommandRow{.name = "settings",
               .options = "app selector instance ws-uri heartbeat round-delay timeout",
               .summary = "give agents settings to try",
               .description =
                   "Needs a selector or an instance. Agents use the settings on a new connection and keep "
                   "them if they are welcomed there. They refuse addresses of hosts that their own "
                   "configuration does not list (allowed_backend_host).",
               .examples = "opsctl settings -l '*' --ws-uri wss://new.example:8963/agent/\n"
                           "opsctl settings -i web1 --heartbeat 60 --round-delay 1800",
               .run = with_server<settings_command>},
    CommandRow{.name = "top",
               .options = "app interval",
               .summary = "the fleet at a glance",
               .description = "Counts, what failed, and what happened last; on a terminal refreshed until "
                              "Ctrl-C, otherwise once.",
               .examples = "opsctl top",
               .run = with_server<top_command>},
    CommandRow{.name = "completion",
               .arguments = "SHELL",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .argument_choices = "bash zsh fish",
               .summary = "print the completion script for bash, zsh or fish",
               .description = "Prints a script that makes the Tab key know commands and options.",
               .examples = "source <(opsctl completion bash)\n"
                           "opsctl completion zsh > ~/.zfunc/_opsctl\n"
                           "opsctl completion fish > ~/.config/fish/completions/opsctl.fish",
               .run = local<completion_command>},
    CommandRow{.name = "version",
               .summary = "show the version",
               .description = "",
               .examples = "opsctl version",
               .run = local<version_command>},
    CommandRow{.name = "help",
               .arguments = "[COMMAND …]",
               .most = 2,
               .argument_kind = ValueKind::text,
               .options = "markdown",
               .summary = "explain a command",
               .description = "",
               .examples = "opsctl help recipe push",
               .run = local<help_command>},
};

// Those about access stand before the last few, which are about opsctl itself.
const std::vector<CommandRow>& all_rows() {
  static const std::vector<CommandRow> kAll = [] {
    std::vector<CommandRow> rows(kMostCommands.begin(), kMostCommands.end());
    const auto recipes = recipe_command_rows();
    rows.insert(std::ranges::find(rows, "plan", &CommandRow::name), recipes.begin(), recipes.end());
    const auto variables = variable_command_rows();
    rows.insert(std::ranges::find(rows, "plan", &CommandRow::name), variables.begin(), variables.end());
    const auto access = access_command_rows();
    rows.insert(std::ranges::find(rows, "top", &CommandRow::name), access.begin(), access.end());
    const auto userdata = userdata_command_rows();
    rows.insert(std::ranges::find(rows, "top", &CommandRow::name), userdata.begin(), userdata.end());
    const auto release = release_command_rows();
    rows.insert(std::ranges::find(rows, "top", &CommandRow::name), release.begin(), release.end());
    const auto updates = update_command_rows();
    rows.insert(std::ranges::find(rows, "settings", &CommandRow::name), updates.begin(), updates.end());
    return rows;
  }();
  return kAll;
}

}  // namespace

std::span<const CommandRow> command_rows() {
  return all_rows();
}

const terminal::CommandTable& command_table() {
  static const terminal::CommandTable kTable{
      .program = "opsctl",
      .options = option_rows(),
      .commands = command_rows(),
      .help = {.about = "opsctl shows and changes what the machines of a backend run.\n\n"
                        "Usage: opsctl COMMAND [OPTIONS]\n",
               .closing =
                   "Examples:\n"
                   "  opsctl top                                   the fleet at a glance\n"
                   "  opsctl plan web.yaml -l role=web             what would change?\n"
                   "  opsctl recipe push web.yaml --wait           upload it, and wait for the machines\n"
                   "  opsctl assign create web -l role=web         give it to machines\n"
                   "\nExit status: 0 fine, 1 failed, 2 wrong usage, 3 the backend cannot be reached.\n"
                   "'opsctl COMMAND --help' explains a command.\n",
               .command_column = 21,
               .option_column = 28,
               .summary_first = true,
               .top_hint = "explains the commands",
               .command_hint = "explains it",
               .commands_hint = "explains the commands"},
      .options_before_command = true,
      .counts_arguments_last = true};
  return kTable;
}

}  // namespace ctl
