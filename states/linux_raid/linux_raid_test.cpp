// The text of mdadm.conf and what is refused; and in the suite "block-devices" the real thing, in a machine
// whose kernel has md (tests/block_devices).
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "base/values/redactor.hpp"
#include "states/linux_raid/mdadm_conf.hpp"
#include "states/state.hpp"
#include "tests/support/loop_device.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_raid {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_raid::kState;
using tests::LoopDevice;
using tests::StateHarness;

constexpr const char* kConf = "/etc/mdadm/mdadm.conf";
constexpr const char* kInitialFiles = "/usr/sbin/update-initramfs";

std::string quoted(const LoopDevice& disk) {
  return "\"" + disk.path() + "\"";
}
std::string wanted(const std::string& name, const std::string& level, const std::string& devices,
                   const std::string& more = {}) {
  return R"({"device-name": ")" + name + R"(", "level": ")" + level + R"(", "devices": [)" + devices + "]" +
         (more.empty() ? "" : ", ") + more + "}";
}
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Of the virtual machine: nothing of an earlier test.
struct Machine : StateHarness {
  Machine() : StateHarness(RunningSystem{}) {
    std::filesystem::remove(kConf);
    std::ofstream(kInitialFiles) << "#!/bin/sh\necho \"$0 $*\" >>/tmp/initial-files\n";
    ::chmod(kInitialFiles, 0755);
    std::filesystem::remove("/tmp/initial-files");
  }
  ~Machine() { stop(); }
  void stop() const {
    bool ok = false;
    tests::shell_output("mdadm --stop --scan; rm -rf /dev/md", ok);
  }
};

}  // namespace

TEST_CASE("mdadm.conf: an array is found by its device or its UUID, and put in its place") {
  using states::linux_raid::has_array;
  using states::linux_raid::put_array;
  const std::string conf =
      "# ARRAY /dev/md0 UUID=1:2\nDEVICE partitions\nMAILADDR root\narray /dev/md/data\n  metadata=1.2 # "
      "half\n\tUUID=aa:bb\n"
      "ARRAY <ignore> UUID=cc:dd";
  const states::linux_raid::ArrayName by_device{.device = "/dev/md/data", .uuid = {}};
  const states::linux_raid::ArrayName by_uuid{.device = "/dev/md7", .uuid = "CC-DD"};
  CHECK(has_array(conf, by_device));
  CHECK(has_array(conf, by_uuid));
  CHECK_FALSE(has_array(conf, {.device = "/dev/md0", .uuid = "12"}));
  CHECK_FALSE(has_array("", by_uuid));
  CHECK(has_array(conf, {.device = "/dev/md127", .uuid = {}, .is_device = [](const std::string& path) {
                           return path == "/dev/md/data";
                         }}));
  CHECK(put_array(conf, by_device, "NEW") ==
        "# ARRAY /dev/md0 UUID=1:2\nDEVICE partitions\nMAILADDR root\nNEW\nARRAY <ignore> UUID=cc:dd");
  CHECK(put_array(conf, {.device = "/dev/md/data", .uuid = "cc:dd"}, "NEW") ==
        "# ARRAY /dev/md0 UUID=1:2\nDEVICE partitions\nMAILADDR root\nNEW\n");
  CHECK(put_array("MAILADDR root", {.device = "/dev/md0", .uuid = {}}, "NEW") == "MAILADDR root\nNEW\n");
  CHECK(put_array("", {.device = "/dev/md0", .uuid = {}}, "NEW") == "NEW\n");
}

TEST_CASE("mdadm.conf: the line that mdadm prints, under the recipe's name") {
  using states::linux_raid::array_line;
  CHECK(array_line("noise\nARRAY /dev/md127 metadata=1.2 name=h:x UUID=1:2:3:4\n", "/dev/md/x") ==
        "ARRAY /dev/md/x metadata=1.2 name=h:x UUID=1:2:3:4");
  CHECK(array_line("ARRAY metadata=ddf UUID=1:2", "/dev/md/c") == "ARRAY /dev/md/c metadata=ddf UUID=1:2");
  CHECK(array_line("mdadm: cannot open", "/dev/md0").empty());
}

