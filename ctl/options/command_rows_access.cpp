// The rows of the commands about who may do what.
#include <array>

#include "ctl/commands/commands.hpp"

namespace ctl {

namespace {

using terminal::CommandRow;
using terminal::ValueKind;

constexpr std::array kAccessCommands{
    CommandRow{.name = "join-token create",
               .options = "app instance name tag approve uses ttl",
               .summary = "make a token with which machines join",
               .description =
                   "Prints the token on standard output; it is shown only once. A machine that joins "
                   "with it gets its certificate, its name and these tags, by which selectors find it. Its "
                   "name is that of --instance, or what it asks for if --name allows it; else the backend "
                   "makes one. A machine that was enrolled before needs a token that names it.",
               .examples = "opsctl join-token create --app shop --tag role=web --uses 20 --ttl 1h\n"
                           "opsctl join-token create --app shop --tag role=web --name 'web-*' --uses 20\n"
                           "opsctl join-token create --app shop --instance web1",
               .run = with_server<join_token_create_command>},
    CommandRow{.name = "join-token list",
               .options = "limit",
               .summary = "list the join tokens",
               .description = "",
               .examples = "opsctl join-token list",
               .run = with_server<join_token_list_command>},
    CommandRow{.name = "join-token revoke",
               .arguments = "ID",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .summary = "make a join token useless",
               .description = "Machines that have joined with it stay.",
               .examples = "opsctl join-token revoke 0190f3c2a1b2c3d4",
               .run = with_server<join_token_revoke_command>},
    CommandRow{.name = "token create",
               .arguments = "NAME",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "role scope ttl",
               .summary = "make an access token for a person or a program",
               .description =
                   "Prints the token on standard output; it is shown only once. NAME is who it is in "
                   "the audit. A viewer looks, an operator changes what machines run, an admin also "
                   "manages apps, tokens and agents. With --scope it sees and reaches only the machines "
                   "of that selector, and the recipes that it makes belong to that scope. It is good for 90 "
                   "days unless --ttl says otherwise; --ttl never makes one that does not expire.",
               .examples =
                   "opsctl token create ann --role operator > ann.token\n"
                   "opsctl token create ci --role operator --scope 'role=web and zone=test' --ttl 90d",
               .run = with_server<token_create_command>},
    CommandRow{.name = "token list",
               .options = "limit",
               .summary = "list the access tokens",
               .description = "Those that end soon are named on standard error.",
               .examples = "opsctl token list",
               .run = with_server<token_list_command>},
    CommandRow{.name = "token revoke",
               .arguments = "NAME",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .summary = "make an access token useless, at once",
               .description = "",
               .examples = "opsctl token revoke ann",
               .run = with_server<token_revoke_command>},
    CommandRow{
        .name = "doctor",
        .options = "json",
        .summary = "check the installation, and say what to do",
        .description =
            "Looks for what docs/security.md advises against: operators' tokens without a scope, tokens that "
            "never expire, listeners without TLS, an authority that ends soon, agents of version 1, apps "
            "that "
            "believe what machines say of themselves. Needs an admin token without a scope. Exit status: 0 "
            "nothing found, 2 something was found, 1 it could not be checked.",
        .examples = "opsctl doctor\n"
                    "opsctl doctor --json",
        .run = doctor_run},
    CommandRow{.name = "ca status",
               .summary = "show the backend's authority, and who relies on it",
               .description =
                   "While the authority is being changed there are two: this names the machines that have no "
                   "certificate of the new one yet.",
               .examples = "opsctl ca status\n"
                           "opsctl ca status -o json | jq .relying_count",
               .run = with_server<ca_status_command>},
    CommandRow{
        .name = "ca rotate",
        .summary = "begin to change the backend's authority",
        .description =
            "Makes the next authority, or takes the one of --next-ca-cert, and announces it over the "
            "connections that the old one vouches for. Machines trust both until the old one is retired.",
        .examples = "opsctl ca rotate",
        .run = with_server<ca_rotate_command>},
    CommandRow{
        .name = "ca retire",
        .options = "force",
        .summary = "end the change of the backend's authority",
        .description =
            "From then on neither side accepts what the old authority has signed. Refused while machines "
            "rely on it, which are named; with --force these need a new join token each.",
        .examples = "opsctl ca retire\n"
                    "opsctl ca retire --force",
        .run = with_server<ca_retire_command>},
    CommandRow{.name = "audit",
               .arguments = "[verify]",
               .most = 1,
               .argument_kind = ValueKind::text,
               .argument_choices = "verify",
               .options = "limit head",
               .summary = "who changed what, newest first; or verify that nobody has touched the record",
               .description =
                   "'verify' reads all of it and computes its chain of hashes anew: an edited or removed "
                   "row is named, with exit status 1. It prints the head of the chain: noted elsewhere and "
                   "given as --head later, it shows that nothing was removed from the end either.",
               .examples = "opsctl audit -n 20\n"
                           "opsctl audit verify --head \"$(cat head.noted)\"",
               .run = with_server<audit_command>},
};

}  // namespace

std::span<const CommandRow> access_command_rows() {
  return kAccessCommands;
}

}  // namespace ctl
