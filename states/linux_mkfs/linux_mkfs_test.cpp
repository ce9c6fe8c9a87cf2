#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/loop_device.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_mkfs {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_mkfs::kState;
using tests::LoopDevice;
using tests::StateHarness;

std::string wanted(const std::string& device, const std::string& type, const std::string& more = {}) {
  return R"({"device": ")" + device + R"(", "fstype": ")" + type + "\"" + more + "}";
}

const std::string kNoLoop = LoopDevice::why_not();  // "" where there are loop devices
#define SKIP_WITHOUT_LOOP *doctest::skip(!kNoLoop.empty())

}  // namespace

TEST_CASE("linux.mkfs formats an empty device, and keeps what it has made" SKIP_WITHOUT_LOOP) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(320);
  for (const std::string type : {"ext2", "ext3", "ext4", "xfs"}) {
    CAPTURE(type);
    const auto outcome = machine.converge(kState, wanted(disk.path(), type, R"(, "label": "data-1")"));
    CHECK_MESSAGE(outcome.ok, outcome.message);
    CHECK(outcome.changed);
    CHECK(outcome.message == disk.path() + " formatted as " + type);
    CHECK(disk.value("TYPE") == type);
    CHECK(disk.value("LABEL") == "data-1");
    const std::string uuid = disk.value("UUID");
    const auto again = machine.converge(kState, wanted(disk.path(), type, R"(, "label": "other")"));
    CHECK(again.first == Verdict::kept);
    CHECK(again.message == disk.path() + " already contains " + type);
    CHECK(disk.value("UUID") == uuid);
  }
}

TEST_CASE(
    "linux.mkfs knows a device under another name, and takes ext4 where no type is given" SKIP_WITHOUT_LOOP) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(16);
  const std::string link = machine.root() + "/by-name";
  std::filesystem::create_symlink(disk.path(), link);
  const std::string json = R"({"device": ")" + link + "\"}";
  CHECK(machine.converge(kState, json).changed);
  CHECK(disk.value("TYPE") == "ext4");
  CHECK(machine.converge(kState, json).first == Verdict::kept);
}

TEST_CASE("linux.mkfs plans without writing to the device" SKIP_WITHOUT_LOOP) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(16);
  const std::string before = disk.hash();
  const auto plan = machine.plan(kState, wanted(disk.path(), "ext4", R"(, "label": "x")"));
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.changes.back().what == "file system on " + disk.path());
  CHECK(plan.changes.back().before == "nothing that is known");
  CHECK(plan.changes.back().after == "ext4 with the label 'x'");
  CHECK(disk.hash() == before);
}

TEST_CASE("linux.mkfs never formats a device that is in use" SKIP_WITHOUT_LOOP) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(320);
  const auto refusal = [&] { return machine.plan(kState, wanted(disk.path(), "ext4")).message; };
  const auto in_use = [&](const std::string& why) {
    return disk.path() + " is in use (" + why + "), not formatted";
  };
  SUBCASE("mounted") {
    tests::run_or_fail("mke2fs -q -F -t ext2 " + disk.path());
    CHECK(tests::in_own_mounts([&]() -> std::string {
            const std::string folder = machine.root() + "/mnt";
            std::filesystem::create_directory(folder);
            if (::mount(disk.path().c_str(), folder.c_str(), "ext2", 0, nullptr) != 0) return "cannot mount";
            const std::string said = refusal();
            return said == in_use("mounted on " + folder) ? "" : said;
          }).empty());
  }
  SUBCASE("mounted where we do not see it") {
    tests::run_or_fail("mke2fs -q -F -t ext2 " + disk.path());
    const auto plan = machine.plan(kState, wanted(disk.path(), "ext4"));
    REQUIRE(plan.verdict == Verdict::change);
    tests::ElsewhereMounted elsewhere(disk.path());
    const auto applied = machine.apply(kState, wanted(disk.path(), "ext4"), plan);
    CHECK_FALSE(applied.ok());
    CHECK(applied.comment == in_use("mounted in a container, or held by another driver"));
    CHECK(disk.value("TYPE") == "ext2");
  }
  SUBCASE("a partition table") {
    // One partition of Linux, from sector 2048 on, 2048 sectors.
    tests::run_or_fail(
        R"(printf '\000\000\000\000\203\000\000\000\000\010\000\000\000\010\000\000' | dd bs=1 seek=446 conv=notrunc status=none of=)" +
        disk.path());
    tests::run_or_fail(R"(printf '\125\252' | dd bs=1 seek=510 conv=notrunc status=none of=)" + disk.path());
    CHECK(refusal() == in_use("has a partition table (dos)"));
  }
  SUBCASE("a physical volume") {
    tests::run_or_fail("pvcreate -q -y " + disk.path());
    CHECK(refusal() == in_use("is a LVM2_member"));
  }
  SUBCASE("several signatures") {
    tests::run_or_fail("mkfs.xfs -q -f " + disk.path());
    // A superblock of ext4 behind that of xfs.
    LoopDevice other(320);
    tests::run_or_fail("mke2fs -q -F -t ext4 " + other.path());
    tests::run_or_fail("dd if=" + other.path() + " of=" + disk.path() +
                       " bs=1024 skip=1 seek=1 count=1 conv=notrunc status=none");
    CHECK(refusal() ==
          in_use("several file systems or volumes claim to be on it; clear it with wipefs if none "
                 "is needed"));
  }
}