TEST_CASE("linux.raid refuses names, levels, members and options that are none, before anything runs") {
  StateHarness machine;
  CHECK(machine.problems(kState, wanted("/dev/md0", "1", R"("/dev/a", "/dev/b")")).empty());
  CHECK(machine.problems(kState, wanted("/dev/md/a", "raid5", R"("/dev/a", "missing")")).empty());
  for (const char* name : {"md0", "/dev/sda", "/dev/md", "/dev/md/", "/dev/md/../sda", "/dev/md0 --stop",
                           "/dev/md/-x", "/dev/md/.x", "/dev/md/$(id)", "--stop", "/dev/mdx"})
    CHECK(machine.problems(kState, wanted(name, "1", R"("/dev/a")")) ==
          "Illegal value for 'device-name': '" + std::string(name) + "': give /dev/md0 or /dev/md/name");
  for (const char* level : {"7", "raid", "-1", "raid1;id"})
    CHECK(machine.problems(kState, wanted("/dev/md0", level, R"("/dev/a")")) ==
          "Unknown RAID level '" + std::string(level) + "'");
  for (const char* level : {"linear", "0", "raid0", "stripe", "1", "raid1", "mirror", "4", "raid4", "5",
                            "raid5", "6", "raid6", "10", "raid10", "multipath", "mp", "faulty", "container"})
    CHECK(machine.problems(kState, wanted("/dev/md0", level, R"("/dev/a")")).empty());
  CHECK(machine.problems(kState, wanted("/dev/md0", "1", R"("sda")")) ==
        "Illegal value for 'devices': 'sda'");
  CHECK(machine.problems(kState, wanted("/dev/md0", "1", R"("missing")")) == "'devices' names no device");
  const auto with = [&](const std::string& key) {
    return machine.problems(kState, wanted("/dev/md0", "1", R"("/dev/a")",
                                           R"("arguments": [{"key": ")" + key + R"(", "value": "x"}])"));
  };
  CHECK(with("metadata").empty());
  CHECK(with("--metadata").empty());
  for (const char* key :
       {"zero-superblock", "stop", "assemble", "manage", "remove", "config", "level", "add"})
    CHECK(with(key) ==
          "Illegal value for 'arguments': '" + std::string(key) + "' is no option for a new array");
  CHECK(with("a b") == "Illegal value for 'arguments': 'a b'");
  CHECK(machine.problems(kState, "{}") ==
        "Missing parameter 'device-name'\nMissing parameter 'level'\nMissing parameter 'devices'");
}

TEST_CASE("linux.raid: no secret is put among the arguments of a program") {
  StateHarness machine(StateHarness::RunningSystem{});
  base::Redactor redactor;
  redactor.add("hunter2-long");
  machine.redactor = &redactor;
  CHECK(machine
            .plan(kState, wanted("/dev/md99", "1", R"("/dev/no-such")",
                                 R"("arguments": [{"key": "name", "value": "hunter2-long"}])"))
            .message == "'arguments' must not hold a secret: everybody can read the arguments of mdadm");
}

TEST_SUITE_BEGIN("block-devices");

TEST_CASE("linux.raid makes an array, enters it into mdadm.conf, and keeps it") {
  Machine machine;
  LoopDevice a(32), b(32);
  std::ofstream(kConf) << "MAILADDR root\nARRAY /dev/md5 UUID=00000000:00000000:00000000:00000000\n";
  const std::string json = wanted("/dev/md5", "mirror", quoted(a) + ", " + quoted(b));
  const std::string before = a.hash() + b.hash();
  CHECK(machine.plan(kState, json).message ==
        "Create array /dev/md5 (level raid1) of " + a.path() + ", " + b.path());
  CHECK(a.hash() + b.hash() == before);
  const auto outcome = machine.converge(kState, json);
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(outcome.message == "Array /dev/md5 created (level mirror, 2 members)");
  const std::string conf = text_of(kConf);
  CHECK(conf.starts_with("MAILADDR root\nARRAY /dev/md5 metadata=1.2 "));
  CHECK(conf.find("UUID=00000000") == std::string::npos);
  CHECK(text_of("/tmp/initial-files") == std::string(kInitialFiles) + " -u\n");
  const auto again = machine.converge(kState, json);
  CHECK(again.first == Verdict::kept);
  CHECK(again.message == "Array /dev/md5 is present");
  CHECK(machine.converge(kState, wanted("/dev/md5", "5", quoted(a))).message ==
        "Array /dev/md5 is present; its level is raid1, not raid5");
  tests::run_or_fail("mdadm /dev/md5 --fail " + b.path());
  CHECK(machine.converge(kState, json).message == "Array /dev/md5 is present, degraded");
}

