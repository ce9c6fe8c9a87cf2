#include "base/tree/tree_writer.hpp"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <doctest/doctest.h>

#include "tests/support/nameless_files.hpp"
#include "tests/support/scratch_folder.hpp"

namespace base {

namespace {

using tests::ScratchFolder;

constexpr uid_t kStranger = 12345;
const bool kNotRoot = ::geteuid() != 0;

// A writer with all that it needs, below a root.
struct Below {
  explicit Below(const std::string& root) : tree(root) {}
  Tree tree;
  SyncGroup sync;
  TreeWriter writer{tree, sync};
  NoInterrupt never;
};

// A scratch folder with a writer whose root it is.
struct Written : ScratchFolder, Below {
  Written() : Below(path()) {}
};

class InterruptAfter final : public Interrupt {
 public:
  explicit InterruptAfter(int questions) : left_(questions) {}
  bool requested() override { return left_-- <= 0; }
  int wait_fd() const override { return -1; }

 private:
  int left_;
};

std::string error_of(const Result<void>& result) {
  return result ? "" : result.error().message();
}

}  // namespace

TEST_CASE("a new file has its content, and exactly the mode that was asked for") {
  const mode_t before = ::umask(077);
  Written at;
  CHECK(at.writer.write_file("/f", Seen::anything(), "hello", {.mode = 0666}));
  CHECK(at.read("f") == "hello");
  CHECK(at.mode("f") == 0666);
  CHECK(at.sync.pending());
  CHECK(at.sync.flush());
  CHECK_FALSE(at.sync.pending());
  ::umask(before);
}

TEST_CASE("a file is replaced as a whole: who has the old one open keeps it") {
  Written at;
  at.write("f", "old");
  std::filesystem::create_hard_link(at / "f", at / "other-name");
  CHECK(at.writer.write_file("/f", Seen::anything(), "new", {.mode = 0600}));
  CHECK(at.read("f") == "new");
  CHECK(at.read("other-name") == "old");
  CHECK(at.count("") == 2);
}

TEST_CASE("a link at the place of a file is replaced, what it points to is left alone") {
  Written at;
  at.write("precious", "keep");
  at.link("f", "precious");
  CHECK(at.writer.write_file("/f", Seen::anything(), "new", {}));
  CHECK(at.read("precious") == "keep");
  CHECK(S_ISREG(at.look("f").st_mode));
}

TEST_CASE("a folder at the place of a file is an error and nothing is left behind") {
  Written at;
  at.folder("d");
  CHECK_FALSE(at.writer.write_file("/d", Seen::anything(), "x", {}));
  CHECK_FALSE(at.writer.make_link("/d", Seen::anything(), "x", {}));
  CHECK(at.count("") == 1);
  CHECK(error_of(at.writer.write_file("/no/f", Seen::anything(), "x", {})) ==
        "writing /no/f: /no: No such file or directory");
}

TEST_CASE("what was not changed is not waiting for a sync: it is noted after the rename, not before") {
  Written at;
  at.folder("f");
  CHECK_FALSE(at.writer.write_file("/f", Seen::anything(), "new", {}));
  CHECK_FALSE(at.sync.pending());
}

TEST_CASE("a link that now leads elsewhere is followed there, at once") {
  Written at;
  at.folder("old");
  at.folder("new");
  at.link("current", "old");
  REQUIRE(at.writer.write_file("/current/first", Seen::anything(), "1", {}));
  SUBCASE("replaced by another link") {
    REQUIRE(at.writer.make_link("/current", Seen::anything(), "new", {}));
    CHECK(at.writer.write_file("/current/second", Seen::anything(), "2", {}));
    CHECK(at.read("new/second") == "2");
    CHECK(at.count("old") == 1);
  }
  SUBCASE("replaced by a file") {
    REQUIRE(at.writer.write_file("/current", Seen::anything(), "", {}));
    CHECK_FALSE(at.writer.write_file("/current/second", Seen::anything(), "2", {}));
  }
  SUBCASE("removed") {
    REQUIRE(at.writer.remove("/current", Seen::anything()));
    CHECK_FALSE(at.writer.write_file("/current/second", Seen::anything(), "2", {}));
  }
}

TEST_CASE("leftovers of a killed run are taken away, whatever they are") {
  Written at;
  at.write("precious", "keep");
  const std::string scratch = at.writer.scratch_path("/f");
  const std::string name = scratch.substr(1);
  SUBCASE("a file") {
    at.write(name, "half a fi");
  }
  SUBCASE("a link") {
    at.link(name, "precious");
  }
  SUBCASE("an empty folder") {
    at.folder(name);
  }
  SUBCASE("a folder of its own with a file in it") {
    at.write(name + "/" + name, "half a fi");
    ::chmod((at / name).c_str(), 0700);
  }
  SUBCASE("a folder of its own with a folder in it") {
    at.folder(name + "/" + name);
    ::chmod((at / name).c_str(), 0700);
  }
  SUBCASE("a folder of its own with a link in it") {
    at.folder(name);
    at.link(name + "/" + name, "../precious");
    ::chmod((at / name).c_str(), 0700);
  }
  SUBCASE("nothing") {}
  CHECK(at.writer.remove_scratch(scratch));
  CHECK(at.read("precious") == "keep");
  CHECK(at.count("") == 1);
}

TEST_CASE("a temporary that is not as we leave them is not emptied") {
  Written at;
  const std::string scratch = at.writer.scratch_path("/f");
  at.write(scratch.substr(1) + "/precious", "keep");
  CHECK_FALSE(at.writer.remove_scratch(scratch));
  CHECK(at.read(scratch.substr(1) + "/precious") == "keep");
}

TEST_CASE("temporaries have names that nobody can know, and others after each renewal") {
  Written at;
  const std::string first = at.writer.scratch_path("/d/f");
  CHECK(first.starts_with("/d/.opsagent-"));
  CHECK(first.size() == std::string("/d/.opsagent-.tmp").size() + 32);
  CHECK(at.writer.scratch_path("/d/g") == first);
  CHECK(at.writer.scratch_path("/f") == first.substr(2));
  at.writer.renew_scratch();
  CHECK(at.writer.scratch_path("/d/f") != first);
  Written other;
  CHECK(other.writer.scratch_path("/d/f") != at.writer.scratch_path("/d/f"));
}

TEST_CASE("a new file has no name, and nobody can see it, before it is whole") {
  Written at;
  const std::string scratch = at.writer.scratch_path("/f").substr(1);
  at.write(scratch, "of somebody else");
  CHECK(at.writer.write_file("/f", Seen(), "whole", {.mode = 0600}));
  CHECK(at.read("f") == "whole");
  CHECK(at.read(scratch) == "of somebody else");  // it was not needed
}

TEST_CASE("what is not as the plan has seen it is not changed, and the error says so") {
  Written at;
  at.write("f", "old");
  at.write("d/keep", "");
  const Seen file(**at.tree.look("/f"));
  const Seen folder(**at.tree.look("/d"));
  const Seen nothing;
  const std::string changed = " has changed since it was planned: ";
  SUBCASE("something has appeared") {
    at.link("l", "x");
    CHECK(error_of(at.writer.write_file("/f", nothing, "new", {}))
              .find(changed + "something has appeared there") != std::string::npos);
    CHECK(error_of(at.writer.make_link("/l", nothing, "new", {})).find(changed) != std::string::npos);
    CHECK(error_of(at.writer.set_attributes("/f", nothing, {.mode = 0})).find(changed) != std::string::npos);
    CHECK(at.writer.remove("/f", nothing).error().code() == ErrorCode::exists);
  }
  SUBCASE("something else has the name") {
    at.write("g", "old");
    std::filesystem::rename(at / "g", at / "f");
    std::filesystem::rename(at / "d", at / "e");
    at.write("d/keep", "");
    CHECK(
        error_of(at.writer.write_file("/f", file, "new", {})).find(changed + "something else has its name") !=
        std::string::npos);
    CHECK_FALSE(at.writer.make_link("/f", file, "new", {}));
    CHECK_FALSE(at.writer.set_attributes("/f", file, {.mode = 0}));
    CHECK_FALSE(at.writer.remove("/f", file));
    at.tree.forget();
    CHECK_FALSE(at.writer.set_folder_attributes("/d", folder, {.mode = 0}));
    CHECK_FALSE(at.writer.set_attributes_below(
        "/d", folder, [](const struct stat&) { return std::optional(Attributes{.mode = 0}); }, at.never));
    CHECK_FALSE(at.writer.remove_tree("/d", folder, at.never));
    CHECK(at.mode("d") != 0);
    CHECK(at.mode("d/keep") != 0);
  }
  SUBCASE("it is gone") {
    std::filesystem::remove(at / "f");
    CHECK(error_of(at.writer.write_file("/f", file, "new", {})).find(changed + "it is gone") !=
          std::string::npos);
    CHECK_FALSE(at.writer.make_link("/f", file, "new", {}));
    CHECK_FALSE(at.writer.set_attributes("/f", file, {.mode = 0}));
    CHECK(at.writer.remove("/f", file));
    CHECK_FALSE(at.exists("f"));
    return;
  }
  SUBCASE("it belongs to somebody else") {
    if (kNotRoot) return;
    REQUIRE(::chown((at / "f").c_str(), kStranger, 0) == 0);
    CHECK(
        error_of(at.writer.set_attributes("/f", file, {.mode = 0})).find(changed + "it has another owner") !=
        std::string::npos);
    CHECK(at.writer.set_attributes("/f", file.owned_by(kStranger, std::nullopt), {.mode = 0600}));
  }
  CHECK(at.read("f") == "old");
  CHECK(at.mode("f") != 0);
}

TEST_CASE("a file that others may have open does not come to run as somebody else" *
          doctest::skip(kNotRoot)) {
  Written at;
  const auto set = [&](uid_t uid, mode_t mode, const Attributes& wanted) {
    at.write("f", "x");
    REQUIRE(::chown((at / "f").c_str(), uid, 0) == 0);
    REQUIRE(::chmod((at / "f").c_str(), mode) == 0);
    return bool(at.writer.set_attributes("/f", Seen(**at.tree.look("/f")), wanted));
  };
  CHECK_FALSE(set(kStranger, 0755, {.uid = 0, .mode = 04755}));
  CHECK_FALSE(set(kStranger, 0755, {.gid = 7, .mode = 02755}));
  CHECK_FALSE(set(0, 0775, {.mode = 04755}));
  CHECK_FALSE(set(0, 0777, {.uid = 7, .mode = 06755}));
  CHECK(set(0, 0755, {.mode = 04755}));
  CHECK(set(kStranger, 0755, {.mode = 04755}));           // his own, as before
  CHECK(set(kStranger, 0755, {.uid = 0, .mode = 0755}));  // nothing runs as root
  CHECK(set(0, 04775, {.mode = 04755}));                  // it had that before
}

TEST_CASE(
    "where users can make hard links to everything, owner and mode of files in their folders are left alone" *
    doctest::skip(kNotRoot)) {
  const ScratchFolder at;
  const std::string setting = "/proc/sys/fs/protected_hardlinks";
  at.write("off", "0\n");
  at.write("theirs/f", "");
  at.write("ours/f", "");
  at.folder("theirs/d");
  REQUIRE(::chown((at / "theirs").c_str(), kStranger, kStranger) == 0);
  const std::string wrong = tests::in_own_mounts([&]() -> std::string {
    if (::mount((at / "off").c_str(), setting.c_str(), nullptr, MS_BIND, nullptr) != 0)
      return "no bind mount";
    Below here(at.path());
    const std::string file =
        error_of(here.writer.set_attributes("/theirs/f", Seen::anything(), {.mode = 0666}));
    if (file.find("fs.protected_hardlinks") == std::string::npos) return "file: " + file;
    const auto all = [](const struct stat&) { return std::optional(Attributes{.mode = 0777}); };
    if (here.writer.set_attributes_below("/theirs", Seen::anything(), all, here.never)) return "below";
    if (!here.writer.set_attributes("/theirs/d", Seen::anything(), {.mode = 0700}))
      return "a folder has one name";
    if (!here.writer.set_attributes("/ours/f", Seen::anything(), {.mode = 0600})) return "in our own folder";
    return {};
  });
  CHECK(wrong == "");
  CHECK(at.mode("theirs/f") == 0644);
}

TEST_CASE("in a folder of somebody else's things are made the same, and nothing is left behind" *
          doctest::skip(kNotRoot)) {
  Written at;
  at.folder("theirs");
  REQUIRE(::chown((at / "theirs").c_str(), kStranger, kStranger) == 0);
  SUBCASE("his alone") {}
  SUBCASE("with the group's bit") {
    REQUIRE(::chmod((at / "theirs").c_str(), 02775) == 0);
  }
  SUBCASE("open to all, and sticky") {
    REQUIRE(::chown((at / "theirs").c_str(), 0, 0) == 0);
    REQUIRE(::chmod((at / "theirs").c_str(), 01777) == 0);
  }
  CHECK(at.writer.write_file("/theirs/f", Seen(), "new", {.uid = 7, .gid = 8, .mode = 0640}));
  CHECK(at.writer.write_file("/theirs/f", Seen(**at.tree.look("/theirs/f")), "newer",
                             {.uid = 7, .mode = 0600}));
  CHECK(at.writer.make_link("/theirs/l", Seen(), "f", {.uid = 7, .gid = 8}));
  CHECK(at.writer.make_link("/theirs/l", Seen(**at.tree.look("/theirs/l")), "g", {.uid = 9}));
  CHECK(at.writer.make_folder("/theirs/d", {.uid = 7, .gid = 8, .mode = 0550}));
  CHECK_FALSE(at.writer.make_folder("/theirs/d", {}));
  CHECK(at.read("theirs/f") == "newer");
  CHECK(at.mode("theirs/f") == 0600);
  CHECK(*at.tree.read_link("/theirs/l") == "g");
  CHECK(at.look("theirs/l").st_uid == 9);
  CHECK(at.mode("theirs/d") == 0550);
  CHECK(at.look("theirs/d").st_gid == 8);
  CHECK(at.count("theirs") == 3);
}

TEST_CASE("file systems that cannot make files without a name: all is the same under a temporary one") {
  Written at;
  at.write("replaced", "old");
  at.folder("in-the-way");
  std::thread refused([&] {
    REQUIRE(tests::refuse_nameless_files());
    CHECK(at.writer.write_file("/new", Seen::anything(), "whole", {.mode = 0644}));
    CHECK(at.writer.write_file("/replaced", Seen::anything(), "whole", {.mode = 0600}));
    CHECK_FALSE(at.writer.write_file("/in-the-way", Seen::anything(), "whole", {}));
  });
  refused.join();
  CHECK(at.read("new") == "whole");
  CHECK(at.mode("new") == 0644);
  CHECK(at.read("replaced") == "whole");
  CHECK(at.mode("replaced") == 0600);
  CHECK(at.count("") == 3);
}

TEST_CASE("a new folder is never seen without its mode") {
  Written at;
  std::atomic<bool> over = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> seen = 0;
  std::thread observer([&] {
    struct stat st {};
    while (!over) {
      if (::stat((at / "d").c_str(), &st) != 0) continue;
      ++seen;
      if ((st.st_mode & 07777) != 01777) ++wrong;
    }
  });
  for (int i = 0; i < 2000; ++i) {
    REQUIRE(at.writer.make_folder("/d", {.mode = 01777}));
    REQUIRE(::rmdir((at / "d").c_str()) == 0);
  }
  over = true;
  observer.join();
  CHECK(seen > 0);
  CHECK(wrong == 0);
}

TEST_CASE("a folder is not made where something is already") {
  Written at;
  at.write("f", "keep");
  at.folder("empty");
  CHECK(at.writer.make_folder("/f", {}).error().code() == ErrorCode::exists);
  CHECK(at.writer.make_folder("/empty", {}).error().code() == ErrorCode::exists);
  CHECK(at.read("f") == "keep");
  CHECK(at.count("") == 2);
}

TEST_CASE("a link replaces a link, and owner changes are the link's own" * doctest::skip(kNotRoot)) {
  Written at;
  at.write("target", "");
  at.link("l", "elsewhere");
  CHECK(at.writer.make_link("/l", Seen::anything(), "target", {.uid = kStranger, .gid = kStranger}));
  CHECK(*at.tree.read_link("/l") == "target");
  CHECK(at.look("l").st_uid == kStranger);
  CHECK(at.look("target").st_uid == 0);
  CHECK_FALSE(at.writer.set_attributes("/l", Seen::anything(), {.uid = 7, .mode = 0}));
  CHECK(at.look("l").st_uid == kStranger);
  CHECK(at.look("target").st_uid == 0);
  CHECK(at.mode("target") != 0);
}

TEST_CASE("owner and mode are set on files, folders and the root itself" * doctest::skip(kNotRoot)) {
  Written at;
  at.write("f", "");
  at.folder("d");
  at.link("to-d", "d");
  CHECK(at.writer.set_attributes("/f", Seen::anything(), {.uid = kStranger, .mode = 04755}));
  CHECK(at.mode("f") == 04755);  // chown had cleared it
  CHECK(at.look("f").st_uid == kStranger);
  CHECK(at.writer.set_attributes("/", Seen::anything(), {.mode = 0711}));
  CHECK(at.mode("") == 0711);
  CHECK(at.writer.set_folder_attributes("/to-d", Seen::anything(), {.gid = kStranger, .mode = 02750}));
  CHECK(at.mode("d") == 02750);
  CHECK(at.look("d").st_gid == kStranger);
  CHECK(at.look("to-d").st_gid == 0);
  CHECK_FALSE(at.writer.set_attributes("/no", Seen::anything(), {.mode = 0700}));
}

TEST_CASE("attributes below a folder are set on what differs, never through links") {
  Written at;
  at.write("top/a/f", "");
  at.write("top/g", "");
  at.write("outside/h", "");
  at.link("top/l", "../outside");
  at.link("top/lh", "../outside/h");
  const auto files_0600 = [](const struct stat& st) -> std::optional<Attributes> {
    if (!S_ISREG(st.st_mode) || (st.st_mode & 07777) == 0600) return std::nullopt;
    return Attributes{.mode = 0600};
  };
  const mode_t outside = at.mode("outside/h");
  CHECK(*at.writer.set_attributes_below("/top", Seen::anything(), files_0600, at.never) == 2);
  CHECK(*at.writer.set_attributes_below("/top", Seen::anything(), files_0600, at.never) == 0);
  CHECK(at.mode("top/a/f") == 0600);
  CHECK(at.mode("outside/h") == outside);
}

TEST_CASE("a removed tree is gone, what its links point to is not") {
  Written at;
  at.write("top/a/b/c", "");
  at.write("outside/keep", "x");
  at.link("top/a/l", "../../outside");
  REQUIRE(::mkfifo((at / "top/p").c_str(), 0600) == 0);
  CHECK(at.writer.remove_tree("/top", Seen::anything(), at.never));
  CHECK_FALSE(at.exists("top"));
  CHECK(at.read("outside/keep") == "x");
  at.link("l", "outside");
  CHECK_FALSE(at.writer.remove_tree("/l", Seen::anything(), at.never));
  CHECK_FALSE(at.writer.remove_tree("/", Seen::anything(), at.never));
  CHECK(at.writer.remove("/l", Seen::anything()));
  CHECK(at.writer.remove("/l", Seen::anything()));
  CHECK(at.read("outside/keep") == "x");
  CHECK_FALSE(at.writer.remove("/outside", Seen::anything()));
}

TEST_CASE("removing a tree stops soon after it is asked to") {
  Written at;
  for (int i = 0; i < 100; ++i)
    at.write("top/" + std::to_string(i), "");
  InterruptAfter ten(10);
  CHECK(at.writer.remove_tree("/top", Seen::anything(), ten).error().code() == ErrorCode::cancelled);
  CHECK(at.count("top") == 90);
}

TEST_CASE("mount points are neither removed nor entered" * doctest::skip(kNotRoot)) {
  const ScratchFolder at;
  at.folder("top/mounted");
  at.write("elsewhere/keep", "x");
  const std::string wrong = tests::in_own_mounts([&]() -> std::string {
    // A bind mount is on the same device: comparing st_dev would not see it.
    if (::mount((at / "elsewhere").c_str(), (at / "top/mounted").c_str(), nullptr, MS_BIND, nullptr) != 0)
      return "no bind mount";
    Below here(at.path());  // opened where the mount is
    const std::string nested = error_of(here.writer.remove_tree("/top", Seen::anything(), here.never));
    if (nested != "/top/mounted is a mount point, not removed") return "nested: " + nested;
    const std::string itself =
        error_of(here.writer.remove_tree("/top/mounted", Seen::anything(), here.never));
    if (itself != "/top/mounted is a mount point, not removed") return "itself: " + itself;
    const auto all = [](const struct stat&) { return std::optional(Attributes{.mode = 0777}); };
    auto set = here.writer.set_attributes_below("/top", Seen::anything(), all, here.never);
    if (!set || *set != 0) return "attributes were set on another mount";
    return {};
  });
  CHECK(wrong == "");
  CHECK(at.read("elsewhere/keep") == "x");
}

TEST_CASE("on a full disk the old file stays, and no temporary" * doctest::skip(kNotRoot)) {
  const ScratchFolder at;
  at.folder("disk");
  const std::string wrong = tests::in_own_mounts([&]() -> std::string {
    if (::mount("none", (at / "disk").c_str(), "tmpfs", 0, "size=64k,nr_inodes=5") != 0) return "no tmpfs";
    Below here(at.path());  // opened where the mount is
    if (auto written = here.writer.write_file("/disk/f", Seen::anything(), "old", {}); !written)
      return error_of(written);
    auto written = here.writer.write_file("/disk/f", Seen::anything(), std::string(1024 * 1024, 'x'), {});
    if (written || written.error().code() != ErrorCode::no_space) return "large: " + error_of(written);
    if (error_of(written) != "writing /disk/f: cannot write: No space left on device")
      return error_of(written);
    if (at.read("disk/f") != "old") return "the old file is not as it was";
    if (at.count("disk") != 1) return "something was left behind";
    for (int i = 0; here.writer.make_folder("/disk/d" + std::to_string(i), {}); ++i)
      if (i > 10) return "more inodes than there are";
    const auto folder = here.writer.make_folder("/disk/x", {});
    if (folder.error().code() != ErrorCode::no_space) return "folder: " + error_of(folder);
    const auto link = here.writer.make_link("/disk/l", Seen::anything(), "f", {});
    if (link.error().code() != ErrorCode::no_space) return "link: " + error_of(link);
    return {};
  });
  CHECK(wrong == "");
}

TEST_CASE("on a read-only disk every change is refused as such" * doctest::skip(kNotRoot)) {
  const ScratchFolder at;
  at.folder("disk");
  const std::string wrong = tests::in_own_mounts([&]() -> std::string {
    const std::string disk = at / "disk";
    if (::mount("none", disk.c_str(), "tmpfs", 0, nullptr) != 0) return "no tmpfs";
    at.write("disk/f", "old");
    at.folder("disk/d");
    if (::mount("none", disk.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) return "no remount";
    Below here(at.path());  // opened where the mount is
    const Result<void> all[] = {here.writer.write_file("/disk/f", Seen::anything(), "new", {}),
                                here.writer.make_folder("/disk/x", {}),
                                here.writer.make_link("/disk/l", Seen::anything(), "f", {}),
                                here.writer.set_attributes("/disk/f", Seen::anything(), {.mode = 0600}),
                                here.writer.remove("/disk/f", Seen::anything()),
                                here.writer.remove_tree("/disk/d", Seen::anything(), here.never)};
    for (const Result<void>& one : all)
      if (one || one.error().code() != ErrorCode::read_only) return "not refused: " + error_of(one);
    return at.read("disk/f") == "old" ? "" : "the file is not as it was";
  });
  CHECK(wrong == "");
}

// A user owns /home and exchanges, as fast as he can, the folder that root works in with a link of his that
// leads to where only root may write.
TEST_CASE("whoever swaps a folder for a link all the time never makes us touch what is outside" *
          doctest::skip(kNotRoot)) {
  Written at;
  at.folder("home/d");
  at.write("outside/f", "precious");
  at.write("outside/sub/keep", "precious");
  at.link("home/swap", "../outside");
  REQUIRE(::lchown((at / "home/swap").c_str(), kStranger, kStranger) == 0);
  REQUIRE(::chown((at / "home").c_str(), kStranger, kStranger) == 0);
  const auto everything = [&] {
    std::string all;
    for (const char* path : {"outside", "outside/f", "outside/sub", "outside/sub/keep"}) {
      const struct stat st = at.look(path);
      all += std::string(path) + " " + std::to_string(st.st_mode) + " " + std::to_string(st.st_uid) + " " +
             std::to_string(st.st_ino) + " " + std::to_string(st.st_ctim.tv_nsec) + "\n";
    }
    return all + at.read("outside/f") + std::to_string(at.count("outside")) +
           std::to_string(at.count("outside/sub"));
  };
  const std::string before = everything();

  std::atomic<bool> over = false;
  std::thread swapper([&] {
    const std::string folder = at / "home/d";
    const std::string link = at / "home/swap";
    while (!over)
      ::renameat2(AT_FDCWD, folder.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
  });
  int worked = 0;
  int refused = 0;
  const auto tally = [&](bool ok) { ++(ok ? worked : refused); };
  const auto to_stranger = [](const struct stat& st) {
    return st.st_uid == kStranger ? std::nullopt : std::optional(Attributes{.uid = kStranger});
  };
  // Seven writes each; OPSAGENT_SWAP_ROUNDS=15000 makes it a hundred thousand.
  const char* const asked = std::getenv("OPSAGENT_SWAP_ROUNDS");
  const int rounds = asked ? std::atoi(asked) : 3000;
  // On a busy machine the swapper may not come to run for all of them: on, until both were seen.
  for (int i = 0; i < rounds || (std::min(worked, refused) <= 100 && i < 100 * rounds); ++i) {
    at.tree.forget();  // as at the start of a round: the path is resolved anew
    tally(bool(
        at.writer.write_file("/home/d/f", Seen::anything(), "written", {.uid = kStranger, .mode = 0666})));
    at.tree.forget();
    tally(bool(at.writer.set_attributes("/home/d/f", Seen::anything(), {.uid = kStranger, .mode = 0600})));
    at.tree.forget();
    tally(bool(at.writer.make_folder("/home/d/sub", {.uid = kStranger})));
    at.tree.forget();
    tally(bool(at.writer.set_attributes_below("/home/d", Seen::anything(), to_stranger, at.never)));
    at.tree.forget();
    tally(bool(at.writer.set_folder_attributes("/home/d", Seen::anything(), {.uid = kStranger})));
    tally(bool(at.writer.remove_tree("/home/d/sub", Seen::anything(), at.never)));
    at.tree.forget();
    tally(bool(at.writer.remove("/home/d/f", Seen::anything())));
  }
  over = true;
  swapper.join();
  CHECK(everything() == before);
  CHECK(worked > 100);   // else nothing was tried …
  CHECK(refused > 100);  // … or nothing was swapped
}

TEST_CASE("what is large is read and written only for as long as nobody asks to stop") {
  Written at;
  const std::string large(8 * 1024 * 1024, 'x');
  at.write("f", large);
  struct stat before = at.look("f");
  InterruptAfter few(3);
  at.tree.heed(&few);
  const auto written = at.writer.write_file("/f", Seen::anything(), large + "y", {});
  REQUIRE_FALSE(written);
  CHECK(written.error().code() == ErrorCode::cancelled);
  CHECK(at.look("f").st_ino == before.st_ino);
  CHECK(at.read("f").size() == large.size());
  CHECK(at.count("") == 1);
  const auto compared = at.tree.has_content("/f", large);
  REQUIRE_FALSE(compared);
  CHECK(compared.error().code() == ErrorCode::cancelled);
  std::size_t read = 0;
  const auto pieces = at.tree.read_pieces("/f", [&](std::string_view piece) { read += piece.size(); });
  CHECK_FALSE(pieces);
  CHECK(read < large.size());
  const auto again = at.writer.write_again("/f");
  REQUIRE_FALSE(again);
  CHECK(again.error().code() == ErrorCode::cancelled);
  CHECK(at.look("f").st_ino == before.st_ino);
  // What is small is whole before anybody is asked: whoever tidies up after a stop can write it.
  CHECK(at.writer.write_file("/small", Seen::anything(), "x", {}));
  CHECK(at.tree.has_content("/small", "x"));
  at.tree.heed(nullptr);
  CHECK(at.writer.write_again("/f"));
  CHECK(at.look("f").st_ino != before.st_ino);
  CHECK(at.tree.has_content("/f", large));
}

}  // namespace base
