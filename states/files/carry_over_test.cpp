// What a file has besides content, owner and mode, when it is replaced or gets another owner: kept where it
// is root's or the owner's own, gone where somebody else may have put it there, and shown in the plan.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/other_user.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_file {
extern const StateType& kState;
}
namespace states::linux_dir {
extern const StateType& kState;
}
namespace states::linux_apt_repo {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using tests::kAccessList;
using tests::kOtherUser;
using tests::StateHarness;

const bool kNotRoot = ::geteuid() != 0;
const states::StateType& kFile = states::linux_file::kState;

constexpr const char* kUserName = "user.test";
constexpr const char* kLabel = "security.selinux";
constexpr const char* kCapabilities = "security.capability";

struct Machine : StateHarness {
  std::string at(const std::string& path) const { return root() + path; }
  // "" when it has none.
  std::string attribute(const std::string& path, const char* name) const {
    std::string value(256, '\0');
    const ssize_t size = ::lgetxattr(at(path).c_str(), name, value.data(), value.size());
    return value.substr(0, size < 0 ? 0 : static_cast<std::size_t>(size));
  }
  void set(const std::string& path, const char* name, const std::string& value) const {
    REQUIRE(::lsetxattr(at(path).c_str(), name, value.data(), value.size(), 0) == 0);
  }
  void own(const std::string& path, uid_t uid, gid_t gid, mode_t mode) const {
    REQUIRE(::lchown(at(path).c_str(), uid, gid) == 0);
    REQUIRE(::chmod(at(path).c_str(), mode) == 0);
  }
  // Rights that any program that is started gets: cap_net_bind_service.
  void give_capabilities(const std::string& path) const {
    set(path, kCapabilities, std::string("\1\0\0\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20));
  }
  // The change whose name begins so; "" when there is none.
  static std::string row(const states::Plan& plan, const std::string& what) {
    for (const states::Change& change : plan.changes)
      if (change.what.starts_with(what)) return change.before + " -> " + change.after;
    return {};
  }
};

bool can(const Machine& machine, int how) {
  return tests::other_user_can(machine.at("/f"), how);
}

}  // namespace

TEST_CASE("a file that is replaced keeps its access list, attributes and label" * doctest::skip(kNotRoot)) {
  Machine machine;
  machine.write("/f", "old");
  REQUIRE(tests::give_list(machine.at("/f"), kAccessList));  // he may do everything, the group reads
  machine.set("/f", kUserName, "mine");
  machine.set("/f", "trusted.test", "root's");
  machine.set("/f", kLabel, "system_u:object_r:etc_t:s0");
  const std::string list = machine.attribute("/f", kAccessList);
  const mode_t mode = machine.mode("/f");
  SUBCASE("by other content") {
    const auto outcome = machine.converge(kFile, R"({"path": "/f", "content": "new"})");
    CHECK_MESSAGE(outcome.ok, outcome.message);
    CHECK(machine.mode("/f") == mode);
    CHECK(machine.attribute("/f", kAccessList) == list);
    CHECK(can(machine, W_OK));
  }
  SUBCASE("the mode cuts the list, as chmod does") {
    const auto outcome = machine.converge(kFile, R"({"path": "/f", "content": "new", "mode": "0640"})");
    CHECK_MESSAGE(outcome.ok, outcome.message);
    CHECK(machine.mode("/f") == 0640);
    CHECK_FALSE(machine.attribute("/f", kAccessList).empty());
    CHECK(can(machine, R_OK));
    CHECK_FALSE(can(machine, W_OK));
    CHECK(machine.converge(kFile, R"({"path": "/f", "content": "newer", "mode": "0600"})").ok);
    CHECK_FALSE(can(machine, R_OK));
    return;  // whoever could write may have put the attributes there: the next case
  }
  CHECK(machine.read("/f") == "new");
  CHECK(machine.attribute("/f", kUserName) == "mine");
  CHECK(machine.attribute("/f", "trusted.test") == "root's");
  CHECK(machine.attribute("/f", kLabel) == "system_u:object_r:etc_t:s0");
}

TEST_CASE("the group of a file with an access list gains nothing when the file is replaced" *
          doctest::skip(kNotRoot)) {
  constexpr gid_t kGroup = kOtherUser + 1;
  Machine machine;
  machine.write("/f", "old");
  REQUIRE(tests::give_list(machine.at("/f"), kAccessList));
  machine.own("/f", 0, kGroup, 0775);  // 7 for the group is the list's mask; the group itself reads
  CHECK(machine.converge(kFile, R"({"path": "/f", "content": "new"})").ok);
  // Somebody who is in the group, and not in the list.
  const auto group_can_write = [&] {
    const pid_t child = ::fork();
    if (child == 0)
      ::_exit(::setgroups(0, nullptr) == 0 && ::setresgid(kGroup, kGroup, kGroup) == 0 &&
                      ::setresuid(kGroup, kGroup, kGroup) == 0 &&
                      ::access(machine.at("/f").c_str(), R_OK) == 0
                  ? ::access(machine.at("/f").c_str(), W_OK)
                  : 0);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  };
  CHECK_FALSE(group_can_write());
}

TEST_CASE("what a user put onto a file does not survive when root takes it over, and the plan says so" *
          doctest::skip(kNotRoot)) {
  Machine machine;
  machine.write("/f", "old");
  machine.own("/f", kOtherUser, kOtherUser, 0664);
  REQUIRE(tests::give_list(machine.at("/f"), kAccessList));
  machine.set("/f", kUserName, "his");
  machine.set("/f", kLabel, "his label");
  const char* parameter = R"({"path": "/f", "content": "new", "user": "0", "group": "0", "mode": "0660"})";
  const auto plan = machine.plan(kFile, parameter);
  CHECK(Machine::row(plan, "access list of /f") == "present -> dropped: it was given by uid 12345");
  CHECK(Machine::row(plan, "attribute user.test of /f") == "present -> dropped: it was given by uid 12345");
  CHECK(machine.converge(kFile, parameter).ok);
  CHECK_FALSE(can(machine, R_OK));
  for (const char* name : {kAccessList, kUserName, kLabel})
    CHECK_MESSAGE(machine.attribute("/f", name).empty(), std::string(name));
}

TEST_CASE("a user cannot put a file with an access list in the place of root's in his folder" *
          doctest::skip(kNotRoot)) {
  Machine machine;
  std::filesystem::create_directories(machine.at("/app"));
  machine.own("/app", kOtherUser, kOtherUser, 0755);
  machine.write("/app/public", "for him");
  REQUIRE(tests::give_list(machine.at("/app/public"), kAccessList));  // by root
  machine.own("/app/public", 0, 0, 0775);
  REQUIRE(tests::as_other_user(
      [&] { return ::rename(machine.at("/app/public").c_str(), machine.at("/app/secret").c_str()) == 0; }));
  const char* parameter = R"({"path": "/app/secret", "content": "secret", "mode": "0640"})";
  CHECK(Machine::row(machine.plan(kFile, parameter), "access list").find("its folder belongs to uid 12345") !=
        std::string::npos);
  CHECK(machine.converge(kFile, parameter).ok);
  CHECK_FALSE(tests::other_user_can(machine.at("/app/secret"), R_OK));
}

TEST_CASE("a user's own file in his own folder keeps what he gave it" * doctest::skip(kNotRoot)) {
  Machine machine;
  std::filesystem::create_directories(machine.at("/app"));
  machine.own("/app", kOtherUser, kOtherUser, 0755);
  machine.write("/app/f", "old");
  machine.own("/app/f", kOtherUser, kOtherUser, 0644);
  machine.set("/app/f", kUserName, "his");
  CHECK(machine.converge(kFile, R"({"path": "/app/f", "content": "new"})").ok);
  CHECK(machine.attribute("/app/f", kUserName) == "his");
}

TEST_CASE("attributes of those who may no longer write to a file go with its old content" *
          doctest::skip(kNotRoot)) {
  Machine machine;
  machine.write("/f", "old");
  machine.own("/f", 0, kOtherUser, 0664);
  REQUIRE(tests::as_other_user(
      [&] { return ::setxattr(machine.at("/f").c_str(), kUserName, "evil", 4, 0) == 0; }));
  SUBCASE("they stay while he may write") {
    CHECK(machine.converge(kFile, R"({"path": "/f", "content": "new"})").ok);
    CHECK(machine.attribute("/f", kUserName) == "evil");
  }
  SUBCASE("and go with that") {
    CHECK(machine.converge(kFile, R"({"path": "/f", "content": "new", "mode": "0644"})").ok);
    CHECK(machine.attribute("/f", kUserName).empty());
  }
}

TEST_CASE("a plan shows that other content loses capabilities, special bits and other names" *
          doctest::skip(kNotRoot)) {
  Machine machine;
  machine.write("/f", "old", 0755);
  machine.give_capabilities("/f");
  std::filesystem::create_hard_link(machine.at("/f"), machine.at("/g"));
  REQUIRE(::chmod(machine.at("/f").c_str(), 04755) == 0);
  const auto plan = machine.plan(kFile, R"({"path": "/f", "content": "new"})");
  CHECK(Machine::row(plan, "capabilities of /f") == "present -> dropped: new content does not inherit them");
  CHECK(Machine::row(plan, "mode of /f") == "4755 -> 0755");
  CHECK(Machine::row(plan, "hard links of /f") ==
        "2 names -> a file of its own; the other names keep what is there now");
  CHECK(machine.converge(kFile, R"({"path": "/f", "content": "new"})").ok);
  CHECK(machine.attribute("/f", kCapabilities).empty());
  CHECK(machine.read("/g") == "old");
}

TEST_CASE("only what differs is set: capabilities and set-user-id bits stay, or the plan says that they go" *
          doctest::skip(kNotRoot)) {
  Machine machine;
  machine.write("/f", "program", 0755);
  machine.give_capabilities("/f");
  const std::string rights = machine.attribute("/f", kCapabilities);
  SUBCASE("another mode, with the owner that it has") {
    CHECK(machine.converge(kFile, R"({"path": "/f", "user": "0", "group": "0", "mode": "0750"})").ok);
    CHECK(machine.attribute("/f", kCapabilities) == rights);
    CHECK(machine
              .converge(states::linux_dir::kState,
                        R"({"path": "/", "user": "0", "group": "0", "mode": "0755", "recursive": true})")
              .ok);
    CHECK(machine.mode("/f") == 0755);
    CHECK(machine.attribute("/f", kCapabilities) == rights);
  }
  SUBCASE("another group") {
    REQUIRE(::chmod(machine.at("/f").c_str(), 04755) == 0);
    CHECK(machine.converge(kFile, R"({"path": "/f", "group": "4"})").ok);
    CHECK(machine.mode("/f") == 04755);
    CHECK(machine.attribute("/f", kCapabilities) == rights);
  }
  SUBCASE("another group of a program that runs with its group's rights") {
    REQUIRE(::chmod(machine.at("/f").c_str(), 06755) == 0);
    const auto plan = machine.plan(kFile, R"({"path": "/f", "group": "4"})");
    CHECK(Machine::row(plan, "mode of /f") == "6755 -> 4755");
    CHECK(machine.converge(kFile, R"({"path": "/f", "group": "4"})").ok);
    CHECK(machine.mode("/f") == 04755);
  }
  SUBCASE("another owner") {
    REQUIRE(::chmod(machine.at("/f").c_str(), 04755) == 0);
    const auto plan = machine.plan(kFile, R"({"path": "/f", "user": "4"})");
    CHECK(Machine::row(plan, "mode of /f") == "4755 -> 0755");
    CHECK(Machine::row(plan, "capabilities of /f") ==
          "present -> dropped: a file that gets another owner loses them");
    CHECK(machine.converge(kFile, R"({"path": "/f", "user": "4"})").ok);
    CHECK(machine.mode("/f") == 0755);
    CHECK(machine.attribute("/f", kCapabilities).empty());
  }
  SUBCASE("another group of a program that everybody can write to") {
    REQUIRE(::chmod(machine.at("/f").c_str(), 04757) == 0);
    const auto plan = machine.plan(kFile, R"({"path": "/f", "group": "4"})");
    CHECK(Machine::row(plan, "mode of /f") == "4757 -> 0757");
    CHECK(machine.converge(kFile, R"({"path": "/f", "group": "4"})").ok);
    CHECK(machine.mode("/f") == 0757);
  }
}

TEST_CASE("a file or folder that chattr has locked is left alone, with words that say what to do" *
          doctest::skip(kNotRoot)) {
  Machine machine;
  machine.write("/d/f", "old");
  const auto flags = [&](const std::string& path, int wanted) {
    const base::UniqueFd fd(::open(machine.at(path).c_str(), O_RDONLY | O_CLOEXEC));
    return fd && ::ioctl(fd.get(), FS_IOC_SETFLAGS, &wanted) == 0;
  };
  if (!flags("/d/f", FS_IMMUTABLE_FL)) {
    MESSAGE("not looked at: no such flags here");
    return;
  }
  const auto says = [&](const states::StateType& type, const char* parameter, const char* words) {
    const auto outcome = machine.converge(type, parameter);
    CHECK_FALSE(outcome.ok);
    CHECK_MESSAGE(outcome.message.find(words) != std::string::npos, outcome.message);
  };
  const char* const kWords = "/d/f is immutable (chattr +i)";
  says(kFile, R"({"path": "/d/f", "content": "new"})", kWords);
  says(kFile, R"({"path": "/d/f", "mode": "0600"})", kWords);
  says(kFile, R"({"path": "/d/f", "absent": true})", "To let it be changed: chattr -i /d/f");
  says(states::linux_dir::kState, R"({"path": "/d", "absent": true})", kWords);
  says(states::linux_dir::kState, R"({"path": "/d", "mode": "0700", "recursive": true})", kWords);
  CHECK(machine.read("/d/f") == "old");
  CHECK(flags("/d/f", FS_APPEND_FL));
  says(kFile, R"({"path": "/d/f", "content": "new"})", "/d/f can only be added to (chattr +a)");
  CHECK(flags("/d/f", 0));
  CHECK(flags("/d", FS_IMMUTABLE_FL));
  says(kFile, R"({"path": "/d/new", "content": "new"})", "/d is immutable (chattr +i)");
  says(states::linux_dir::kState, R"({"path": "/d/new"})", "/d is immutable (chattr +i)");
  says(kFile, R"({"path": "/d/f", "absent": true})", "/d is immutable (chattr +i)");
  CHECK(machine.converge(kFile, R"({"path": "/d/f", "mode": "0640"})").ok);
  CHECK(flags("/d", 0));
  CHECK(machine.converge(kFile, R"({"path": "/d/f", "content": "new"})").ok);
}

TEST_CASE("linux.apt.repo keeps the access list of its file, and shows other names" *
          doctest::skip(kNotRoot)) {
  Machine machine;
  machine.host().os.family = base::OsRelease::Family::debian;
  const std::string path = "/etc/apt/sources.list.d/x.list";
  machine.write(path, "old\n");
  REQUIRE(tests::give_list(machine.at(path), kAccessList));
  std::filesystem::create_hard_link(machine.at(path), machine.at("/other"));
  const char* parameter = R"({"name": "x", "content": "deb http://x y z"})";
  CHECK(Machine::row(machine.plan(states::linux_apt_repo::kState, parameter), "hard links")
            .starts_with("2 names"));
  CHECK(machine.converge(states::linux_apt_repo::kState, parameter).ok);
  CHECK_FALSE(machine.attribute(path, kAccessList).empty());
  CHECK_FALSE(tests::other_user_can(machine.at(path), W_OK));  // 0644 is what linux.apt.repo says
}
