#include "agent/engine/records/journal.hpp"

#include <doctest/doctest.h>

#include "tests/support/scratch_folder.hpp"

namespace {

using agent::engine::Journal;

struct OnDisk : tests::ScratchFolder {
  std::unique_ptr<Journal> open() const {
    auto journal = Journal::open(*this / "journal");
    REQUIRE(journal);
    return std::move(*journal);
  }
  std::string unfinished() const {
    auto entries = open()->unfinished();
    REQUIRE(entries);
    std::string ids;
    for (const Journal::Entry& entry : *entries)
      ids += entry.id + " ";
    return ids;
  }
};

Journal::Entry entry(std::size_t index, std::string id) {
  return {.digest = "d", .index = index, .id = std::move(id)};
}

}  // namespace

TEST_CASE("what was begun and not confirmed is unfinished, for whoever opens the journal next") {
  const OnDisk disk;
  const auto journal = disk.open();
  REQUIRE(journal->begin(entry(0, "a")));
  REQUIRE(journal->begin(entry(1, "b")));
  REQUIRE(journal->begin(entry(2, "c")));
  CHECK(disk.unfinished() == "a b c ");
  REQUIRE(journal->done({}, 1));
  CHECK(disk.unfinished() == "c ");
  REQUIRE(journal->clear());
  CHECK(disk.unfinished() == "");
  CHECK(disk.read("journal") == "");
}

TEST_CASE("a torn last line costs that line only, not the one that is written next") {
  const OnDisk disk;
  REQUIRE(disk.open()->begin(entry(0, "whole")));
  disk.write("journal", disk.read("journal") + "0123456789abcdef {\"beg");
  const auto journal = disk.open();
  REQUIRE(journal->unfinished());
  REQUIRE(journal->begin(entry(1, "next")));
  CHECK(disk.unfinished() == "whole next ");
}

TEST_CASE("a damaged line is passed over") {
  const OnDisk disk;
  REQUIRE(disk.open()->begin(entry(0, "a")));
  std::string text = disk.read("journal");
  text[20] ^= 1;
  disk.write("journal", text);
  REQUIRE(disk.open()->begin(entry(1, "b")));
  CHECK(disk.unfinished() == "b ");
}

TEST_CASE("on a full disk a record is refused, and half of it does not spoil the next" *
          doctest::skip(::geteuid() != 0)) {
  CHECK(tests::in_own_mounts([]() -> std::string {
          const OnDisk disk;
          if (::mount("none", disk.path().c_str(), "tmpfs", 0, "size=64k") != 0) return "no tmpfs";
          const auto journal = disk.open();
          int fitted = 0;
          while (journal->begin(entry(1, std::string(20'000, 'x'))))
            ++fitted;
          if (fitted != 3) return "fitted: " + std::to_string(fitted);  // and a part of the fourth
          if (!journal->done({}, 1) || !journal->begin(entry(2, "small")))
            return "no room for a small record";
          return disk.unfinished() == "small " ? "" : "unfinished: " + disk.unfinished();
        }) == "");
}

TEST_CASE("a journal that has grown keeps what is unfinished, for whoever has it open") {
  const OnDisk disk;
  const auto journal = disk.open();
  const auto other = disk.open();  // a run that waits for the lock
  const auto third = disk.open();
  REQUIRE(journal->begin({.root = "", .begun_in = {.run_id = "r", .round = 1}, .index = 7, .id = "begun"}));
  std::size_t written = 0;
  for (std::uint64_t round = 2; written < 2'000'000; ++round, written += 20'000) {
    Journal::Entry entry{.begun_in = {.run_id = "r", .round = round}, .id = std::string(20'000, 'x')};
    REQUIRE(journal->begin(entry));
    REQUIRE(journal->done(entry.begun_in, 0));
    REQUIRE(journal->compact());
    CHECK(disk.look("journal").st_size < 1'100'000);
  }
  CHECK(disk.look("journal").st_size < 1'000'000);
  CHECK(disk.mode("journal") == 0600);
  REQUIRE(journal->begin(entry(8, "later")));
  const auto seen = other->unfinished();
  REQUIRE(seen);
  REQUIRE(seen->size() == 2);
  CHECK(seen->front().id == "begun");
  CHECK(seen->back().id == "later");
  REQUIRE(other->begin(entry(9, "other")));
  CHECK(disk.unfinished() == "begun later other ");
  // A run that has let go of the lock in the middle of a round.
  REQUIRE(third->reopen());
  REQUIRE(third->begin(entry(10, "third")));
  CHECK(disk.unfinished() == "begun later other third ");
}

TEST_CASE("a journal that is removed while it is open is made anew, and not written to in vain") {
  const OnDisk disk;
  const auto journal = disk.open();
  REQUIRE(journal->begin(entry(0, "a")));
  std::filesystem::remove(disk / "journal");
  REQUIRE(journal->unfinished());
  REQUIRE(journal->begin(entry(1, "b")));
  CHECK(disk.unfinished() == "b ");
}