TEST_CASE(
    "linux.mkfs does not overwrite what came to be on the device since it was planned" SKIP_WITHOUT_LOOP) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(32);
  const auto plan = machine.plan(kState, wanted(disk.path(), "ext4"));
  REQUIRE(plan.verdict == Verdict::change);
  tests::run_or_fail("mke2fs -q -F -t ext4 -L precious " + disk.path());
  const auto applied = machine.apply(kState, wanted(disk.path(), "ext4"), plan);
  CHECK_FALSE(applied.ok());
  CHECK(applied.comment.starts_with(disk.path() + " has changed since it was planned"));
  CHECK(disk.value("LABEL") == "precious");
}

// Where mkfs.xfs is killed after its first writes, blkid already says xfs.
TEST_CASE("linux.mkfs does not take an xfs that was never completed for one" SKIP_WITHOUT_LOOP) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(320);
  tests::run_or_fail("mkfs.xfs -q -f " + disk.path());
  const auto mark = [&](const char* byte) {
    tests::run_or_fail(std::string("printf '") + byte +
                       "' | dd bs=1 seek=126 conv=notrunc status=none of=" + disk.path());
  };
  mark("\\001");
  REQUIRE(disk.value("TYPE") == "xfs");
  const auto outcome = machine.converge(kState, wanted(disk.path(), "xfs"));
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message.starts_with(disk.path() + " contains an xfs that is not complete"));
  CHECK(outcome.message.ends_with("wipefs -a " + disk.path()));
  mark("\\000");
  CHECK(machine.converge(kState, wanted(disk.path(), "xfs")).first == Verdict::kept);
  mark("\\001");
  tests::run_or_fail("wipefs -q -a " + disk.path());
  CHECK(machine.converge(kState, wanted(disk.path(), "xfs")).changed);
}

TEST_CASE("linux.mkfs says what the tool says when that fails" SKIP_WITHOUT_LOOP) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(1);  // xfs wants more
  const auto outcome = machine.converge(kState, wanted(disk.path(), "xfs"));
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message.starts_with("mkfs.xfs failed (exit 1)"));
}

TEST_CASE("linux.mkfs refuses what it cannot make, before anything runs") {
  StateHarness machine(StateHarness::RunningSystem{});
  CHECK(machine.problems(kState, wanted("/dev/x", "ntfs")) ==
        "Unsupported file system 'ntfs': use ext2, ext3, ext4 or xfs");
  CHECK(machine.problems(kState, wanted("/dev/x", "ext4", R"(, "label": "12345678901234567")")) ==
        "Label too long: ext4 has room for 16 bytes, '12345678901234567' has 17");
  CHECK(machine.problems(kState, wanted("/dev/x", "xfs", R"(, "label": "1234567890123")")) ==
        "Label too long: xfs has room for 12 bytes, '1234567890123' has 13");
  CHECK(machine.problems(kState, wanted("/dev/x", "xfs", R"(, "label": "a\nb")")) ==
        "Illegal value for 'label': it contains control characters");
  for (const char* device : {"vdb", "-F", "UUID=1234", "/dev/x\\ny"}) {
    CAPTURE(device);
    CHECK(machine.problems(kState, wanted(device, "ext4")).starts_with("Illegal value for 'device': "));
  }
  CHECK(machine.problems(kState, "{}") == "Missing parameter 'device'");
}

TEST_CASE("linux.mkfs: hostile names are names of devices that are not there") {
  StateHarness machine(StateHarness::RunningSystem{});
  for (const std::string name :
       {"/dev/$(touch /tmp/oops)", "/dev/a b;reboot", "/dev/null", "/etc/passwd", "/dev", "/dev/-F"}) {
    CAPTURE(name);
    CHECK(machine.plan(kState, wanted(name, "ext4")).message == "No such block device " + name);
  }
}

TEST_CASE("linux.mkfs takes a label for a label, however it looks" SKIP_WITHOUT_LOOP) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(16);
  CHECK(machine.converge(kState, wanted(disk.path(), "ext4", R"(, "label": "-L $(id) 'x")")).ok);
  CHECK(disk.value("LABEL") == "-L $(id) 'x");
}

TEST_CASE("linux.mkfs after a state that may bring the device is unknown" SKIP_WITHOUT_LOOP) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(16);
  machine.overlay().add("volume",
                        {{.kind = states::EffectKind::file, .name = disk.path(), .certain = false}});
  CHECK(machine.plan(kState, wanted(disk.path(), "ext4")).depends_on == "volume");
}
