// What LVM is told, without it; and in the suite "block-devices" the real thing, in a machine whose kernel
// has device-mapper (tests/block_devices).
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "base/values/redactor.hpp"
#include "states/block_devices/lvm.hpp"
#include "states/linux_lvm_lv/lvcreate.hpp"
#include "states/state.hpp"
#include "tests/support/loop_device.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_lvm_lv {
extern const StateType& kState;
}
namespace states::linux_lvm_vg {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_lvm_lv::kState;
using tests::LoopDevice;
using tests::StateHarness;

const bool kHasLvm = [] {
  bool ok = false;
  tests::shell_output("command -v lvm", ok);
  return ok && LoopDevice::why_not().empty();
}();

// A group on two devices, and all of it gone afterwards.
struct Group {
  std::string name = "opsagent_lv_" + std::to_string(::getpid());
  LoopDevice a{64}, b{64};

  Group() { tests::run_or_fail("vgcreate -q " + name + " " + a.path() + " " + b.path()); }
  ~Group() {
    bool ok = false;
    tests::shell_output("vgremove -q -f -y " + name, ok);
  }
  std::string json(const std::string& volume, const std::string& more) const {
    return R"({"name": ")" + volume + R"(", "vg-name": ")" + name + "\"" + (more.empty() ? "" : ", ") + more +
           "}";
  }
  std::string field(const std::string& volume, const std::string& what) const {
    return tests::run_or_fail("lvs --noheadings --nosuffix --units b -o " + what + " " + name + "/" + volume +
                              " 2>/dev/null | tr -d ' '");
  }
  std::string device(const std::string& volume) const { return "/dev/" + name + "/" + volume; }
  std::string type_on(const std::string& volume) const {
    bool ok = false;
    return tests::shell_output("blkid -p -o value -s TYPE " + device(volume), ok);
  }
  void make(const std::string& volume, const std::string& options) const {
    tests::run_or_fail("lvcreate -q -y " + options + " -n " + volume + " " + name);
  }
};

std::string text_of(const std::vector<std::string>& words) {
  return base::join(words, " ");
}

constexpr states::linux_lvm_lv::Params kPlain{.name = "data", .vg_name = "vg", .path = {}, .le_size = "8m"};

}  // namespace

TEST_CASE("lvcreate: sizes are read as LVM reads them") {
  using states::linux_lvm_lv::bytes_of;
  CHECK(bytes_of("8") == 8U << 20);
  CHECK(bytes_of("8m") == 8U << 20);
  CHECK(bytes_of("1.5K") == 1536);
  CHECK(bytes_of("2GiB") == 2ULL << 30);
  CHECK(bytes_of("16s") == 8192);
  CHECK(bytes_of("100b") == 100);
  for (const char* bad : {"", "m", "-1", "+1", "1x", "1.2.3", ".5", "5.", "1mm", "99999999e", "0x10", "1e9"})
    CHECK_FALSE(bytes_of(bad));
}

TEST_CASE("lvcreate: what is told to it, and what is left out") {
  using states::linux_lvm_lv::command_for;
  CHECK(
      text_of(command_for(kPlain, {"/dev/sdb"})) ==
      "lvcreate --yes --name data --size 8m --addtag opsagent-unfinished --wipesignatures y -- vg /dev/sdb");
  auto params = kPlain;
  params.snapshot = "/dev/vg/root";
  CHECK(text_of(command_for(params, {})) ==
        "lvcreate --yes --name data --snapshot --size 8m --addtag opsagent-unfinished -- vg/root");
  // What has no device, or one that only reads, cannot be cleared.
  params = kPlain;
  params.available = "n";
  CHECK(text_of(command_for(params, {})) ==
        "lvcreate --yes --name data --size 8m --activate n --addtag opsagent-unfinished --zero n "
        "--wipesignatures n "
        "-- vg");
  // An editor fills in 'discards' for all; 'persistent' without a number says nothing.
  params = kPlain;
  params.discards = "passdown";
  params.persistent = true;
  CHECK(text_of(command_for(params, {})) == text_of(command_for(kPlain, {})));
  params.type = "thin-pool";
  CHECK(text_of(command_for(params, {})) ==
        "lvcreate --yes --name data --size 8m --discards passdown --type thin-pool --addtag "
        "opsagent-unfinished -- "
        "vg");
}

