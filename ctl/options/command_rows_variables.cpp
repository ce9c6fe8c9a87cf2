// The rows of commands about variables.
#include <array>

#include "ctl/commands/commands.hpp"

namespace ctl {

namespace {

using terminal::CommandRow;
using terminal::ValueKind;

constexpr std::array kVariableCommands{
    CommandRow{
        .name = "var set",
        .arguments = "NAME=TEXT|NAME:=JSON...",
        .least = 1,
        .most = 64,
        .argument_kind = ValueKind::text,
        .options =
            "app selector machine order dry-run now rings canary canaries may-fail pause jitter silence "
            "wait timeout",
        .summary = "set variables of an app, a selector or a machine",
        .description =
            "Behind = stands text, behind := JSON (a number, true, a list, an object); @FILE is what the "
            "file "
            "has. A machine gets what is set for its app, over that what is set for selectors that match it, "
            "in their --order, and over that its own; mappings are merged key by key, anything else is "
            "replaced. Machines whose recipes read what has changed get a new version, and no others: ring "
            "by ring or at once, as 'opsctl recipe push' does. A value that a recipe declares to be "
            "something "
            "else is refused. Variables are no secrets: whoever may read a machine reads them, and their "
            "history keeps them; for secrets a recipe says ${{ secret('name') }}. The way back is to set the "
            "former value ('opsctl var history').",
        .examples = "opsctl var set zone=eu --app shop\n"
                    "opsctl var set port:=8080 'sites:=[{\"name\":\"shop\"}]' -l role=web\n"
                    "opsctl var set motd=@motd.txt --machine web1 --dry-run\n"
                    "opsctl var set port:=8081 -l role=web --rings 10,50,100 --wait",
        .run = with_server<var_set_command>},
    CommandRow{
        .name = "var unset",
        .arguments = "NAME...",
        .least = 1,
        .most = 64,
        .argument_kind = ValueKind::text,
        .options =
            "app selector machine dry-run now rings canary canaries may-fail pause jitter silence wait "
            "timeout",
        .summary = "take variables of an app, a selector or a machine back",
        .description =
            "What is weaker holds again: that of other selectors, of the app, or of the recipe itself. "
            "Refused when a machine would have no value for what its recipe needs.",
        .examples = "opsctl var unset port --machine web1\n"
                    "opsctl var unset port sites -l role=web --wait",
        .run = with_server<var_unset_command>},
    CommandRow{.name = "var get",
               .arguments = "NAME",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "app selector machine",
               .summary = "print what is set for an app, a selector or a machine",
               .description = "What a machine has in the end, merged: 'opsctl var explain MACHINE'.",
               .examples = "opsctl var get port --app shop\n"
                           "opsctl var get sites -l role=web -o json",
               .run = with_server<var_get_command>},
    CommandRow{.name = "var list",
               .options = "app limit",
               .summary = "all variables, by what they are set for",
               .description = "",
               .examples = "opsctl var list --app shop",
               .run = with_server<var_list_command>},
    CommandRow{.name = "var history",
               .arguments = "[NAME]",
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "app selector machine limit",
               .summary = "who has changed which variable, newest first",
               .description = "With what it was before and after. Also of what is not set any more.",
               .examples = "opsctl var history --limit 20\n"
                           "opsctl var history port -l role=web",
               .run = with_server<var_history_command>},
    CommandRow{.name = "var explain",
               .arguments = "MACHINE [NAME]",
               .least = 1,
               .most = 2,
               .argument_kind = ValueKind::text,
               .options = "app",
               .summary = "every value that a machine has, where it comes from and who has set it",
               .description =
                   "Merged, and named down to the single value (nginx.port). A recipe's own defaults, "
                   "which are weaker than all of these, are shown by 'opsctl recipe vars'.",
               .examples = "opsctl var explain web1\n"
                           "opsctl var explain shop/web1 nginx",
               .run = with_server<var_explain_command>},
    CommandRow{.name = "recipe vars",
               .arguments = "NAME",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "revision",
               .summary = "the variables that a recipe uses, with their types and defaults",
               .description = "",
               .examples = "opsctl recipe vars web\n"
                           "opsctl recipe vars web --revision 3 -o json",
               .run = with_server<recipe_vars_command>},
};

}  // namespace

std::span<const CommandRow> variable_command_rows() {
  return kVariableCommands;
}

}  // namespace ctl
