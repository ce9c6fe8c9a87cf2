// The commands of opsagent, as rows, and its table.
#include <array>

#include "agent/cli/commands/commands.hpp"
#include "agent/cli/options/command_line.hpp"
#include "agent/install/original.hpp"

namespace agent::cli {

namespace {

using terminal::CommandRow;
using terminal::run_by;
using terminal::ValueKind;

// How module repositories are reached, whom to believe, and how much they may be.
#define OPSAGENT_FETCH_OPTIONS                                                                          \
  "module-ca-file module-known-hosts module-ssh-key module-credentials module-keys module-gpg-keyring " \
  "module-scheme module-moving-tag module-fetch-timeout module-max-size proxy "
// Which repository, and how.
// What a recipe is filled in with.
#define OPSAGENT_INPUT_OPTIONS "var vars secrets-dir secret-program "
#define OPSAGENT_REPOSITORY_OPTIONS "module-repo module-tag commit offline " OPSAGENT_FETCH_OPTIONS

constexpr std::array kCommands{
    CommandRow{.name = "plan",
               .arguments = "FILE",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::file,
               .question = "which recipe? opsagent plan FILE",
               .options = "out root " OPSAGENT_INPUT_OPTIONS
                          "explain allow-unverified-http module-dir module-wins " OPSAGENT_REPOSITORY_OPTIONS
                          "assume-done state-dir json quiet verbose color config",
               .summary = "show what applying a recipe would change; changes nothing",
               .description =
                   "Looks at the machine and shows what 'opsagent apply FILE' would do, with diffs. "
                   "FILE is a recipe in YAML or JSON, or - for standard input.\n\n"
                   "Exit status: 0 nothing to do, 2 there are changes, 1 something is wrong.",
               .examples = "opsagent plan web.yaml\n"
                           "opsagent plan web.yaml --out web.plan; opsagent apply web.plan\n"
                           "opsagent plan image.yaml --root /mnt/image\n"
                           "opsagent plan web.yaml --vars site.yaml --var port=81",
               .run = run_by<plan_command>},
    CommandRow{.name = "apply",
               .arguments = "FILE|PLAN",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::file,
               .question = "which recipe? opsagent apply FILE|PLAN",
               .options = "root " OPSAGENT_INPUT_OPTIONS
                          "allow-unverified-http module-dir module-wins " OPSAGENT_REPOSITORY_OPTIONS
                          "assume-done while-held state-dir json quiet verbose color config",
               .summary = "make a recipe true, once",
               .description =
                   "Makes the states of a recipe true, one after another, and stops at the first that "
                   "fails. A PLAN saved by 'opsagent plan --out' is applied only where the machine and "
                   "the recipe are still as they were when it was made.\n\n"
                   "Ctrl-C lets the running state finish (30 s at most); a second one ends it at once.\n\n"
                   "A machine that is held (see 'opsagent hold') is left alone, unless --while-held is "
                   "given.\n\n"
                   "Exit status: 0 all is as asked, 1 a state failed or the run was ended.",
               .examples = "opsagent apply web.yaml\n"
                           "opsagent apply web.yaml --verbose\n"
                           "opsagent apply web.plan --json",
               .run = run_by<apply_command>},
    CommandRow{
        .name = "validate",
        .arguments = "FILE",
        .least = 1,
        .most = 1,
        .argument_kind = ValueKind::file,
        .question = "which recipe? opsagent validate FILE",
        .options = "strict " OPSAGENT_INPUT_OPTIONS "module-dir module-wins " OPSAGENT_REPOSITORY_OPTIONS
                   "state-dir json quiet color config",
        .summary = "check a recipe without looking at the machine",
        .description =
            "Lists all problems of a recipe at once, each with its line and column. A recipe that does "
            "not say 'version: 2' is taken as far as it can be: what is wrong with a single state is a "
            "warning, and that state fails when its turn comes. With --strict it is a problem.\n\n"
            "Exit status: 0 the recipe is fine, 1 it is not.",
        .examples = "opsagent validate web.yaml\n"
                    "opsagent validate web.yaml --strict",
        .run = run_by<validate_command>},
    CommandRow{.name = "lint",
               .arguments = "FILE...",
               .most = 10000,
               .argument_kind = ValueKind::file,
               .options =
                   "rules with without " OPSAGENT_INPUT_OPTIONS
                   "module-dir module-wins " OPSAGENT_REPOSITORY_OPTIONS "state-dir json quiet color config",
               .summary = "find what is allowed in recipes and probably not meant, or dangerous",
               .description =
                   "Shows each finding with its file, line and column, its reason and a fix; also those of "
                   "files that a recipe includes. A finding is switched off where it stands by the key "
                   "'_lint: [RULE]' of the state, or of the file. Secrets are found and not shown.\n\n"
                   "Exit status: 0 nothing found, 1 there are findings, 2 a file cannot be read, or is no "
                   "recipe.",
               .examples = "opsagent lint web.yaml\n"
                           "opsagent lint recipes/*.yaml --json\n"
                           "opsagent lint web.yaml --without command-without-guard\n"
                           "opsagent lint --rules",
               .run = run_by<lint_command>},
    CommandRow{.name = "fmt",
               .arguments = "FILE...",
               .least = 1,
               .most = 10000,
               .argument_kind = ValueKind::file,
               .question = "which recipe? opsagent fmt FILE",
               .options = "check diff quiet color config",
               .summary = "format recipes in YAML; they mean the same afterwards",
               .description =
                   "Writes each FILE anew, if that changes anything: keys of states in one order, two "
                   "spaces, quotes only where they are needed. Comments, blank lines and texts stay. A file "
                   "keeps its owner and its mode. With - for FILE: standard input to standard output.\n\n"
                   "What was made is read again and compared, always. What cannot be kept exactly is "
                   "refused, and the file stays as it is.\n\n"
                   "Exit status: 0 formatted, 1 a file is not (--check, --diff), 2 a file cannot be read, "
                   "written or formatted.",
               .examples = "opsagent fmt web.yaml\n"
                           "opsagent fmt --check recipes/*.yaml\n"
                           "opsagent fmt - < web.yaml",
               .run = run_by<fmt_command>},
    CommandRow{
        .name = "schema",
        .options = "module-dir module-wins " OPSAGENT_REPOSITORY_OPTIONS "state-dir quiet color config",
        .summary = "print the JSON Schema of recipes, for editors",
        .description = "A JSON Schema (draft 2020-12) of whole recipes, with all states that there are, also "
                       "those of --module-dir or --module-repo. It knows less than 'opsagent validate "
                       "--strict', and refuses nothing that this accepts.\n\n"
                       "In editors with the YAML language server, the first line of a recipe names it:\n"
                       "# yaml-language-server: $schema=recipe.schema.json",
        .examples = "opsagent schema > recipe.schema.json",
        .run = run_by<schema_command>},
    CommandRow{.name = "states",
               .arguments = "[NAME]",
               .most = 1,
               .argument_kind = ValueKind::text,
               .argument_source = "opsagent states --quiet",
               .options = "markdown json-schema module-dir module-wins " OPSAGENT_REPOSITORY_OPTIONS
                          "state-dir json quiet color config",
               .summary = "list the state modules, or explain one",
               .description =
                   "Without NAME: every module with a line about it. With NAME: its parameters and its "
                   "page.",
               .examples = "opsagent states\n"
                           "opsagent states linux.file\n"
                           "opsagent states linux.file --json-schema",
               .run = run_by<states_command>},
    CommandRow{.name = "run",
               .options =
                   "ws-uri app-id instance-id token-file join-token ca-file tag "
                   "release-base channel prefix update-trial update-delay protocol-min "
                   "allow-plain allowed-backend-host allow identity-source metadata-url identity-file "
                   "recipe " OPSAGENT_INPUT_OPTIONS "module-dir module-wins " OPSAGENT_REPOSITORY_OPTIONS
                   "allow-unverified-http root round-delay on-change log-file log-level state-dir config",
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
               .examples = "opsagent run --ws-uri wss://ops.example.com/agent/ --join-token web.token\n"
                           "opsagent run --recipe /etc/opsagent/web.yaml\n"
                           "opsagent run --recipe web.yaml --round-delay 60 --log-level debug",
               .run = run_by<run_command>},
    CommandRow{
        .name = "module list",
        .options = "module-dir module-wins " OPSAGENT_REPOSITORY_OPTIONS "state-dir json quiet color config",
        .summary = "the modules of a folder or of a repository",
        .description = "Every module in DIR/modules, or of the repository, with its version and a line "
                       "about it.",
        .examples = "opsagent module list --module-dir examples/modules\n"
                    "opsagent module list --module-repo https://git.example.com/modules.git "
                    "--module-tag v1",
        .run = run_by<module_list_command>},
    CommandRow{
        .name = "module show",
        .arguments = "NAME",
        .least = 1,
        .most = 1,
        .argument_kind = ValueKind::text,
        .question = "which module? opsagent module show NAME --module-dir DIR",
        .options = "module-dir module-wins " OPSAGENT_REPOSITORY_OPTIONS "state-dir json quiet color config",
        .summary = "a module: its parameters, its page, how it is run",
        .description = "As 'opsagent states NAME', and what its manifest says of how it is run.",
        .examples = "opsagent module show example.file_line --module-dir examples/modules",
        .run = run_by<module_show_command>},
    CommandRow{.name = "module new",
               .arguments = "NAME",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .question = "what is it to be called? opsagent module new acme.motd",
               .options = "language module-dir color config",
               .summary = "make a module that works, to be changed into one's own",
               .description =
                   "Writes DIR/modules/NAME (DIR is the working folder unless --module-dir says another): a "
                   "manifest and a program that keeps a line in a file, and passes 'opsagent module test'.",
               .examples = "opsagent module new acme.motd\n"
                           "opsagent module new acme.motd --language python --module-dir ops",
               .run = run_by<module_new_command>},
    CommandRow{.name = "module test",
               .arguments = "FOLDER",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::folder,
               .question = "which module? opsagent module test FOLDER",
               .options = "plan-only color config",
               .summary = "check that a module does what modules must do",
               .description =
                   "FOLDER has the module's module.json. Says what is wrong, and how to mend it.\n\n"
                   "The examples of its manifest are planned and APPLIED, on this machine; {scratch} in a "
                   "text of theirs stands for a new empty folder. With --plan-only they are planned only.\n\n"
                   "Exit status: 0 nothing is wrong, 1 something is.",
               .examples = "opsagent module test modules/acme.motd\n"
                           "opsagent module test modules/acme.motd --plan-only",
               .run = run_by<module_test_command>},
    CommandRow{.name = "status",
               .options = "state-dir json color config",
               .summary = "what the daemon of this machine is doing",
               .description =
                   "Shows connection, recipe, the state that is running, the last and the next round, and "
                   "how many reports wait for the backend.\n\n"
                   "Exit status: 0 a daemon runs, 1 none does.",
               .examples = "opsagent status\n"
                           "opsagent status --json",
               .run = run_by<status_command>},
    CommandRow{.name = "once list",
               .options = "state-dir json color config",
               .summary = "what states have done once, and when",
               .description = "Lists the states with a 'once' key that have succeeded on this machine: when, "
                              "the state's id, and the key.",
               .examples = "opsagent once list\n"
                           "opsagent once list --json",
               .run = run_by<once_list_command>},
    CommandRow{.name = "once forget",
               .arguments = "ID [KEY]",
               .least = 1,
               .most = 2,
               .argument_kind = ValueKind::text,
               .question = "which state? opsagent once forget ID; see 'opsagent once list'",
               .options = "state-dir color config",
               .summary = "let a state do once more what it has done once",
               .description =
                   "Forgets that the state with this id has succeeded, under all of its keys or under KEY: "
                   "the next round that has it does it again.\n\n"
                   "Exit status: 0 it is forgotten, 1 nothing is remembered of it.",
               .examples = "opsagent once forget schema\n"
                           "opsagent once forget schema v3",
               .run = run_by<once_forget_command>},
    CommandRow{
        .name = "hold",
        .options = "for until reason end-round end state-dir config",
        .summary = "let no round begin for a while, or again",
        .description =
            "The daemon begins no round of its recipe until the time is over or 'opsagent hold "
            "--end': for work by hand, or an incident. The round under way comes to its end, or to "
            "a wait for other machines; with --end-round it ends at once. New recipes are taken and wait; "
            "plans and queries are answered; 'opsctl run' is refused. The hold is kept across restarts, "
            "and 'opsagent status' and the backend show who, why and until when.\n\n"
            "A pause by the backend ('opsctl agent pause') is another hold: each side ends its own, and "
            "rounds begin when there is none.\n\n"
            "Exit status: 0 done, 1 not done, or still held after --end.",
        .examples = "opsagent hold --for 2h --reason 'disk is being replaced'\n"
                    "opsagent hold --until 2026-03-01T12:00:00Z --end-round\n"
                    "opsagent hold --end",
        .run = run_by<hold_command>},
    CommandRow{.name = "run-now",
               .options = "state-dir config",
               .summary = "begin a round now, instead of when its turn comes",
               .description =
                   "The daemon begins a round of its recipe at once, also where it waits after a failure; "
                   "while a round is under way, when that one is over. Refused while the machine is held.\n\n"
                   "Exit status: 0 it begins, 1 it does not.",
               .examples = "opsagent run-now",
               .run = run_by<run_now_command>},
    CommandRow{.name = "stop",
               .options = "state-dir config",
               .summary = "end the daemon now, and the state that is running with it",
               .description =
                   "Cancels the running state, ends the daemon, and returns when it is gone. Under systemd "
                   "use 'systemctl stop opsagent', or systemd starts it again.",
               .examples = "opsagent stop",
               .run = run_by<stop_command>},
    CommandRow{.name = "stop-wait",
               .options = "state-dir config",
               .summary = "end the daemon when the running state is done",
               .description =
                   "Lets the running state finish, however long that takes, ends the daemon, and returns "
                   "when it is gone.",
               .examples = "opsagent stop-wait",
               .run = run_by<stop_command>},
    CommandRow{.name = "stop-end",
               .options = "state-dir config",
               .summary = "end the daemon when the recipe is through",
               .description = "Lets the running round finish, ends the daemon, and returns when it is gone.",
               .examples = "opsagent stop-end",
               .run = run_by<stop_command>},
    CommandRow{.name = "restart",
               .options = "state-dir config",
               .summary = "as stop, and the daemon starts anew in its place",
               .description =
                   "The process stays and executes the program anew with the same arguments: under a "
                   "service manager it is the same service. Returns when the new one answers.",
               .examples = "opsagent restart",
               .run = run_by<stop_command>},
    CommandRow{.name = "restart-wait",
               .options = "state-dir config",
               .summary = "as stop-wait, and the daemon starts anew in its place",
               .description = "Lets the running state finish; see 'opsagent restart --help'.",
               .examples = "opsagent restart-wait",
               .run = run_by<stop_command>},
    CommandRow{.name = "restart-end",
               .options = "state-dir config",
               .summary = "as stop-end, and the daemon starts anew in its place",
               .description = "Lets the running round finish; see 'opsagent restart --help'.",
               .examples = "opsagent restart-end",
               .run = run_by<stop_command>},
    CommandRow{.name = "doctor",
               .options = "ws-uri app-id instance-id token-file join-token ca-file tag proxy "
                          "release-base channel prefix protocol-min allow-plain allowed-backend-host allow "
                          "identity-source metadata-url identity-file state-dir json color config",
               .summary = "check what the daemon needs, and say what to do",
               .description =
                   "Checks configuration, state folder, clock, names, proxy, the way to the backend, the "
                   "daemon and its unit. Changes nothing.\n\n"
                   "Exit status: 0 nothing fails, 1 something does.",
               .examples = "opsagent doctor\n"
                           "opsagent doctor --json",
               .run = run_by<doctor_command>},
    CommandRow{.name = "completion",
               .arguments = "SHELL",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .argument_choices = "bash zsh fish",
               .question = "for which shell? opsagent completion bash|zsh|fish",
               .summary = "print the completion script for bash, zsh or fish",
               .description = "Prints a script that makes the Tab key know the commands, options and states.",
               .examples = "source <(opsagent completion bash)\n"
                           "opsagent completion zsh > ~/.zfunc/_opsagent\n"
                           "opsagent completion fish > ~/.config/fish/completions/opsagent.fish",
               .run = run_by<completion_command>},
    CommandRow{.name = "version",
               .summary = "show the version",
               .description = "Shows the version of this program.",
               .examples = "opsagent version",
               .run = run_by<version_command>},
    CommandRow{
        .name = "install",
        .options = "prefix sha256 release no-start root state-dir quiet config",
        .summary = "install the release that this program lies in, as a service",
        .description =
            "For the self-contained release, unpacked anywhere: checks its files against the manifest, puts "
            "them below /opt/opsagent/versions, makes it the current version, installs the launcher and the "
            "service (systemd, or an init script), enables and starts it. A link /usr/local/bin/opsagent is "
            "made if nothing has that name. /etc/opsagent.conf is not touched, unless it is the original "
            "OpsAgent's: then that is migrated first ('opsagent migrate').\n\n"
            "Can be repeated; one that was interrupted is completed by the next. With --root: files and "
            "links "
            "of an image only. Must be run by root.\n\n"
            "Exit status: 0 installed and started, 1 something is wrong.",
        .examples = "./bin/opsagent install --sha256 $(sha256sum < opsagent.tar.gz | cut -c 1-64)\n"
                    "./bin/opsagent install --sha256 HEX --no-start --root /mnt/image",
        .run = run_by<install_command>},
    CommandRow{
        .name = "migrate",
        .options = "undo no-start root state-dir quiet config",
        .summary = "take over from the original OpsAgent of this machine; --undo gives back",
        .description =
            "Stops the original, removes its cron lines and its init script, takes over its token and its "
            "watch "
            "records, and writes its configuration in our words. Says each step. What is changed is saved "
            "first, in DIR/migrated; the original's own folders are not touched. 'opsagent install' does "
            "this "
            "by itself when it finds the original.\n\n"
            "With --undo: removes this agent's service, puts everything back as it was, and starts the "
            "original "
            "if it ran. Both can be repeated; one that was interrupted is completed by the next. Must be run "
            "by "
            "root.\n\n"
            "Exit status: 0 done, or there is no original; 1 something is wrong.",
        .examples = "opsagent migrate\n"
                    "opsagent migrate --undo",
        .run = run_by<migrate_command>},
    CommandRow{
        .name = "uninstall",
        .options = "prefix keep-state root state-dir quiet config",
        .summary = "remove what install, the bootstrap and the agent have put on this machine",
        .description =
            "Stops and removes the service, the state folder, /etc/opsagent.conf, the "
            "logs /var/log/opsagent-bootstrap.log and /var/log/opsagent.log, the link in /usr/local/bin and "
            "/opt/opsagent. What recipes have done to the machine stays. What is not ours is named and "
            "kept. Asks nothing. Can be repeated; the program itself goes last. Must be run by root.\n\n"
            "Exit status: 0 removed (what was kept is listed), 1 something is wrong.",
        .examples = "opsagent uninstall\n"
                    "opsagent uninstall --keep-state",
        .run = run_by<uninstall_command>},
    CommandRow{
        .name = "clean",
        .arguments = "[reinstall]",
        .most = 1,
        .argument_kind = ValueKind::text,
        .argument_choices = "reinstall",
        .options = "prefix no-start keep-state state-dir quiet config",
        .summary = "as uninstall; with 'reinstall': forget everything but the identity, and start anew",
        .description =
            "'clean' is 'uninstall'. 'clean reinstall' stops the service, forgets recipe, reports, journals, "
            "old versions and updates under way, keeps the machine's identity, its configuration and which "
            "releases it trusts, and installs the current version anew after a check of its files.\n\n"
            "Exit status: 0 done, 1 something is wrong.",
        .examples = "opsagent clean reinstall\n"
                    "opsagent clean",
        .run = run_by<clean_command>},
    CommandRow{
        .name = "module fetch",
        .arguments = "REPO TAG",
        .least = 2,
        .most = 2,
        .argument_kind = ValueKind::text,
        .question =
            "which repository and which tag? opsagent module fetch https://git.example.com/modules.git v1",
        .options = "commit offline " OPSAGENT_FETCH_OPTIONS "state-dir json quiet config",
        .summary = "fetch a module repository, verify it, and say where it is",
        .description =
            "Fetches the commit that a tag of a git repository stands for, in a process without privileges, "
            "verifies every object of it, and puts its files, read-only, below modules/ in the state folder. "
            "Prints the commit and the folder.\n\n"
            "A tag that has moved since it was first seen is refused, unless it is listed as moving or "
            "--commit "
            "names what it stands for now. When the server cannot be reached, what is there is used.\n\n"
            "Exit status: 0 it is there, 1 something is wrong.",
        .examples =
            "opsagent module fetch https://git.example.com/modules.git v1.4\n"
            "opsagent module fetch git@git.example.com:ops/modules.git v1.4 --module-known-hosts hosts",
        .run = run_by<module_fetch_command>},
    CommandRow{
        .name = "self-test",
        .options = "state-dir json quiet config",
        .summary = "whether this program could do its work here; changes nothing",
        .description =
            "Checks its own files against the manifest beside them, that hashes, signatures and TLS work, "
            "that the configuration has no mistakes, and that state folder and update journal can be read. "
            "Needs no network and no root, and ends within 10 s. For what the daemon needs besides see "
            "'opsagent doctor'.\n\n"
            "Exit status: 0 it could, 1 it could not, with a line for each problem.",
        .examples = "opsagent self-test\n"
                    "opsagent self-test --json",
        .run = run_by<self_test_command>},
};

#undef OPSAGENT_REPOSITORY_OPTIONS
#undef OPSAGENT_FETCH_OPTIONS

}  // namespace

namespace {

std::optional<terminal::TranslatedConfig> translate_original(std::string_view text) {
  auto original = install::read_original_config(text);
  if (!original) return std::nullopt;
  std::string remark = install::remark_about(*original);
  return terminal::TranslatedConfig{.text = std::move(original->text), .remark = std::move(remark)};
}

}  // namespace

const terminal::CommandTable& command_table() {
  static const terminal::CommandTable kTable{
      .program = "opsagent",
      .default_config = kDefaultConfig,
      .options = option_rows(),
      .commands = kCommands,
      .help =
          {.about = "opsagent makes a machine what its recipe says, and keeps it so.\n\n"
                    "Usage: opsagent COMMAND [OPTIONS]\n",
           .closing = "Examples:\n"
                      "  opsagent plan web.yaml          what would change?\n"
                      "  opsagent apply web.yaml         change it\n"
                      "  opsagent states linux.file      how is a file described?\n"
                      "\n'opsagent COMMAND --help' explains a command.\n",
           .config_note =
               "Options may also stand in the environment (OPSAGENT_STATE_DIR for --state-dir) and in\n"
               "/etc/opsagent.conf (state_dir = DIR, or --state-dir=DIR); the command line wins, then the "
               "environment.\n",
           .command_column = 14,
           .option_column = 26,
           .top_hint = "lists the options",
           .command_hint = "lists the options",
           .commands_hint = "lists the commands"},
      .translate_config = translate_original,
  };
  return kTable;
}

}  // namespace agent::cli
