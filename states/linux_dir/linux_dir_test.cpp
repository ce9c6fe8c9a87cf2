#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "base/unique_fd.hpp"
#include "states/state.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_dir {
extern const StateType& kState;
}

namespace {

namespace fs = std::filesystem;
using states::EffectKind;
using states::Verdict;
using states::linux_dir::kState;
using tests::StateHarness;

const bool kNotRoot = ::geteuid() != 0;

struct stat look(const StateHarness& machine, const std::string& path) {
  struct stat st {};
  REQUIRE(::lstat((machine.root() + path).c_str(), &st) == 0);
  return st;
}

void folder(const StateHarness& machine, const std::string& path) {
  fs::create_directories(machine.root() + path);
}

class AtOnce final : public base::Interrupt {
 public:
  bool requested() override { return true; }
  int wait_fd() const override { return -1; }
};

}  // namespace

TEST_CASE("linux.dir creates directories with their parents, all with the given mode") {
  StateHarness machine;
  folder(machine, "/a");
  const auto outcome = machine.converge(kState, R"({"path": ["/a/b/c/", "//d"], "mode": "2750"})");
  CHECK(outcome.ok);
  CHECK(outcome.message == "Created /a/b/c\n\nCreated /d");
  CHECK(machine.mode("/a") == 0755);  // was there
  CHECK(machine.mode("/a/b") == 02750);
  CHECK(machine.mode("/a/b/c") == 02750);
  CHECK(machine.mode("/d") == 02750);
}

TEST_CASE("linux.dir says whom a new directory lets in") {
  StateHarness machine;
  const auto effect = [&](const std::string& mode) {
    const auto plan = machine.plan(kState, R"({"path": "/a", "user": "0", "mode": ")" + mode + R"("})");
    REQUIRE(plan.effects.size() == 1);
    return plan.effects[0];
  };
  CHECK(effect("0755").is_open);
  CHECK_FALSE(effect("0700").is_open);
  CHECK(effect("0700").owner == "0");
  // Nobody, or everybody but its owner.
  for (const char* closed : {"0600", "0601", "0611"}) {
    CHECK_FALSE(effect(closed).is_open);
    CHECK(effect(closed).owner.empty());
  }
}

TEST_CASE("linux.dir makes a directory that another of its paths needs only once") {
  StateHarness machine;
  for (const char* parameter : {R"({"path": ["/a/b", "/a", "/a/"]})", R"({"path": ["/x", "/x/y", "/x/z"]})"})
    CHECK(machine.converge(kState, parameter).ok);
  CHECK(machine.mode("/a/b") == 0755);
  CHECK(machine.mode("/x/z") == 0755);
}

TEST_CASE("linux.dir makes a directory that two of its paths reach by different names only once") {
  StateHarness machine;
  folder(machine, "/d");
  fs::create_symlink("d", machine.root() + "/l");
  for (const char* parameter : {R"({"path": ["/l/a/b", "/d/a"]})", R"({"path": ["/d/x", "/l/x/y"]})"}) {
    const auto outcome = machine.converge(kState, parameter);
    CHECK_MESSAGE(outcome.ok, outcome.message);
  }
  CHECK(machine.exists("/d/a/b"));
  CHECK(machine.exists("/d/x/y"));
}

TEST_CASE("linux.dir keeps what is as wanted, plans without writing, and touches only what is given") {
  StateHarness machine;
  folder(machine, "/d");
  REQUIRE(::chmod((machine.root() + "/d").c_str(), 0701) == 0);
  const std::string before = machine.snapshot();
  const auto kept = machine.converge(kState, R"({"path": "/d"})");
  CHECK(kept.first == Verdict::kept);
  CHECK(kept.message == "/d is as wanted");
  CHECK(machine.plan(kState, R"({"path": ["/d", "/e/f"], "mode": "0700"})").verdict == Verdict::change);
  CHECK(machine.snapshot() == before);
  CHECK(machine.converge(kState, R"({"path": "/d", "mode": "700"})").message ==
        "Updated /d: mode 0701 -> 0700");
}

TEST_CASE("linux.dir sets the owner, and keeps the one that is not given" * doctest::skip(kNotRoot)) {
  StateHarness machine;
  folder(machine, "/d");
  REQUIRE(::chown((machine.root() + "/d").c_str(), 12345, 54321) == 0);
  CHECK(machine.converge(kState, R"({"path": "/d", "mode": "0755"})").first == Verdict::kept);
  CHECK(machine.converge(kState, R"({"path": "/d", "user": "7", "mode": "0711"})").message ==
        "Updated /d: owner 12345:54321 -> lp:54321, mode 0755 -> 0711");
  CHECK(look(machine, "/d").st_uid == 7);
  CHECK(look(machine, "/d").st_gid == 54321);
}

TEST_CASE("linux.dir recursive sets owner and mode below, with x for files only where one is") {
  StateHarness machine;
  machine.write("/d/text", "", 0600);
  machine.write("/d/sub/program", "", 0500);
  machine.write("/d/sub/right", "", 0640);
  machine.write("/outside/f", "", 0600);
  fs::create_symlink("../outside", machine.root() + "/d/link");
  fs::create_symlink("../outside/f", machine.root() + "/d/file-link");
  REQUIRE(::mkfifo((machine.root() + "/d/fifo").c_str(), 0600) == 0);
  const std::string outside = machine.read("/outside/f");
  const auto outcome = machine.converge(kState, R"({"path": "/d", "mode": "0750", "recursive": "yes"})");
  CHECK(outcome.ok);
  CHECK(outcome.message == "Updated /d: mode 0755 -> 0750 (3 entries below)");
  CHECK(machine.mode("/d/text") == 0640);
  CHECK(machine.mode("/d/sub") == 0750);
  CHECK(machine.mode("/d/sub/program") == 0750);
  CHECK(machine.mode("/d/fifo") == 0600);
  CHECK(machine.mode("/outside") == 0755);
  CHECK(machine.mode("/outside/f") == 0600);

  REQUIRE(::chmod((machine.root() + "/d/text").c_str(), 0600) == 0);
  CHECK(machine.converge(kState, R"({"path": "/d", "mode": "0750", "recursive": true})").message ==
        "Updated /d: 1 entry below");
  const std::string before = machine.snapshot();
  CHECK(machine.converge(kState, R"({"path": "/d", "mode": "0750", "recursive": true})").first ==
        Verdict::kept);
  CHECK(machine.snapshot() == before);
}

TEST_CASE("linux.dir recursive gives everything but links to the owner, and no program its set-user-id bit" *
          doctest::skip(kNotRoot)) {
  StateHarness machine;
  machine.write("/d/sub/f", "");
  machine.write("/d/tool", "", 04755);
  fs::create_symlink("sub", machine.root() + "/d/link");
  const auto outcome =
      machine.converge(kState, R"({"path": "/d", "user": 12345, "mode": "0755", "recursive": "1"})");
  CHECK(outcome.ok);
  for (const char* path : {"/d", "/d/sub", "/d/sub/f", "/d/tool"})
    CHECK_MESSAGE(look(machine, path).st_uid == 12345, path);
  CHECK(look(machine, "/d/link").st_uid == 0);
  CHECK(machine.mode("/d/tool") == 0755);
}

TEST_CASE("linux.dir follows a link of root's to a directory, and nobody else's" * doctest::skip(kNotRoot)) {
  StateHarness machine;
  folder(machine, "/real");
  fs::create_symlink("/real", machine.root() + "/link");
  CHECK(machine.converge(kState, R"({"path": "/link"})").first == Verdict::kept);
  CHECK(machine.converge(kState, R"({"path": "/link", "mode": "0700"})").ok);
  CHECK(machine.mode("/real") == 0700);
  REQUIRE(::lchown((machine.root() + "/link").c_str(), 12345, 12345) == 0);
  const auto outcome = machine.converge(kState, R"({"path": "/link", "mode": "0777"})");
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message.find("not following the symlink /link") != std::string::npos);
  CHECK(machine.mode("/real") == 0700);
}

