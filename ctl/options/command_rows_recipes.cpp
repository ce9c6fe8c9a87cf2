// The rows of commands about recipes and their assignments.
#include <array>

#include "ctl/commands/commands.hpp"

namespace ctl {

namespace {

using terminal::CommandRow;
using terminal::ValueKind;

int run_apply(const terminal::CommandLine& line, terminal::Console& console) {
  Options options = static_cast<const Options&>(line);
  if (options.json) options.format = Format::json;
  return run_with_server(apply_command, options, console);
}

constexpr std::array kRecipeCommands{
    CommandRow{
        .name = "recipe push",
        .arguments = "[NAME] FILE",
        .least = 1,
        .most = 2,
        .argument_kind = ValueKind::file,
        .options = "app message owner now rings canary canaries may-fail pause jitter silence wait timeout",
        .summary = "upload a new revision of a recipe",
        .description = "The backend checks the recipe as agents do and lists all problems with line "
                       "and column. Machines that "
                       "follow the newest revision get it: all at once, or ring by ring, as their app "
                       "says ('opsctl app create --rings') or these options. A rollout stops by itself "
                       "when machines fail with the new revision; with --wait it is followed, exit "
                       "status 1 when it has stopped. Without NAME the recipe is called "
                       "as the file is. FILE may "
                       "be - for standard input, with a NAME. A recipe that belongs to another scope "
                       "than yours is pushed only with --owner, which says whose it is: all who have "
                       "that scope read what you push. Assignments that are pinned to an earlier "
                       "revision do not get it; they are named. States of modules are checked with the "
                       "repository that the recipe names at its top (module: {repo, tag}), or else with that "
                       "of its app: the one that follows it, or --app. The commit that it was checked with "
                       "is what its machines get.",
        .examples = "opsctl recipe push web.yaml\n"
                    "opsctl recipe push web site/web.yaml --message 'more workers' --wait\n"
                    "opsctl recipe push web.yaml --rings 10,50,100 --canary zone=test --pause 15m --wait\n"
                    "opsctl recipe push web.yaml --now",
        .run = with_server<recipe_push_command>},
    CommandRow{
        .name = "recipe rollback",
        .arguments = "NAME",
        .least = 1,
        .most = 1,
        .argument_kind = ValueKind::text,
        .options = "to message owner now rings canary canaries may-fail pause jitter silence wait timeout",
        .summary = "make an earlier revision the newest",
        .description =
            "Pushes the content of an earlier revision once more: as a new revision, checked, noted "
            "and delivered as a push is. Without --to it is the revision before the newest, so a "
            "second rollback undoes the first. Of a revision that is being rolled out it is the one from "
            "before: that takes the rollout's place, and the machines that have the new one go back at "
            "once. Else it goes out as a push does. 'opsctl recipe list NAME' shows the revisions.",
        .examples = "opsctl recipe rollback web --wait\n"
                    "opsctl recipe rollback web --to 4 --message 'the new one leaks'",
        .run = with_server<recipe_rollback_command>},
    CommandRow{.name = "recipe list",
               .arguments = "[NAME]",
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "limit",
               .summary = "list the recipes, or the revisions of one",
               .description = "",
               .examples = "opsctl recipe list\n"
                           "opsctl recipe list web",
               .run = with_server<recipe_list_command>},
    CommandRow{.name = "recipe show",
               .arguments = "NAME",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "revision",
               .summary = "print a recipe as it was uploaded",
               .description = "",
               .examples = "opsctl recipe show web\n"
                           "opsctl recipe show web --revision 3 > web-3.yaml",
               .run = with_server<recipe_show_command>},
    CommandRow{.name = "recipe diff",
               .arguments = "NAME [FROM] [TO]",
               .least = 1,
               .most = 3,
               .argument_kind = ValueKind::file,
               .options = "exit-code",
               .summary = "compare revisions of a recipe, or the newest with a file",
               .description = "FROM and TO are revisions or files. Without them: what the newest revision "
                              "changed. A file alone is "
                              "compared with the newest revision, a revision alone with the newest.",
               .examples = "opsctl recipe diff web\n"
                           "opsctl recipe diff web web.yaml\n"
                           "opsctl recipe diff web 2 5",
               .run = with_server<recipe_diff_command>},
    CommandRow{
        .name = "recipe owner",
        .arguments = "NAME",
        .least = 1,
        .most = 1,
        .argument_kind = ValueKind::text,
        .options = "owner",
        .summary = "whose a recipe is, or hand it to another scope",
        .description =
            "A recipe belongs to the scope of the token that made it. Who reaches all machines of that "
            "scope may push it; assignments that reach others are pinned to a revision. Handing it on "
            "needs an admin token without a scope.",
        .examples = "opsctl recipe owner web\n"
                    "opsctl recipe owner web --owner role=web\n"
                    "opsctl recipe owner web --owner none",
        .run = with_server<recipe_owner_command>},
    CommandRow{.name = "module list",
               .options = "app recipe revision",
               .summary = "the modules that an app's recipes, or a recipe, can use",
               .description =
                   "Of the module repository that the app has ('opsctl app create --module-repo'), or that a "
                   "recipe was checked with. The backend reads it, as far as its configuration lets it.",
               .examples = "opsctl module list --app shop\n"
                           "opsctl module list --recipe web --revision 3",
               .run = with_server<module_list_command>},
    CommandRow{.name = "module show",
               .arguments = "MODULE",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "app recipe revision",
               .summary = "one of them: its parameters and its page",
               .description = "With -o json also as JSON Schema.",
               .examples = "opsctl module show acme.motd --app shop\n"
                           "opsctl module show acme.motd --recipe web -o json",
               .run = with_server<module_show_command>},
    CommandRow{.name = "assign list",
               .options = "app limit",
               .summary = "which machines get which recipes",
               .description = "",
               .examples = "opsctl assign list",
               .run = with_server<assign_list_command>},
    CommandRow{
        .name = "assign create",
        .arguments = "RECIPE",
        .least = 1,
        .most = 1,
        .argument_kind = ValueKind::text,
        .options = "app selector instance revision order on-change round-delay now rings canary canaries "
                   "may-fail pause jitter silence wait timeout",
        .summary = "give a recipe to machines",
        .description = "All machines that the selector matches, now or later, get the recipe. Says "
                       "how many that is and how "
                       "many of them change. Refused when a machine would wait for a state that "
                       "nobody has, or when machines "
                       "would wait for each other. --rings, or the app, makes it go out ring by ring, as "
                       "'opsctl recipe push' does.",
        .examples = "opsctl assign create base -l '*'\n"
                    "opsctl assign create base -l '*' --rings 10,50,100 --wait\n"
                    "opsctl assign create web -l role=web --order 10 --wait",
        .run = with_server<assign_create_command>},
    CommandRow{.name = "assign edit",
               .arguments = "ID",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options =
                   "recipe selector instance revision order on-change round-delay now rings canary canaries "
                   "may-fail pause jitter silence wait timeout",
               .summary = "change an assignment",
               .description = "What is not given stays as it is.",
               .examples = "opsctl assign edit 3 --revision 7\n"
                           "opsctl assign edit 3 --revision newest --wait",
               .run = with_server<assign_edit_command>},
    CommandRow{.name = "assign remove",
               .arguments = "ID",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "now rings canary canaries may-fail pause jitter silence wait timeout",
               .summary = "take an assignment back",
               .description = "The machines no longer run the recipe; what it has done stays done.",
               .examples = "opsctl assign remove 3",
               .run = with_server<assign_remove_command>},
    CommandRow{
        .name = "apply",
        .options = "file set prune dry-run exit-code yes now wait timeout json",
        .summary = "change recipes, assignments, variables and apps together, as files describe them",
        .description =
            "All or nothing, and placed as one: each machine gets one new version with the whole change, "
            "so a state can move from one recipe to another. The backend checks everything first and names "
            "all problems. Says what changes and which machines get a new version, and asks before it is "
            "done; if something has changed by then, it is refused. The same files again change nothing. "
            "--prune removes assignments and variables that an earlier apply of the same set has made and "
            "that "
            "are in no file any more; what was made in another way stays, and so do recipes and apps. "
            "All machines get it at once; where the changes of an app go ring by ring, that is refused for "
            "50 "
            "machines or more without --now. "
            "docs/backend.md, \"Several changes as one\", has the format of the files.",
        .examples = "opsctl apply -f site --dry-run --exit-code\n"
                    "opsctl apply -f site --prune --wait\n"
                    "opsctl apply -f web.yaml -f db.yaml --set site --yes",
        .run = run_apply},
};

}  // namespace

std::span<const CommandRow> recipe_command_rows() {
  return kRecipeCommands;
}

}  // namespace ctl
