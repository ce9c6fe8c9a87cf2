// The row of the command that makes userdata for new machines.
#include <array>

#include "ctl/commands/commands.hpp"

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
    CommandRow{
        .name = "trial",
        .arguments = "FOLDER [ARCHIVE …]",
        .least = 1,
        .most = 9,
        .argument_kind = ValueKind::file,
        .options = "app tag name approve backend uses ttl",
        .summary = "print one line that installs the agent on a machine: for a trial",
        .description =
            "FOLDER is the release folder that the backend serves (opsbackend --releases FOLDER). When it is "
            "empty, a key is made (in FOLDER.keys, without protection) and the ARCHIVEs are published with "
            "it. Then a join token is made, for --uses machines (10) within --ttl (1h, at most 24h), and the "
            "line is printed: whoever has it can let a machine join until then. Run it again for more "
            "machines, or with another ARCHIVE for a new version. A trial lasts 30 days from the last time. "
            "For machines that matter keep keys as docs/releases.md says, and use 'opsctl userdata'.",
        .examples = "opsctl trial releases opsagent-1.4.0-linux-amd64.tar.gz\n"
                    "opsctl trial releases --app shop --tag role=web --uses 3",
        .run = with_server<trial_command>},
};

}  // namespace

std::span<const CommandRow> userdata_command_rows() {
  return kUserdataCommands;
}

}  // namespace ctl