TEST_CASE("lvcreate: every option has its place") {
  states::linux_lvm_lv::Params params{.name = "n", .vg_name = "vg", .path = {}, .le_number = "50%FREE"};
  params.available = "ay";
  params.chunk_size = "64k";
  params.stripe_number = "2";
  params.stripe_size = "16k";
  params.mirror_number = "1";
  params.region_size = "512k";
  params.readahead = "none";
  params.discards = "ignore";
  params.permission = "rw";
  params.type = "thin";
  params.virtual_size = "1g";
  params.tag = "@ops";
  params.allocation_policy = "cling";
  params.pool_metadata_size = "4m";
  params.thinpool = "vg/pool";
  params.minor_number = "77";
  params.persistent = true;
  params.contiguous = false;
  params.zero = true;
  params.monitor = false;
  params.autobackup = true;
  params.no_udev_sync = true;
  params.ignore_monitoring = true;
  CHECK(
      text_of(states::linux_lvm_lv::command_for(params, {"/dev/sdb", "/dev/sdc"})) ==
      "lvcreate --yes --name n --extents 50%FREE --activate ay --chunksize 64k --stripes 2 --stripesize 16k "
      "--mirrors 1 --regionsize 512k --readahead none --discards ignore --permission rw --type thin "
      "--virtualsize 1g --addtag @ops --alloc cling --poolmetadatasize 4m --thinpool pool --minor 77 "
      "--persistent y --contiguous n --zero y --wipesignatures y --monitor n --autobackup y --noudevsync "
      "--ignoremonitoring -- vg /dev/sdb /dev/sdc");
}

TEST_CASE("LVM's report of logical volumes") {
  const auto volumes = states::block_devices::parse_logical_volumes(
      R"({"report":[{"lv":[{"vg_name":"a","lv_name":"x","lv_size":"8388608","vg_extent_size":"4194304","origin":"o",
          "pool_lv":"p","lv_layout":"thin,sparse","lv_tags":"one,two"},{"vg_name":"a","lv_name":"p","lv_layout":"thin,pool"},
          {"vg_name":"","lv_name":"odd"}, 7]}]})");
  REQUIRE(volumes);
  REQUIRE(volumes->volumes.size() == 2);
  CHECK(volumes->find("a", "x")->size == 8388608);
  CHECK(volumes->find("a", "x")->origin == "o");
  CHECK(volumes->find("a", "x")->tags == std::vector<std::string>{"one", "two"});
  CHECK_FALSE(volumes->find("a", "x")->is_pool);
  CHECK(volumes->find("a", "p")->is_pool);
  CHECK_FALSE(volumes->find("b", "x"));
  CHECK_FALSE(states::block_devices::parse_logical_volumes("nothing"));
}

