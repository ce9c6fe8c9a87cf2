#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "base/values/redactor.hpp"
#include "states/linux_mount/mount_options.hpp"
#include "states/state.hpp"
#include "tests/support/loop_device.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_mount {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_mount::kState;
using tests::LoopDevice;
using tests::StateHarness;

const bool kIsRoot = ::geteuid() == 0;
const bool kHasLoop = LoopDevice::why_not().empty();

// What went wrong, for the bodies that run in a child process with mounts of its own.
#define EXPECT(...)                                                                                 \
  do {                                                                                              \
    if (!(__VA_ARGS__)) return std::string("line ") + std::to_string(__LINE__) + ": " #__VA_ARGS__; \
  } while (false)
#define EXPECT_EQUAL(a, b)                                                                            \
  do {                                                                                                \
    const std::string got = (a);                                                                      \
    if (got != (b)) return "line " + std::to_string(__LINE__) + ": " + got + "\n  instead of " + (b); \
  } while (false)

// The machine itself, but for its mounts, and an /etc whose changes are gone afterwards.
struct Machine : StateHarness {
  Machine() : StateHarness(RunningSystem{}) {
    const std::string etc = root() + "/etc";
    std::filesystem::create_directories(etc);
    if (::mount("tmpfs", etc.c_str(), "tmpfs", 0, nullptr) != 0) throw std::runtime_error("no tmpfs");
    std::filesystem::create_directories(etc + "/upper");
    std::filesystem::create_directories(etc + "/work");
    const std::string options = "lowerdir=/etc,upperdir=" + etc + "/upper,workdir=" + etc + "/work";
    if (::mount("overlay", "/etc", "overlay", 0, options.c_str()) != 0)
      throw std::runtime_error("no overlay");
    std::filesystem::remove("/etc/fstab");
  }
  ~Machine() {
    for (const std::string& path : {root() + "/mnt", root() + "/mnt", std::string("/etc"), root() + "/etc"})
      ::umount2(path.c_str(), MNT_DETACH);
  }

  // A state about "mnt" below the scratch folder.
  std::string at_mnt(const std::string& device, const std::string& type, const std::string& more = {}) const {
    return R"({"path": ")" + root() + R"(/mnt", "device": ")" + device + R"(", "filesystem": ")" + type +
           "\"" + more + "}";
  }
  static std::string fstab() {
    std::ifstream file("/etc/fstab", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void set_fstab(const std::string& text) { std::ofstream("/etc/fstab", std::ios::binary) << text; }
  std::string shown(const std::string& field) const {
    return tests::run_or_fail("findmnt -n -o " + field + " --mountpoint " + root() + "/mnt | tail -n 1");
  }
};

#define IN_OWN_MOUNTS(...) CHECK(tests::in_own_mounts([&]() -> std::string __VA_ARGS__) == "")

}  // namespace

TEST_CASE("linux.mount mounts a device, and knows it by every name" * doctest::skip(!kIsRoot || !kHasLoop)) {
  LoopDevice disk(16);
  tests::run_or_fail("mke2fs -q -F -t ext4 -L ops-data " + disk.path());
  const std::string uuid = disk.value("UUID");
  IN_OWN_MOUNTS({
    Machine machine;
    const std::string json = machine.at_mnt(disk.path(), "ext4", R"(, "opts": ["noatime", "nodev"])");
    const auto outcome = machine.converge(kState, json);
    EXPECT_EQUAL(outcome.message, disk.path() + " mounted on " + machine.root() + "/mnt");
    EXPECT(outcome.ok && outcome.changed);
    EXPECT_EQUAL(machine.shown("SOURCE"), disk.path());
    EXPECT(machine.shown("VFS-OPTIONS").find("nodev") != std::string::npos);
    EXPECT(machine.mode("/mnt") == 0755);
    std::filesystem::create_symlink(disk.path(), machine.root() + "/by-id");
    for (const std::string& name :
         std::vector<std::string>{disk.path(), "LABEL=ops-data", "UUID=" + uuid, "UUID=\\\"" + uuid + "\\\"",
                                  machine.root() + "/by-id"}) {
      const auto again = machine.converge(kState, machine.at_mnt(name, "ext4"));
      EXPECT_EQUAL(again.message, (name.find('\\') == std::string::npos ? name : "UUID=\"" + uuid + "\"") +
                                      " is already mounted on " + machine.root() + "/mnt");
      EXPECT(again.first == Verdict::kept);
    }
    return "";
  });
}

