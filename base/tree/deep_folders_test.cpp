// Folders that somebody has nested more deeply than we can have descriptors open.
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "base/files/folder_walk.hpp"
#include "base/tree/tree_writer.hpp"
#include "tests/support/scratch_folder.hpp"

namespace base {

namespace {

constexpr int kDepth = 3000;

// A folder "deep" with folders a, d and z in it and in every d, and few descriptors to go through them.
class DeepFolders : public tests::ScratchFolder {
 public:
  DeepFolders() : ScratchFolder(tests::folder_in_memory()) {
    folder("deep");
    UniqueFd at(::open((*this / "deep").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < kDepth; ++i) {
      for (const char* name : {"a", "d", "z"})
        REQUIRE(::mkdirat(at.get(), name, 0755) == 0);
      at.reset(::openat(at.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
    }
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual_) == 0);
    const rlimit few{.rlim_cur = 256, .rlim_max = usual_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  }
  ~DeepFolders() {
    for (const char* name : {"/deep", "/moved"})
      if (const auto found = tree.look(name); found && *found)
        CHECK(writer.remove_tree(name, Seen(**found), never));
    ::setrlimit(RLIMIT_NOFILE, &usual_);
  }

  Tree tree{path()};
  SyncGroup sync;
  TreeWriter writer{tree, sync};
  NoInterrupt never;

 private:
  rlimit usual_{};
};

}  // namespace

TEST_CASE("a walk visits all of folders that are nested more deeply than descriptors can be open") {
  DeepFolders at;
  int visited = 0;
  std::size_t longest = 0;
  const auto count = [&](const WalkEntry& entry) -> Result<void> {
    ++visited;
    longest = std::max(longest, entry.path().size());
    return {};
  };
  CHECK(walk_below(*at.tree.folder("/deep"), "/deep", at.never, count));
  CHECK(visited == 3 * kDepth);
  CHECK(longest > 4000);
  CHECK(longest <= 4096 + 8);  // no path leads further
}

TEST_CASE("a walk goes on above folders that are moved away while it is deep below them") {
  DeepFolders at;
  at.folder("deep/d/other");  // found before or after, but found
  bool is_moved = false;
  int after = 0;
  const auto move = [&](const WalkEntry& entry) -> Result<void> {
    if (is_moved) ++after;
    if (!is_moved && entry.path().size() > 4000)
      is_moved = ::rename((at / "deep/d/d").c_str(), (at / "moved").c_str()) == 0;
    return {};
  };
  CHECK(walk_below(*at.tree.folder("/deep"), "/deep", at.never, move));
  CHECK(is_moved);
  CHECK(after > 0);
}

TEST_CASE("folders that are nested more deeply than descriptors can be open are removed") {
  DeepFolders at;
  const auto removed = at.writer.remove_tree("/deep", Seen(**at.tree.look("/deep")), at.never);
  CHECK_MESSAGE(removed, (removed ? "" : removed.error().message()));
  CHECK(at.count(".") == 0);
}

TEST_CASE("owner and mode are set on all of folders that are nested more deeply") {
  DeepFolders at;
  const auto closed = [](const struct stat& st) {
    return (st.st_mode & 0777) == 0700 ? std::nullopt : std::optional(Attributes{.mode = 0700});
  };
  const auto set = at.writer.set_attributes_below("/deep", Seen(**at.tree.look("/deep")), closed, at.never);
  REQUIRE_MESSAGE(set, (set ? "" : set.error().message()));
  CHECK(*set == 3 * kDepth);
}

}  // namespace base