TEST_CASE("linux.dir takes a directory that another of its paths has given to its owner just before" *
          doctest::skip(kNotRoot)) {
  for (const char* paths :
       {R"(["/d", "/d/sub"], "recursive": true)", R"(["/link", "/d"])", R"(["/d", "/link"])"}) {
    StateHarness machine;
    folder(machine, "/d/sub");
    fs::create_symlink("/d", machine.root() + "/link");
    const auto outcome =
        machine.converge(kState, R"({"user": 12345, "group": 12345, "path": )" + std::string(paths) + "}");
    CHECK_MESSAGE(outcome.ok, outcome.message);
    CHECK(look(machine, "/d").st_uid == 12345);
    CHECK(look(machine, "/d").st_gid == 12345);
  }
}

TEST_CASE("linux.dir takes no directory that somebody else has given away meanwhile" *
          doctest::skip(kNotRoot)) {
  StateHarness machine;
  folder(machine, "/d");
  folder(machine, "/e");
  const std::string parameter = R"({"path": ["/d", "/e"], "user": 12345})";
  const auto plan = machine.plan(kState, parameter);
  REQUIRE(::chown((machine.root() + "/e").c_str(), 54321, 0) == 0);
  const auto applied = machine.apply(kState, parameter, plan);
  CHECK_FALSE(applied.ok());
  CHECK(applied.comment.find("/e has changed since it was planned") != std::string::npos);
  CHECK(look(machine, "/e").st_uid == 54321);
}

