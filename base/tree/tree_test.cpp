#include "base/tree/tree.hpp"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <doctest/doctest.h>

#include "base/files/folder_walk.hpp"
#include "tests/support/scratch_folder.hpp"

namespace base {

namespace {

using tests::ScratchFolder;

constexpr uid_t kStranger = 12345;
const bool kNotRoot = ::geteuid() != 0;

// openat2 answers "no such call" from now on, as on old kernels.
bool lose_openat2() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

std::string error_of(const Result<int>& result) {
  return result ? "" : result.error().message();
}

}  // namespace

TEST_CASE("clean_path takes away needless slashes and refuses what could lead elsewhere") {
  CHECK(*clean_path("/") == "/");
  CHECK(*clean_path("//a///b/") == "/a/b");
  CHECK(*clean_path("/a.b/..c") == "/a.b/..c");
  for (const std::string path : {"", "a", "a/b", "/a/./b", "/a/../b", "/.."})
    CHECK_MESSAGE(!clean_path(path), path);
  CHECK_FALSE(clean_path(std::string("/a\0b", 4)));
  CHECK(clean_path("/" + std::string(255, 'a')));
  CHECK_FALSE(clean_path("/" + std::string(256, 'a')));
  std::string deep;
  while (deep.size() < 4096)
    deep += "/aaaaaaa";
  CHECK_FALSE(clean_path(deep));
}

TEST_CASE("split_path separates the folder from the last component") {
  CHECK(split_path("/").folder == "/");
  CHECK(split_path("/").name.empty());
  CHECK(split_path("/a").folder == "/");
  CHECK(split_path("/a").name == "a");
  CHECK(split_path("/a/b/c").folder == "/a/b");
  CHECK(split_path("/a/b/c").name == "c");
}

TEST_CASE("a tree looks at the last component itself, also when it is a link") {
  const ScratchFolder scratch;
  scratch.write("f", "12345");
  scratch.link("l", "f");
  Tree tree(scratch.path());
  CHECK((**tree.look("/f")).st_size == 5);
  CHECK(S_ISLNK((**tree.look("/l")).st_mode));
  CHECK(S_ISDIR((**tree.look("/")).st_mode));
  CHECK_FALSE(tree.look("/no")->has_value());
  CHECK_FALSE(tree.look("/no/such/folder")->has_value());
  CHECK(*tree.read_link("/l") == "f");
  CHECK(tree.look("/f/below").error().message() == "/f is not a directory");
}

TEST_CASE("a tree reads no file through a link at the end, and is not held up by a FIFO") {
  const ScratchFolder scratch;
  scratch.write("f", "secret");
  scratch.link("l", "f");
  REQUIRE(::mkfifo((scratch / "p").c_str(), 0600) == 0);
  Tree tree(scratch.path());
  CHECK(*tree.read("/f", 100) == "secret");
  CHECK(tree.read("/f", 3).error().code() == ErrorCode::limit);
  CHECK_FALSE(tree.read("/l", 100));
  CHECK(*tree.has_content("/f", "secret"));
  CHECK_FALSE(*tree.has_content("/f", "secrex"));
  CHECK_FALSE(*tree.has_content("/f", "secre"));
  CHECK_FALSE(*tree.has_content("/f", "secret!"));
  CHECK_FALSE(tree.has_content("/l", "secret"));
  CHECK_FALSE(*tree.has_content("/p", "secret"));
}

TEST_CASE("a tree compares content of more than one buffer to the last byte") {
  const ScratchFolder scratch;
  std::string content(200'000, 'x');
  scratch.write("f", content);
  Tree tree(scratch.path());
  CHECK(*tree.has_content("/f", content));
  content.back() = 'y';
  CHECK_FALSE(*tree.has_content("/f", content));
}

TEST_CASE("a tree with another root stays below it, whatever links say") {
  const ScratchFolder scratch;
  scratch.folder("root/etc");
  scratch.folder("root/deep/er");
  scratch.folder("etc/only-outside");
  scratch.link("root/absolute", "/etc");
  scratch.link("root/deep/er/up", "../../../../etc");
  scratch.link("root/twice", "deep/er/up");
  Tree tree(scratch / "root");
  const ino_t etc = scratch.look("root/etc").st_ino;
  for (const char* path : {"/absolute", "/deep/er/up", "/twice"}) {
    auto folder = tree.folder(path);
    REQUIRE_MESSAGE(folder, error_of(folder));
    struct stat st {};
    REQUIRE(::fstat(*folder, &st) == 0);
    CHECK_MESSAGE(st.st_ino == etc, path);
  }
  CHECK_FALSE(tree.look("/deep/er/up/only-outside")->has_value());
}

TEST_CASE("a tree gives up on links that lead in a circle, and on what is no folder") {
  const ScratchFolder scratch;
  scratch.link("a", "b");
  scratch.link("b", "a");
  scratch.link("gone", "/no/such/folder");
  scratch.write("f", "");
  Tree tree(scratch.path());
  CHECK(error_of(tree.folder("/a")).find("Too many levels of symbolic links") != std::string::npos);
  CHECK(tree.folder("/gone").error().code() == ErrorCode::not_found);
  CHECK(tree.folder("/f").error().code() == ErrorCode::exists);
  Tree nowhere(scratch / "no-such-root");
  CHECK(nowhere.folder("/").error().code() == ErrorCode::not_found);
}

TEST_CASE("a tree follows links of root's and nobody else's" * doctest::skip(kNotRoot)) {
  const ScratchFolder scratch;
  scratch.folder("real");
  scratch.link("ours", "real");
  scratch.link("theirs", "real");
  scratch.link("via", "theirs");  // ours, but leads through theirs
  REQUIRE(::lchown((scratch / "theirs").c_str(), kStranger, kStranger) == 0);
  Tree tree(scratch.path());
  CHECK(tree.folder("/ours"));
  for (const char* path : {"/theirs", "/via"}) {
    auto folder = tree.folder(path);
    REQUIRE_FALSE(folder);
    CHECK(folder.error().code() == ErrorCode::permission);
    CHECK(folder.error().message() ==
          "not following the symlink /theirs: it belongs to uid 12345, who could point it anywhere");
  }
}

TEST_CASE("a tree follows no link in a folder that others can write to, whoever owns the link" *
          doctest::skip(kNotRoot)) {
  const ScratchFolder scratch;
  scratch.write("real/f", "");
  scratch.folder("in");
  scratch.link("in/link", "../real");
  const auto set = [&](uid_t uid, gid_t gid, mode_t mode) {
    REQUIRE(::chown((scratch / "in").c_str(), uid, gid) == 0);
    REQUIRE(::chmod((scratch / "in").c_str(), mode) == 0);
    Tree tree(scratch.path());
    return error_of(tree.folder("/in/link"));
  };
  CHECK(set(0, 0, 0755) == "");
  CHECK(set(0, 0, 0775) == "");
  CHECK(set(0, kStranger, 0755) == "");
  CHECK(set(0, kStranger, 02755) == "");
  const std::string start = "not following the symlink /in/link: the folder it is in ";
  const std::string end = ", so that others could put another in its place; give the path without it";
  CHECK(set(kStranger, 0, 0755) == start + "belongs to uid 12345" + end);
  CHECK(set(kStranger, 0, 0555) == start + "belongs to uid 12345" + end);
  CHECK(set(0, kStranger, 0775) == start + "can be written to by the group 12345" + end);
  CHECK(set(0, 0, 0777) == start + "can be written to by everybody" + end);
  CHECK(set(0, 0, 01777) == start + "can be written to by everybody" + end);
}

TEST_CASE("a tree follows no link in a folder whose access list lets others write" *
          doctest::skip(kNotRoot)) {
  const ScratchFolder scratch;
  scratch.folder("real");
  scratch.folder("in");
  scratch.link("in/link", "../real");
  // user::rwx user:12345:rwx group::r-x mask::rwx other::r-x, as in the kernel's linux/posix_acl_xattr.h.
  struct Entry {
    std::uint16_t tag, perm;
    std::uint32_t id;
  };
  struct {
    std::uint32_t version = 2;
    Entry entries[5] = {{1, 7, ~0U}, {2, 7, kStranger}, {4, 5, ~0U}, {16, 7, ~0U}, {32, 5, ~0U}};
  } list;
  if (::setxattr((scratch / "in").c_str(), "system.posix_acl_access", &list, sizeof list, 0) != 0) {
    MESSAGE("this file system has no access lists: not tried");
    return;
  }
  REQUIRE(scratch.mode("in") == 0775);  // of the group root, as far as the mode tells
  Tree tree(scratch.path());
  CHECK(error_of(tree.folder("/in/link")).find("access list") != std::string::npos);
}

TEST_CASE("a tree follows the links that ordinary systems have") {
  Tree tree;
  for (const char* path : {"/bin", "/sbin", "/lib", "/var/run", "/var/lock"})
    if (auto found = tree.look(path); found && *found && S_ISLNK((*found)->st_mode))
      CHECK_MESSAGE(tree.folder(path), path << ": " << error_of(tree.folder(path)));
}

TEST_CASE("a tree sees a folder that took another's place once it was told to forget") {
  const ScratchFolder scratch;
  scratch.write("d/old", "");
  Tree tree(scratch.path());
  CHECK(tree.look("/d/old")->has_value());
  std::filesystem::rename(scratch / "d", scratch / "away");
  scratch.write("d/new", "");
  tree.forget();
  CHECK(tree.look("/d/new")->has_value());
  CHECK_FALSE(tree.look("/d/old")->has_value());
}

TEST_CASE("a tree keeps apart more folders than it holds open") {
  const ScratchFolder scratch;
  for (int i = 0; i < 100; ++i)
    scratch.write(std::to_string(i) + "/f", std::to_string(i));
  Tree tree(scratch.path());
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 100; ++i)
      CHECK(*tree.read("/" + std::to_string(i) + "/f", 10) == std::to_string(i));
}

TEST_CASE("without openat2 a tree works the same, and mount points are still seen" *
          doctest::skip(kNotRoot)) {
  const ScratchFolder scratch;
  scratch.folder("real/bound");
  scratch.folder("real/plain");
  scratch.link("ours", "/real");
  scratch.link("theirs", "/real");
  REQUIRE(::lchown((scratch / "theirs").c_str(), kStranger, kStranger) == 0);
  const std::string wrong = tests::in_own_mounts([&]() -> std::string {
    if (::mount((scratch / "real/plain").c_str(), (scratch / "real/bound").c_str(), nullptr, MS_BIND,
                nullptr))
      return "no bind mount";
    if (!lose_openat2()) return "no filter";
    Tree tree(scratch.path());
    if (!tree.folder("/real/plain")) return "a plain folder was not found";
    if (!tree.folder("/ours/plain")) return "a link of root's was not followed";
    if (tree.folder("/theirs/plain")) return "a stranger's link was followed";
    if (tree.folder("/no").error().code() != ErrorCode::not_found) return "a missing folder was found";
    const int real = *tree.folder("/real");
    if (!open_subfolder(real, "plain")) return "a plain folder was taken for a mount point";
    if (open_subfolder(real, "bound") || errno != EXDEV) return "a bind mount was not seen";
    return {};
  });
  CHECK(wrong == "");
}

TEST_CASE("a walk visits all that is there, folders first, with paths for whoever asks") {
  const ScratchFolder scratch;
  scratch.write("top/a/b/c", "");
  scratch.write("top/f", "");
  scratch.folder("outside/x");
  scratch.link("top/l", "../outside");
  Tree tree(scratch.path());
  NoInterrupt never;
  std::vector<std::string> seen;
  const auto visit = [&](const WalkEntry& entry) -> Result<void> {
    seen.push_back(entry.path() + (S_ISDIR(entry.info.st_mode)   ? "/"
                                   : S_ISLNK(entry.info.st_mode) ? "@"
                                                                 : ""));
    return {};
  };
  REQUIRE(walk_below(*tree.folder("/top"), "/top", never, visit));
  const auto at = [&](std::string_view path) { return std::ranges::find(seen, path) - seen.begin(); };
  CHECK(seen.size() == 5);
  CHECK(at("/top/a/") < at("/top/a/b/"));
  CHECK(at("/top/a/b/") < at("/top/a/b/c"));
  CHECK(at("/top/a/b/c") < 5);
  CHECK(at("/top/f") < 5);
  CHECK(at("/top/l@") < 5);
}

TEST_CASE("a walk ends with the visitor's error, and when it is interrupted") {
  const ScratchFolder scratch;
  for (int i = 0; i < 10; ++i)
    scratch.write("d/" + std::to_string(i), "");
  Tree tree(scratch.path());
  NoInterrupt never;
  int visits = 0;
  const auto third_fails = [&](const WalkEntry&) -> Result<void> {
    return ++visits == 3 ? Result<void>(Error(ErrorCode::io, "enough")) : Result<void>();
  };
  CHECK(walk_below(*tree.folder("/d"), "/d", never, third_fails).error().message() == "enough");
  CHECK(visits == 3);

  struct : Interrupt {
    bool requested() override { return true; }
    int wait_fd() const override { return -1; }
  } at_once;
  visits = 0;
  CHECK(walk_below(*tree.folder("/d"), "/d", at_once, third_fails).error().code() == ErrorCode::cancelled);
  CHECK(visits == 0);
}

TEST_CASE("paths are seen as they are planned to be, whichever links lead to them") {
  struct Planned final : PlannedPaths {
    Answer answer(std::string_view path, Use) override {
      if (path == "/real/gone" || path.starts_with("/real/gone/")) return Answer::missing;
      return path == "/real/f" ? Answer::not_known : Answer::as_it_is;
    }
    bool may_appear(std::string_view path, bool has_folder) override {
      return path == (has_folder ? "/real/coming" : "/real/none/coming");
    }
  } planned;
  const ScratchFolder scratch;
  scratch.write("real/f", "f");
  scratch.write("real/gone/f", "f");
  scratch.write("real/other", "other");
  std::filesystem::create_directory_symlink("real", scratch.path() + "/link");
  std::filesystem::create_directory_symlink("real/gone", scratch.path() + "/way");
  Tree tree(scratch.path());
  CHECK(tree.folder("/real/gone"));  // remembered, and not to be used any more
  tree.foresee(&planned);
  for (const char* folder : {"/real", "/link"}) {
    const std::string in(folder);
    CHECK(tree.look(in + "/other")->has_value());
    CHECK_FALSE(tree.look(in + "/f"));
    CHECK_FALSE(tree.follow(in + "/f"));
    CHECK_FALSE(tree.read(in + "/f", 10));
    CHECK_FALSE(tree.look(in + "/gone")->has_value());
    CHECK_FALSE(tree.look(in + "/gone/f")->has_value());
    CHECK(tree.folder(in + "/gone").error().code() == ErrorCode::not_found);
    CHECK(tree.follow(in + "/gone/f").error().code() == ErrorCode::not_found);
    CHECK(tree.real_path(in + "/new") == "/real/new");
    for (const char* coming : {"/coming", "/none/coming"}) {
      CHECK(tree.look(in + coming).error().code() == ErrorCode::unsupported);
      CHECK(tree.follow(in + coming).error().code() == ErrorCode::unsupported);
    }
    CHECK_FALSE(tree.look(in + "/none")->has_value());
    CHECK(tree.real_path(in + "/gone/x/y") == "/real/gone/x/y");
  }
  CHECK_FALSE(tree.look("/way/f")->has_value());
  CHECK(tree.follow("/way").error().code() == ErrorCode::not_found);
  tree.foresee(nullptr);
  CHECK(tree.look("/way/f")->has_value());
  CHECK(tree.real_path("/way/f") == "/real/gone/f");
}

TEST_CASE("what a link says is a path from the root") {
  const ScratchFolder scratch;
  scratch.write("d/e/f", "f");
  std::filesystem::create_directory_symlink("d/e", scratch.path() + "/short");
  for (const char* name : {"up", "over", "absolute", "beside"})
    std::filesystem::create_symlink(name == std::string("up")         ? "../x"
                                    : name == std::string("over")     ? "../../../../y/./z"
                                    : name == std::string("absolute") ? "/a/../b"
                                                                      : "f",
                                    scratch.path() + "/d/e/" + name);
  Tree tree(scratch.path());
  for (const std::string in : {"/d/e/", "/short/"}) {
    CHECK(*tree.link_destination(in + "up") == "/d/x");
    CHECK(*tree.link_destination(in + "over") == "/y/z");
    CHECK(*tree.link_destination(in + "absolute") == "/b");
    CHECK(*tree.link_destination(in + "beside") == "/d/e/f");
  }
  CHECK_FALSE(tree.link_destination("/d/e/f"));
}

TEST_CASE("a link that is on the way to itself is known as such") {
  const ScratchFolder scratch;
  scratch.write("d/f", "f");
  std::filesystem::create_symlink(".", scratch.path() + "/d/self");
  std::filesystem::create_directory_symlink("d", scratch.path() + "/link");
  Tree tree(scratch.path());
  CHECK(tree.leads_through_itself("/d/self/self"));
  CHECK(tree.leads_through_itself("/link/self/self"));
  CHECK_FALSE(tree.leads_through_itself("/d/self"));
  CHECK_FALSE(tree.leads_through_itself("/link/self"));
  CHECK_FALSE(tree.leads_through_itself("/link/f"));
}

}  // namespace base
