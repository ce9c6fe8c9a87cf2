// Programs that are installed on demand: what plans say of them, and, in a scratch machine with a real apt,
// what comes of them.
#include "states/prerequisites/prerequisite.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/apt_machine.hpp"

namespace {

using states::Applied;
using states::ApplyContext;
using states::Context;
using states::EffectKind;
using states::Plan;
using states::Verdict;
using states::prerequisites::Prerequisite;
using tests::contains;
using tests::shell;
using tests::StateHarness;
using Family = base::OsRelease::Family;

// A state that needs a program, and nothing else.
class Needing final : public states::State<states::NoSteps> {
 public:
  constexpr explicit Needing(Prerequisite needed) : State({.name = "test.needing"}), needed_(needed) {}

 private:
  states::PlanWith<states::NoSteps> plan(const states::NoSteps&, Context& context) const override {
    Plan plan{.message = "with the program"};
    auto found = states::prerequisites::plan_program(context, needed_, plan);
    if (!found) return Plan::fail(found.error());
    if (!*found) plan.message = "without the program";
    if (!plan.changes.empty()) plan.verdict = Verdict::change;
    return plan;
  }
  Applied apply(const states::NoSteps&, const Plan&, const states::NoSteps&,
                ApplyContext& context) const override {
    auto installed = states::prerequisites::ensure_program(context, needed_);
    if (!installed) return Applied::failed(installed.error());
    return Applied::done(installed->before("done"), std::move(installed->output));
  }

  Prerequisite needed_;
};

constexpr Needing kNeeding({"test.needing", "t-tool", {"t-lacking", "t-tool"}, {"t-tool"}});
constexpr Needing kOnePackage({"test.needing", "t-tool", {"t-tool"}, {"t-tool"}});
constexpr Needing kShell({"test.needing", "sh", {"dash"}, {"dash"}});
constexpr Needing kAskedFor({"test.needing", "t-tool -m more", {"t-tool"}, {"t-tool"}, [](Context& context) {
                               return context.tree.look("/there") && *context.tree.look("/there");
                             }});

}  // namespace

TEST_CASE("prerequisite: a program that is there needs nothing") {
  StateHarness machine;
  const Plan plan = machine.plan(kShell, "{}");
  CHECK(plan.verdict == Verdict::kept);
  CHECK(plan.message == "with the program");
  CHECK(plan.effects.empty());
}

TEST_CASE("prerequisite: the plan says which package will be installed for a program that is missing") {
  StateHarness machine;
  machine.host().os.family = Family::debian;
  const Plan plan = machine.plan(kOnePackage, "{}");
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.message == "without the program");
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].what == "package t-tool");
  CHECK(plan.changes[0].after == "installed");
  REQUIRE(plan.effects.size() == 1);
  CHECK(plan.effects[0].kind == EffectKind::package);
  CHECK(plan.effects[0].certain);
}

TEST_CASE("prerequisite: a package that an earlier state installs is not installed again") {
  StateHarness machine;
  machine.host().os.family = Family::debian;
  machine.overlay().add("first", {{.kind = EffectKind::package, .name = "t-tool"}});
  const Plan plan = machine.plan(kOnePackage, "{}");
  CHECK(plan.verdict == Verdict::kept);
  CHECK(plan.message == "without the program");
}

TEST_CASE("prerequisite: a program whose package an earlier state removes is installed again") {
  StateHarness machine;
  machine.host().os.family = Family::debian;
  machine.overlay().add("first", {{.kind = EffectKind::package, .name = "dash", .present = false}});
  const Plan plan = machine.plan(kShell, "{}");
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].what == "package dash");
}

TEST_CASE("prerequisite: a command of an earlier state may bring the program") {
  StateHarness machine;
  machine.host().os.family = Family::debian;
  machine.overlay().add("build-it", {{.kind = EffectKind::anything, .name = "make install"}});
  const Plan plan = machine.plan(kOnePackage, "{}");
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].after == "installed, unless 'build-it' brings t-tool");
  CHECK_FALSE(plan.effects[0].certain);
}

TEST_CASE("prerequisite: more than a program's name can be asked for") {
  StateHarness machine;
  machine.host().os.family = Family::debian;
  CHECK(machine.plan(kAskedFor, "{}").verdict == Verdict::change);
  machine.write("/there", "");
  CHECK(machine.plan(kAskedFor, "{}").verdict == Verdict::kept);
}

