// What is on disk of reactions that are due, and of what was done once.
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include <doctest/doctest.h>

#include "agent/engine/control/due_reactions.hpp"
#include "agent/engine/control/once_store.hpp"
#include "base/fnv.hpp"
#include "tests/support/scratch_folder.hpp"

namespace {

using agent::engine::DoneOnce;
using agent::engine::DueReactions;
using agent::engine::OnceStore;
using recipe::Reaction;
using Status = DueReactions::Status;

const states::Registry& native() {
  static const states::Registry known{states::native_states()};
  return known;
}

std::shared_ptr<const recipe::Recipe> two_states(const std::string& follower = "b") {
  auto loaded =
      recipe::load_text("r.yaml",
                        "version: 2\nstates:\n"
                        "- { id: a, module: linux.file, parameter: { path: /a } }\n"
                        "- { id: " +
                            follower + ", module: linux.file, parameter: { path: /b }, on_change_of: a }\n",
                        native());
  REQUIRE(loaded.recipe);
  return loaded.recipe;
}

struct StoresOnDisk : tests::ScratchFolder {
  base::SyncGroup sync;
  DueReactions due{*this / "reactions", sync};
  std::shared_ptr<const recipe::Recipe> recipe = two_states();

  Status status() { return due.status("", "b", Reaction::run, "a"); }
  // As another process finds it.
  Status again() {
    REQUIRE(due.load());
    return status();
  }
};

}  // namespace

TEST_CASE(
    "a change that is begun is due when it is made, and over when it was followed, for whoever reads it "
    "next") {
  StoresOnDisk disk;
  REQUIRE(disk.due.load());
  CHECK(disk.status() == Status::nothing);
  REQUIRE(disk.due.succeeded("", *disk.recipe, 0, false));
  CHECK_FALSE(disk.exists("reactions"));  // nothing to say
  REQUIRE(disk.due.begin("", *disk.recipe, 0));
  CHECK(disk.sync.pending());  // on disk before the journal lets go of the change
  CHECK(disk.again() == Status::begun);
  REQUIRE(disk.due.succeeded("", *disk.recipe, 0, false));
  CHECK(disk.again() == Status::due);
  REQUIRE(disk.due.followed("", "b", "r/1/1"));
  CHECK(disk.again() == Status::nothing);
  CHECK(disk.due.has_followed("", "b", "r/1/1"));
  struct stat st {};
  REQUIRE(::stat((disk / "reactions").c_str(), &st) == 0);
  CHECK((st.st_mode & 0777) == 0600);
  REQUIRE(disk.due.tidy("", *disk.recipe, true));
  CHECK(disk.read("reactions").empty());
}

TEST_CASE("a change that a state had begun which has left the recipe is due: nobody will say more of it") {
  StoresOnDisk disk;
  REQUIRE(disk.due.load());
  REQUIRE(disk.due.begin("", *disk.recipe, 0));
  disk.due.adopt("", *disk.recipe);
  CHECK(disk.status() == Status::begun);
  disk.due.adopt("/elsewhere", *two_states("c"));
  CHECK(disk.status() == Status::begun);
  disk.due.adopt("", *two_states("c"));
  CHECK(disk.status() == Status::due);
}

TEST_CASE("torn and damaged lines of what is due cost those lines only") {
  StoresOnDisk disk;
  REQUIRE(disk.due.load());
  REQUIRE(disk.due.succeeded("", *disk.recipe, 0, true));
  const std::string whole = disk.read("reactions");
  for (const std::string& other :
       {whole.substr(0, 40), std::string("0123456789abcdef {}\n\n\n"), std::string("\0\0\0", 3)}) {
    disk.write("reactions", whole + other);
    CHECK(disk.again() == Status::due);
    REQUIRE(disk.due.followed("", "b", "r/1/1"));
    CHECK(disk.again() == Status::nothing);
  }
  std::string damaged = whole;
  damaged[30] ^= 1;
  disk.write("reactions", damaged);
  CHECK(disk.again() == Status::nothing);
}

TEST_CASE("what is due stays small on disk, and is forgotten when its states are long gone") {
  StoresOnDisk disk;
  REQUIRE(disk.due.load());
  for (int round = 0; round < 1'000; ++round) {
    REQUIRE(disk.due.succeeded("", *disk.recipe, 0, true));
    REQUIRE(disk.due.followed("", "b", "r/1/1"));
    REQUIRE(disk.due.tidy("", *disk.recipe, false));
  }
  CHECK(disk.read("reactions").size() < 400'000);
  const std::string json =
      R"({"state":"b","is_to":"run","because":"a","root":"","status":"due","at":1,"reacted":[]})";
  disk.write("reactions", base::fnv1a_hex(json) + " " + json + "\n");
  CHECK(disk.again() == Status::due);
  REQUIRE(disk.due.tidy("", *disk.recipe, true));
  CHECK(disk.again() == Status::due);  // its follower is there
  REQUIRE(disk.due.tidy("", *two_states("c"), true));
  CHECK(disk.again() == Status::nothing);
}

TEST_CASE("what was done once is known to all, whoever adds at the same time") {
  tests::ScratchFolder disk;
  const auto add = [&](const std::string& id) {
    OnceStore store(disk.path());
    for (int i = 0; i < 20; ++i)
      if (!store.add({.root = "", .id = id, .key = std::to_string(i), .at = {}, .report = {}})) return;
  };
  std::thread one(add, "one");
  std::thread other(add, "other");
  one.join();
  other.join();
  OnceStore store(disk.path());
  REQUIRE(store.list());
  CHECK(store.list()->size() == 40);
  REQUIRE(store.find("", "one", "7"));
  CHECK(store.find("", "one", "7")->has_value());
  CHECK_FALSE(store.find("/mnt", "one", "7")->has_value());
  CHECK(*store.forget("one", "") == 20);
  CHECK_FALSE(store.find("", "one", "7")->has_value());
  CHECK(*store.forget("one", "") == 0);
}

TEST_CASE("what was done once is never forgotten to make room: one more is refused with words") {
  tests::ScratchFolder disk;
  std::string text = "{\"done\":[";
  for (std::size_t i = 0; i < OnceStore::kMost; ++i)
    text += (i == 0 ? "" : ",") + std::string(R"({"state":"s","key":")") + std::to_string(i) + "\"}";
  disk.write("once", text + "]}\n");
  OnceStore store(disk.path());
  const auto room = store.has_room();
  REQUIRE_FALSE(room);
  CHECK(room.error().message().find("opsagent once forget ID") != std::string::npos);
  CHECK_FALSE(store.add({.root = "", .id = "t", .key = "k", .at = {}, .report = {}}));
  CHECK(store.find("", "s", "0")->has_value());
}

TEST_CASE("a disk that is too full to remember what was done is noticed before it is done" *
          doctest::skip(::geteuid() != 0)) {
  CHECK(tests::in_own_mounts([]() -> std::string {
          const tests::ScratchFolder scratch;
          if (::mount("none", scratch.path().c_str(), "tmpfs", 0, "size=64k") != 0) return "no tmpfs";
          std::string wrong;
          OnceStore once(scratch.path());
          if (!once.has_disk()) wrong = "an empty disk is said to be full";
          scratch.write("fill", std::string(60 * 1024, 'x'));
          const auto full = once.has_disk();
          if (full || full.error().message().find("No space left") == std::string::npos)
            wrong = "a full disk is not noticed";
          if (scratch.exists("once.room")) wrong = "something stays behind";
          ::umount2(scratch.path().c_str(), MNT_DETACH);
          return wrong;
        }) == "");
}