TEST_CASE("linux.dir fails where something else is in the way, after doing what it can") {
  StateHarness machine;
  machine.write("/f", "precious");
  fs::create_symlink("nowhere", machine.root() + "/dangling");
  CHECK(machine.converge(kState, R"({"path": "/f"})").message == "/f exists and is not a directory");
  CHECK(machine.converge(kState, R"({"path": "/f/g"})").message == "/f is not a directory");
  CHECK(machine.converge(kState, R"({"path": "/dangling"})").message ==
        "/dangling exists and is not a directory");
  const auto outcome = machine.converge(kState, R"({"path": ["/a", "/f", "/b"]})");
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message == "Created /a\n\n/f exists and is not a directory\n\nCreated /b");
  CHECK(machine.mode("/b") == 0755);
  CHECK(machine.read("/f") == "precious");
}

TEST_CASE("linux.dir removes a tree, of a link only the link, and no file") {
  StateHarness machine;
  machine.write("/d/a/b", "");
  machine.write("/precious/f", "keep");
  machine.write("/f", "keep");
  fs::create_symlink("/precious", machine.root() + "/d/a/link");
  fs::create_symlink("/precious", machine.root() + "/link");
  const auto plan = machine.plan(kState, R"({"path": "/d", "absent": true})");
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].before == "directory, 3 entries");
  const auto outcome = machine.converge(
      kState, R"({"path": ["/d", "/d/a", "/link", "/no"], "absent": "y", "user": "nobody-x"})");
  CHECK(outcome.ok);
  CHECK(outcome.message == "Removed /d\n\nRemoved /d/a\n\nRemoved /link\n\n/no is already absent");
  CHECK_FALSE(machine.exists("/d"));
  CHECK(machine.read("/precious/f") == "keep");
  CHECK(machine.converge(kState, R"({"path": "/f", "absent": true})").message ==
        "/f exists and is not a directory");
  CHECK(machine.converge(kState, R"({"path": "/d", "absent": true})").message == "/d is already absent");
}

