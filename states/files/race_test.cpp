// Every state that writes files, against a user who owns the folder and renames things in it between any two
// of its calls. OPSAGENT_SWAP_ROUNDS=100000 is the long form; see docs/reliability.md.
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/racing_user.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_symlink {
extern const StateType& kState;
}
namespace states::linux_file {
extern const StateType& kState;
}
namespace states::linux_dir {
extern const StateType& kState;
}
namespace states::linux_apt_repo {
extern const StateType& kState;
}
namespace states::common_timezone {
extern const StateType& kState;
}

namespace {

using states::StateType;
using states::Verdict;
using tests::ContestedFolder;
using tests::RacingUser;
using tests::StateHarness;
using Swaps = std::vector<std::function<bool()>>;

const bool kNotRoot = ::geteuid() != 0;
constexpr int kInEveryRun = 150;

// One folder of the user's, one state that works in it.
class Race {
 public:
  Race(const StateType& type, std::string parameter) : type_(type) {
    const std::string here = folder_.path().substr(machine_.root().size());
    for (std::size_t at = 0; (at = parameter.find("HOME")) != std::string::npos;)
      parameter.replace(at, 4, here + "/home");
    parameter_ = std::move(parameter);
    machine_.host().os.family = base::OsRelease::Family::debian;
  }
  const ContestedFolder& folder() const { return folder_; }
  StateHarness& machine() { return machine_; }

  // Plans and applies the state over and over against each way to swap, after `reset`. Answers what went
  // wrong first, or "". He is held now and then, and at every `reset` that would be led astray by him.
  enum class Reset { is_safe, needs_hold };
  std::string run(const Swaps& ways, const std::function<void()>& reset, Reset how = Reset::is_safe) {
    const std::string before = folder_.outside();
    for (const auto& way : ways) {
      RacingUser user(folder_ / "home", way);
      const int rounds = tests::swap_rounds(kInEveryRun);
      for (int round = 0; round < rounds; ++round) {
        if (how == Reset::needs_hold || round % 16 == 0) user.hold();
        if (round % 16 == 0) folder_.restore();
        reset();
        user.release();
        play();
        std::string wrong = folder_.stolen();
        if (wrong.empty() && (round % 256 == 0 || round + 1 == rounds) && folder_.outside() != before)
          wrong = "what is outside was touched";
        if (!wrong.empty()) return "in round " + std::to_string(round) + ": " + wrong;
      }
      swaps_ += user.swaps();
    }
    return {};
  }

  // How often it was as wanted, and how often something was in its way: both must happen in a race.
  int worked() const { return worked_; }
  int refused() const { return refused_; }
  long swaps() const { return swaps_; }
  void tell(const char* name) const {
    MESSAGE(std::string(name) << ": " << worked_ + refused_ << " rounds, " << worked_ << " worked, "
                              << refused_ << " refused, " << swaps_ << " swaps");
  }

 private:
  void play() {
    const states::Plan plan = machine_.plan(type_, parameter_);
    const bool ok = plan.verdict == Verdict::kept ||
                    (plan.verdict == Verdict::change && machine_.apply(type_, parameter_, plan).ok());
    ++(ok ? worked_ : refused_);
  }

  StateHarness machine_;
  ContestedFolder folder_{machine_.root()};
  const StateType& type_;
  std::string parameter_;
  int worked_ = 0;
  int refused_ = 0;
  long swaps_ = 0;
};

// Every way to swap what is called `name` in the folder, and the temporary on its way there.
Swaps all_ways(const std::string& name) {
  return {tests::swapping(name, tests::kEvilLink), tests::swapping(name, tests::kEvilFile),
          tests::swapping(name, tests::kEvilFolder), tests::swapping_computed_scratch(name),
          tests::swapping_scratch()};
}

// A folder on the way to what is written: a link, another folder of his, a file.
Swaps parent_ways(const std::string& parent) {
  return {tests::swapping(parent, tests::kEvilLink), tests::swapping(parent, tests::kEvilFolder),
          tests::swapping(parent, tests::kEvilFile)};
}

}  // namespace