TEST_CASE("linux.raid: levels, names and options") {
  Machine machine;
  LoopDevice a(32), b(32), c(32), d(32);
  const std::string two = quoted(a) + ", " + quoted(b), three = two + ", " + quoted(c),
                    four = three + ", " + quoted(d);
  const auto make = [&](const std::string& name, const std::string& level, const std::string& devices,
                        const std::string& more = {}) {
    const auto outcome = machine.converge(kState, wanted(name, level, devices, more));
    CHECK_MESSAGE(outcome.ok, level << ": " << outcome.message << "\n" << outcome.output);
    const std::string detail = tests::run_or_fail("mdadm --detail " + name);
    machine.stop();
    for (const LoopDevice* disk : {&a, &b, &c, &d})
      tests::run_or_fail("mdadm -q --zero-superblock " + disk->path() + " || true; wipefs -q -a " +
                         disk->path());
    return detail;
  };
  make("/dev/md/data", "linear", two);
  CHECK(text_of(kConf).find("ARRAY /dev/md/data ") != std::string::npos);
  CHECK(make("/dev/md/data", "0", two, R"("arguments": [{"key": "chunk", "value": "64"}])")
            .find("Chunk Size : 64K") != std::string::npos);
  CHECK(make("/dev/md6", "1", two, R"("arguments": {"metadata": "1.0", "assume-clean": ""})")
            .find("Version : 1.0") != std::string::npos);
  make("/dev/md6", "1", quoted(a) + R"(, "missing")");
  CHECK(make("/dev/md6", "5", four, R"("arguments": [{"key": "raid-devices", "value": "3"},
             {"key": "spare-devices", "value": "1"}, {"key": "run"}, {"key": "--force"}])")
            .find("Raid Devices : 3") != std::string::npos);
  make("/dev/md6", "4", three);
  make("/dev/md6", "6", four);
  make("/dev/md6", "10", four);
  make("/dev/md6", "faulty", quoted(a));
  // Its metadata takes much room.
  LoopDevice large(128), also_large(128);
  make("/dev/md/c", "container", quoted(large) + ", " + quoted(also_large),
       R"("arguments": [{"key": "metadata", "value": "ddf"}])");
}

TEST_CASE("linux.raid takes no device on which something is, or that somebody uses") {
  Machine machine;
  LoopDevice a(32), b(32), c(32);
  const std::string json = wanted("/dev/md5", "1", quoted(a) + ", " + quoted(b));
  const auto plan = machine.plan(kState, json);
  REQUIRE(plan.verdict == Verdict::change);
  tests::run_or_fail("mke2fs -q -F -L precious " + b.path());
  const std::string words = b.path() + " contains ext2, which is not overwritten: clear it with 'wipefs -a " +
                            b.path() + "' if nothing on it is needed";
  CHECK(machine.plan(kState, json).message == words);
  // What came to be there since the plan.
  CHECK(machine.apply(kState, json, plan).comment == words);
  CHECK(b.value("LABEL") == "precious");
  CHECK(a.value("TYPE").empty());
  tests::run_or_fail("mkdir -p /mnt && mount -t ext2 " + b.path() + " /mnt");
  CHECK(machine.plan(kState, json).message == b.path() + " is in use (mounted on /mnt)");
  tests::run_or_fail("umount /mnt");
  {
    tests::ElsewhereMounted elsewhere(b.path());
    CHECK(machine.plan(kState, json).message == words);
  }
  tests::run_or_fail("wipefs -q -a " + b.path() + " && pvcreate -q " + b.path());
  CHECK(machine.plan(kState, json).message.find(" contains LVM2_member, which is not overwritten") !=
        std::string::npos);
  tests::run_or_fail("pvremove -q " + b.path() + " && mdadm --create /dev/md8 --run --force -l1 -n1 " +
                     c.path() + " -q");
  CHECK(machine.plan(kState, wanted("/dev/md5", "1", quoted(a) + ", " + quoted(c))).message ==
        c.path() + " is in use (part of md8)");
  tests::run_or_fail("mdadm -q --stop /dev/md8");
  CHECK(machine.plan(kState, wanted("/dev/md5", "1", quoted(a) + ", " + quoted(c)))
            .message.starts_with(c.path() + " is a member of an array, and " + a.path() +
                                 " is not one of the same: put the old array together"));
  CHECK(machine.plan(kState, wanted("/dev/md5", "1", quoted(a) + ", " + quoted(a))).message ==
        "Device " + a.path() + " is named twice");
  CHECK(machine.plan(kState, wanted("/dev/md5", "1", R"("/dev/no-such")")).message ==
        "Device /dev/no-such not found");
  CHECK(c.value("TYPE") == "linux_raid_member");
}

TEST_CASE("linux.raid starts the array whose members they all are, and makes none anew") {
  Machine machine;
  LoopDevice a(32), b(32), c(32);
  const std::string json = wanted("/dev/md5", "1", quoted(a) + ", " + quoted(b));
  CHECK(machine.converge(kState, json).ok);
  tests::run_or_fail("mke2fs -q -F -L precious /dev/md5 && mdadm -q --stop /dev/md5");
  // Of another level, or with more members: that is not what the recipe asks for.
  CHECK(machine.plan(kState, wanted("/dev/md5", "0", quoted(a) + ", " + quoted(b)))
            .message.find(" is a member of another array (level raid1, 2 members, UUID ") !=
        std::string::npos);
  CHECK(machine.plan(kState, wanted("/dev/md5", "1", quoted(a)))
            .message.find(" is a member of another array (level raid1, 2 members, UUID ") !=
        std::string::npos);
  CHECK(machine.plan(kState, wanted("/dev/md5", "1", quoted(a) + ", " + quoted(b) + ", " + quoted(c)))
            .message.find("is not one of the same") != std::string::npos);
  CHECK(machine.plan(kState, json).message ==
        "Start array /dev/md5 of its members " + a.path() + ", " + b.path());
  const auto outcome = machine.converge(kState, json);
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(outcome.message == "Array /dev/md5 started (level 1, 2 members)");
  CHECK(tests::run_or_fail("blkid -p -o value -s LABEL /dev/md5") == "precious");
}

