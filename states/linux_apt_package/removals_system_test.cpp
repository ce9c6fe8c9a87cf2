// What linux.apt.package removes besides what a recipe names, with a real apt and dpkg. Only in a scratch
// machine.
#include <algorithm>

#include <doctest/doctest.h>

#include "states/debian/apt_get.hpp"
#include "states/linux_apt_package/apt_package.hpp"
#include "states/state.hpp"
#include "tests/support/apt_machine.hpp"

namespace states::linux_apt_package {
extern const StateType& kState;
}

namespace {

using states::Plan;
using states::Verdict;
using states::linux_apt_package::kState;
using tests::contains;
using tests::shell;
using tests::StateHarness;
using Outcome = StateHarness::Outcome;

class Machine : public tests::AptMachine {
 public:
  Outcome have(const std::string& name, const std::string& more = "") {
    return converge(kState, R"({"name": )" + name + more + "}");
  }
  Plan plan_of(const std::string& name, const std::string& more = "") {
    return plan(kState, R"({"name": )" + name + more + "}");
  }
};

constexpr auto kAllowed = R"(, "allow_removals": true)";

// The state of another round, so that lists are refreshed again.
Outcome next_round(const std::string& name, const std::string& more = "") {
  StateHarness round(StateHarness::RunningSystem{});
  return round.converge(kState, R"({"name": )" + name + more + "}");
}

}  // namespace