// The attack that was made on linux.symlink: compute the name of the temporary, put an own link there before
// it is given to root, and let root follow it afterwards, because root owns it.
TEST_CASE("linux.symlink never gives a user's link to root, and root never follows one" *
          doctest::skip(kNotRoot)) {
  Race race(states::linux_symlink::kState, R"({"source": "wanted", "target": "HOME/t"})");
  StateHarness& machine = race.machine();
  const std::string here = race.folder().path().substr(machine.root().size());
  const std::string through = R"({"path": ")" + here + R"(/home/t/stolen", "content": "x"})";
  const auto follow = [&] {
    // What the next state of a recipe does, with whatever is there.
    const auto plan = machine.plan(states::linux_file::kState, through);
    if (plan.verdict == Verdict::change) (void)machine.apply(states::linux_file::kState, through, plan);
    race.folder().clear("t");
  };
  CHECK(race.run({tests::swapping_computed_scratch("t"), tests::swapping_scratch()}, follow) == "");
  race.tell("linux.symlink, as it was attacked");
  CHECK(race.worked() > 0);
}

TEST_CASE("linux.symlink whose folder belongs to a user makes no link of his root's" *
          doctest::skip(kNotRoot)) {
  SUBCASE("a new link") {
    Race race(states::linux_symlink::kState, R"({"source": "wanted", "target": "HOME/t", "user": "0"})");
    CHECK(race.run(all_ways("t"), [&] { race.folder().clear("t"); }) == "");
    race.tell("linux.symlink, new");
    CHECK(race.swaps() > 0);
    CHECK(race.worked() > 0);
  }
  SUBCASE("another destination") {
    Race race(states::linux_symlink::kState, R"({"source": "wanted", "target": "HOME/t", "user": "0"})");
    CHECK(race.run(all_ways("t"), [&] { race.folder().give_link("t", "other"); }) == "");
    race.tell("linux.symlink, other destination");
    CHECK(race.swaps() > 0);
    CHECK(race.worked() > 0);
  }
  SUBCASE("only another owner") {
    Race race(states::linux_symlink::kState, R"({"source": "wanted", "target": "HOME/t", "user": "0"})");
    CHECK(race.run(all_ways("t"), [&] { race.folder().give_link("t", "wanted"); }) == "");
    race.tell("linux.symlink, other owner");
    CHECK(race.swaps() > 0);
    CHECK(race.worked() > 0);
  }
  SUBCASE("below a folder that he swaps") {
    Race race(states::linux_symlink::kState, R"({"source": "wanted", "target": "HOME/d/sub"})");
    CHECK(race.run(parent_ways("d"), [&] { race.folder().give_folder("d"); }) == "");
    race.tell("linux.symlink, parent");
    CHECK(race.swaps() > 0);
    CHECK(race.worked() > 0);
  }
}

TEST_CASE("linux.file in a user's folder touches nothing outside, and makes nothing of his root's" *
          doctest::skip(kNotRoot)) {
  constexpr auto kFile =
      R"({"path": "HOME/t", "content": "wanted", "user": "0", "group": "0", "mode": "0600"})";
  SUBCASE("a new file") {
    Race race(states::linux_file::kState, kFile);
    CHECK(race.run(all_ways("t"), [&] { race.folder().clear("t"); }) == "");
    race.tell("linux.file, new");
    CHECK(race.swaps() > 0);
    CHECK(race.worked() > 0);
  }
  SUBCASE("other content") {
    Race race(states::linux_file::kState, kFile);
    CHECK(race.run(all_ways("t"), [&] { race.folder().give_file("t", "other"); }) == "");
    race.tell("linux.file, other content");
    CHECK(race.swaps() > 0);
    CHECK(race.worked() > 0);
  }
  SUBCASE("only another owner") {
    Race race(states::linux_file::kState, kFile);
    CHECK(race.run(all_ways("t"), [&] { race.folder().give_file("t", "wanted"); }) == "");
    race.tell("linux.file, other owner");
    CHECK(race.swaps() > 0);
    CHECK(race.worked() > 0);
  }
  SUBCASE("absent") {
    Race race(states::linux_file::kState, R"({"path": "HOME/t", "absent": true})");
    CHECK(race.run(all_ways("t"), [&] { race.folder().give_file("t", "other"); }) == "");
    race.tell("linux.file, absent");
    CHECK(race.swaps() > 0);
    CHECK(race.worked() > 0);
  }
  SUBCASE("below folders that he swaps, some of them missing") {
    Race race(states::linux_file::kState,
              R"({"path": "HOME/d/sub/keep", "content": "wanted", "user": "0", "mode": "0666"})");
    CHECK(race.run(parent_ways("d"), [&] { race.folder().give_folder("d"); }) == "");
    race.tell("linux.file, parents");
    CHECK(race.swaps() > 0);
    CHECK(race.worked() > 0);
  }
}