TEST_CASE("prerequisite: a distribution that has no package for it is an error") {
  StateHarness machine;
  machine.host().os.family = Family::other;
  const Plan plan = machine.plan(kOnePackage, "{}");
  CHECK(plan.verdict == Verdict::fail);
  CHECK(plan.message == "Cannot run test.needing: 't-tool' is missing");
  const Applied applied = machine.apply(kOnePackage, "{}", Plan{.verdict = Verdict::change});
  CHECK_FALSE(applied.ok());
  CHECK(applied.comment == "Cannot run test.needing: 't-tool' is missing");
}

TEST_CASE("prerequisite: all packages that could be installed are what the state may touch") {
  const auto effects =
      states::prerequisites::possible_packages({"test.needing", "t-tool", {"a", "b"}, {"c"}});
  REQUIRE(effects.size() == 3);
  CHECK(effects[0].name == "a");
  CHECK(effects[1].name == "b");
  CHECK(effects[2].name == "c");
}

TEST_SUITE("system") {
  constexpr auto kBringsTool = "printf '#!/bin/sh\\n' >/usr/bin/t-tool; chmod 755 /usr/bin/t-tool\n";

  struct Machine : tests::AptMachine {
    Machine() { std::filesystem::remove("/usr/bin/t-tool"); }
    ~Machine() { std::filesystem::remove("/usr/bin/t-tool"); }
  };

  TEST_CASE("prerequisite: the first package that the distribution offers is installed, once") {
    Machine machine;
    machine.offer({{.name = "t-tool", .version = "1.0", .postinst = kBringsTool}});
    const auto outcome = machine.converge(kNeeding, "{}");
    CHECK_MESSAGE(outcome.ok, outcome.message);
    CHECK(outcome.message == "Installed t-tool\n\ndone");
    CHECK(contains(outcome.output, "t-tool"));
    CHECK(machine.found("t-tool") == "installed 1.0");
    CHECK(machine.converge(kNeeding, "{}").first == Verdict::kept);
  }

  TEST_CASE("prerequisite: lists that name what no mirror has any more are refreshed") {
    Machine machine;
    machine.offer({{.name = "t-tool", .version = "3.0", .postinst = kBringsTool}});
    shell("apt-get -q update");
    shell("rm " + std::string(tests::kRepo) + "/*.deb");
    machine.offer({{.name = "t-tool", .version = "4.0", .postinst = kBringsTool}});
    const auto outcome = machine.converge(kOnePackage, "{}");
    CHECK_MESSAGE(outcome.ok, outcome.message);
    CHECK(machine.found("t-tool") == "installed 4.0");
  }

  TEST_CASE("prerequisite: nothing that is installed is removed for it") {
    Machine machine;
    machine.offer(
        {{.name = "t-other", .version = "1.0"},
         {.name = "t-tool", .version = "1.0", .fields = "Conflicts: t-other\n", .postinst = kBringsTool}});
    shell("apt-get -q update && apt-get -q -y install t-other");
    const auto outcome = machine.converge(kOnePackage, "{}");
    CHECK_FALSE(outcome.ok);
    CHECK_MESSAGE(outcome.message.starts_with("Cannot run test.needing: 't-tool' is missing and package "
                                              "'t-tool' could not be installed: "),
                  outcome.message);
    CHECK(machine.found("t-other") == "installed 1.0");
  }

  TEST_CASE("prerequisite: what no distribution offers, or does not bring the program, is said") {
    Machine machine;
    machine.offer({{.name = "t-tool", .version = "1.0"}});
    auto outcome = machine.converge(kOnePackage, "{}");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message ==
          "Cannot run test.needing: 't-tool' is missing and package 't-tool' could not be installed");
    constexpr Needing kLacking({"test.needing", "t-tool", {"t-lacking", "t-none"}, {}});
    outcome = machine.converge(kLacking, "{}");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message.find("package 't-lacking' or 't-none' could not be installed") !=
          std::string::npos);
  }

  TEST_CASE("prerequisite: on a distribution of the rhel family without dnf it says so") {
    Machine machine;
    machine.host().os.family = Family::rhel;
    const auto outcome = machine.converge(kOnePackage, "{}");
    CHECK_FALSE(outcome.ok);
    CHECK_MESSAGE(contains(outcome.message, "package 't-tool' could not be installed: "), outcome.message);
    CHECK_MESSAGE(contains(outcome.message, "yum"), outcome.message);
  }
}
