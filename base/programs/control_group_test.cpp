#include "base/programs/control_group.hpp"

#include <doctest/doctest.h>

using base::systemd_group;

TEST_CASE("where systemd has put a process, with control groups of either kind or both") {
  CHECK(systemd_group("0::/system.slice/opsagent.service\n") == "/system.slice/opsagent.service");
  CHECK(systemd_group("12:cpu,cpuacct:/x\n1:name=systemd:/system.slice/a.service\n0::/\n") ==
        "/system.slice/a.service");
  CHECK(systemd_group("0::/b.service\n1:name=systemd:/a.service\n") == "/a.service");
  CHECK(systemd_group("10:cpu:/0::/x\n") == "");
  CHECK(systemd_group("") == "");
}
