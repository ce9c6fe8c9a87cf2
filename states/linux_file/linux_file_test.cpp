#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_file {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::linux_file::kState;
using tests::StateHarness;

constexpr auto kMotd = R"({"path": "/etc/motd", "content": "hello\n", "mode": "0640"})";

}  // namespace

TEST_CASE("linux.file creates a file with its folders, content and mode") {
  StateHarness machine;
  const auto outcome =
      machine.converge(kState, R"({"path": "/a/b/c", "content": "hello\n", "mode": "0640"})");
  CHECK(outcome.ok);
  CHECK(outcome.changed);
  CHECK(outcome.message == "Created /a/b/c");
  CHECK(machine.read("/a/b/c") == "hello\n");
  CHECK(machine.mode("/a/b/c") == 0640);
  CHECK(machine.mode("/a/b") == 0750);
  CHECK(machine.snapshot().find(".opsagent-") == std::string::npos);
}

TEST_CASE("linux.file keeps a file that is as wanted, and writes nothing") {
  StateHarness machine;
  CHECK(machine.converge(kState, kMotd).changed);
  const std::string before = machine.snapshot();
  const auto again = machine.converge(kState, kMotd);
  CHECK(again.first == Verdict::kept);
  CHECK(again.message == "/etc/motd is as wanted");
  CHECK(machine.snapshot() == before);
}

TEST_CASE("linux.file plans without writing anything") {
  StateHarness machine;
  machine.write("/etc/motd", "old\n");
  const std::string before = machine.snapshot();
  const auto plan = machine.plan(kState, kMotd);
  CHECK(plan.verdict == Verdict::change);
  CHECK(machine.snapshot() == before);
}

TEST_CASE("linux.file shows a diff of text that everybody may read, and none otherwise") {
  StateHarness machine;
  machine.write("/etc/motd", "old\n");
  auto plan = machine.plan(kState, R"({"path": "/etc/motd", "content": "new\n"})");
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].diff == "@@ -1 +1 @@\n-old\n+new\n");
  plan = machine.plan(kState, R"({"path": "/etc/motd", "content": "new\n", "mode": "0600"})");
  CHECK(plan.changes[0].diff.empty());
  machine.write("/secret", "old\n", 0600);
  plan = machine.plan(kState, R"({"path": "/secret", "content": "new\n", "mode": "0644"})");
  CHECK(plan.changes[0].diff.empty());
}

TEST_CASE("linux.file replaces content of the same size") {
  StateHarness machine;
  machine.write("/f", "aaaa");
  const auto outcome = machine.converge(kState, R"({"path": "/f", "content": "bbbb"})");
  CHECK(outcome.changed);
  CHECK(machine.read("/f") == "bbbb");
}

