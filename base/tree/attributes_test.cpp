// Files that others may have open, and access lists that they have given, when root takes them over.
#include "base/tree/attributes.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <functional>

#include <doctest/doctest.h>

#include "base/tree/tree_writer.hpp"
#include "base/tree/write_lease.hpp"
#include "tests/support/other_user.hpp"
#include "tests/support/scratch_folder.hpp"

namespace base {

namespace {

using tests::HeldOpen;
using tests::kOtherUser;

const bool kNotRoot = ::geteuid() != 0;

struct Written : tests::ScratchFolder {
  Tree tree{path()};
  SyncGroup sync;
  TreeWriter writer{tree, sync};
  NoInterrupt never;

  void give(const std::string& below, uid_t uid, gid_t gid, mode_t mode) const {
    REQUIRE(::chown((*this / below).c_str(), uid, gid) == 0);
    REQUIRE(::chmod((*this / below).c_str(), mode) == 0);
  }
  Result<void> set(const std::string& path, const Attributes& wanted) {
    return writer.set_attributes(path, Seen(**tree.look(path)), wanted);
  }
};

bool says(const Error& error, const char* words) {
  return error.message().find(words) != std::string::npos;
}

// For the rest of the process.
bool give_up_leases() {
  __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> sets{};
  if (::syscall(SYS_capget, &head, sets.data()) != 0) return false;
  sets[0].effective &= ~(1U << CAP_LEASE);
  return ::syscall(SYS_capset, &head, sets.data()) == 0;
}

// Whether it holds in a process that is root without CAP_LEASE, as in containers.
bool without_leases(const std::function<bool()>& act) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(give_up_leases() && act() ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

TEST_CASE("a file that somebody has open for writing is not taken from him" * doctest::skip(kNotRoot)) {
  Written at;
  at.write("f", "good");
  Attributes wanted;
  SUBCASE("another owner") {
    at.give("f", kOtherUser, kOtherUser, 0600);
    wanted = {.uid = 0, .mode = 0644};
  }
  SUBCASE("another owner who is not root") {
    at.give("f", kOtherUser, kOtherUser, 0600);
    wanted = {.uid = 7};
  }
  SUBCASE("his group may no longer write") {
    at.give("f", 0, kOtherUser, 0664);
    wanted = {.mode = 0644};
  }
  SUBCASE("another group") {
    at.give("f", 0, kOtherUser, 0664);
    wanted = {.gid = 7};
  }
  SUBCASE("everybody could write") {
    at.give("f", 0, 0, 0666);
    wanted = {.mode = 0664};
  }
  for (const auto how : {HeldOpen::As::descriptor, HeldOpen::As::mapping}) {
    const struct stat before = at.look("f");
    HeldOpen held(at / "f", how);
    REQUIRE(held.is_holding());
    const auto refused = at.set("/f", wanted);
    REQUIRE_FALSE(refused);
    CHECK_MESSAGE(says(refused.error(), "open for writing"), refused.error().message());
    CHECK(at.look("f").st_uid == before.st_uid);
    CHECK(at.look("f").st_gid == before.st_gid);
    CHECK(at.look("f").st_mode == before.st_mode);
  }
  CHECK(at.set("/f", wanted));  // he has let go
}

TEST_CASE("set-user-id bits are not set while somebody has the file open for writing" *
          doctest::skip(kNotRoot)) {
  Written at;
  at.write("f", "good");
  at.give("f", kOtherUser, kOtherUser, 0755);
  {
    HeldOpen held(at / "f", HeldOpen::As::mapping);
    REQUIRE(held.is_holding());
    at.give("f", 0, 0, 0755);  // by whoever does not look
    CHECK_FALSE(at.set("/f", {.mode = 04755}));
    CHECK(at.mode("f") == 0755);
  }
  CHECK(at.set("/f", {.mode = 04755}));
  CHECK(at.mode("f") == 04755);
}

TEST_CASE("of a tree all is taken but what somebody has open for writing, which the error names" *
          doctest::skip(kNotRoot)) {
  Written at;
  for (const char* name : {"d/a", "d/held", "d/z"}) {
    at.write(name, "good");
    at.give(name, kOtherUser, kOtherUser, 0644);
  }
  at.give("d", kOtherUser, kOtherUser, 0755);
  const auto to_root = [](const struct stat& st) {
    return st.st_uid == 0 ? std::nullopt : std::optional(Attributes{.uid = 0, .gid = 0});
  };
  const auto take = [&] {
    return at.writer.set_attributes_below("/d", Seen(**at.tree.look("/d")), to_root, at.never);
  };
  {
    HeldOpen held(at / "d/held", HeldOpen::As::mapping);
    REQUIRE(held.is_holding());
    const auto taken = take();
    REQUIRE_FALSE(taken);
    CHECK_MESSAGE(says(taken.error(), "/d/held: somebody has it open for writing"), taken.error().message());
  }
  CHECK(at.look("d/a").st_uid == 0);
  CHECK(at.look("d/z").st_uid == 0);
  CHECK(at.look("d/held").st_uid == kOtherUser);
  const auto rest = take();
  REQUIRE(rest);
  CHECK(*rest == 1);
}

TEST_CASE("without CAP_LEASE files are taken, too, and not from whoever has them open" *
          doctest::skip(kNotRoot)) {
  Written at;
  at.write("f", "good");
  for (const uid_t to : {uid_t{0}, uid_t{7}}) {
    at.give("f", kOtherUser, kOtherUser, 0640);
    {
      HeldOpen held(at / "f", HeldOpen::As::descriptor);
      REQUIRE(held.is_holding());
      CHECK(without_leases([&] {
        const auto set = at.set("/f", {.uid = to, .mode = 0644});
        return !set && says(set.error(), "open for writing");
      }));
      CHECK(at.look("f").st_uid == kOtherUser);
      CHECK(at.mode("f") == 0640);
    }
    CHECK(without_leases([&] { return bool(at.set("/f", {.uid = to, .mode = 0644})); }));
    CHECK(at.look("f").st_uid == to);
    CHECK(at.mode("f") == 0644);
  }
}

TEST_CASE("whoever opens a file while it is changed is noticed, and does not end us") {
  const tests::ScratchFolder at;
  at.write("f", "good");
  const UniqueFd file(::open((at / "f").c_str(), O_PATH | O_CLOEXEC));
  auto lease = WriteLease::open(file.get());
  REQUIRE(lease);
  REQUIRE(lease->take() == 0);
  CHECK(lease->is_undisturbed());
  const UniqueFd reader(::open((at / "f").c_str(), O_RDONLY | O_CLOEXEC));
  CHECK(lease->is_undisturbed());
  const UniqueFd writer(::open((at / "f").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  CHECK_FALSE(writer);
  CHECK_FALSE(lease->is_undisturbed());
}

TEST_CASE("what is new in a user's folder does not have the access list that he gave the folder" *
          doctest::skip(kNotRoot)) {
  Written at;
  at.folder("his");
  at.give("his", kOtherUser, kOtherUser, 0755);
  if (!tests::give_list(at / "his", tests::kDefaultList)) {
    MESSAGE("not looked at: no access lists here");
    return;
  }
  CHECK(at.writer.write_file("/his/secret", Seen(), "x", {.uid = 0, .gid = 4, .mode = 0640}));
  CHECK(at.writer.write_file("/his/run", Seen(), "x", {.uid = 0, .gid = 4, .mode = 0770}));
  CHECK(at.writer.write_file("/his/run", Seen(**at.tree.look("/his/run")), "y", {.mode = 0770}));
  CHECK(at.writer.make_folder("/his/dir", {.uid = 0, .gid = 4, .mode = 0770}));
  CHECK(at.writer.write_file("/his/dir/below", Seen(), "x", {.uid = 0, .gid = 4, .mode = 0660}));
  CHECK_FALSE(tests::other_user_can(at / "his/secret", R_OK));
  CHECK_FALSE(tests::other_user_can(at / "his/run", W_OK));
  CHECK_FALSE(tests::other_user_can(at / "his/dir", W_OK));
  CHECK_FALSE(tests::other_user_can(at / "his/dir/below", R_OK));
  CHECK(at.mode("his/secret") == 0640);
  CHECK(at.mode("his/dir") == 0770);
  CHECK_FALSE(tests::has_list(at / "his/dir", tests::kDefaultList));
  CHECK(tests::has_list(at / "his", tests::kDefaultList));  // it is his
}

TEST_CASE("what passes from a user to root loses the access lists that he gave it" *
          doctest::skip(kNotRoot)) {
  Written at;
  at.folder("d");
  at.write("f", "good");
  at.give("d", kOtherUser, kOtherUser, 0755);
  at.give("f", kOtherUser, kOtherUser, 0644);
  if (!tests::give_list(at / "d", tests::kDefaultList) || !tests::give_list(at / "d", tests::kAccessList) ||
      !tests::give_list(at / "f", tests::kAccessList)) {
    MESSAGE("not looked at: no access lists here");
    return;
  }
  SUBCASE("with a mode") {
    CHECK(at.set("/d", {.uid = 0, .gid = 4, .mode = 0770}));
    CHECK(at.set("/f", {.uid = 0, .gid = 4, .mode = 0664}));
    CHECK(at.mode("d") == 0770);
    CHECK(at.mode("f") == 0664);
  }
  SUBCASE("without, the group keeps what it could do") {
    CHECK(at.mode("f") == 0775);  // the most that the list grants
    CHECK(at.set("/d", {.uid = 0}));
    CHECK(at.set("/f", {.uid = 0}));
    CHECK(at.mode("d") == 0745);
    CHECK(at.mode("f") == 0745);
  }
  CHECK_FALSE(tests::other_user_can(at / "d", W_OK));
  CHECK_FALSE(tests::other_user_can(at / "f", W_OK));
  CHECK_FALSE(tests::has_list(at / "d", tests::kDefaultList));
}

TEST_CASE("an access list stays when its file does not change hands" * doctest::skip(kNotRoot)) {
  Written at;
  at.write("f", "good");
  if (!tests::give_list(at / "f", tests::kAccessList)) {
    MESSAGE("not looked at: no access lists here");
    return;
  }
  CHECK(at.set("/f", {.mode = 0755}));
  CHECK(at.set("/f", {.uid = kOtherUser}));  // root gives it
  CHECK(tests::has_list(at / "f", tests::kAccessList));
}

}  // namespace base