TEST_SUITE("system") {
  TEST_CASE("apt: what depends on a removed package is not removed unless the recipe names it") {
    Machine machine;
    machine.offer(
        {{"t-base", "1.0"}, {"t-app", "1.0", "Depends: t-base\n"}, {"t-top", "1.0", "Depends: t-app\n"}});
    CHECK(machine.have(R"("t-top")").ok);
    for (const char* gone : {"removed", "purged"}) {
      CAPTURE(gone);
      const std::string name = R"({"t-base": ")" + std::string(gone) + "\"}";
      const std::string before =
          shell("find /var/lib/apt /var/lib/dpkg /var/cache /etc /var/log -printf '%p %T@ %s\\n' | sort");
      const Plan plan = machine.plan_of(name);
      CHECK(shell("find /var/lib/apt /var/lib/dpkg /var/cache /etc /var/log -printf '%p %T@ %s\\n' | sort") ==
            before);
      CHECK(plan.verdict == Verdict::fail);
      CHECK(plan.message ==
            "apt would also remove 2 packages that the recipe does not name: t-top, t-app. Name them as "
            "'removed' in the same state, or permit it with 'allow_removals: true'");
      CHECK_FALSE(machine.have(name).ok);
    }
    CHECK(machine.found("t-base") == "installed 1.0");
    CHECK(machine.found("t-top") == "installed 1.0");
    const Outcome named = machine.have(R"({"t-base": "removed", "t-app": "removed", "t-top": "removed"})");
    CHECK(named.message == "Removed: t-base, t-app, t-top");
  }

  TEST_CASE("apt: with allow_removals the plan lists what goes, and it is never purged") {
    Machine machine;
    machine.offer({{"t-base", "1.0"}, {"t-app", "1.2", "Depends: t-base\n"}, {"t-new", "1.0"}});
    CHECK(machine.have(R"("t-app")").ok);
    const Plan plan = machine.plan_of(R"({"t-base": "purged"})", kAllowed);
    REQUIRE(plan.verdict == Verdict::change);
    CHECK(plan.message == "Purge t-base; remove also t-app");
    REQUIRE(plan.changes.size() == 2);
    CHECK(plan.changes[1].what == "package t-app");
    CHECK(plan.changes[1].before == "1.2");
    CHECK(plan.changes[1].after == "removed (not named by the recipe)");
    // Files of the packages may be among the effects, too.
    const auto goes = std::ranges::find(plan.effects, "t-app", &states::Effect::name);
    REQUIRE(goes != plan.effects.end());
    CHECK(goes->kind == states::EffectKind::package);
    CHECK_FALSE(goes->present);
    const Outcome outcome = machine.have(R"({"t-base": "purged", "t-new": ""})", kAllowed);
    CHECK(outcome.ok);
    CHECK(outcome.message == "Installed: t-new (1.0); purged: t-base; removed also: t-app");
    CHECK(machine.found("t-base").empty());
    CHECK(machine.found("t-app") == "config-files 1.2");
  }

  TEST_CASE("apt: an installation, upgrade or downgrade that removes others is refused unless permitted") {
    Machine machine;
    machine.offer({{"t-old", "1.0"}, {"t-app", "2.0"}, {"t-app", "1.0", "Conflicts: t-old\n"}});
    CHECK(machine.have(R"({"t-old": "", "t-app": "2.0"})").ok);
    machine.offer({{"t-app", "3.0", "Conflicts: t-old\n"}, {"t-rival", "1.0", "Conflicts: t-old\n"}});
    for (const char* name :
         {R"("t-rival")", R"({"t-app": "3.0"})", R"({"t-app": "latest"})", R"({"t-app": "1.0"})"}) {
      CAPTURE(name);
      // Also where only the lists that apply fetches tell of it.
      tests::AptMachine::age_lists();
      const Outcome outcome = next_round(name);
      CHECK_FALSE(outcome.ok);
      CHECK(
          contains(outcome.message, "apt would also remove a package that the recipe does not name: t-old."));
      CHECK(machine.found("t-old") == "installed 1.0");
      CHECK(machine.found("t-app") == "installed 2.0");
    }
    CHECK(next_round(R"({"t-app": "latest"})", kAllowed).message ==
          "Upgraded: t-app (2.0 -> 3.0); removed also: t-old");
  }

  TEST_CASE("apt: what a state wants installed is not removed for it, whatever is permitted") {
    Machine machine;
    machine.offer({{"t-base", "1.0"}, {"t-app", "1.0", "Depends: t-base\n"}});
    CHECK(machine.have(R"("t-app")").ok);
    const Outcome outcome = machine.have(R"({"t-base": "removed", "t-app": "installed"})", kAllowed);
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message ==
          "apt would remove t-app, which this state wants to be installed: they cannot all be as wanted at "
          "once");
  }

  TEST_CASE("apt: one package replaces another without a moment in which what needs one of them has to go") {
    Machine machine;
    machine.offer({{"t-exim", "1.0", "Provides: t-mta\nConflicts: t-mta\n"},
                   {"t-postfix", "1.0", "Provides: t-mta\nConflicts: t-mta\n"},
                   {"t-mailx", "1.0", "Depends: t-exim | t-mta\n"}});
    CHECK(machine.have(R"(["t-exim", "t-mailx"])").ok);
    CHECK_FALSE(machine.have(R"({"t-exim": "removed"})").ok);
    for (const char* gone : {"removed", "purged"}) {
      CAPTURE(gone);
      const Outcome outcome = machine.have(R"({"t-exim": ")" + std::string(gone) + R"(", "t-postfix": ""})");
      CHECK(outcome.ok);
      CHECK(machine.found("t-mailx") == "installed 1.0");
      CHECK(machine.found("t-exim") == (std::string(gone) == "purged" ? "" : "config-files 1.0"));
      CHECK(machine.have(R"({"t-postfix": "removed", "t-exim": ""})").ok);
    }
  }

  TEST_CASE("apt: a plan does not count what an earlier state of the recipe would have removed") {
    Machine machine;
    machine.offer({{"t-base", "1.0"}, {"t-app", "1.0", "Depends: t-base\n"}});
    CHECK(machine.have(R"("t-app")").ok);
    machine.overlay().add("first",
                          {{.kind = states::EffectKind::package, .name = "t-app", .present = false}});
    const Plan plan = machine.plan_of(R"({"t-base": "removed"})");
    CHECK(plan.verdict == Verdict::change);
    CHECK(plan.message == "Remove t-base");
  }

  TEST_CASE("apt: more than what was planned is not removed when it is applied") {
    Machine machine;
    machine.offer({{"t-base", "1.0"}, {"t-app", "1.0", "Depends: t-base\n"}});
    CHECK(machine.have(R"("t-base")").ok);
    for (const char* more : {"", kAllowed}) {
      CAPTURE(more);
      const std::string json = R"({"name": {"t-base": "removed"})" + std::string(more) + "}";
      const Plan plan = machine.plan(kState, json);
      REQUIRE(plan.verdict == Verdict::change);
      // Somebody is at work on the machine meanwhile.
      shell("apt-get -qq -y install t-app >/dev/null 2>&1");
      const states::Applied applied = machine.apply(kState, json, plan);
      CHECK_FALSE(applied.ok());
      CHECK(contains(applied.comment, "t-app"));
      CHECK(machine.found("t-app") == "installed 1.0");
      shell("apt-get -qq -y remove t-app >/dev/null 2>&1");
    }
  }

  TEST_CASE("apt: a run of apt-get ends before its first step if it would remove more than it may") {
    Machine machine;
    machine.offer({{"t-base", "1.0"},
                   {"t-app", "1.0", "Depends: t-base\n"},
                   {"t-rival", "1.0", "Conflicts: t-base\n"}});
    CHECK(machine.have(R"("t-app")").ok);
    const auto run = [](const std::string& action, const std::string& targets,
                        const std::vector<std::string>& permitted) {
      base::Command command;
      command.argv = {"apt-get", action, "-y", "-q"};
      for (const std::string& option : states::debian::removal_guard(permitted, "amd64"))
        command.argv.push_back(option);
      command.argv.push_back(targets);
      command.env = states::debian::apt_environment();
      const auto done = base::run(command);
      REQUIRE(done);
      return done->ok() ? std::string("done") : states::debian::failure_text("apt-get", *done);
    };
    CHECK(run("remove", "t-base", {"t-base"}) ==
          "apt-get failed (exit 100): E: This would now also remove t-app, which was not planned");
    CHECK(run("install", "t-rival", {}) ==
          "apt-get failed (exit 100): E: Packages need to be removed but remove is disabled.");
    CHECK(run("purge", "t-base", {"t-bas", "t-ap", "t-base:i386"}) ==
          "apt-get failed (exit 100): E: This would now also remove t-app t-base, which was not planned");
    CHECK(machine.found("t-base") == "installed 1.0");
    CHECK(run("remove", "t-base", {"t-base", "t-app"}) == "done");
    CHECK(run("purge", "t-base", {"t-base"}) == "done");
    CHECK(machine.found("t-base").empty());
  }

  TEST_CASE("apt: a package file that only root can read is planned with what it would remove") {
    Machine machine;
    machine.offer({{"t-old", "1.0"}});
    CHECK(machine.have(R"("t-old")").ok);
    const std::string file = tests::build({"t-file", "1.0", "Conflicts: t-old\n"}, "/srv/files");
    shell("chmod 0700 /srv/files; chmod 0600 " + file);
    const Plan plan = machine.plan_of(R"({"x": ")" + file + "\"}");
    CHECK(plan.verdict == Verdict::fail);
    CHECK(contains(plan.message, "apt would also remove a package that the recipe does not name: t-old."));
  }
}