TEST_CASE("linux.raid enters an array that a killed run has only made") {
  Machine machine;
  LoopDevice a(32), b(32);
  const std::string json = wanted("/dev/md/data", "1", quoted(a) + ", " + quoted(b));
  tests::run_or_fail("mdadm -q --create /dev/md/data --run --force -l1 -n2 " + a.path() + " " + b.path());
  CHECK(machine.plan(kState, json).message ==
        "Array /dev/md/data is present; enter it into /etc/mdadm/mdadm.conf");
  CHECK_FALSE(std::filesystem::exists(kConf));
  const auto outcome = machine.converge(kState, json);
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(outcome.message == "Array /dev/md/data entered into mdadm's configuration");
  CHECK(text_of(kConf).starts_with("ARRAY /dev/md/data metadata=1.2 "));
}

TEST_CASE("linux.raid: failures of others") {
  Machine machine;
  LoopDevice a(32), b(32);
  // The initial RAM disk is not worth a failure.
  std::ofstream(kInitialFiles) << "#!/bin/sh\necho 'no space left' >&2\nexit 1\n";
  auto outcome = machine.converge(kState, wanted("/dev/md5", "1", quoted(a) + ", " + quoted(b)));
  CHECK(outcome.ok);
  CHECK(outcome.message ==
        "Array /dev/md5 created (level 1, 2 members); warning: update-initramfs failed (exit "
        "1): no space left");
  machine.stop();
  for (const LoopDevice* disk : {&a, &b})
    tests::run_or_fail("mdadm -q --zero-superblock " + disk->path());
  outcome = machine.converge(kState, wanted("/dev/md5", "1", quoted(a) + ", " + quoted(b),
                                            R"("arguments": {"metadata": "nonsense"})"));
  CHECK_FALSE(outcome.ok);
  CHECK_MESSAGE(outcome.message.starts_with("mdadm failed (exit "), outcome.message);
  CHECK(a.value("TYPE").empty());
  // Names that are something else.
  tests::run_or_fail("touch /dev/md77 && mknod /dev/md78 b 7 0");
  CHECK(machine.plan(kState, wanted("/dev/md77", "1", quoted(a))).message ==
        "/dev/md77 is there, and it is no block device");
  CHECK(machine.plan(kState, wanted("/dev/md78", "1", quoted(a))).message ==
        "/dev/md78 is there, and it is no array of md");
  tests::run_or_fail("rm /dev/md77 /dev/md78");
}

TEST_CASE("linux.raid: kill -9 at any moment, and the next run makes it right or says how") {
  int created = 0, started = 0, entered = 0, kept = 0, refused = 0;
  constexpr int kKills = 24;
  useconds_t whole = 0;  // how long it takes when nobody disturbs it
  for (int number = 0; number <= kKills; ++number) {
    Machine machine;
    LoopDevice a(32), b(32);
    const std::string json = wanted("/dev/md5", "1", quoted(a) + ", " + quoted(b));
    const auto begun = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child == 0) {
      StateHarness other(StateHarness::RunningSystem{});
      other.converge(kState, json);
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
    bool ok = true;
    for (int tries = 0; ok && tries < 100; ++tries) {
      tests::shell_output("pidof mdadm", ok);
      ::usleep(50'000);
    }
    const auto plan = machine.plan(kState, json);
    const auto outcome = machine.converge(kState, json);
    if (outcome.ok) {
      CHECK(text_of(kConf).find("ARRAY /dev/md5 ") != std::string::npos);
      (plan.verdict == Verdict::kept              ? kept
       : plan.message.starts_with("Create array") ? created
       : plan.message.starts_with("Start array")  ? started
                                                  : entered)++;
    } else {
      ++refused;
      const bool says_how = outcome.message.find("'mdadm --") != std::string::npos;
      CHECK_MESSAGE(says_how, moment << " us: " << outcome.message);
    }
  }
  MESSAGE("created: " << created << ", started: " << started << ", entered: " << entered
                      << ", told what to do: " << refused << ", was done: " << kept);
  CHECK(created > 0);
}

TEST_SUITE_END();
