#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/dnf_machine.hpp"

namespace states::linux_yum_package {
extern const StateType& kState;
}
namespace states::linux_yum_repo {
extern const StateType& kState;
}

TEST_SUITE_BEGIN("system-managers");

namespace {

using states::Verdict;
using states::linux_yum_package::kState;
using namespace tests;

std::string json(const std::string& key, const std::string& value, const std::string& more = {}) {
  return R"({"name": [{"key": ")" + key + R"(", "value": ")" + value + "\"}]" + more + "}";
}

}  // namespace

TEST_CASE("dnf: a package is installed, upgraded, downgraded and removed") {
  DnfMachine machine;
  machine.offer({{"t-a", "1.0"}, {"t-a", "2.0"}});
  auto outcome = machine.converge(kState, json("t-a", "1.0"));
  CHECK_MESSAGE(outcome.ok, outcome.message << "\n" << outcome.output);
  CHECK(outcome.message == "Installed: t-a (1.0-1)");
  CHECK(DnfMachine::found("t-a") == "1.0-1");
  CHECK(machine.converge(kState, json("t-a", "1.0")).first == Verdict::kept);
  CHECK(machine.converge(kState, json("t-a.noarch", "installed")).first == Verdict::kept);
  outcome = machine.converge(kState, json("t-a", ">=1.5"));
  CHECK_MESSAGE(outcome.message == "Upgraded: t-a (1.0-1 -> 2.0-1)", outcome.message << outcome.output);
  outcome = machine.converge(kState, json("t-a", "1.0"));
  CHECK_MESSAGE(outcome.message == "Downgraded: t-a (2.0-1 -> 1.0-1)", outcome.message << outcome.output);
  outcome = machine.converge(kState, json("t-a", "removed"));
  CHECK_MESSAGE(outcome.message == "Removed: t-a", outcome.message << outcome.output);
  CHECK(DnfMachine::found("t-a").empty());
  CHECK(machine.converge(kState, json("t-a", "purged")).first == Verdict::kept);
}

TEST_CASE("dnf: the latest is looked up once in a round") {
  DnfMachine machine;
  machine.offer({{"t-a", "1.0"}});
  CHECK(machine.converge(kState, json("t-a", "latest")).message == "Installed: t-a (1.0-1)");
  CHECK(machine.converge(kState, json("t-a", "latest")).first == Verdict::kept);
  build_rpm({"t-a", "2.0"});
  shell("createrepo_c --quiet /srv/rpms >/dev/null 2>&1");  // dnf does not know of it yet
  StateHarness next_round(StateHarness::RunningSystem{});
  next_round.host().os.family = base::OsRelease::Family::rhel;
  CHECK(next_round.plan(kState, json("t-a", "latest")).is_refresh);
  const auto outcome = next_round.converge(kState, json("t-a", "latest"));
  CHECK_MESSAGE(outcome.message == "Upgraded: t-a (1.0-1 -> 2.0-1)", outcome.message << outcome.output);
}

TEST_CASE("dnf: unknown packages and versions fail before anything is removed") {
  DnfMachine machine;
  machine.offer({{"t-a", "1.0"}, {"t-b", "1.0"}});
  CHECK(machine.converge(kState, json("t-b", "")).ok);
  auto outcome = machine.converge(
      kState,
      R"({"name": [{"key": "t-b", "value": "removed"}, {"key": "t-none"}, {"key": "t-a", "value": "9"}]})");
  CHECK_FALSE(outcome.ok);
  CHECK_MESSAGE(
      outcome.message == "Unknown package(s): t-none\nVersion 9 of t-a is not available (available: 1.0-1)",
      outcome.message);
  CHECK(DnfMachine::found("t-b") == "1.0-1");
}

