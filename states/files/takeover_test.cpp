// Root takes things over that a user has prepared: files that he holds open, access lists that he gave, a
// file in the place of a secret. Each is an attack that worked.
#include <sys/stat.h>
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

namespace {

using tests::HeldOpen;
using tests::kOtherUser;
using tests::StateHarness;

const bool kNotRoot = ::geteuid() != 0;
const states::StateType& kFile = states::linux_file::kState;
const states::StateType& kDir = states::linux_dir::kState;

// A folder of his with a file of his.
struct Machine : StateHarness {
  explicit Machine(std::string_view content, mode_t mode = 0755) {
    std::filesystem::create_directories(root() + "/app");
    give("/app", 0755);
    write("/app/tool", content);
    give("/app/tool", mode);
  }
  void give(const std::string& path, mode_t mode, uid_t uid = kOtherUser, gid_t gid = kOtherUser) const {
    REQUIRE(::chown((root() + path).c_str(), uid, gid) == 0);
    REQUIRE(::chmod((root() + path).c_str(), mode) == 0);
  }
  uid_t owner(const std::string& path) const {
    struct stat st {};
    REQUIRE(::lstat((root() + path).c_str(), &st) == 0);
    return st.st_uid;
  }
};

constexpr auto kTakeAll = R"({"path": "/app", "user": "0", "group": "0", "mode": "0755", "recursive": true})";
constexpr auto kSetUserId =
    R"({"path": "/app/tool", "content": "good tool", "user": "0", "group": "0", "mode": "4755"})";

}  // namespace

TEST_CASE("a user who holds a file open does not get to write to a program that runs as root" *
          doctest::skip(kNotRoot)) {
  for (const auto how : {HeldOpen::As::descriptor, HeldOpen::As::mapping}) {
    Machine machine("good tool");
    HeldOpen held(machine.root() + "/app/tool", how);
    REQUIRE(held.is_holding());
    const auto taken = machine.converge(kDir, kTakeAll);
    CHECK_FALSE(taken.ok);
    CHECK_MESSAGE(taken.message.find("open for writing") != std::string::npos, taken.message);
    CHECK(machine.owner("/app") == 0);
    CHECK(machine.converge(kFile, kSetUserId).ok);
    CHECK(machine.mode("/app/tool") == 04755);
    CHECK(held.write_evil());  // to what has no name any more
    CHECK(machine.read("/app/tool") == "good tool");
    CHECK(machine.converge(kDir, kTakeAll).ok);
  }
}

TEST_CASE("set-user-id bits make a new file also where another tool took the old one from a user" *
          doctest::skip(kNotRoot)) {
  Machine machine("good tool");
  HeldOpen held(machine.root() + "/app/tool", HeldOpen::As::mapping);
  REQUIRE(held.is_holding());
  machine.give("/app/tool", 0755, 0, 0);
  CHECK(machine.converge(kFile, kSetUserId).ok);
  CHECK(held.write_evil());
  CHECK(machine.read("/app/tool") == "good tool");
}

TEST_CASE("a file that a group may no longer write to is a new one" * doctest::skip(kNotRoot)) {
  Machine machine("good");
  machine.give("/app", 0755, 0, 0);
  machine.give("/app/tool", 0664, 0, kOtherUser);
  HeldOpen held(machine.root() + "/app/tool", HeldOpen::As::descriptor);
  REQUIRE(held.is_holding());
  CHECK(
      machine.converge(kFile, R"({"path": "/app/tool", "content": "good", "user": "0", "mode": "0644"})").ok);
  CHECK(held.write_evil());
  CHECK(machine.read("/app/tool") == "good");
}

TEST_CASE("a default access list of a user's gives him no access to what root makes" *
          doctest::skip(kNotRoot)) {
  Machine machine("good");
  if (!tests::give_list(machine.root() + "/app", tests::kDefaultList)) {
    MESSAGE("not looked at: no access lists here");
    return;
  }
  const auto make = [&] {
    const auto is_made = [&](const states::StateType& type, const char* parameter) {
      CHECK(machine.converge(type, parameter).ok);
    };
    is_made(kFile, R"({"path": "/app/secret", "content": "x", "user": "0", "group": "4", "mode": "0640"})");
    is_made(kFile, R"({"path": "/app/run", "content": "x", "user": "0", "group": "4", "mode": "0770"})");
    is_made(kDir, R"({"path": "/app/dir", "user": "0", "group": "4", "mode": "0770"})");
    is_made(kFile, R"({"path": "/app/dir/f", "content": "x", "user": "0", "group": "4", "mode": "0660"})");
  };
  SUBCASE("in his folder") {
    make();
  }
  SUBCASE("in what was his folder") {
    CHECK(machine.converge(kDir, kTakeAll).ok);
    make();
    CHECK_FALSE(tests::has_list(machine.root() + "/app", tests::kDefaultList));
  }
  for (const char* path : {"/app/secret", "/app/run", "/app/dir", "/app/dir/f"})
    for (const int how : {R_OK, W_OK})
      CHECK_MESSAGE(!tests::other_user_can(machine.root() + path, how), std::string(path));
}

TEST_CASE("a secret is not written to a file that a user has put there beforehand" *
          doctest::skip(kNotRoot)) {
  Machine machine("", 0644);
  const auto refused = [&](const char* parameter, const char* asks_for) {
    const auto outcome = machine.converge(kFile, parameter);
    CHECK_FALSE(outcome.ok);
    CHECK_MESSAGE(outcome.message.find(asks_for) != std::string::npos, outcome.message);
    CHECK(machine.read("/app/tool").empty());
  };
  refused(R"({"path": "/app/tool", "content": "secret", "mode": "0600"})", "give 'user', too");
  refused(R"({"path": "/app/tool", "content": "secret", "mode": "0640", "user": "0"})", "give 'group', too");
  SUBCASE("with all that was left to him it is") {
    CHECK(machine
              .converge(kFile, R"({"path": "/app/tool", "content": "secret", "mode": "0640",
                                   "user": "0", "group": "0"})")
              .ok);
    CHECK_FALSE(tests::other_user_can(machine.root() + "/app/tool", R_OK));
  }
  SUBCASE("in a folder like /tmp nothing is left to him") {
    machine.give("/app", 01777, 0, 0);
    refused(R"({"path": "/app/tool", "content": "run me"})", "give 'user', too");
    machine.give("/app/tool", 0666);
    refused(R"({"path": "/app/tool", "content": "run me", "user": "0"})", "give 'group', too");
    refused(R"({"path": "/app/tool", "content": "run me", "user": "0", "group": "0"})", "give 'mode', too");
    CHECK(
        machine.converge(kFile, R"({"path": "/app/tool", "content": "run me", "user": "0", "mode": "0755"})")
            .ok);
    CHECK(machine.owner("/app/tool") == 0);
  }
}

TEST_CASE("a file in a program's own folder keeps its owner when its content is not hidden" *
          doctest::skip(kNotRoot)) {
  Machine machine("old", 0644);
  CHECK(machine.converge(kFile, R"({"path": "/app/tool", "content": "new"})").ok);
  CHECK(machine.converge(kFile, R"({"path": "/app/tool", "content": "newer", "mode": "0644"})").ok);
  CHECK(machine.owner("/app/tool") == kOtherUser);
}
