#include "agent/control/service_unit.hpp"

#include <unistd.h>

#include <doctest/doctest.h>

using agent::control::unit_in_cgroup;

TEST_CASE("the unit that a process belongs to is read from its control group") {
  struct Row {
    const char* cgroup;
    const char* stop;  // "": none
  };
  const Row rows[] = {
      {"0::/system.slice/opsagent.service\n", "systemctl stop opsagent.service"},
      {"12:pids:/system.slice/x.service\n1:name=systemd:/system.slice/opsagent.service\n0::/\n",
       "systemctl stop opsagent.service"},
      {"0::/system.slice/opsagent.service/states\n", "systemctl stop opsagent.service"},
      {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/ops.service\n",
       "systemctl --user stop ops.service"},
      {"0::/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope\n", ""},
      {"0::/user.slice/user-0.slice/session-3.scope\n", ""},
      {"0::/system.slice/docker-0123.scope\n", ""},
      {"0::/\n", ""},
      {"", ""},
  };
  for (const Row& row : rows) {
    const auto unit = unit_in_cgroup(row.cgroup);
    CHECK_MESSAGE((unit ? unit->stop_command() : "") == row.stop, row.cgroup);
  }
}

TEST_CASE("a process that is no unit's main process is kept by none") {
  CHECK_FALSE(agent::control::unit_kept_by(::getpid()));
  CHECK_FALSE(agent::control::unit_kept_by(0x7ffffff0));
}