TEST_CASE("dnf: what depends on a removed package is not removed unless it is permitted") {
  DnfMachine machine;
  machine.offer({{"t-a", "1.0"}, {"t-b", "1.0", "Requires: t-a"}});
  CHECK(machine.converge(kState, json("t-b", "")).message == "Installed: t-b (1.0-1)");
  const auto refused = machine.plan(kState, json("t-a", "removed"));
  CHECK(refused.verdict == Verdict::fail);
  CHECK(
      refused.message ==
      "dnf would also remove a package that the recipe does not name: t-b. Name it as 'removed' in the same "
      "state, or permit it with 'allow_removals: true'");
  CHECK(DnfMachine::found("t-b") == "1.0-1");
  const auto plan = machine.plan(kState, json("t-a", "removed", R"(, "allow_removals": true)"));
  REQUIRE(plan.changes.size() == 2);
  CHECK(plan.changes[1].what == "package t-b");
  CHECK(plan.changes[1].after == "removed (not named by the recipe)");
  const auto outcome = machine.converge(kState, json("t-a", "removed", R"(, "allow_removals": true)"));
  CHECK_MESSAGE(outcome.message == "Removed: t-a; removed also: t-b", outcome.message << outcome.output);
}

TEST_CASE("dnf: an installation that removes or replaces others is refused unless permitted") {
  DnfMachine machine;
  machine.offer({{"t-a", "1.0"}, {"t-c", "1.0", "Conflicts: t-a"}});
  CHECK(machine.converge(kState, json("t-a", "1.0", R"(, "verify_gpg": false)")).ok);
  REQUIRE(DnfMachine::found("t-a") == "1.0-1");
  const auto conflict = machine.converge(kState, json("t-c", ""));
  CHECK_FALSE(conflict.ok);
  CHECK_MESSAGE(contains(conflict.message, "conflicts with t-a"), conflict.message);
  machine.offer({{"t-d", "1.0", "Obsoletes: t-a"}});
  const auto replaced = machine.converge(kState, json("t-d", ""));
  CHECK_FALSE(replaced.ok);
  CHECK_MESSAGE(contains(replaced.message, "does not name: t-a"), replaced.message);
  CHECK(DnfMachine::found("t-a") == "1.0-1");
  CHECK(machine.converge(kState, json("t-c", "", R"(, "allow_removals": true)")).ok);
  CHECK(DnfMachine::found("t-a").empty());
}

TEST_CASE("dnf: a plan writes nothing, dnf's own logs and locks included") {
  DnfMachine machine;
  machine.offer({{"t-a", "1.0"}, {"t-b", "1.0"}});
  CHECK(machine.converge(kState, json("t-a", "")).ok);
  const char* kState_of_dnf =
      "find /var/lib/rpm /var/lib/dnf /var/cache/dnf /var/log /usr/share /root /var/tmp -type f ! -name "
      "'*-shm' "
      "-printf '%p %s %T@ %i\\n' | sort";
  const std::string before = shell(kState_of_dnf);
  for (const char* name : {"t-a", "t-b"})
    for (const char* value : {"installed", "removed", "latest", "2.0"})
      machine.plan(kState, json(name, value));
  CHECK(shell(kState_of_dnf) == before);
}

TEST_CASE("dnf: a kept state asks rpm once in a round, and starts nothing else") {
  DnfMachine machine;
  machine.offer({{"t-a", "1.0", "Provides: t-virtual = 3"}});
  CHECK(machine.converge(kState, json("t-a", "")).ok);
  shell(
      "mv /usr/bin/dnf /usr/bin/dnf.hidden; printf '#!/bin/sh\\ntouch /srv/started\\n' >/usr/bin/dnf; chmod "
      "755 /usr/bin/dnf");
  CHECK(machine.plan(kState, json("t-a", "1.0")).verdict == Verdict::kept);
  CHECK(machine.plan(kState, json("t-virtual", "")).verdict == Verdict::kept);
  CHECK(machine.plan(kState, json("t-none", "removed")).verdict == Verdict::kept);
  CHECK_FALSE(std::filesystem::exists("/srv/started"));
  shell("mv /usr/bin/dnf.hidden /usr/bin/dnf");
}

