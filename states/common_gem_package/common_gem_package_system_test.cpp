#include <filesystem>

#include <doctest/doctest.h>

#include "base/values/redactor.hpp"
#include "states/state.hpp"
#include "tests/support/language_machine.hpp"

namespace states::common_gem_package {
extern const StateType& kState;
}

TEST_SUITE_BEGIN("system-managers");

namespace {

using states::Verdict;
using states::common_gem_package::kState;
using namespace tests;

// A machine with the real gem, a source of its own, and nothing of it installed.
struct GemMachine : LanguageMachine {
  GemMachine() { shell("rm -rf /var/lib/gems"); }
  GemSource source;
};

std::string json(const std::string& key, const std::string& value) {
  return R"({"name": [{"key": ")" + key + R"(", "value": ")" + value + R"("}]})";
}

// What gem itself says.
std::string versions_of(const std::string& name) {
  return shell("gem list --local --exact " + name + " | sed -n 's/^" + name + " (\\(.*\\))/\\1/p'");
}

}  // namespace

TEST_CASE("gem: versions of a gem are installed beside each other, and all removed") {
  GemMachine machine;
  machine.source.offer("t-one", "1.0");
  machine.source.offer("t-one", "1.5");
  auto outcome = machine.converge(kState, json("t-one", "1.0"));
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  CHECK(outcome.message == "Installed: t-one (1.0)");
  CHECK(versions_of("t-one") == "1.0");
  CHECK(machine.converge(kState, json("t-one", "1.0")).first == Verdict::kept);
  CHECK(machine.converge(kState, json("t-one", "~> 1.2")).message == "Upgraded: t-one (1.0 -> 1.5, 1.0)");
  CHECK(versions_of("t-one") == "1.5, 1.0");
  CHECK(machine.converge(kState, json("t-one", "1.0")).first == Verdict::kept);
  CHECK(machine.converge(kState, json("t-one", "removed")).message == "Removed: t-one");
  CHECK(versions_of("t-one").empty());
  CHECK(machine.converge(kState, json("t-one", "removed")).first == Verdict::kept);
}

TEST_CASE("gem: the latest is looked up once in a round") {
  GemMachine machine;
  machine.source.offer("t-one", "1.0");
  CHECK(machine.converge(kState, json("t-one", "latest")).message == "Installed: t-one (1.0)");
  CHECK(machine.converge(kState, json("t-one", "latest")).first == Verdict::kept);
  machine.source.offer("t-one", "1.5");
  LanguageMachine next_round;
  CHECK(next_round.plan(kState, json("t-one", "latest")).is_refresh);
  const auto outcome = next_round.converge(kState, json("t-one", "latest"));
  CHECK_MESSAGE(outcome.message == "Upgraded: t-one (1.0 -> 1.5, 1.0)", outcome.message << outcome.output);
  LanguageMachine third_round;
  CHECK(third_round.converge(kState, json("t-one", "latest")).message ==
        "Package t-one is already as wanted");
}

TEST_CASE("gem: one gem that cannot be had does not hold up the others, and is named") {
  GemMachine machine;
  machine.source.offer("t-one", "1.0");
  const auto outcome = machine.converge(kState, R"({"name": ["t-none", "t-one"]})");
  CHECK_FALSE(outcome.ok);
  CHECK_MESSAGE(outcome.message.starts_with("t-none not found: "), outcome.message << outcome.output);
  CHECK(contains(outcome.message, "\nInstalled: t-one (1.0)"));
  const auto version = machine.converge(kState, json("t-one", "9"));
  CHECK_MESSAGE(version.message.starts_with("Version 9 of t-one not found: "),
                version.message << version.output);
  CHECK(machine.converge(kState, json("t-none", "latest")).message.starts_with("t-none not found"));
}

TEST_CASE("gem: a source that does not answer is said to be out of reach") {
  GemMachine machine;
  put("/etc/gemrc", ":sources:\n- http://user:hidden@127.0.0.1:9/\n");
  for (const char* value : {"1.0", "latest"}) {
    machine.source.offer("t-one", "1.0");
    shell("gem install --local /srv/gems/gems/t-one-1.0.gem --no-document >/dev/null");
    const auto outcome =
        machine.converge(kState, json(value == std::string("1.0") ? "t-two" : "t-one", value));
    CHECK_FALSE(outcome.ok);
    CHECK_MESSAGE(outcome.message.starts_with("Registry not reachable"), outcome.message << outcome.output);
    CHECK_FALSE(contains(base::redact_url_credentials(outcome.output), "hidden"));
  }
}

TEST_CASE("gem: gems that ruby has brought count, and are not removed") {
  GemMachine machine;
  CHECK(machine.plan(kState, json("rake", "")).verdict == Verdict::kept);
  CHECK(machine.plan(kState, json("json", "")).verdict == Verdict::kept);
  const auto refused = machine.plan(kState, json("rake", "removed"));
  CHECK(refused.verdict == Verdict::fail);
  CHECK_MESSAGE(contains(refused.message, "rake belongs to package "), refused.message);
}

TEST_SUITE_END();