TEST_CASE("linux.lvm.lv refuses names and values that are none, before anything runs") {
  StateHarness machine;
  const auto problem = [&](const std::string& more) {
    return machine.problems(kState, R"({"name": "n", "vg-name": "vg", )" + more + "}");
  };
  CHECK(problem(R"("le-size": 8)").empty());
  CHECK(problem(R"("lv-size": "8g", "allocation policy": "normal", "pool metadata size": "4m")").empty());
  for (const char* bad : {"-f", "a b", "..", "a/b", "$(id)", "@tag"}) {
    const std::string name(bad);
    CHECK(machine.problems(kState, R"({"vg-name": "vg", "le-size": 1, "name": ")" + name + "\"}") ==
          "Illegal value for 'name': '" + name + "'");
    CHECK(machine.problems(kState, R"({"name": "n", "le-size": 1, "vg-name": ")" + name + "\"}") ==
          "Illegal value for 'vg-name': '" + name + "'");
    CHECK(problem(R"("virtual-size": "1g", "thinpool": ")" + name + "\"") ==
          "Illegal value for 'thinpool': '" + name + "'");
    CHECK(problem(R"("le-size": 1, "snapshot": ")" + name + "\"") ==
          "Illegal value for 'snapshot': '" + name + "'");
  }
  CHECK(problem(R"("le-size": 1, "snapshot": "other/root")") == "Illegal value for 'snapshot': 'other/root'");
  CHECK(problem(R"("le-size": 1, "snapshot": "n")") ==
        "'snapshot' is the volume that is there, 'name' the new one: they must differ");
  for (const char* name : {"chunk-size", "stripe-number", "stripe-size", "mirror-number", "region-size",
                           "readahead", "discards", "permission", "type", "virtual-size", "tag",
                           "allocation-policy", "pool-metadata-size", "minor-number", "available"})
    for (const char* bad : {"--force", "1;id", "a b"})
      CHECK(problem(R"("le-size": 1, ")" + std::string(name) + R"(": ")" + bad + "\"") ==
            "Illegal value for '" + std::string(name) + "': '" + bad + "'");
  for (const char* bad : {"-1", "5%", "5%LVX", "5%FREE;id", "%FREE", "5 %FREE"})
    CHECK(problem(R"("le-number": ")" + std::string(bad) + "\"") ==
          "Illegal value for 'le-number': '" + std::string(bad) + "'");
  CHECK(problem(R"("le-size": 1, "path": ["sdb"])") == "Illegal value for 'path': 'sdb'");
  const std::string one = "Give exactly one of 'le-size' and 'le-number'";
  CHECK(problem(R"("le-size": 1, "le-number": 5)") == one);
  CHECK(problem(R"("tag": "x")") == one);
  CHECK(problem(R"("virtual-size": "1g")") == one);
  CHECK(problem(R"("virtual-size": "1g", "thinpool": "p")").empty());
  CHECK(problem(R"("snapshot": "root")").empty());
  CHECK(problem(R"("le-size": 1, "minor-number": 5)") == "'minor-number' needs 'persistent'");
  CHECK(machine.problems(kState, "{}") == "Missing parameter 'name'\nMissing parameter 'vg-name'");
}

TEST_CASE("linux.lvm.lv: no secret is put among the arguments of a program") {
  StateHarness machine(StateHarness::RunningSystem{});
  base::Redactor redactor;
  redactor.add("hunter2-long");
  machine.redactor = &redactor;
  CHECK(machine.plan(kState, R"({"name": "n", "vg-name": "vg", "le-size": 8, "tag": "hunter2-long"})")
            .message == "'tag' must not hold a secret: everybody can read the arguments of lvcreate");
}

TEST_CASE("linux.lvm.lv: a group that an earlier state makes is waited for" * doctest::skip(!kHasLvm)) {
  StateHarness machine(StateHarness::RunningSystem{});
  LoopDevice disk(64);
  const std::string json = R"({"name": "n", "vg-name": "opsagent_no_such", "le-size": 8})";
  CHECK(machine.plan(kState, json).message == "Volume group opsagent_no_such not found");
  const auto earlier = machine.plan(states::linux_lvm_vg::kState,
                                    R"({"name": "opsagent_no_such", "path": ")" + disk.path() + "\"}");
  machine.overlay().add("group", earlier.effects);
  const auto plan = machine.plan(kState, json);
  CHECK(plan.verdict == Verdict::unknown);
  CHECK(plan.depends_on == "group");
}

TEST_SUITE_BEGIN("block-devices");

TEST_CASE("linux.lvm.lv makes a volume, and keeps it") {
  StateHarness machine(StateHarness::RunningSystem{});
  Group group;
  const std::string json = group.json("data", R"("le-size": 10)");
  const std::string before = group.a.hash() + group.b.hash();
  const auto plan = machine.plan(kState, json);
  CHECK(plan.message == "Create logical volume " + group.name + "/data (10)");
  CHECK(group.a.hash() + group.b.hash() == before);
  const auto outcome = machine.converge(kState, json);
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(outcome.message == "Logical volume " + group.name + "/data created (12 MiB)");
  CHECK(group.field("data", "lv_tags").empty());
  const std::string uuid = group.field("data", "lv_uuid");
  tests::run_or_fail("mke2fs -q -F -L precious " + group.device("data"));
  const auto again = machine.converge(kState, json);
  CHECK(again.first == Verdict::kept);
  CHECK(again.message == "Logical volume " + group.name + "/data exists");
  // It is not made larger, smaller, or anew.
  CHECK(machine.converge(kState, group.json("data", R"("le-number": 9)")).message ==
        "Logical volume " + group.name + "/data exists; its size is 12 MiB, not 36 MiB");
  CHECK(machine.converge(kState, group.json("data", R"("le-size": 4)")).first == Verdict::kept);
  CHECK(group.field("data", "lv_uuid") == uuid);
  CHECK(group.type_on("data") == "ext2");
}