TEST_CASE("linux.mount mounts tmpfs, and remounts it for options that the kernel shows" *
          doctest::skip(!kIsRoot)) {
  IN_OWN_MOUNTS({
    Machine machine;
    EXPECT(machine.converge(kState, machine.at_mnt("scratch", "tmpfs", R"(, "opts": "size=1m,nosuid")")).ok);
    std::ofstream(machine.root() + "/mnt/kept") << "x";
    const std::string more = machine.at_mnt("scratch", "tmpfs", R"(, "opts": "size=2m,nosuid,noexec,ro")");
    const auto plan = machine.plan(kState, more);
    EXPECT_EQUAL(plan.message, "Mount " + machine.root() + "/mnt again with noexec, ro, size=2m");
    const auto outcome = machine.converge(kState, more);
    EXPECT_EQUAL(outcome.message,
                 "scratch on " + machine.root() + "/mnt mounted again with size=2m,nosuid,noexec,ro");
    EXPECT(outcome.ok);
    EXPECT(machine.exists("/mnt/kept"));
    EXPECT(machine.converge(kState, more).first == Verdict::kept);
    // What is not named is left alone; what is, with its opposite, too.
    EXPECT(machine.converge(kState, machine.at_mnt("scratch", "tmpfs")).first == Verdict::kept);
    EXPECT(machine.converge(kState, machine.at_mnt("scratch", "tmpfs", R"(, "opts": "rw,exec")")).changed);
    EXPECT(machine.shown("OPTIONS").starts_with("rw"));
    // The kernel shows relatime for this, too: there is nothing to do in every round.
    EXPECT(machine.converge(kState, machine.at_mnt("scratch", "tmpfs", R"(, "opts": "norelatime")")).first ==
           Verdict::kept);
    return "";
  });
}

TEST_CASE("linux.mount binds folders and files" * doctest::skip(!kIsRoot)) {
  IN_OWN_MOUNTS({
    Machine machine;
    std::filesystem::create_directories(machine.root() + "/data/deep");
    std::filesystem::create_directories(machine.root() + "/other");
    const std::string json = machine.at_mnt(machine.root() + "/data/deep", "none", R"(, "opts": "ro")");
    const auto outcome = machine.converge(kState, json);
    EXPECT_EQUAL(outcome.message, machine.root() + "/data/deep mounted on " + machine.root() + "/mnt");
    EXPECT(outcome.ok);
    EXPECT(machine.shown("OPTIONS").starts_with("ro"));
    EXPECT(machine.converge(kState, json).first == Verdict::kept);
    // Read-write again, and another folder of the same file system.
    EXPECT(
        machine
            .converge(kState, machine.at_mnt(machine.root() + "/data/deep", "none", R"(, "opts": "rw,bind")"))
            .ok);
    const auto instead = machine.converge(kState, machine.at_mnt(machine.root() + "/other", "none"));
    EXPECT(instead.ok);
    EXPECT(instead.message.starts_with(machine.root() + "/other mounted on " + machine.root() +
                                       "/mnt instead of "));
    // A file over a file.
    std::ofstream(machine.root() + "/file") << "new";
    std::ofstream(machine.root() + "/target") << "old";
    const std::string file = R"({"path": ")" + machine.root() + R"(/target", "device": ")" + machine.root() +
                             R"(/file", "filesystem": "none"})";
    EXPECT(machine.converge(kState, file).ok);
    EXPECT_EQUAL(machine.StateHarness::read("/target"), "new");
    EXPECT(machine.converge(kState, file).first == Verdict::kept);
    ::umount((machine.root() + "/target").c_str());
    return "";
  });
}

TEST_CASE("linux.mount mounts the image of a device, and takes what is there away for another" *
          doctest::skip(!kIsRoot || !kHasLoop)) {
  IN_OWN_MOUNTS({
    Machine machine;
    const std::string image = machine.root() + "/disk.img";
    tests::run_or_fail("truncate -s 16M " + image + " && mke2fs -q -F -t ext4 " + image);
    EXPECT(machine.converge(kState, machine.at_mnt(image, "ext4", R"(, "opts": "loop")")).ok);
    EXPECT(machine.converge(kState, machine.at_mnt(image, "ext4")).first == Verdict::kept);
    // While somebody is there, it stays.
    const std::string other = machine.at_mnt("mem", "tmpfs");
    const int open = ::open((machine.root() + "/mnt").c_str(), O_RDONLY);
    const auto busy = machine.converge(kState, other);
    EXPECT(!busy.ok);
    EXPECT(busy.message.starts_with(machine.root() + "/mnt is busy with /dev/loop"));
    ::close(open);
    EXPECT(machine.converge(kState, other).ok);
    EXPECT_EQUAL(machine.shown("FSTYPE"), "tmpfs");
    return "";
  });
}

