#include <grp.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_group {
extern const StateType& kState;
}

namespace {

using states::EffectKind;
using states::Verdict;
using states::linux_group::kState;
using tests::StateHarness;

constexpr auto kNew = R"({"groupname": "opsagent-none", "gid": "64321"})";

}  // namespace

// These only plan, so they may look at the machine they run on.

TEST_CASE("linux.group keeps a group that exists") {
  StateHarness machine{StateHarness::RunningSystem{}};
  for (const char* json : {R"({"groupname": "root"})", R"({"groupname": "root", "gid": "0"})",
                           R"({"groupname": "root", "gid": 0})", R"({"groupname": "root", "gid": ""})",
                           R"({"groupname": "root", "gid": null, "system-group": true})"}) {
    const auto plan = machine.plan(kState, json);
    CHECK(plan.verdict == Verdict::kept);
    CHECK(plan.message == "Group root is as wanted");
  }
}

TEST_CASE("linux.group plans to create a group, and tells later states of its name and number") {
  StateHarness machine{StateHarness::RunningSystem{}};
  const auto plan = machine.plan(kState, kNew);
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.message == "Create group opsagent-none");
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].what == "group opsagent-none");
  CHECK(plan.changes[0].after == "gid 64321");
  REQUIRE(plan.effects.size() == 2);
  CHECK(plan.effects[0].name == "opsagent-none");
  CHECK(plan.effects[1].name == "64321");
  CHECK_FALSE(::getgrnam("opsagent-none"));
}

TEST_CASE("linux.group refuses a number that another group has") {
  StateHarness machine{StateHarness::RunningSystem{}};
  CHECK(machine.plan(kState, R"({"groupname": "opsagent-none", "gid": "0"})").message ==
        "gid 0 is already used by group root");
}

TEST_CASE("linux.group after a state about the same group is unknown") {
  StateHarness machine{StateHarness::RunningSystem{}};
  machine.overlay().add("one", {{.kind = EffectKind::group, .name = "opsagent-none"}});
  const auto plan = machine.plan(kState, kNew);
  CHECK(plan.verdict == Verdict::unknown);
  CHECK(plan.depends_on == "one");
}

TEST_CASE("linux.group refuses names and numbers that cannot be") {
  StateHarness machine;
  for (const char* name :
       {"-r", "+", "~x", "a:b", "a b", "a,b", "a/b", "..", "abcdefghijklmnopqrstuvwxyz0123456"})
    CHECK(machine.problems(kState, R"({"groupname": ")" + std::string(name) + "\"}") ==
          "Illegal value for 'groupname': '" + std::string(name) + "'");
  for (const char* gid : {"-1", "x", "1x", "4294967295", "99999999999", "0x10"})
    CHECK(machine.problems(kState, R"({"groupname": "a", "gid": ")" + std::string(gid) + "\"}") ==
          "Illegal gid '" + std::string(gid) + "'");
  CHECK(machine.problems(kState, "{}") == "Missing parameter 'groupname'");
  CHECK(machine.problems(kState, R"({"groupname": "a", "system": "maybe"})") ==
        "Parameter 'system-group' must be true or false");
}

TEST_SUITE("system") {
  TEST_CASE("linux.group creates a group once") {
    StateHarness machine{StateHarness::RunningSystem{}};
    const auto outcome = machine.converge(kState, R"({"groupname": "g-new", "gid": "4711"})");
    CHECK(outcome.ok);
    CHECK(outcome.message == "Group g-new created (gid 4711)");
    CHECK(::getgrnam("g-new")->gr_gid == 4711);
    CHECK(machine.converge(kState, R"({"groupname": "g-new", "gid": 4711})").first == Verdict::kept);
    CHECK(machine.converge(kState, R"({"groupname": "g-new"})").first == Verdict::kept);
  }

  TEST_CASE("linux.group lets the system choose the number") {
    StateHarness machine{StateHarness::RunningSystem{}};
    CHECK(machine.converge(kState, R"({"groupname": "g-any"})").ok);
    CHECK(::getgrnam("g-any")->gr_gid >= 1000);
    for (const char* json :
         {R"({"groupname": "g-sys1", "system-group": "y"})", R"({"groupname": "g-sys2", "system": true})"})
      CHECK(machine.converge(kState, json).ok);
    CHECK(::getgrnam("g-sys1")->gr_gid < 1000);
    CHECK(::getgrnam("g-sys2")->gr_gid < 1000);
  }

  TEST_CASE("linux.group changes the number of a group") {
    StateHarness machine{StateHarness::RunningSystem{}};
    CHECK(machine.converge(kState, R"({"groupname": "g-move", "gid": "4801"})").ok);
    const auto outcome = machine.converge(kState, R"({"groupname": "g-move", "gid": "4802"})");
    CHECK(outcome.ok);
    CHECK(outcome.message == "gid of g-move changed 4801 -> 4802");
    CHECK(::getgrnam("g-move")->gr_gid == 4802);
    CHECK(machine.converge(kState, R"({"groupname": "g-other", "gid": "4802"})").message ==
          "gid 4802 is already used by group g-move");
  }

  TEST_CASE("linux.group says what the tool said when it fails") {
    StateHarness machine{StateHarness::RunningSystem{}};
    std::filesystem::rename("/etc/group", "/etc/group.away");
    std::filesystem::create_directory("/etc/group");
    const auto outcome = machine.converge(kState, R"({"groupname": "g-fail"})");
    std::filesystem::remove("/etc/group");
    std::filesystem::rename("/etc/group.away", "/etc/group");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == "groupadd failed (exit 10): cannot open /etc/group");
    CHECK(outcome.output == "groupadd: cannot open /etc/group\n");
  }
}
