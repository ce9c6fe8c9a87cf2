// The row of the command that makes userdata for new machines.
#include <array>

#include "ctl/commands.hpp"

namespace ctl {

namespace {

using terminal::CommandRow;
using terminal::ValueKind;

constexpr std::array kUserdataCommands{
    CommandRow{
        .name = "userdata",
        .options =
            "app tag name approve backend release-base root channel version join-token uses ttl release-ca "
            "identity-source cloud-config out",
        .summary = "print what makes a new machine install and join by itself",
        .description =
            "A shell script for cloud-init, under 16 KiB: it fetches the release, verifies it with the "
            "root document that it carries, installs and starts the agent, which joins with the token "
            "that it carries. Without --join-token a token is made, for --uses machines (1) within "
            "--ttl (24h); it gives them the tags as well. The output holds that secret: keep it as "
            "you would keep the token. See docs/bootstrap.md.",
        .examples = "opsctl userdata --root root.json --app shop --tag role=web > web.userdata\n"
                    "opsctl userdata --root root.json --app shop --uses 10 --ttl 2h --out web.userdata\n"
                    "opsctl userdata --root root.json --backend wss://ops.example.com/agent/ "
                    "--release-base https://dl.example.com/opsagent --join-token web.token --cloud-config",
        .run = local<userdata_command>},
};

}  // namespace

std::span<const CommandRow> userdata_command_rows() {
  return kUserdataCommands;
}

}  // namespace ctl