TEST_CASE("linux.lvm.lv clears what an older volume has left") {
  StateHarness machine(StateHarness::RunningSystem{});
  Group group;
  group.make("old", "-L 8");
  tests::run_or_fail("mke2fs -q -F -L old " + group.device("old") + " && lvremove -q -f " + group.name +
                     "/old");
  const auto outcome = machine.converge(kState, group.json("new", R"("le-size": "8m")"));
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(group.type_on("new").empty());
}

TEST_CASE("linux.lvm.lv: what the options make of a volume") {
  StateHarness machine(StateHarness::RunningSystem{});
  Group group;
  const auto make = [&](const std::string& name, const std::string& more) {
    const auto outcome = machine.converge(kState, group.json(name, more));
    CHECK_MESSAGE(outcome.ok, name << ": " << outcome.message << "\n" << outcome.output);
  };
  make("striped",
       R"("lv-size": "8m", "stripe-number": 2, "stripe-size": "16k", "readahead": "256", "tag": "@ops")");
  CHECK(group.field("striped", "stripes") == "2");
  CHECK(group.field("striped", "stripe_size") == "16384");
  CHECK(group.field("striped", "lv_read_ahead") == "131072");
  CHECK(group.field("striped", "lv_tags") == "ops");
  make("plain", R"("le-number": "10%VG", "contiguous": "y", "zero": "n", "autobackup": "n", "monitor": "n",
       "no-udev-sync": true, "available": "ay", "persistent": "y", "minor-number": 77, "discards": "passdown",
       "path": [")" +
                    group.b.path() + "\"]");
  CHECK(group.field("plain", "lv_allocation_policy") == "contiguous");
  CHECK(group.field("plain", "lv_kernel_minor") == "77");
  CHECK(group.field("plain", "devices").starts_with(group.b.path()));
  make("only_read",
       R"("le-size": 4, "permission": "r", "allocation-policy": "cling", "ignore-monitoring": true)");
  CHECK(group.field("only_read", "lv_permissions") == "read-only");
  CHECK(group.field("only_read", "lv_allocation_policy") == "cling");
  make("asleep", R"("le-size": 4, "available": "n")");
  CHECK(group.field("asleep", "lv_active").empty());
  make("mirror", R"("le-size": 4, "type": "raid1", "mirror-number": 1, "region-size": "512k")");
  CHECK(group.field("mirror", "lv_layout") == "raid,raid1");
  CHECK(group.field("mirror", "region_size") == "524288");
}

TEST_CASE("linux.lvm.lv: a snapshot is the new volume, and its origin stays") {
  StateHarness machine(StateHarness::RunningSystem{});
  Group group;
  group.make("root", "-L 8");
  tests::run_or_fail("mke2fs -q -F -L first " + group.device("root"));
  const std::string json = group.json("before", R"("le-size": 8, "chunk-size": "16k", "snapshot": "root")");
  CHECK(machine.plan(kState, json).message ==
        "Create snapshot " + group.name + "/before of " + group.name + "/root (8)");
  const auto outcome = machine.converge(kState, json);
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(group.field("before", "origin") == "root");
  CHECK(group.field("before", "chunk_size") == "16384");
  CHECK(group.type_on("before") == "ext2");
  CHECK(machine.converge(kState, json).first == Verdict::kept);
  CHECK(machine.plan(kState, group.json("x", R"("le-size": 8, "snapshot": "none")")).message ==
        "Origin " + group.name + "/none not found");
  CHECK(machine.plan(kState, group.json("x", R"("snapshot": "root")")).message ==
        "Give exactly one of 'le-size' and 'le-number': " + group.name + "/root is no thin volume");
  CHECK(machine.plan(kState, group.json("root", R"("le-size": 8, "snapshot": "before")")).message ==
        "Logical volume " + group.name + "/root exists; it is not a snapshot of " + group.name + "/before");
}

TEST_CASE("linux.lvm.lv: thin pools, volumes in them, and their snapshots") {
  StateHarness machine(StateHarness::RunningSystem{});
  Group group;
  const auto make = [&](const std::string& name, const std::string& more) {
    const auto outcome = machine.converge(kState, group.json(name, more));
    CHECK_MESSAGE(outcome.ok, name << ": " << outcome.message << "\n" << outcome.output);
  };
  CHECK(machine.plan(kState, group.json("t", R"("virtual-size": "64m", "thinpool": "pool")")).message ==
        "Thin pool " + group.name + "/pool not found");
  make("pool", R"("le-size": 16, "type": "thin-pool", "discards": "ignore", "pool-metadata-size": "4m")");
  CHECK(group.field("pool", "discards") == "ignore");
  CHECK(group.field("pool", "lv_metadata_size") == "4194304");
  CHECK(group.field("pool", "lv_tags").empty());
  make("thin", R"("virtual-size": "64m", "thinpool": "pool")");
  CHECK(group.field("thin", "lv_size") == "67108864");
  make("thin_snapshot", R"("snapshot": "thin")");
  CHECK(group.field("thin_snapshot", "pool_lv") == "pool");
  make("both", R"("virtual-size": "16m", "thinpool": "other", "le-size": 8)");
  CHECK(group.field("both", "pool_lv") == "other");
  CHECK(
      machine.plan(kState, group.json("more", R"("virtual-size": "16m", "thinpool": "other", "le-size": 8)"))
          .message ==
      group.name + "/other exists: without 'le-size' and 'le-number' the volume is made in that pool");
  CHECK(machine.plan(kState, group.json("more", R"("virtual-size": "16m", "thinpool": "thin")")).message ==
        group.name + "/thin is no thin pool");
}

TEST_CASE("linux.lvm.lv says why there can be no such volume") {
  StateHarness machine(StateHarness::RunningSystem{});
  Group group;
  LoopDevice stranger(16);
  CHECK(machine.plan(kState, R"({"name": "n", "vg-name": "no_such", "le-size": 8})").message ==
        "Volume group no_such not found");
  CHECK(machine.plan(kState, group.json("n", R"("le-size": "1g")")).message ==
        "Not enough free space in " + group.name + ": 120 MiB of it are free, 1 GiB are wanted");
  CHECK(machine.plan(kState, group.json("n", R"("le-size": 8, "path": "/dev/no-such")")).message ==
        "Device /dev/no-such not found");
  CHECK(
      machine.plan(kState, group.json("n", R"("le-size": 8, "path": ")" + stranger.path() + "\"")).message ==
      "Device " + stranger.path() + " does not belong to " + group.name);
  // What only LVM finds out.
  auto outcome =
      machine.converge(kState, group.json("n", R"("le-size": 80, "path": ")" + group.a.path() + "\""));
  CHECK_FALSE(outcome.ok);
  CHECK_MESSAGE(outcome.message.starts_with("Not enough free space in " + group.name + ": lvcreate failed"),
                outcome.message);
  outcome = machine.converge(kState, group.json("n", R"("le-size": 8, "type": "nonsense")"));
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message.starts_with("lvcreate failed (exit "));
  group.make("all", "-l 100%FREE");
  CHECK(machine.plan(kState, group.json("n", R"("le-number": "100%FREE")")).message ==
        "Not enough free space in " + group.name + ": 0 B of it are free");
}