TEST_CASE("linux.mount writes one line of fstab and keeps all others" * doctest::skip(!kIsRoot)) {
  IN_OWN_MOUNTS({
    Machine machine;
    const std::string path = machine.root() + "/mnt";
    const std::string head = "# a comment\t with tabs\n\nproc  /proc proc   defaults 0 0\n";
    const std::string tail = "#" + path + " x\nnone /dev/pts devpts gid=5 0 0";  // no newline at the end
    const std::string wanted = R"(, "fstab": "yes", "opts": ["noexec", "size=1m"], "dump": "1", "pass": 2)";
    Machine::set_fstab(head + tail);
    ::chmod("/etc/fstab", 0640);
    const auto plan = machine.plan(kState, machine.at_mnt("mem", "tmpfs", wanted));
    EXPECT(plan.verdict == Verdict::change);
    EXPECT_EQUAL(Machine::fstab(), head + tail);
    auto outcome = machine.converge(kState, machine.at_mnt("mem", "tmpfs", wanted));
    EXPECT_EQUAL(outcome.message, "mem mounted on " + path + "; fstab entry added");
    EXPECT(outcome.ok);
    const std::string line = "mem " + path + " tmpfs noexec,size=1m 1 2\n";
    EXPECT_EQUAL(Machine::fstab(), head + tail + "\n" + line);
    EXPECT_EQUAL(tests::run_or_fail("stat -c %a /etc/fstab"), "640");
    outcome = machine.converge(kState, machine.at_mnt("mem", "tmpfs", wanted));
    EXPECT_EQUAL(outcome.message, "mem is already mounted on " + path + "; fstab entry unchanged");
    EXPECT(outcome.first == Verdict::kept);
    // Another line of this path is replaced where it stands.
    Machine::set_fstab(head + "/dev/old\t" + path + "\text4\tdefaults\t0\t1\n" + tail);
    outcome = machine.converge(kState, machine.at_mnt("mem", "tmpfs", wanted));
    EXPECT_EQUAL(outcome.message, "mem is already mounted on " + path + "; fstab entry updated");
    EXPECT_EQUAL(Machine::fstab(), head + line + tail);
    // However it is written there.
    Machine::set_fstab(head + "/dev/old " + path + "/ ext4 defaults 0 1\n" + tail);
    EXPECT(machine.converge(kState, machine.at_mnt("mem", "tmpfs", wanted)).ok);
    EXPECT_EQUAL(Machine::fstab(), head + line + tail);
    // Without fstab nothing is removed; what is no number is 0.
    EXPECT(machine.converge(kState, machine.at_mnt("mem", "tmpfs", R"(, "fstab": "False")")).first ==
           Verdict::kept);
    EXPECT_EQUAL(Machine::fstab(), head + line + tail);
    EXPECT(
        machine
            .converge(kState, machine.at_mnt("mem", "tmpfs", R"(, "fstab": true, "dump": "x", "pass": -1)"))
            .ok);
    EXPECT_EQUAL(Machine::fstab(), head + "mem " + path + " tmpfs defaults 0 0\n" + tail);
    return "";
  });
}

TEST_CASE("linux.mount: names with blanks, quotes and dollars are names, on the disk and in fstab" *
          doctest::skip(!kIsRoot)) {
  IN_OWN_MOUNTS({
    Machine machine;
    const std::string name = "/a b#'$(id)\\\\c";  // one backslash in the end
    const std::string path = machine.root() + "/a b#'$(id)\\c";
    const std::string json = R"({"path": ")" + machine.root() + name +
                             R"(", "device": "x y", "filesystem": "tmpfs", "fstab": true})";
    const auto outcome = machine.converge(kState, json);
    EXPECT_EQUAL(outcome.message, "x y mounted on " + path + "; fstab entry added");
    EXPECT(outcome.ok);
    EXPECT_EQUAL(Machine::fstab(),
                 "x\\040y " + machine.root() + "/a\\040b\\043'$(id)\\134c tmpfs defaults 0 0\n");
    EXPECT(machine.converge(kState, json).first == Verdict::kept);
    ::umount(path.c_str());
    return "";
  });
}

