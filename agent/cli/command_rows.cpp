#include <algorithm>
#include <array>

#include "agent/cli/options.hpp"

namespace agent::cli {

namespace {

constexpr std::array kCommands{
    CommandRow{.command = CommandName::plan,
               .name = "plan",
               .argument = "FILE",
               .argument_kind = ValueKind::file,
               .summary = "show what applying a recipe would change; changes nothing",
               .description =
                   "Looks at the machine and shows what 'opsagent apply FILE' would do, with diffs. "
                   "FILE is a recipe in YAML or JSON, or - for standard input.\n\n"
                   "Exit status: 0 nothing to do, 2 there are changes, 1 something is wrong.",
               .examples = "opsagent plan web.yaml\n"
                           "opsagent plan web.yaml --out web.plan; opsagent apply web.plan\n"
                           "opsagent plan image.yaml --root /mnt/image"},
    CommandRow{.command = CommandName::apply,
               .name = "apply",
               .argument = "FILE|PLAN",
               .argument_kind = ValueKind::file,
               .summary = "make a recipe true, once",
               .description =
                   "Makes the states of a recipe true, one after another, and stops at the first that "
                   "fails. A PLAN saved by 'opsagent plan --out' is applied only where the machine and "
                   "the recipe are still as they were when it was made.\n\n"
                   "Ctrl-C lets the running state finish (30 s at most); a second one ends it at once.\n\n"
                   "Exit status: 0 all is as asked, 1 a state failed or the run was ended.",
               .examples = "opsagent apply web.yaml\n"
                           "opsagent apply web.yaml --verbose\n"
                           "opsagent apply web.plan --json"},
    CommandRow{.command = CommandName::validate,
               .name = "validate",
               .argument = "FILE",
               .argument_kind = ValueKind::file,
               .summary = "check a recipe without looking at the machine",
               .description = "Lists all problems of a recipe at once, each with its line and column.\n\n"
                              "Exit status: 0 the recipe is fine, 1 it is not.",
               .examples = "opsagent validate web.yaml"},
    CommandRow{.command = CommandName::states,
               .name = "states",
               .argument = "[NAME]",
               .argument_kind = ValueKind::text,
               .summary = "list the state modules, or explain one",
               .description =
                   "Without NAME: every module with a line about it. With NAME: its parameters and its "
                   "page.",
               .examples = "opsagent states\n"
                           "opsagent states linux.file\n"
                           "opsagent states linux.file --json-schema"},
    CommandRow{.command = CommandName::run,
               .name = "run",
               .summary = "the daemon: keep a recipe true, round after round, until stopped",
               .description =
                   "With --ws-uri: connects to the backend, keeps true what it sends, and reports. Without "
                   "connection it goes on with the last recipe, and keeps its reports until they are "
                   "acknowledged.\n\n"
                   "With --recipe: keeps the recipe of a file true, without a backend.\n\n"
                   "Applies the recipe, pauses, and starts again, so that whatever drifts is repaired. "
                   "Logs to standard error, in the form that the journal understands when it is "
                   "connected to it.\n\n"
                   "SIGHUP reads the recipe again (a broken one is reported and the old one stays). "
                   "SIGTERM lets the running state finish (30 s at most); a second one ends it at once.",
               .examples = "opsagent run --ws-uri wss://ops.example.com/agent/ --tag role=web\n"
                           "opsagent run --recipe /etc/opsagent/web.yaml\n"
                           "opsagent run --recipe web.yaml --round-delay 60 --log-level debug"},
    CommandRow{.command = CommandName::status,
               .name = "status",
               .summary = "what the daemon of this machine is doing",
               .description =
                   "Shows connection, recipe, the state that is running, the last and the next round, and "
                   "how many reports wait for the backend.\n\n"
                   "Exit status: 0 a daemon runs, 1 none does.",
               .examples = "opsagent status\n"
                           "opsagent status --json"},
    CommandRow{.command = CommandName::stop,
               .name = "stop",
               .summary = "end the daemon now, and the state that is running with it",
               .description =
                   "Cancels the running state, ends the daemon, and returns when it is gone. Under systemd "
                   "use 'systemctl stop opsagent', or systemd starts it again.",
               .examples = "opsagent stop"},
    CommandRow{.command = CommandName::stop_wait,
               .name = "stop-wait",
               .summary = "end the daemon when the running state is done",
               .description =
                   "Lets the running state finish, however long that takes, ends the daemon, and returns "
                   "when it is gone.",
               .examples = "opsagent stop-wait"},
    CommandRow{.command = CommandName::stop_end,
               .name = "stop-end",
               .summary = "end the daemon when the recipe is through",
               .description = "Lets the running round finish, ends the daemon, and returns when it is gone.",
               .examples = "opsagent stop-end"},
    CommandRow{.command = CommandName::restart,
               .name = "restart",
               .summary = "as stop, and the daemon starts anew in its place",
               .description =
                   "The process stays and executes the program anew with the same arguments: under a "
                   "service manager it is the same service. Returns when the new one answers.",
               .examples = "opsagent restart"},
    CommandRow{.command = CommandName::restart_wait,
               .name = "restart-wait",
               .summary = "as stop-wait, and the daemon starts anew in its place",
               .description = "Lets the running state finish; see 'opsagent restart --help'.",
               .examples = "opsagent restart-wait"},
    CommandRow{.command = CommandName::restart_end,
               .name = "restart-end",
               .summary = "as stop-end, and the daemon starts anew in its place",
               .description = "Lets the running round finish; see 'opsagent restart --help'.",
               .examples = "opsagent restart-end"},
    CommandRow{.command = CommandName::doctor,
               .name = "doctor",
               .summary = "check what the daemon needs, and say what to do",
               .description =
                   "Checks configuration, state folder, clock, names, proxy, the way to the backend, the "
                   "daemon and its unit. Changes nothing.\n\n"
                   "Exit status: 0 nothing fails, 1 something does.",
               .examples = "opsagent doctor\n"
                           "opsagent doctor --json"},
    CommandRow{.command = CommandName::completion,
               .name = "completion",
               .argument = "SHELL",
               .argument_kind = ValueKind::text,
               .argument_choices = "bash zsh fish",
               .summary = "print the completion script for bash, zsh or fish",
               .description = "Prints a script that makes the Tab key know the commands, options and states.",
               .examples = "source <(opsagent completion bash)\n"
                           "opsagent completion zsh > ~/.zfunc/_opsagent\n"
                           "opsagent completion fish > ~/.config/fish/completions/opsagent.fish"},
    CommandRow{.command = CommandName::version,
               .name = "version",
               .summary = "show the version",
               .description = "Shows the version of this program.",
               .examples = "opsagent version"},
    CommandRow{
        .command = CommandName::install,
        .name = "install",
        .summary = "install the release that this program lies in, as a service",
        .description =
            "For the self-contained release, unpacked anywhere: checks its files against the manifest, puts "
            "them below /opt/opsagent/versions, makes it the current version, installs the launcher and the "
            "service (systemd, or an init script), enables and starts it. A link /usr/local/bin/opsagent is "
            "made if nothing has that name. /etc/opsagent.conf is not touched.\n\n"
            "Can be repeated; one that was interrupted is completed by the next. With --root: files and "
            "links "
            "of an image only. Must be run by root.\n\n"
            "Exit status: 0 installed and started, 1 something is wrong.",
        .examples = "./bin/opsagent install --sha256 $(sha256sum < opsagent.tar.gz | cut -c 1-64)\n"
                    "./bin/opsagent install --sha256 HEX --no-start --root /mnt/image"},
    CommandRow{
        .command = CommandName::uninstall,
        .name = "uninstall",
        .summary = "remove what install, the bootstrap and the agent have put on this machine",
        .description =
            "Stops and removes the service, the state folder, /etc/opsagent.conf, the "
            "logs /var/log/opsagent-bootstrap.log and /var/log/opsagent.log, the link in /usr/local/bin and "
            "/opt/opsagent. What recipes have done to the machine stays. What is not ours is named and "
            "kept. Asks nothing. Can be repeated; the program itself goes last. Must be run by root.\n\n"
            "Exit status: 0 removed (what was kept is listed), 1 something is wrong.",
        .examples = "opsagent uninstall\n"
                    "opsagent uninstall --keep-state"},
    CommandRow{
        .command = CommandName::clean,
        .name = "clean",
        .argument = "[reinstall]",
        .argument_kind = ValueKind::text,
        .argument_choices = "reinstall",
        .summary = "as uninstall; with 'reinstall': forget everything but the identity, and start anew",
        .description =
            "'clean' is 'uninstall'. 'clean reinstall' stops the service, forgets recipe, reports, journals, "
            "old versions and updates under way, keeps the machine's identity, its configuration and which "
            "releases it trusts, and installs the current version anew after a check of its files.\n\n"
            "Exit status: 0 done, 1 something is wrong.",
        .examples = "opsagent clean reinstall\n"
                    "opsagent clean"},
    CommandRow{
        .command = CommandName::self_test,
        .name = "self-test",
        .summary = "whether this program could do its work here; changes nothing",
        .description =
            "Checks its own files against the manifest beside them, that hashes, signatures and TLS work, "
            "that the configuration has no mistakes, and that state folder and update journal can be read. "
            "Needs no network and no root, and ends within 10 s. For what the daemon needs besides see "
            "'opsagent doctor'.\n\n"
            "Exit status: 0 it could, 1 it could not, with a line for each problem.",
        .examples = "opsagent self-test\n"
                    "opsagent self-test --json"},
};

}  // namespace

std::span<const CommandRow> command_rows() {
  return kCommands;
}

const CommandRow* find_command(std::string_view name) {
  const auto found = std::ranges::find(kCommands, name, &CommandRow::name);
  return found == kCommands.end() ? nullptr : &*found;
}

const CommandRow& command_row(CommandName command) {
  return *std::ranges::find(kCommands, command, &CommandRow::command);
}

std::vector<std::string_view> command_names() {
  std::vector<std::string_view> names;
  for (const CommandRow& row : kCommands)
    names.push_back(row.name);
  return names;
}

}  // namespace agent::cli