TEST_CASE("linux.lvm.lv: a volume that a killed run has left is finished, unless something is on it") {
  StateHarness machine(StateHarness::RunningSystem{});
  Group group;
  const std::string json = group.json("data", R"("le-size": 8)");
  group.make("data", "-L 8 -an -Zn -Wn --addtag opsagent-unfinished");
  auto plan = machine.plan(kState, json);
  CHECK(plan.message ==
        "Finish logical volume " + group.name + "/data, which a run that was ended has begun");
  auto outcome = machine.converge(kState, json);
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(outcome.message == "Logical volume " + group.name + "/data finished (8 MiB)");
  CHECK(group.field("data", "lv_tags").empty());
  CHECK(group.field("data", "lv_active") == "active");
  // The same in the place of an older one.
  tests::run_or_fail("mke2fs -q -F -L old " + group.device("data") + " && lvremove -q -f " + group.name +
                     "/data");
  group.make("data", "-L 8 -an -Zn -Wn --addtag opsagent-unfinished");
  outcome = machine.converge(kState, json);
  CHECK_FALSE(outcome.ok);
  const std::string words =
      "Logical volume " + group.name +
      "/data was begun by a run that was ended, and contains ext2. Remove it with 'lvremove " + group.name +
      "/data' if nothing in it is needed, or keep it as it is with 'lvchange "
      "--deltag opsagent-unfinished " +
      group.name + "/data'";
  CHECK(outcome.message == words);
  CHECK(machine.plan(kState, json).message == words);
  CHECK(group.type_on("data") == "ext2");
  CHECK(machine.plan(kState, group.json("s", R"("le-size": 4, "snapshot": "data")")).message ==
        "Origin " + group.name + "/data is not finished: a run that was ended has begun it");
  tests::run_or_fail("lvchange --deltag opsagent-unfinished " + group.name + "/data");
  CHECK(machine.converge(kState, json).first == Verdict::kept);
  // A snapshot that has not become one.
  group.make("shot", "-L 4 -an -Zn -Wn --addtag opsagent-unfinished");
  CHECK(machine.plan(kState, group.json("shot", R"("le-size": 4, "snapshot": "data")"))
            .message.starts_with(
                "Logical volume " + group.name +
                "/shot was begun by a run that was ended, and is no snapshot of data. Remove it"));
}

