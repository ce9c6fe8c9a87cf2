// The commands about updates of agents.
#include <array>

#include "ctl/commands/commands.hpp"

namespace ctl {

namespace {

using terminal::CommandRow;
using terminal::ValueKind;

constexpr std::array kUpdateCommands{
    CommandRow{.name = "update",
               .arguments = "VERSION",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "app to selector instance canary rings pause jitter silence url wait timeout",
               .summary = "update agents, ring by ring",
               .description = "Up to 5 canaries are told first, then 10 %, 50 % and all of the machines, "
                              "each ring when the one "
                              "before is through and after a pause. Stops by itself when too many fail or "
                              "are lost. Machines that "
                              "are not connected are told when they come.\n\n"
                              "Exit status with --wait: 0 it is done, 1 it has stopped or was aborted.",
               .examples = "opsctl update 1.4.0 --to '*'\n"
                           "opsctl update 1.4.0 --to role=web --canary zone=test --pause 15m --wait",
               .run = with_server<update_command>},
    CommandRow{.name = "rollout list",
               .options = "app limit",
               .summary = "list the rollouts, newest first",
               .description =
                   "Updates of agents, changes of recipes and assignments that go out ring by ring, "
                   "and the pinned versions of apps.",
               .examples = "opsctl rollout list",
               .run = with_server<rollout_list_command>},
    CommandRow{.name = "rollout show",
               .arguments = "ID",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .options = "limit wait timeout",
               .summary = "how a rollout goes, ring by ring and machine by machine",
               .description = "With --wait it is followed until it ends; exit status 1 when it has stopped.",
               .examples = "opsctl rollout show 0190f3c2",
               .run = with_server<rollout_show_command>},
    CommandRow{.name = "rollout pause",
               .arguments = "ID",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .summary = "tell nobody else for now",
               .description = "Machines that were told go on.",
               .examples = "opsctl rollout pause 0190f3c2",
               .run = with_server<rollout_pause_command>},
    CommandRow{.name = "rollout resume",
               .arguments = "ID",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .summary = "go on after a pause or a stop",
               .description = "What made it stop does not count from here on.",
               .examples = "opsctl rollout resume 0190f3c2",
               .run = with_server<rollout_resume_command>},
    CommandRow{.name = "rollout exclude",
               .arguments = "ID INSTANCE …",
               .least = 2,
               .most = 64,
               .argument_kind = ValueKind::text,
               .summary = "go on without some machines: what they report does not count",
               .description =
                   "Those that were not told yet never are. A rollout that has stopped goes on with "
                   "'opsctl rollout resume'. 'opsctl rollout show' lists what speaks against it.",
               .examples = "opsctl rollout exclude 0190f3c2 web7 web9",
               .run = with_server<rollout_exclude_command>},
    CommandRow{.name = "rollout abort",
               .arguments = "ID",
               .least = 1,
               .most = 1,
               .argument_kind = ValueKind::text,
               .summary = "tell nobody else, for good",
               .description = "Machines that were told go on.",
               .examples = "opsctl rollout abort 0190f3c2",
               .run = with_server<rollout_abort_command>},
};

}  // namespace

std::span<const CommandRow> update_command_rows() {
  return kUpdateCommands;
}

}  // namespace ctl