TEST_CASE("linux.dir in a user's folder touches nothing outside, and gives him nothing of root's" *
          doctest::skip(kNotRoot)) {
  SUBCASE("a new directory") {
    Race race(states::linux_dir::kState, R"({"path": "HOME/t", "user": "0", "mode": "0755"})");
    CHECK(race.run({tests::swapping_computed_scratch("t"), tests::swapping_scratch()},
                   [&] { race.folder().clear("t"); }) == "");
    race.tell("linux.dir, new");
    CHECK(race.worked() > 0);
  }
  SUBCASE("a new directory that is to be his") {
    Race race(states::linux_dir::kState, R"({"path": "HOME/t", "user": "12345", "mode": "0777"})");
    CHECK(race.run({tests::swapping_computed_scratch("t"), tests::swapping_scratch()},
                   [&] { race.folder().clear("t"); }) == "");
    race.tell("linux.dir, new and his");
    CHECK(race.worked() > 0);
  }
  SUBCASE("another mode") {
    Race race(states::linux_dir::kState, R"({"path": "HOME/t", "mode": "0777"})");
    CHECK(race.run(
              {tests::swapping("t", tests::kEvilLink), tests::swapping("t", tests::kEvilFile),
               tests::swapping("t", tests::kEvilFolder)},
              [&] {
                race.folder().give_folder("t");
                ::chmod(race.folder().home("t").c_str(), 0700);
              },
              Race::Reset::needs_hold) == "");
    race.tell("linux.dir, other mode");
    CHECK(race.swaps() > 0);
    CHECK(race.worked() > 0);
  }
  SUBCASE("all that is below") {
    Race race(states::linux_dir::kState,
              R"({"path": "HOME/t", "user": "12345", "mode": "0777", "recursive": true})");
    CHECK(race.run(
              {tests::swapping("t", tests::kEvilLink), tests::swapping("t/a", tests::kEvilLink),
               tests::swapping("t/a", "t/l"), tests::swapping("t/f", tests::kEvilLink)},
              [&] {
                race.folder().give_folder("t");
                race.folder().write("home/t/a/sub/keep", "");
                race.folder().write("home/t/f", "");
                race.folder().give_link("t/l", "../../outside");
              },
              Race::Reset::needs_hold) == "");
    race.tell("linux.dir, recursive");
    CHECK(race.swaps() > 0);
    CHECK(race.worked() > 0);
  }
  SUBCASE("absent") {
    Race race(states::linux_dir::kState, R"({"path": "HOME/t", "absent": true})");
    CHECK(race.run(
              {tests::swapping("t", tests::kEvilLink), tests::swapping("t/a", "t/l"),
               tests::swapping("t/a/sub", tests::kEvilLink)},
              [&] {
                race.folder().give_folder("t");
                race.folder().write("home/t/a/sub/keep", "");
                race.folder().give_link("t/l", "../../outside");
                race.folder().give_folder("t/a/none");
              },
              Race::Reset::needs_hold) == "");
    race.tell("linux.dir, absent");
    CHECK(race.swaps() > 0);
    CHECK(race.worked() > 0);
  }
}

// An image that belongs to a user: all of /etc is his.
TEST_CASE("linux.apt.repo and common.timezone in a user's image make nothing of his root's" *
          doctest::skip(kNotRoot)) {
  SUBCASE("linux.apt.repo") {
    Race race(states::linux_apt_repo::kState, R"({"name": "t.list", "content": "deb wanted"})");
    const std::string sources = race.machine().root() + "/etc/apt/sources.list.d";
    std::filesystem::create_directories(race.machine().root() + "/etc/apt");
    std::filesystem::create_directory_symlink(
        "../.." + race.folder().path().substr(race.machine().root().size()) + "/home", sources);
    CHECK(race.run(all_ways("t.list"), [&] { race.folder().clear("t.list"); }) == "");
    race.tell("linux.apt.repo");
    CHECK(race.worked() > 0);
  }
  SUBCASE("common.timezone") {
    Race race(states::common_timezone::kState, R"({"name": "Europe/Berlin"})");
    race.machine().write("/usr/share/zoneinfo/Europe/Berlin", "TZif2 Berlin");
    std::filesystem::create_directory_symlink(
        race.folder().path().substr(race.machine().root().size() + 1) + "/home",
        race.machine().root() + "/etc");
    Swaps ways = all_ways("localtime");
    for (auto& way : all_ways("timezone"))
      ways.push_back(std::move(way));
    CHECK(race.run(ways, [&] {
      race.folder().clear("localtime");
      race.folder().clear("timezone");
    }) == "");
    race.tell("common.timezone");
    CHECK(race.worked() > 0);
  }
}
