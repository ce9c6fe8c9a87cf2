#include "protocol/command_memory.hpp"

#include <doctest/doctest.h>

using protocol::CommandMemory;

namespace {

CommandMemory::Command timed(int number) {
  return {"t" + std::to_string(number), 1'000'000 + number};
}

}  // namespace

TEST_CASE("a command is taken once") {
  CommandMemory memory;
  CHECK(memory.problem({"a", 5}).empty());
  memory.add({"a", 5});
  CHECK(memory.problem({"a", 5}) == "this command has come before");
  CHECK(memory.problem({"a", 9}) == "this command has come before");
  CHECK(memory.problem({"a", std::nullopt}) == "this command has come before");
  CHECK(memory.problem({"b", 5}).empty());
}

TEST_CASE("what was forgotten for want of room is not taken again") {
  CommandMemory memory;
  constexpr int kMany = static_cast<int>(CommandMemory::kMost) * 3;
  for (int i = 0; i < kMany; ++i) {
    REQUIRE(memory.problem(timed(i)).empty());
    memory.add(timed(i));
  }
  CHECK(memory.commands().size() == CommandMemory::kMost);
  for (int i = 0; i < kMany; ++i)
    REQUIRE_FALSE(memory.problem(timed(i)).empty());
  CHECK(memory.problem(timed(0)).find("older than those") != std::string::npos);
  CHECK(memory.problem(timed(kMany)).empty());
  // Nor after a restart.
  CommandMemory again;
  again.forget_until(*memory.floor());
  for (const CommandMemory::Command& command : memory.commands())
    again.add(command);
  for (int i = 0; i < kMany; ++i)
    REQUIRE_FALSE(again.problem(timed(i)).empty());
  CHECK(again.commands() == memory.commands());
}

TEST_CASE("one with a time far off is remembered while others come and go, and stops none of them") {
  CommandMemory memory;
  memory.add({"order", 9'000'000});
  for (int i = 0; i < 5000; ++i) {
    REQUIRE(memory.problem(timed(i)).empty());
    memory.add(timed(i));
  }
  CHECK(memory.problem({"order", 9'000'000}) == "this command has come before");
}

TEST_CASE("commands without a time do not push out those that have one, and the oldest goes first") {
  CommandMemory memory;
  memory.add({"order", 9});
  for (int i = 0; i <= static_cast<int>(CommandMemory::kMost); ++i)
    memory.add({"u" + std::to_string(i), std::nullopt});
  CHECK_FALSE(memory.problem({"order", 9}).empty());
  CHECK(memory.problem({"u0", std::nullopt}).empty());
  CHECK_FALSE(memory.problem({"u1", std::nullopt}).empty());
}