TEST_CASE(
    "dnf: only the repositories that are named are asked, and signatures are checked unless told otherwise") {
  DnfMachine machine;
  machine.offer({{"t-a", "1.0"}});
  shell("mkdir -p /srv/rpms/more");
  build_rpm({"t-m", "1.0"}, "/srv/more");
  shell("createrepo_c --quiet /srv/more >/dev/null 2>&1");
  put("/etc/yum.repos.d/more.repo", "[more]\nname=More\nbaseurl=file:///srv/more\ngpgcheck=1\n");
  auto outcome = machine.converge(kState, json("t-m", "", R"(, "repo": "test")"));
  CHECK(outcome.message == "Unknown package(s): t-m");
  outcome = machine.converge(kState, json("t-m", "", R"(, "fromrepo": "more,test")"));
  CHECK_FALSE(outcome.ok);
  CHECK_MESSAGE(contains(outcome.message, "signatures are to be checked, and no key is known"),
                outcome.message << outcome.output);
  outcome = machine.converge(kState, json("t-m", "", R"(, "repo": "more", "verify-gpg": false)"));
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(outcome.output.starts_with("verify-gpg is false: signatures of packages are not checked"));
  std::filesystem::remove("/etc/yum.repos.d/more.repo");
}

TEST_CASE("dnf: a package file is installed once, with what it needs, and the label of it is only a label") {
  DnfMachine machine;
  machine.offer({{"t-a", "1.0"}});
  const std::string file = build_rpm({"t-f", "1.0", "Requires: t-a"}, "/srv/files");
  const std::string wanted =
      R"({"name": [{"key": "any label", "value": "file://)" + file + R"("}, {"key": "t-skipped"}]})";
  auto outcome = machine.converge(kState, wanted);
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(outcome.message == "Installed: t-f (1.0-1); skipped: t-skipped");
  CHECK(DnfMachine::found("t-a") == "1.0-1");
  CHECK(machine.converge(kState, wanted).first == Verdict::kept);
  put("/srv/files/none.rpm", "no rpm");
  CHECK(machine.plan(kState, json("x", "/srv/files/none.rpm")).message ==
        "/srv/files/none.rpm is not an rpm package");
  CHECK(machine.plan(kState, json("x", "/srv/files/gone.rpm")).message ==
        "Package file /srv/files/gone.rpm does not exist");
}

TEST_CASE("dnf: a package file that others can change is installed only as the recipe's checksum says") {
  DnfMachine machine;
  shell("rm -rf /srv/theirs; mkdir /srv/theirs; chown 1234 /srv/theirs");
  const std::string good = build_rpm({"t-theirs", "1.0"}, "/srv/theirs");
  const auto refused = machine.plan(kState, json("x", good));
  CHECK(refused.verdict == Verdict::fail);
  CHECK_MESSAGE(contains(refused.message, "can be changed by others"), refused.message);
  const std::string sum = "#sha256=" + shell("sha256sum " + good + " | cut -d' ' -f1");
  const auto plan = machine.plan(kState, json("x", good + sum));
  CHECK(plan.verdict == Verdict::change);
  // Between plan and apply somebody adds to it.
  shell("cp " + good + " /srv/good; printf x >>" + good);
  CHECK(machine.apply(kState, json("x", good + sum), plan)
            .comment.starts_with("Checksum mismatch for " + good));
  shell("cp /srv/good " + good);
  machine.next_round();
  const auto outcome = machine.converge(kState, json("x", good + sum));
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  CHECK(shell("rpm -q t-theirs").starts_with("t-theirs-1.0"));
}

TEST_CASE("dnf: a repository that changed is asked anew in the same round") {
  DnfMachine machine;
  machine.offer({{"t-a", "1.0"}});
  CHECK(machine.converge(kState, json("t-a", "")).ok);
  shell("mkdir -p /srv/more");
  build_rpm({"t-n", "1.0"}, "/srv/more");
  shell("createrepo_c --quiet /srv/more >/dev/null 2>&1");
  CHECK(machine
            .converge(
                states::linux_yum_repo::kState,
                R"({"name": "more", "content": "[more]\nname=More\nbaseurl=file:///srv/more\ngpgcheck=0"})")
            .ok);
  const auto outcome = machine.converge(kState, json("t-n", ""));
  CHECK_MESSAGE(outcome.ok, outcome.message << outcome.output);
  std::filesystem::remove("/etc/yum.repos.d/more.repo");
}

TEST_SUITE_END();
