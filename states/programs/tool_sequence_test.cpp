#include "states/programs/tool_sequence.hpp"

#include <chrono>

#include <doctest/doctest.h>

namespace states::programs {

namespace {

struct Tools {
  explicit Tools(std::chrono::milliseconds limit = std::chrono::seconds(30), bool may_quote = true)
      : commands(Commands::Clock::now() + limit, none, {}, {}), tools(commands, may_quote) {}
  base::NoInterrupt none;
  Commands commands;
  ToolSequence tools;
};

}  // namespace

TEST_CASE("the output of several tools is kept, with a blank line between two") {
  Tools machine;
  CHECK(machine.tools.run({"echo", "one"}));
  CHECK(machine.tools.run({"true"}));
  CHECK(machine.tools.run({"printf", "two"}));
  CHECK(machine.tools.run({"echo", "three"}));
  CHECK(machine.tools.output() == "one\n\ntwo\n\nthree\n");
}

TEST_CASE("what a tool of a sensitive state said is in its output only") {
  Tools machine(std::chrono::seconds(30), false);
  const auto said = machine.tools.run({"sh", "-c", "echo 'the password is hunter2'; exit 8"});
  CHECK(said.error().message() == "sh failed (exit 8)");
}

TEST_CASE("a tool that fails is named with its exit status and its last words") {
  Tools machine;
  const auto said = machine.tools.run({"sh", "-c", "echo first; echo 'sh: no such luck'; echo; exit 8"});
  REQUIRE_FALSE(said);
  CHECK(said.error().message() == "sh failed (exit 8): no such luck");
  CHECK(machine.tools.output() == "first\nsh: no such luck\n\n");
  CHECK(machine.tools.run({"false"}).error().message() == "false failed (exit 1): it said nothing");
  CHECK(machine.tools.run({"sh", "-c", "kill -9 $$"}).error().message() ==
        "sh failed (signal 9): it said nothing");
}

TEST_CASE("a tool gets its input through a pipe") {
  Tools machine;
  base::Command command;
  command.argv = {"cat"};
  command.input = "bob:hash\n";
  CHECK(machine.tools.run(std::move(command)));
  CHECK(machine.tools.output() == "bob:hash\n");
}

TEST_CASE("a tool that is not there or takes too long is an error of its own kind") {
  Tools machine;
  CHECK(machine.tools.run({"no-such-tool-here"}).error().code() == base::ErrorCode::not_found);
  Tools hurried(std::chrono::milliseconds(300));
  const auto late = hurried.tools.run({"sh", "-c", "echo begun; sleep 30"});
  REQUIRE_FALSE(late);
  CHECK(late.error().code() == base::ErrorCode::timed_out);
  CHECK(hurried.tools.output() == "begun\n");
}

}  // namespace states::programs
