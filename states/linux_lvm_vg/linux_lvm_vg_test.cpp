#include <unistd.h>

#include <doctest/doctest.h>

#include "states/block_devices/lvm.hpp"
#include "states/state.hpp"
#include "tests/support/loop_device.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_lvm_vg {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_lvm_vg::kState;
using tests::LoopDevice;
using tests::StateHarness;

const bool kCan = [] {
  bool ok = false;
  tests::shell_output("command -v lvm", ok);
  return ok && LoopDevice::why_not().empty();
}();
#define NEEDS_LVM *doctest::skip(!kCan)

// A name of this run's, and the group gone afterwards.
struct Group {
  std::string name = "opsagent_test_" + std::to_string(::getpid());
  ~Group() {
    bool ok = false;
    tests::shell_output("vgremove -q -f " + name, ok);
  }
  std::string json(const std::string& paths, const std::string& more = {}) const {
    return R"({"name": ")" + name + R"(", "path": [)" + paths + "]" + more + "}";
  }
  std::string field(const std::string& what) const {
    return tests::run_or_fail("vgs --noheadings --nosuffix --units b -o " + what + " " + name +
                              " 2>/dev/null | tr -d ' '");
  }
};
std::string quoted(const LoopDevice& disk) {
  return "\"" + disk.path() + "\"";
}

}  // namespace

TEST_CASE("LVM's report: groups, their volumes, and those that are missing") {
  const auto report = states::block_devices::parse_lvm_report(
      R"({"report":[{"vg":[{"vg_name":"a","pv_name":"/dev/sdb","vg_extent_size":"4194304","vg_free_count":"28"},{"vg_name":"a","pv_name":"[unknown]"},{"vg_name":"b","pv_name":"/dev/sdc"}]}]})");
  REQUIRE(report);
  REQUIRE(report->groups.size() == 2);
  CHECK(report->groups[0].name == "a");
  CHECK(report->groups[0].extent_size == 4194304);
  CHECK(report->groups[0].free_extents == 28);
  CHECK(report->groups[1].name == "b");
  CHECK(report->volumes.size() == 2);
  CHECK_FALSE(states::block_devices::parse_lvm_report("no JSON"));
  CHECK(states::block_devices::parse_lvm_report("{}")->groups.empty());
}

TEST_CASE("linux.lvm.vg makes a group, and keeps it" NEEDS_LVM) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice a(64), b(64), c(64);
  Group group;
  const std::string json = group.json(quoted(a) + ", " + quoted(b));
  const std::string before = a.hash();
  CHECK(machine.plan(kState, json).message ==
        "Create volume group " + group.name + " on " + a.path() + ", " + b.path());
  CHECK(a.hash() == before);
  const auto outcome = machine.converge(kState, json);
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(outcome.message == "Volume group " + group.name + " created on " + a.path() + ", " + b.path());
  CHECK(group.field("pv_count").starts_with("2"));
  CHECK(machine.converge(kState, json).message == "Volume group " + group.name + " exists");
  // Its devices are not changed.
  const auto more = machine.converge(kState, group.json(quoted(a) + ", " + quoted(c)));
  CHECK(more.first == Verdict::kept);
  CHECK(more.message == "Volume group " + group.name + " exists; not a member: " + c.path());
  // Nor those of another taken.
  Group other;
  other.name += "_b";
  CHECK(machine.plan(kState, other.json(quoted(a))).message ==
        "Device " + a.path() + " already belongs to " + group.name);
}

TEST_CASE("linux.lvm.vg: every option reaches vgcreate" NEEDS_LVM) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(64);
  Group group;
  const auto outcome = machine.converge(
      kState, group.json(quoted(disk), R"(, "clustered": true, "max-lv-number": 7, "max-pv-number": "9",
          "metadata type": "lvm2", "metadata copies": "all", "PE size": "8m", "autobackup": "n", "tag": "@ops",
          "allocation policy": "cling")"));
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(group.field("max_lv") == "7");
  CHECK(group.field("max_pv") == "9");
  CHECK(group.field("vg_mda_copies") == "unmanaged");  // "all" is kept as such
  CHECK(group.field("vg_extent_size") == "8388608");
  CHECK(group.field("vg_tags") == "ops");
  CHECK(group.field("vg_allocation_policy") == "cling");
  CHECK(outcome.output.find("'clustered' has no effect") != std::string::npos);
  CHECK(outcome.output.find("NOT backed up") != std::string::npos);
}

TEST_CASE("linux.lvm.vg takes no device on which something is" NEEDS_LVM) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(64);
  Group group;
  const auto plan = machine.plan(kState, group.json(quoted(disk)));
  tests::run_or_fail("mke2fs -q -F -t ext2 -L precious " + disk.path());
  CHECK(machine.plan(kState, group.json(quoted(disk))).message == disk.path() + " contains ext2");
  CHECK(machine.apply(kState, group.json(quoted(disk)), plan).comment == disk.path() + " contains ext2");
  CHECK(disk.value("LABEL") == "precious");
  CHECK(machine.plan(kState, group.json("\"/dev/no-such\"")).message == "Device /dev/no-such not found");
}

TEST_CASE("linux.lvm.vg says what the tool says" NEEDS_LVM) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(64);
  Group group;
  const auto outcome = machine.converge(kState, group.json(quoted(disk), R"(, "max-lv-number": "many")"));
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message.starts_with("vgcreate failed (exit 3)"));
}

TEST_CASE("linux.lvm.vg refuses names and values that are none, before anything runs") {
  StateHarness machine(StateHarness::RunningSystem{});
  for (const char* name : {"-f", "a b", "..", "a/b", "$(id)"})
    CHECK(machine.problems(kState, R"({"path": ["/dev/x"], "name": ")" + std::string(name) + "\"}") ==
          "Illegal value for 'name': '" + std::string(name) + "'");
  const auto problem = [&](const std::string& more) {
    return machine.problems(kState, R"({"name": "vg", "path": ["/dev/x"])" + more + "}");
  };
  for (const char* name : {"max-lv-number", "max-pv-number", "metadata-copies", "pe-size", "tag"})
    CHECK(problem(R"(, ")" + std::string(name) + R"(": "--force")") ==
          "Illegal value for '" + std::string(name) + "': '--force'");
  CHECK(problem(R"(, "allocation-policy": "x")") == "Illegal value for 'allocation-policy': 'x'");
  CHECK(problem(R"(, "metadata-type": "1")") ==
        "Illegal value for 'metadata-type': lvm1 is gone since LVM 2.03; use lvm2");
  CHECK(machine.problems(kState, "{}") == "Missing parameter 'name'\nMissing parameter 'path'");
}