TEST_CASE("linux.lvm.lv: kill -9 at any moment, and the next run makes it right or says how") {
  Group group;
  const std::string json = group.json("data", R"("le-size": 8)");
  int killed_before = 0, finished = 0, refused = 0, was_done = 0;
  constexpr int kKills = 24;
  useconds_t whole = 0;  // how long it takes when nobody disturbs it
  for (int number = 0; number <= kKills; ++number) {
    // Where the volume will be, an older one has left a file system.
    group.make("data", "-L 8");
    tests::run_or_fail("mke2fs -q -F -L old " + group.device("data") + " && lvremove -q -f " + group.name +
                       "/data");
    const auto begun = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child == 0) {
      StateHarness machine(StateHarness::RunningSystem{});
      machine.converge(kState, json);
      ::_exit(0);
    }
    const useconds_t moment = whole / kKills * static_cast<useconds_t>(number);
    if (number > 0) {
      ::usleep(moment);
      ::kill(child, SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    if (number == 0)
      whole = static_cast<useconds_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun)
              .count());
    // Its programs are ended by their supervisor.
    bool ok = true;
    for (int tries = 0; ok && tries < 100; ++tries) {
      tests::shell_output("pidof lvcreate lvchange lvs vgs lvm", ok);
      ::usleep(50'000);
    }
    StateHarness machine(StateHarness::RunningSystem{});
    const auto plan = machine.plan(kState, json);
    const auto outcome = machine.converge(kState, json);
    if (outcome.ok) {
      CHECK(group.field("data", "lv_active") == "active");
      CHECK(group.field("data", "lv_tags").empty());
      CHECK_MESSAGE(group.type_on("data").empty(), "old content after " << moment << " us");
      (plan.verdict == Verdict::kept        ? was_done
       : plan.message.starts_with("Finish") ? finished
                                            : killed_before)++;
    } else {
      ++refused;
      CHECK_MESSAGE(outcome.message.find("Remove it with 'lvremove") != std::string::npos, outcome.message);
    }
    tests::run_or_fail("lvremove -q -f " + group.name + "/data");
  }
  MESSAGE("killed before: " << killed_before << ", finished: " << finished << ", told what to do: " << refused
                            << ", was done: " << was_done);
  CHECK(killed_before > 0);
}

TEST_SUITE_END();
