// What is kept of holds, in real files; clocks are those of the test.
#include "agent/runtime/hold_store.hpp"

#include <sys/stat.h>

#include <fstream>

#include <doctest/doctest.h>

#include "base/files/file_read.hpp"
#include "tests/support/scratch_folder.hpp"

using namespace agent::runtime;
using namespace std::chrono_literals;

namespace {

// A machine whose clocks are set by hand.
struct Machine {
  HoldClock clock{.boot_id = "boot-1",
                  .since_boot = 1h,
                  .wall = std::chrono::system_clock::time_point(std::chrono::hours(500'000))};

  HoldStore open(const tests::ScratchFolder& folder) {
    return HoldStore(folder / "hold", [this] { return clock; });
  }
  void pass(std::chrono::milliseconds time) {
    clock.since_boot += time;
    clock.wall += time;
  }
  void reboot(std::chrono::milliseconds off = 1min) {
    clock.boot_id += "'";
    clock.since_boot = 30s;
    clock.wall += off;
  }
};

Hold hold_for(std::chrono::milliseconds time, HoldOrigin origin = HoldOrigin::machine) {
  return {.origin = origin, .by = "root", .reason = "incident 7", .left = time};
}

bool is_held_after_restart(Machine& machine, const tests::ScratchFolder& folder) {
  HoldStore store = machine.open(folder);
  CHECK(store.load().empty());
  return store.is_held();
}

std::vector<Hold> pass_time(HoldStore& store) {
  std::vector<std::string> problems;
  auto ended = store.pass_time(problems);
  CHECK(problems.empty());
  return ended;
}

}  // namespace

TEST_CASE("a hold is kept across restarts, with who, why and what is left of it") {
  tests::ScratchFolder folder;
  Machine machine;
  {
    HoldStore store = machine.open(folder);
    CHECK(store.load().empty());
    CHECK_FALSE(store.is_held());
    REQUIRE(store.set(hold_for(2h)));
    REQUIRE(store.set(hold_for(1h, HoldOrigin::backend)));
  }
  machine.pass(30min);
  HoldStore store = machine.open(folder);
  CHECK(store.load().empty());
  REQUIRE(store.holds().size() == 2);
  CHECK(store.holds()[0].origin == HoldOrigin::machine);
  CHECK(store.holds()[0].by == "root");
  CHECK(store.holds()[0].reason == "incident 7");
  CHECK(store.holds()[0].left == 90min);
  CHECK(store.holds()[1].left == 30min);
  machine.pass(31min);
  CHECK(pass_time(store).size() == 1);
  CHECK(store.holds().size() == 1);
  // Each side ends its own.
  CHECK_FALSE(*store.release(HoldOrigin::backend));
  CHECK(*store.release(HoldOrigin::machine));
  CHECK_FALSE(store.is_held());
  CHECK_FALSE(is_held_after_restart(machine, folder));
}

TEST_CASE("within a boot the wall clock neither ends a hold nor makes it longer") {
  tests::ScratchFolder folder;
  Machine machine;
  HoldStore store = machine.open(folder);
  REQUIRE(store.set(hold_for(2h)));
  for (const auto jump : {-100'000h, 200'000h}) {
    machine.clock.wall += jump;
    CHECK(pass_time(store).empty());
    CHECK(is_held_after_restart(machine, folder));
  }
  machine.clock.wall -= 150'000h;
  machine.pass(2h);
  CHECK_FALSE(is_held_after_restart(machine, folder));
  CHECK(pass_time(store).size() == 1);
}

TEST_CASE("after a boot the time that the machine was off counts, and a clock that was set back does not") {
  tests::ScratchFolder folder;
  Machine machine;
  {
    HoldStore store = machine.open(folder);
    REQUIRE(store.set(hold_for(2h)));
  }
  machine.reboot(30min);
  {
    HoldStore store = machine.open(folder);
    CHECK(store.load().empty());
    CHECK(store.holds()[0].left == 90min);
    CHECK(pass_time(store).empty());  // written for this boot
  }
  // Without a battery: each boot begins in the past. What is left is written again and again, so it ends.
  std::chrono::milliseconds held{};
  for (int boot = 0; boot < 40; ++boot) {
    machine.reboot(-10'000h);
    HoldStore store = machine.open(folder);
    CHECK(store.load().empty());
    if (!store.is_held()) break;
    pass_time(store);
    machine.pass(11min);
    held += 11min;
    pass_time(store);
  }
  CHECK(held <= 100min);
  CHECK(held >= 85min);
}

TEST_CASE("a record that cannot be read holds the machine for the default time, and is put aside") {
  for (
      const char* damage :
      {"", "{", "[]", "{}", R"({"boot_id":"b","since_boot_ms":1,"wall_ms":1,"machine":{"by":"x"}})",
       R"({"boot_id":"b","since_boot_ms":1,"wall_ms":1,"machine":{"by":"x","reason":"","since_ms":1,"left_ms":1e300}})",
       R"({"boot_id":"b","since_boot_ms":1,"wall_ms":1,"machine":{"by":"x","reason":"","since_ms":1,"left_ms":999999999999}})",
       R"({"boot_id":"b","since_boot_ms":1,"wall_ms":1,"machine":{"by":"a\u0007","reason":"","since_ms":1,"left_ms":1}})"}) {
    CAPTURE(damage);
    tests::ScratchFolder folder;
    Machine machine;
    std::ofstream(folder / "hold") << damage;
    {
      HoldStore store = machine.open(folder);
      const auto problems = store.load();
      REQUIRE(problems.size() == 1);
      CHECK(problems.front().find("damaged") != std::string::npos);
      REQUIRE(store.holds().size() == 1);
      CHECK(store.holds()[0].left == std::chrono::seconds(protocol::kDefaultHold));
      CHECK(store.holds()[0].reason.find("damaged") != std::string::npos);
      CHECK(*base::read_file(folder / "hold.damaged", 1000) == damage);
    }
    CHECK(is_held_after_restart(machine, folder));  // and not for the default time again
    machine.pass(std::chrono::seconds(protocol::kDefaultHold));
    CHECK_FALSE(is_held_after_restart(machine, folder));
  }
}

TEST_CASE("a hold that cannot be written is in force, and whoever sets it is told that it does not last") {
  tests::ScratchFolder folder;
  Machine machine;
  HoldStore store(folder / "no such folder" + "/hold", [&] { return machine.clock; });
  const auto kept = store.set(hold_for(1h));
  REQUIRE_FALSE(kept);
  CHECK(kept.error().message().find("not across a restart") != std::string::npos);
  CHECK(store.is_held());
  CHECK_FALSE(store.is_kept());
  machine.pass(1h);
  std::vector<std::string> problems;
  CHECK(store.pass_time(problems).size() == 1);
  CHECK_FALSE(store.is_held());
}

TEST_CASE("a record in a folder is read without changing anything") {
  tests::ScratchFolder folder;
  Machine machine;
  CHECK(read_holds(folder.path(), machine.clock).empty());
  std::ofstream(folder / "hold") << "{";
  const auto holds = read_holds(folder.path(), machine.clock);
  REQUIRE(holds.size() == 1);
  CHECK(refusal_text(holds, machine.clock).find("this machine is held by opsagent until") == 0);
  CHECK(*base::read_file(folder / "hold", 10) == "{");
}