TEST_CASE("linux.mount plans without writing anything" * doctest::skip(!kIsRoot)) {
  IN_OWN_MOUNTS({
    Machine machine;
    const std::string before = machine.snapshot();
    const auto plan = machine.plan(kState, machine.at_mnt("mem", "tmpfs", R"(, "fstab": true)"));
    EXPECT(plan.verdict == Verdict::change);
    EXPECT_EQUAL(plan.message, "Mount mem on " + machine.root() + "/mnt; add a line to /etc/fstab");
    EXPECT_EQUAL(plan.changes.at(0).after, "mem (tmpfs, defaults)");
    EXPECT_EQUAL(machine.snapshot(), before);
    return "";
  });
}

TEST_CASE("linux.mount fails with a reason, and leaves fstab alone" * doctest::skip(!kIsRoot)) {
  IN_OWN_MOUNTS({
    Machine machine;
    const std::string fstab = R"(, "fstab": true)";
    EXPECT_EQUAL(machine.plan(kState, machine.at_mnt("/dev/nothing", "ext4", fstab)).message,
                 "Device /dev/nothing not found");
    EXPECT_EQUAL(machine.plan(kState, machine.at_mnt("LABEL=no-such-label", "ext4")).message,
                 "Device LABEL=no-such-label not found");
    auto outcome = machine.converge(kState, machine.at_mnt("x", "nosuchfs", fstab));
    EXPECT(!outcome.ok);
    EXPECT_EQUAL(outcome.message.substr(0, 23), "mount failed (exit 32):");
    EXPECT(Machine::fstab().empty());
    // A file in the place of the mount point.
    std::ofstream(machine.root() + "/file") << "x";
    EXPECT_EQUAL(machine
                     .plan(kState, R"({"path": ")" + machine.root() +
                                       R"(/file", "device": "mem", "filesystem": "tmpfs"})")
                     .message,
                 machine.root() + "/file is not a directory");
    EXPECT_EQUAL(machine.plan(kState, machine.at_mnt(machine.root() + "/file", "none")).message,
                 machine.root() + "/mnt is a directory, and " + machine.root() + "/file is not");
    std::filesystem::remove(machine.root() + "/mnt");
    EXPECT_EQUAL(machine.plan(kState, machine.at_mnt(machine.root() + "/file", "none")).message,
                 machine.root() + "/mnt does not exist: a file can be mounted over a file only");
    // fstab cannot be written: the mount stands, the state fails.
    if (::mount("/etc", "/etc", nullptr, MS_BIND, nullptr) != 0 ||
        ::mount("/etc", "/etc", nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0)
      return "no read-only /etc";
    outcome = machine.converge(kState, machine.at_mnt("mem", "tmpfs", fstab));
    EXPECT(!outcome.ok);
    EXPECT(outcome.message.starts_with("mem mounted on " + machine.root() +
                                       "/mnt, but /etc/fstab cannot be written: "));
    ::umount2("/etc", MNT_DETACH);
    return "";
  });
}

TEST_CASE("attack: somebody who owns a folder on the way cannot have another one mounted over" *
          doctest::skip(!kIsRoot)) {
  IN_OWN_MOUNTS({
    Machine machine;
    std::filesystem::create_directories(machine.root() + "/home");
    if (::chown((machine.root() + "/home").c_str(), 12345, 12345) != 0) return "chown";
    const auto at = [&](const std::string& path) {
      return R"({"path": ")" + machine.root() + path + R"(", "device": "mem", "filesystem": "tmpfs"})";
    };
    const std::string said = machine.plan(kState, at("/home/mnt")).message;
    EXPECT(said.starts_with(machine.root() + "/home/mnt is no safe mount point: "));
    // A link of his is not followed either.
    std::filesystem::create_symlink("/etc", machine.root() + "/home/link");
    if (::lchown((machine.root() + "/home/link").c_str(), 12345, 12345) != 0) return "lchown";
    EXPECT(machine.plan(kState, at("/home/link")).verdict == Verdict::fail);
    // His folder itself is a good mount point: he cannot rename it.
    EXPECT(machine.converge(kState, at("/home")).ok);
    ::umount((machine.root() + "/home").c_str());
    return "";
  });
}