TEST_CASE("linux.file keeps the mode and owner that are not given") {
  StateHarness machine;
  machine.write("/f", "old", 0604);
  if (::geteuid() == 0) CHECK(::chown((machine.root() + "/f").c_str(), 12345, 54321) == 0);
  CHECK(machine.converge(kState, R"({"path": "/f", "content": "new"})").changed);
  struct stat st {};
  CHECK(::stat((machine.root() + "/f").c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0604);
  if (::geteuid() == 0) {
    CHECK(st.st_uid == 12345);
    CHECK(st.st_gid == 54321);
  }
}

TEST_CASE("linux.file without content leaves existing content alone and creates an empty file") {
  StateHarness machine;
  machine.write("/f", "precious", 0644);
  const auto outcome = machine.converge(kState, R"({"path": "/f", "mode": "0600"})");
  CHECK(outcome.changed);
  CHECK(outcome.message == "Updated /f (mode 0644 -> 0600)");
  CHECK(machine.read("/f") == "precious");
  CHECK(machine.converge(kState, R"({"path": "/g"})").changed);
  CHECK(machine.exists("/g"));
}

TEST_CASE("linux.file with an empty content empties the file") {
  StateHarness machine;
  machine.write("/f", "x");
  CHECK(machine.converge(kState, R"({"path": "/f", "content": ""})").changed);
  CHECK(machine.read("/f").empty());
}

TEST_CASE("linux.file replaces a symlink by the file and leaves its target alone") {
  StateHarness machine;
  machine.write("/target", "precious");
  std::filesystem::create_symlink("target", machine.root() + "/f");
  CHECK(machine.converge(kState, R"({"path": "/f", "content": "new"})").changed);
  CHECK(machine.read("/target") == "precious");
  CHECK(machine.read("/f") == "new");
  CHECK_FALSE(std::filesystem::is_symlink(machine.root() + "/f"));
}

TEST_CASE("linux.file does not know what becomes of a file that earlier states may change by another name") {
  StateHarness machine;
  machine.write("/f", "x");
  machine.write("/g", "x");
  std::filesystem::create_hard_link(machine.root() + "/f", machine.root() + "/other");
  machine.overlay().add("first", {{.kind = states::EffectKind::file, .name = "/other", .present = false}});
  CHECK(machine.plan(kState, R"({"path": "/f", "content": "y"})").verdict == Verdict::unknown);
  CHECK(machine.plan(kState, R"({"path": "/g", "content": "y"})").verdict == Verdict::change);
}

TEST_CASE("linux.file does not replace a link that is on the way to itself") {
  StateHarness machine;
  std::filesystem::create_directory(machine.root() + "/d");
  std::filesystem::create_symlink(".", machine.root() + "/d/l");
  const auto plan = machine.plan(kState, R"({"path": "/d/l/l", "content": "x"})");
  CHECK(plan.verdict == Verdict::fail);
  CHECK(plan.message.find("on the way to it: give the path /d/l instead") != std::string::npos);
}

TEST_CASE("linux.file without content leaves a symlink and its target's content, and sets attributes there") {
  StateHarness machine;
  machine.write("/run/resolv.conf", "precious", 0600);
  std::filesystem::create_directories(machine.root() + "/etc");
  std::filesystem::create_symlink("../run/resolv.conf", machine.root() + "/etc/resolv.conf");
  const auto outcome = machine.converge(kState, R"({"path": "/etc/resolv.conf", "mode": "0644"})");
  CHECK_MESSAGE(outcome.ok, outcome.message);
  CHECK(outcome.message == "Updated /run/resolv.conf (mode 0600 -> 0644)");
  CHECK(std::filesystem::is_symlink(machine.root() + "/etc/resolv.conf"));
  CHECK(machine.read("/run/resolv.conf") == "precious");
  CHECK(machine.mode("/run/resolv.conf") == 0644);
  CHECK(machine.converge(kState, R"({"path": "/etc/resolv.conf"})").first == Verdict::kept);
}

TEST_CASE("linux.file without content fails, and changes nothing, where a symlink leads nowhere good") {
  StateHarness machine;
  const auto fails = [&](const char* destination, const char* words) {
    std::filesystem::remove(machine.root() + "/l");
    std::filesystem::create_symlink(destination, machine.root() + "/l");
    const std::string before = machine.snapshot();
    const auto outcome = machine.converge(kState, R"({"path": "/l", "mode": "0600"})");
    CHECK_FALSE(outcome.ok);
    CHECK_MESSAGE(outcome.message.find(words) != std::string::npos, outcome.message);
    CHECK(machine.snapshot() == before);
  };
  fails("nowhere", "/l is a symlink that leads nowhere: give 'content'");
  fails("l", "Too many levels of symbolic links");
  std::filesystem::create_directory(machine.root() + "/d");
  fails("d", "/l leads to /d, which is a directory");
  machine.overlay().add("maker", {{.kind = states::EffectKind::file, .name = "/later"}});
  std::filesystem::remove(machine.root() + "/l");
  std::filesystem::create_symlink("later", machine.root() + "/l");
  CHECK(machine.plan(kState, R"({"path": "/l", "mode": "0600"})").depends_on == "maker");
}

TEST_CASE("linux.file without content does not go where a user's link leads" *
          doctest::skip(::geteuid() != 0)) {
  StateHarness machine;
  machine.write("/etc/shadow", "precious", 0600);
  const auto refused = [&](const std::string& link) {
    const auto outcome = machine.converge(kState, R"({"path": ")" + link + R"(", "mode": "0644"})");
    CHECK_FALSE(outcome.ok);
    CHECK_MESSAGE(outcome.message.find("not following the symlink " + link) != std::string::npos,
                  outcome.message);
    CHECK(machine.mode("/etc/shadow") == 0600);
  };
  std::filesystem::create_symlink("/etc/shadow", machine.root() + "/his");
  REQUIRE(::lchown((machine.root() + "/his").c_str(), 12345, 12345) == 0);
  refused("/his");
  std::filesystem::create_directory(machine.root() + "/app");
  std::filesystem::create_symlink("/etc/shadow", machine.root() + "/app/roots");
  REQUIRE(::chown((machine.root() + "/app").c_str(), 12345, 12345) == 0);
  refused("/app/roots");
}

TEST_CASE("linux.file fails where a directory or FIFO is in the way") {
  StateHarness machine;
  std::filesystem::create_directory(machine.root() + "/d");
  REQUIRE(::mkfifo((machine.root() + "/p").c_str(), 0600) == 0);
  CHECK(machine.converge(kState, R"({"path": "/d", "content": "x"})").message == "/d is a directory");
  CHECK(machine.converge(kState, R"({"path": "/p", "content": "x"})").message == "/p is a FIFO");
  CHECK(machine.converge(kState, R"({"path": "/d", "absent": true})").message == "/d is a directory");
}

TEST_CASE("linux.file fails where a component of the path is a file or a dangling link") {
  StateHarness machine;
  machine.write("/f", "x");
  std::filesystem::create_symlink("/nowhere", machine.root() + "/link");
  CHECK(machine.converge(kState, R"({"path": "/f/g", "content": "x"})").message == "/f is not a directory");
  const auto outcome = machine.converge(kState, R"({"path": "/link/g", "content": "x"})");
  CHECK_FALSE(outcome.ok);
}

TEST_CASE("linux.file follows a link of root's on the way and stays below its root") {
  StateHarness machine;
  std::filesystem::create_directories(machine.root() + "/real");
  std::filesystem::create_symlink("/real", machine.root() + "/link");
  CHECK(machine.converge(kState, R"({"path": "/link/f", "content": "x"})").ok);
  CHECK(machine.read("/real/f") == "x");
}

TEST_CASE("linux.file does not follow another user's link" * doctest::skip(::geteuid() != 0)) {
  StateHarness machine;
  std::filesystem::create_directories(machine.root() + "/real");
  std::filesystem::create_symlink("/real", machine.root() + "/link");
  REQUIRE(::lchown((machine.root() + "/link").c_str(), 12345, 12345) == 0);
  const auto outcome = machine.converge(kState, R"({"path": "/link/f", "content": "x"})");
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message.find("not following the symlink /link") != std::string::npos);
}