TEST_CASE("linux.dir refuses to remove the system, under whatever name") {
  StateHarness machine;
  for (const char* path : {"/", "//", "/bin", "/boot/", "/dev", "/etc", "/home", "/lib", "/lib64", "/libexec",
                           "/proc", "/root", "/run", "/sbin", "/sys", "/usr", "/var"}) {
    const std::string parameter = std::string(R"({"path": ")") + path + R"(", "absent": true})";
    CHECK_MESSAGE(machine.problems(kState, parameter).starts_with("Refusing to remove /"), path);
  }
  CHECK(machine.problems(kState, R"({"path": ["/etc/opt", "/library/x", "/opt"], "absent": true})") == "");
  machine.write("/etc/passwd", "keep");
  machine.write("/usr/bin/sh", "keep");
  fs::create_symlink("usr/bin", machine.root() + "/bin");
  fs::create_symlink("/", machine.root() + "/self");
  CHECK(machine.converge(kState, R"({"path": "/self/etc", "absent": true})").message ==
        "Refusing to remove /self/etc");
  CHECK(machine.converge(kState, R"({"path": "/usr/bin", "absent": true})").message ==
        "Refusing to remove /usr/bin");
  CHECK(machine.read("/etc/passwd") == "keep");
  CHECK(machine.read("/usr/bin/sh") == "keep");
}

TEST_CASE("linux.dir neither removes nor enters other mounts, and says so before it removes anything" *
          doctest::skip(kNotRoot)) {
  const std::string wrong = tests::in_own_mounts([]() -> std::string {
    StateHarness scratch;  // the harness opens its root before the mount: its tree must see it, too
    folder(scratch, "/d/mounted");
    scratch.write("/d/a", "keep", 0600);
    const std::string mounted = scratch.root() + "/d/mounted";
    if (::mount("none", mounted.c_str(), "tmpfs", 0, "mode=0700") != 0) return "no tmpfs";
    scratch.write("/d/mounted/f", "keep", 0600);
    std::string said = scratch.converge(kState, R"({"path": "/d", "absent": true})").message;
    if (said != "Refusing to remove /d: /d/mounted is a mount point") return "nested: " + said;
    said = scratch.converge(kState, R"({"path": "/d/mounted", "absent": true})").message;
    if (said != "Refusing to remove /d/mounted: it is a mount point") return "itself: " + said;
    if (scratch.read("/d/a") != "keep" || scratch.read("/d/mounted/f") != "keep") return "removed";
    said = scratch.converge(kState, R"({"path": "/d", "mode": "0755", "recursive": true})").message;
    if (said != "Updated /d: 1 entry below") return "recursive: " + said;
    if (scratch.mode("/d/mounted") != 0700 || scratch.mode("/d/mounted/f") != 0600) return "entered";
    ::umount(mounted.c_str());
    return {};
  });
  CHECK(wrong == "");
}

TEST_CASE("linux.dir stops when it is asked to") {
  StateHarness machine;
  machine.write("/d/f", "", 0600);
  const auto parameter = R"({"path": ["/d", "/e"], "mode": "0755", "recursive": true})";
  const auto plan = machine.plan(kState, parameter);
  AtOnce at_once;
  machine.interrupt = &at_once;
  CHECK(machine.apply(kState, parameter, plan).end == states::AppliedEnd::cancelled);
  CHECK(machine.mode("/d/f") == 0600);
  CHECK_FALSE(machine.exists("/e"));
}

TEST_CASE("linux.dir planned after states that would create its path or owner") {
  StateHarness machine;
  machine.overlay().add(
      "maker", {{.kind = EffectKind::directory, .name = "/d"}, {.kind = EffectKind::user, .name = "bob"}});
  CHECK(machine.plan(kState, R"({"path": "/d"})").verdict == Verdict::kept);
  CHECK(machine.plan(kState, R"({"path": "/d", "mode": "0700"})").verdict == Verdict::unknown);
  CHECK(machine.plan(kState, R"({"path": "/d", "absent": true})").depends_on == "maker");
  const auto below = machine.plan(kState, R"({"path": "/d/e", "user": "bob"})");
  CHECK(below.verdict == Verdict::change);
  CHECK(below.effects.size() == 1);
  folder(machine, "/there");
  CHECK(machine.plan(kState, R"({"path": "/there", "user": "bob"})").verdict == Verdict::change);
  machine.overlay().add("script", {{.kind = EffectKind::anything}});
  CHECK(machine.plan(kState, R"({"path": "/there", "user": "alice"})").depends_on == "script");
}

TEST_CASE("linux.dir says what is wrong with its parameters, and takes them in every form") {
  StateHarness machine;
  const std::pair<const char*, const char*> rows[] = {
      {R"({})", "Missing parameter 'path'"},
      {R"({"path": ""})", "Missing parameter 'path'"},
      {R"({"path": null})", "Missing parameter 'path'"},
      {R"({"path": []})", "Parameter 'path' has no usable entry"},
      {R"({"path": ["", null]})", "Parameter 'path' has no usable entry"},
      {R"({"path": {"a": 1}})", "Parameter 'path' must be a list of texts"},
      {R"({"path": ["/a", "b"]})", "'b' is not an absolute path"},
      {R"({"path": "/a/../b"})", "a path must not contain '.' or '..' as a component"},
      {R"({"path": "/a", "mode": "rwx"})", "Illegal mode 'rwx'"},
      {R"({"path": "/a", "mode": "75"})", "Illegal mode '75'"},
      {R"({"path": "/a", "recursive": "maybe"})", "Parameter 'recursive' must be true or false"},
      {R"({"path": "/a", "mode": 493})",
       "Parameter 'mode' must be octal text such as \"0644\", with quotes: the number 493 may be meant as "
       "octal "
       "or as decimal"},
      {R"({"path": "/a", "mode": "755", "recursive": "False", "absent": "n", "user": "", "group": null})",
       ""},
      {R"({"path": ["/a", "", "/b"], "recursive": 1, "absent": false})", ""},
  };
  for (const auto& [parameter, problem] : rows)
    CHECK_MESSAGE(machine.problems(kState, parameter) == problem, parameter);
  CHECK(machine.plan(kState, R"({"path": "/a", "user": "no-such-user"})").message ==
        "User 'no-such-user' does not exist");
  CHECK(machine.plan(kState, R"({"path": "/a", "group": "no-such-group"})").message ==
        "Group 'no-such-group' does not exist");
}

TEST_CASE("linux.dir fails when its directory changes between plan and apply") {
  StateHarness machine;
  const auto fails = [&](const char* parameter) {
    fs::remove_all(machine.root() + "/d");
    fs::create_directories(machine.root() + "/d");
    const auto plan = machine.plan(kState, parameter);
    REQUIRE(plan.verdict == Verdict::change);
    fs::rename(machine.root() + "/d", machine.root() + "/away");
    machine.write("/d/precious", "keep");
    const auto before = machine.snapshot();
    const auto applied = machine.apply(kState, parameter, plan);
    CHECK_FALSE(applied.ok());
    CHECK(applied.comment.find("something else has its name") != std::string::npos);
    CHECK(machine.snapshot() == before);
    fs::remove_all(machine.root() + "/away");
  };
  fails(R"({"path": "/d", "mode": "0711"})");
  fails(R"({"path": "/d", "absent": true})");
}

TEST_CASE("linux.dir removes folders that somebody has nested thousands deep") {
  StateHarness machine;
  folder(machine, "/deep");
  base::UniqueFd at(::open((machine.root() + "/deep").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 1500; ++i) {
    REQUIRE(::mkdirat(at.get(), "d", 0755) == 0);
    at.reset(::openat(at.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  const auto closed = machine.converge(kState, R"({"path": "/deep", "mode": "0700", "recursive": true})");
  CHECK_MESSAGE(closed.ok, closed.message);
  const auto removed = machine.converge(kState, R"({"path": "/deep", "absent": true})");
  CHECK_MESSAGE(removed.ok, removed.message);
  CHECK_FALSE(machine.exists("/deep"));
}