TEST_CASE("linux.mount puts no password where everybody can read it" * doctest::skip(!kIsRoot)) {
  StateHarness machine(StateHarness::RunningSystem{});
  const auto share = [](const std::string& opts) {
    return R"({"path": "/mnt", "device": "//nas/x", "filesystem": "cifs", "opts": ")" + opts + "\"}";
  };
  CHECK(machine.problems(kState, share("user=u,password=hunter2"))
            .starts_with("Illegal value for 'opts': everybody could read the value of 'password'"));
  CHECK(machine.problems(kState, share("user=u,credentials=/root/nas")).empty());
  base::Redactor redactor;
  redactor.add("hunter2-long");
  machine.redactor = &redactor;
  const auto plan = machine.plan(kState, share("user=u,x=hunter2-long"));
  CHECK(plan.verdict == Verdict::fail);
  CHECK(plan.message.starts_with("'opts' and 'device' must not hold a secret"));
}

TEST_CASE("linux.mount takes no password in the device, and shows none that others have mounted with") {
  StateHarness machine;
  const auto problem = [&](const std::string& device, const std::string& opts = "ro") {
    return machine.problems(kState, R"({"path": "/mnt/x", "device": ")" + device +
                                        R"(", "filesystem": "cifs", "opts": ")" + opts + "\"}");
  };
  for (const char* device : {"//ann:hunter2@server/share", "//WORK%hunter2@server/share",
                             "https://ann:hunter2@server/dav", "ann:hunter2@server:/export"}) {
    CAPTURE(device);
    CHECK(problem(device).starts_with("Illegal value for 'device': everybody could read the password"));
    CHECK(problem(device).find("hunter2") == std::string::npos);
    CHECK(problem("-" + std::string(device)).find("hunter2") == std::string::npos);
  }
  CHECK(problem("//server/share", "user=ann%hunter2").starts_with("Illegal value for 'opts': "));
  CHECK(problem("//server/share", "pwd=hunter2").find("hunter2") == std::string::npos);
  for (const char* device : {"//server/share", "ann@server:/home", "server:/export", "LABEL=a:b@c",
                             "/srv/a:b@c", "/srv//a:b@c/d", "tmpfs", "ann@[::1]:/x"})
    CHECK_MESSAGE(problem(device) == "", device);
  using namespace states::linux_mount;
  CHECK(without_password("//ann:hunter2@server/share") == "//ann:***@server/share");
  CHECK(without_passwords("rw,username=ann,password=hunter2,user=x%y") ==
        "rw,username=ann,password=***,user=***");
}

TEST_CASE("linux.mount refuses what is no path, device or type, before anything runs") {
  StateHarness machine(StateHarness::RunningSystem{});
  const auto problem = [&](const char* path, const char* device, const char* type) {
    return machine.problems(kState, R"({"path": ")" + std::string(path) + R"(", "dev": ")" + device +
                                        R"(", "filesystem": ")" + type + "\"}");
  };
  CHECK(problem("/mnt", "/dev/x", "ext4").empty());
  for (const char* path : {"mnt", "-t", "/a/../etc", "/a\\nb"}) {
    CAPTURE(path);
    CHECK(problem(path, "/dev/x", "ext4").starts_with("Illegal value for 'path'"));
  }
  for (const char* device : {"-o", "--bind", "a\\nb"})
    CHECK(problem("/mnt", device, "ext4").starts_with("Illegal value for 'device'"));
  for (const char* type : {"-o", "ext4,xfs", "a b", "ext4\\n", "$(id)"})
    CHECK(problem("/mnt", "/dev/x", type).starts_with("Illegal value for 'filesystem'"));
  CHECK(
      machine.problems(kState, R"({"path": "/mnt", "device": "x", "filesystem": "tmpfs", "opts": "a\nb"})") ==
      "Illegal value for 'opts': it contains control characters");
  CHECK(machine.problems(kState, "{}") ==
        "Missing parameter 'path'\nMissing parameter 'device'\nMissing parameter 'filesystem'");
}

TEST_CASE("linux.mount after states that make its device, or write fstab, is unknown" *
          doctest::skip(!kIsRoot)) {
  StateHarness machine(StateHarness::RunningSystem{});
  const auto mount = [](const std::string& device, const std::string& more = {}) {
    return R"({"path": "/mnt", "device": ")" + device + R"(", "filesystem": "ext4")" + more + "}";
  };
  machine.overlay().add("mkfs", {{.kind = states::EffectKind::file, .name = "/dev/vdz", .certain = false}});
  CHECK(machine.plan(kState, mount("LABEL=new-label")).depends_on == "mkfs");
  CHECK(machine.plan(kState, mount("/dev/other")).message == "Device /dev/other not found");
  machine.overlay().add("fstab", {{.kind = states::EffectKind::file, .name = "/etc/fstab"}});
  CHECK(machine.plan(kState, mount("tmpfs", R"(, "fstab": true)")).depends_on == "fstab");
}
