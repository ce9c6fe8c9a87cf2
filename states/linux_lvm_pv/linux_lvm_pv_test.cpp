#include <unistd.h>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/loop_device.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_lvm_pv {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_lvm_pv::kState;
using tests::LoopDevice;
using tests::StateHarness;

const bool kCan = [] {
  bool ok = false;
  tests::shell_output("command -v lvm", ok);
  return ok && LoopDevice::why_not().empty();
}();
#define NEEDS_LVM *doctest::skip(!kCan)

std::string wanted(const std::string& paths, const std::string& more = {}) {
  return R"({"path": [)" + paths + "]" + more + "}";
}
std::string quoted(const LoopDevice& disk) {
  return "\"" + disk.path() + "\"";
}
std::string field(const LoopDevice& disk, const std::string& name) {
  return tests::run_or_fail("pvs --noheadings --nosuffix --units b -o " + name + " " + disk.path() +
                            " 2>/dev/null | tr -d ' '");
}

}  // namespace

TEST_CASE("linux.lvm.pv initialises devices, and keeps them" NEEDS_LVM) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice a(64), b(64);
  const std::string both = wanted(quoted(a) + ", " + quoted(b));
  const std::string before = a.hash();
  const auto plan = machine.plan(kState, both);
  CHECK(plan.message == "Initialise " + a.path() + ", " + b.path());
  CHECK(a.hash() == before);
  const auto outcome = machine.converge(kState, both);
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(outcome.message == a.path() + " initialised\n\n" + b.path() + " initialised");
  const std::string uuid = field(a, "pv_uuid");
  const auto again = machine.converge(kState, both);
  CHECK(again.first == Verdict::kept);
  CHECK(again.message ==
        a.path() + " is already a physical volume; " + b.path() + " is already a physical volume");
  CHECK(field(a, "pv_uuid") == uuid);
}

TEST_CASE("linux.lvm.pv: every option reaches pvcreate" NEEDS_LVM) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(64), other(64);
  const std::string uuid = "aaaaaa-bbbb-cccc-dddd-eeee-ffff-gggggg";
  auto outcome = machine.converge(
      kState, wanted(quoted(disk), R"(, "uuid": ")" + uuid + R"(", "no-restore-file": true, "zero": "y",
          "data-alignment": "2m", "data-alignment offset": "64k", "metadata size": "1m", "metadata type": "2",
          "metadata copies": 2, "metadata-ignore": "yes", "label-sector": 2, "PV-size": "48m", "force": true)"));
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(field(disk, "pv_uuid") == uuid);
  CHECK(field(disk, "pv_mda_count") == "2");
  CHECK(field(disk, "pv_mda_used_count") == "0");
  CHECK(field(disk, "pe_start") == "2162688");  // 2 MiB and 64 KiB
  CHECK(field(disk, "dev_size") == "67108864");
  CHECK(field(disk, "pv_size") == "50331648");
  CHECK(tests::run_or_fail("dd if=" + disk.path() + " bs=512 skip=2 count=1 status=none | head -c 8") ==
        "LABELONE");
  // The other way to restore one, and "zero" as text that is not true.
  tests::run_or_fail("vgcreate -q opsagent_restore " + other.path() +
                     " >/dev/null 2>&1 && vgcfgbackup -q -f " + machine.root() +
                     "/backup opsagent_restore >/dev/null 2>&1");
  const std::string lost = field(other, "pv_uuid");
  tests::run_or_fail("vgremove -q -f opsagent_restore >/dev/null 2>&1; pvremove -q -ff -y " + other.path() +
                     " >/dev/null 2>&1");
  outcome = machine.converge(
      kState, wanted(quoted(other), R"(, "uuid": ")" + lost + R"(", "restore-file": ")" + machine.root() +
                                        R"(/backup", "label-sector": "LVM2")"));
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(field(other, "pv_uuid") == lost);
}

TEST_CASE("linux.lvm.pv overwrites nothing without force, and nothing that is in use with it" NEEDS_LVM) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(64);
  tests::run_or_fail("mke2fs -q -F -t ext2 -L precious " + disk.path());
  CHECK(machine.plan(kState, wanted(quoted(disk))).message ==
        disk.path() + " contains ext2; set force to overwrite");
  const std::string forced = wanted(quoted(disk), R"(, "force": true)");
  CHECK(tests::in_own_mounts([&]() -> std::string {
          if (::mount(disk.path().c_str(), "/mnt", "ext2", 0, nullptr) != 0) return "cannot mount";
          return machine.plan(kState, forced).message;
        }) == disk.path() + " is in use (mounted on /mnt)");
  const auto outcome = machine.converge(kState, forced);
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(disk.value("TYPE") == "LVM2_member");
}

TEST_CASE("linux.lvm.pv does not overwrite what came to be there since the plan" NEEDS_LVM) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(64);
  const auto plan = machine.plan(kState, wanted(quoted(disk)));
  tests::run_or_fail("mke2fs -q -F -t ext2 -L precious " + disk.path());
  const auto applied = machine.apply(kState, wanted(quoted(disk)), plan);
  CHECK(applied.comment == disk.path() + " contains ext2");
  CHECK(disk.value("LABEL") == "precious");
}

TEST_CASE("linux.lvm.pv says what the tool says" NEEDS_LVM) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(1);
  const auto outcome = machine.converge(kState, wanted(quoted(disk)));
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message.starts_with("pvcreate failed (exit 5)"));
}

TEST_CASE("linux.lvm.pv refuses what cannot be, before anything runs") {
  StateHarness machine(StateHarness::RunningSystem{});
  const auto problem = [&](const std::string& more) {
    return machine.problems(kState, wanted("\"/dev/x\"", more));
  };
  CHECK(machine.plan(kState, wanted("\"/dev/no-such\"")).message == "Device /dev/no-such not found");
  CHECK(machine.problems(kState, wanted("\"-ff\"")) == "Illegal value for 'path': '-ff'");
  CHECK(problem(R"(, "metadata-type": "lvm1")") ==
        "Illegal value for 'metadata-type': lvm1 is gone since LVM 2.03; use lvm2");
  CHECK(problem(R"(, "metadata-type": "x")") == "Illegal value for 'metadata-type': 'x'");
  CHECK(problem(R"(, "uuid": "x")") == "'uuid' needs 'restore-file' or 'no-restore-file'");
  CHECK(machine.problems(kState,
                         wanted(R"("/dev/x", "/dev/y")", R"(, "uuid": "x", "no-restore-file": true)")) ==
        "'uuid' is for one device, and 'path' has several");
  for (const char* name :
       {"uuid", "data-alignment", "data-alignment-offset", "metadata-size", "metadata-copies", "pv-size"}) {
    CAPTURE(name);
    for (const char* value : {"--yes", "$(id)", "a b", "x;y"})
      CHECK(problem(R"(, ")" + std::string(name) + R"(": ")" + value + "\"") ==
            "Illegal value for '" + std::string(name) + "': '" + value + "'");
  }
  CHECK(problem(R"(, "restore-file": "relative")") == "Illegal value for 'restore-file': 'relative'");
}