TEST_CASE("linux.file removes a file or link and is content when it is gone") {
  StateHarness machine;
  machine.write("/f", "x");
  CHECK(machine.converge(kState, R"({"path": "/f", "absent": "yes"})").message == "Removed /f");
  CHECK(machine.converge(kState, R"({"path": "/f", "absent": "yes"})").message == "/f is already absent");
}

TEST_CASE("linux.file names a user or group that does not exist") {
  StateHarness machine;
  CHECK(machine.plan(kState, R"({"path": "/f", "user": "no-such-user"})").message ==
        "User 'no-such-user' does not exist");
  CHECK(machine.plan(kState, R"({"path": "/f", "group": "no-such-group"})").message ==
        "Group 'no-such-group' does not exist");
}

TEST_CASE(
    "linux.file planned after a state that would create its owner is a change, after a command unknown") {
  StateHarness machine;
  machine.overlay().add("maker", {{.kind = states::EffectKind::user, .name = "bob"}});
  CHECK(machine.plan(kState, R"({"path": "/f", "user": "bob"})").verdict == Verdict::change);
  machine.overlay().add("script", {{.kind = states::EffectKind::anything, .name = ""}});
  const auto plan = machine.plan(kState, R"({"path": "/f", "user": "alice"})");
  CHECK(plan.verdict == Verdict::unknown);
  CHECK(plan.depends_on == "script");
}

TEST_CASE(
    "linux.file calls owners by the names that they will have, and knows the numbers that they will get" *
    doctest::skip(::geteuid() != 0)) {
  using states::EffectKind;
  constexpr uid_t kId = 64990;
  StateHarness machine;
  machine.write("/f", "x");
  REQUIRE(::chown((machine.root() + "/f").c_str(), kId, kId) == 0);
  CHECK(machine.plan(kState, R"({"path": "/f", "user": "root"})").changes.at(0).before == "64990:64990");
  machine.overlay().add("maker", {{.kind = EffectKind::user, .name = "bob", .alias = "64990"},
                                  {.kind = EffectKind::user, .name = "64990", .alias = "bob"}});
  CHECK(machine.plan(kState, R"({"path": "/f", "user": "root"})").changes.at(0).before == "bob:64990");
  CHECK(machine.plan(kState, R"({"path": "/f", "user": "bob"})").verdict == Verdict::kept);
  machine.overlay().take_doubt();
  machine.overlay().add("mover", {{.kind = EffectKind::group, .name = "64990", .certain = false}});
  machine.plan(kState, R"({"path": "/f", "user": "root"})");
  const auto* doubt = machine.overlay().take_doubt();
  REQUIRE(doubt);
  CHECK(doubt->state_id == "mover");
}

