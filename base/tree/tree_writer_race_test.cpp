// TreeWriter against a user who owns the folder and renames things in it between any two of its calls, where
// that needs more than a state can show. OPSAGENT_SWAP_ROUNDS=100000 is the long form; see
// docs/reliability.md, and states/files/race_test.cpp for the states.
//
// Compiled alone: its names are those of other tests.

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/tree/tree_writer.hpp"
#include "tests/support/nameless_files.hpp"
#include "tests/support/racing_user.hpp"

namespace base {

namespace {

using tests::ContestedFolder;
using tests::kRacer;
using tests::RacingUser;

const bool kNotRoot = ::geteuid() != 0;
constexpr int kInEveryRun = 300;

struct Race {
  ContestedFolder folder;
  Tree tree{folder.path()};
  SyncGroup sync;
  TreeWriter writer{tree, sync};
  NoInterrupt never;
  int worked = 0;
  int refused = 0;
  long swaps = 0;

  // `act` after `reset`, over and over, against each way to swap. Answers what went wrong first, or "".
  std::string run(const std::vector<std::function<bool()>>& ways, const std::function<void()>& reset,
                  const std::function<bool()>& act, const std::function<std::string()>& check = {}) {
    const std::string before = folder.outside();
    for (const auto& way : ways) {
      RacingUser user(folder / "home", way);
      for (int round = 0; round < tests::swap_rounds(kInEveryRun); ++round) {
        user.hold();
        folder.restore();
        reset();
        // Now and then he lets it be: what is refused then is refused always, and the race would show
        // nothing.
        if (round % 16 != 0) user.release();
        tree.forget();
        writer.renew_scratch();
        ++(act() ? worked : refused);
        user.hold();
        std::string wrong = folder.stolen();
        const bool is_time = round % 256 == 0 || round + 1 == tests::swap_rounds(kInEveryRun);
        if (wrong.empty() && is_time && folder.outside() != before) wrong = "what is outside was touched";
        if (wrong.empty() && check) wrong = check();
        if (!wrong.empty()) return "in round " + std::to_string(round) + ": " + wrong;
        user.release();
      }
      swaps += user.swaps();
    }
    return {};
  }
  void tell(const char* name) const {
    MESSAGE(std::string(name) << ": " << worked + refused << " rounds, " << worked << " worked, " << refused
                              << " refused, " << swaps << " swaps");
  }
};

}  // namespace

TEST_CASE("owner and mode are set on what the plan has seen, whatever a user puts in its place" *
          doctest::skip(kNotRoot)) {
  Race race;
  Seen seen;
  SUBCASE("a file") {
    CHECK(race.run(
              {tests::swapping("t", tests::kEvilFile), tests::swapping("t", tests::kEvilLink),
               tests::swapping("t", tests::kEvilFolder)},
              [&] {
                race.folder.give_file("t", "wanted");
                seen = Seen(race.folder.look("home/t"));
              },
              [&] { return bool(race.writer.set_attributes("/home/t", seen, {.uid = 0, .mode = 0644})); }) ==
          "");
    race.tell("set_attributes");
  }
  SUBCASE("a folder") {
    CHECK(race.run(
              {tests::swapping("t", tests::kSecret), tests::swapping("t", tests::kEvilLink)},
              [&] {
                race.folder.give_folder("t");
                seen = Seen(race.folder.look("home/t"));
              },
              [&] {
                return bool(
                    race.writer.set_folder_attributes("/home/t", seen, {.uid = kRacer, .mode = 0777}));
              }) == "");
    race.tell("set_folder_attributes");
  }
  SUBCASE("all that is below a folder") {
    const auto to_user = [](const struct stat& st) {
      return st.st_uid == kRacer ? std::nullopt : std::optional(Attributes{.uid = kRacer, .mode = 0777});
    };
    CHECK(race.run(
              {tests::swapping("t", tests::kSecret), tests::swapping("t", tests::kEvilLink),
               tests::swapping("t/a", tests::kEvilLink)},
              [&] {
                race.folder.give_folder("t");
                race.folder.write("home/t/a/f", "");
                seen = Seen(race.folder.look("home/t"));
              },
              [&] { return bool(race.writer.set_attributes_below("/home/t", seen, to_user, race.never)); }) ==
          "");
    race.tell("set_attributes_below");
  }
  CHECK(race.swaps > 0);
  CHECK(race.worked > 0);
  CHECK(race.refused > 0);
}

TEST_CASE("a file is not taken from a user who opens it just then and writes to it afterwards" *
          doctest::skip(kNotRoot)) {
  Race race;
  Seen seen;
  bool is_taken = false;
  const auto open_and_write = [turn = 0U]() mutable {
    const auto wait = [](unsigned turns) {
      for (unsigned i = 0; i < turns * 1000; ++i)
        std::atomic_signal_fence(std::memory_order_seq_cst);
    };
    wait(++turn % 32);  // it is closed most of the time: else it is never taken
    const UniqueFd file(::open("t", O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    wait(turn % 4);
    return file && ::pwrite(file.get(), "evil", 4, 0) == 4;
  };
  CHECK(race.run(
            {open_and_write},
            [&] {
              race.folder.give_file("t", "wanted");
              seen = Seen(race.folder.look("home/t"));
            },
            [&] {
              is_taken = bool(race.writer.set_attributes("/home/t", seen, {.uid = 0, .mode = 0644}));
              // From here on it says what root wants.
              if (is_taken) race.folder.write("home/t", "wanted");
              return is_taken;
            },
            [&]() -> std::string {
              const bool is_his = race.folder.look("home/t").st_uid == kRacer;
              if (!is_taken) return is_his ? "" : "it was refused, and taken";
              return race.folder.read("home/t") == "wanted" ? "" : "he wrote to root's file";
            }) == "");
  race.tell("set_attributes, opened just then");
  CHECK(race.swaps > 0);
  CHECK(race.worked > 0);
}

TEST_CASE("a tree is removed that the plan has seen, not root's own that a user puts in its place" *
          doctest::skip(kNotRoot)) {
  Race race;
  Seen seen;
  CHECK(race.run(
            {tests::swapping("t", tests::kSecret)},
            [&] {
              race.folder.clear("t");
              race.folder.write("home/t/a/f", "");
              race.folder.write("home/t/b/f", "");
              seen = Seen(race.folder.look("home/t"));
            },
            [&] { return bool(race.writer.remove_tree("/home/t", seen, race.never)); },
            [&]() -> std::string {
              const bool is_kept =
                  race.folder.exists("home/t/secret") || race.folder.exists("home/secret/secret");
              return is_kept ? "" : "root's secret was removed";
            }) == "");
  race.tell("remove_tree");
  CHECK(race.swaps > 0);
  CHECK(race.worked > 0);
}

TEST_CASE("files are safe from a user's swaps also where each needs a temporary name" *
          doctest::skip(kNotRoot)) {
  Race race;
  std::thread raced([&] {
    REQUIRE(tests::refuse_nameless_files());
    const std::vector<std::function<bool()>> ways{
        tests::swapping_scratch(), tests::swapping_computed_scratch("t"),
        tests::swapping("t", tests::kEvilLink), tests::swapping("t", tests::kEvilFile),
        tests::swapping("t", tests::kEvilFolder)};
    CHECK(race.run(
              ways, [&] { race.folder.clear("t"); },
              [&] {
                return bool(
                    race.writer.write_file("/home/t", Seen::anything(), "wanted", {.uid = 0, .mode = 0600}));
              }) == "");
    race.tell("write_file, new, without O_TMPFILE");
    CHECK(race.run(
              ways, [&] { race.folder.give_file("t", "other"); },
              [&] {
                return bool(race.writer.write_file("/home/t", Seen::anything(), "wanted",
                                                   {.uid = kRacer, .mode = 0666}));
              }) == "");
    race.tell("write_file, both, without O_TMPFILE");
  });
  raced.join();
  CHECK(race.swaps > 0);
  CHECK(race.worked > 0);
}

TEST_CASE("what is removed after a kill is only what a killed run can have left" * doctest::skip(kNotRoot)) {
  Race race;
  CHECK(race.run(
            {[] { return tests::exchange(".opsagent-left.tmp", tests::kSecret); },
             [] { return tests::exchange(".opsagent-left.tmp", tests::kEvilLink); }},
            [&] {
              race.folder.clear(".opsagent-left.tmp");
              race.folder.write("home/.opsagent-left.tmp/.opsagent-left.tmp", "half");
              ::chmod(race.folder.home(".opsagent-left.tmp").c_str(), 0700);
            },
            [&] { return bool(race.writer.remove_scratch("/home/.opsagent-left.tmp")); },
            [&]() -> std::string {
              const bool is_kept = race.folder.exists("home/.opsagent-left.tmp/secret") ||
                                   race.folder.exists("home/secret/secret") ||
                                   race.folder.exists("home/evil-link/secret");
              return is_kept ? "" : "root's secret was removed";
            }) == "");
  race.tell("remove_scratch");
  CHECK(race.swaps > 0);
  CHECK(race.worked > 0);
}

}  // namespace base