TEST_CASE("linux.file refuses paths that are relative or contain dots") {
  StateHarness machine;
  CHECK(machine.problems(kState, R"({"path": "etc/motd"})") == "'etc/motd' is not an absolute path");
  CHECK(machine.problems(kState, R"({"path": "/a/../b"})") ==
        "a path must not contain '.' or '..' as a component");
  CHECK(machine.problems(kState, R"({"path": "/f", "mode": "rw"})") == "Illegal mode 'rw'");
  CHECK(machine.problems(kState, R"({"path": "/f", "mod": "0644"})") ==
        "Unknown parameter 'mod' of linux.file; did you mean 'mode'?");
}

TEST_CASE("linux.file writes a file anew that somebody else may have open, also when only its owner differs" *
          doctest::skip(::geteuid() != 0)) {
  StateHarness machine;
  machine.write("/f", "wanted");
  REQUIRE(::chown((machine.root() + "/f").c_str(), 12345, 12345) == 0);
  std::ofstream open_still(machine.root() + "/f", std::ios::app);
  const auto outcome = machine.converge(
      kState, R"({"path": "/f", "content": "wanted", "user": "0", "group": "0", "mode": "4755"})");
  CHECK(outcome.ok);
  CHECK(outcome.message == "Updated /f (owner 12345:12345 -> root:root, mode 0644 -> 4755)");
  open_still << "evil" << std::flush;
  CHECK(machine.read("/f") == "wanted");
  CHECK(machine.mode("/f") == 04755);
}

TEST_CASE("linux.file does not make a program of another's content that runs as root" *
          doctest::skip(::geteuid() != 0)) {
  StateHarness machine;
  machine.write("/f", "evil");
  REQUIRE(::chown((machine.root() + "/f").c_str(), 12345, 12345) == 0);
  const auto outcome = machine.converge(kState, R"({"path": "/f", "user": "0", "mode": "4755"})");
  CHECK_FALSE(outcome.ok);
  CHECK(outcome.message.find("give its content") != std::string::npos);
  CHECK(machine.mode("/f") == 0644);
}

TEST_CASE("linux.file does not let other content inherit set-user-id bits") {
  StateHarness machine;
  machine.write("/f", "old", 04755);
  CHECK(machine.converge(kState, R"({"path": "/f", "content": "new"})").ok);
  CHECK(machine.mode("/f") == 0755);
}

TEST_CASE("linux.file fails when its file changes between plan and apply, and works the next time") {
  StateHarness machine;
  const char* parameter = R"({"path": "/f", "content": "wanted", "mode": "0600"})";
  const auto fails = [&](const std::function<void()>& meanwhile, const char* why) {
    const auto plan = machine.plan(kState, parameter);
    REQUIRE(plan.verdict == Verdict::change);
    meanwhile();
    const std::string before = machine.snapshot();
    const auto applied = machine.apply(kState, parameter, plan);
    CHECK_FALSE(applied.ok());
    CHECK_MESSAGE(applied.comment.find(why) != std::string::npos, applied.comment);
    CHECK(machine.snapshot() == before);
    CHECK(machine.converge(kState, parameter).ok);
  };
  fails([&] { machine.write("/f", "of somebody"); }, "something has appeared there");
  machine.write("/f", "other");
  fails(
      [&] {
        machine.write("/g", "of somebody");
        std::filesystem::rename(machine.root() + "/g", machine.root() + "/f");
      },
      "something else has its name");
  machine.write("/f", "wanted", 0644);  // only the mode differs
  fails(
      [&] {
        std::filesystem::remove(machine.root() + "/f");
        std::filesystem::create_symlink("x", machine.root() + "/f");
      },
      "something else has its name");
  machine.write("/f", "other");
  fails([&] { std::filesystem::remove(machine.root() + "/f"); }, "it is gone");
}
