// linux.apt.package with a real apt and dpkg and a repository made here. Only in a scratch machine.
#include <filesystem>

#include <doctest/doctest.h>

#include "base/unique_fd.hpp"
#include "states/linux_apt_package/apt_package.hpp"
#include "states/state.hpp"
#include "tests/support/apt_machine.hpp"
#include "tests/support/old_kernel.hpp"

namespace states::linux_apt_package {
extern const StateType& kState;
}
namespace states::linux_apt_repo {
extern const StateType& kState;
}

namespace {

namespace fs = std::filesystem;
using states::Plan;
using states::Verdict;
using states::linux_apt_package::kState;
using tests::build;
using tests::contains;
using tests::kRepo;
using tests::kSources;
using tests::put;
using tests::shell;
using tests::StateHarness;
using Outcome = StateHarness::Outcome;

class Machine : public tests::AptMachine {
 public:
  Outcome have(const std::string& name) { return converge(kState, R"({"name": )" + name + "}"); }
  Plan plan_of(const std::string& name) { return plan(kState, R"({"name": )" + name + "}"); }

  // "change: what the plan says", as of a process that may have a read-only view of the machine, or may not.
  std::string told_in_plan(const std::string& name, bool has_view) {
    constexpr auto kAnswer = "/srv/told";
    const pid_t child = ::fork();
    if (child == 0) {
      if (!has_view && !tests::refuse_read_only_views()) ::_exit(1);
      const Plan plan = plan_of(name);
      put(kAnswer, (plan.verdict == Verdict::change ? "change: "
                    : plan.verdict == Verdict::fail ? "fail: "
                                                    : "other: ") +
                       plan.message);
      ::_exit(0);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
    return shell(std::string("cat ") + kAnswer + "; rm " + kAnswer);
  }
};

// The module with less patience.
const states::StateType& impatient() {
  static constexpr states::linux_apt_package::AptPackage type{
      {.lock = std::chrono::seconds(2), .retry = std::chrono::milliseconds(300)}};
  return type;
}

}  // namespace

TEST_SUITE("system") {
  TEST_CASE("apt: a package is installed with what it depends on, and then kept") {
    Machine machine;
    machine.offer({{"t-base", "1.0"}, {"t-app", "2.0", "Depends: t-base\n"}});
    const Outcome outcome = machine.have(R"("t-app")");
    CHECK(outcome.ok);
    CHECK(outcome.message == "Installed: t-app (2.0)");
    CHECK(contains(outcome.output, "Setting up t-app (2.0)"));
    CHECK(Machine::found("t-app") == "installed 2.0");
    CHECK(Machine::found("t-base") == "installed 1.0");
    const Outcome again = machine.have(R"(["t-app", "t-base"])");
    CHECK(again.first == Verdict::kept);
    CHECK(again.message == "All 2 packages are already as wanted");
  }

  TEST_CASE("apt: a plan shows the version, remarks on unknown names and writes nothing") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}, {"t-old", "1.0"}});
    CHECK(machine.have(R"({"t-old": ""})").ok);
    machine.offer({{"t-old", "1.1"}});
    StateHarness next_round(StateHarness::RunningSystem{});
    shell("apt-get update -q; rm -f /var/cache/apt/*.bin");
    const std::string before =
        shell("find /var/lib/apt /var/lib/dpkg /var/cache /etc -printf '%p %T@ %s\\n' | sort");
    const Plan plan =
        next_round.plan(kState, R"({"name": {"t-app": "", "t-nothing": "", "t-old": "latest"}})");
    CHECK(shell("find /var/lib/apt /var/lib/dpkg /var/cache /etc -printf '%p %T@ %s\\n' | sort") == before);
    REQUIRE(plan.changes.size() == 3);
    CHECK(plan.changes[0].after == "1.0");
    CHECK(plan.changes[1].after == "installed (not in the present package lists)");
    CHECK(plan.changes[2].before == "1.0");
    CHECK(plan.changes[2].after == "1.1");
  }

  TEST_CASE("apt: a plan works with sources that only root may read, and still writes nothing") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    shell("apt-get update -q; rm -f /var/cache/apt/*.bin; chmod 0600 " + std::string(kSources));
    const Plan plan = machine.plan_of(R"("t-app")");
    CHECK(plan.changes.at(0).after == "1.0");
    CHECK_FALSE(fs::exists("/var/cache/apt/pkgcache.bin"));
    // Asked for the versions of a package, apt says nothing of sources that it may not read.
    machine.offer({{"t-old", "1.0"}});
    CHECK(machine.have(R"({"t-old": "1.0"})").ok);
    machine.offer({{"t-app", "2.0", "Conflicts: t-old\n"}});
    shell("apt-get update -q; rm -f /var/cache/apt/*.bin");
    const Plan refused = machine.plan_of(R"({"t-app": "2.0"})");
    CHECK(refused.verdict == Verdict::fail);
    CHECK(contains(refused.message, "t-old"));
  }

  TEST_CASE("apt: a plan finds what apply will, in sources that only root can reach") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    shell("apt-get update -q");
    const std::string closed = "/srv/closed";
    fs::create_directories(closed);
    fs::permissions(closed, fs::perms(0700));
    put(closed + "/t-broken.list", "nonsense\n");
    fs::create_symlink(closed + "/t-broken.list", "/etc/apt/sources.list.d/t-broken.list");
    for (const bool has_view : {true, false}) {
      CAPTURE(has_view);
      const std::string told = machine.told_in_plan(R"("t-app")", has_view);
      CHECK(contains(told, "fail: "));
      CHECK(contains(told, "t-broken.list"));
    }
    shell("rm /etc/apt/sources.list.d/t-broken.list");
    for (const bool has_view : {true, false}) {
      CAPTURE(has_view);
      CHECK(contains(machine.told_in_plan(R"("t-app")", has_view), "change: "));
    }
    const Outcome outcome = machine.have(R"("t-app")");
    CHECK(outcome.message == "Installed: t-app (1.0)");
  }

  TEST_CASE("apt: a plan runs no hook of apt's, with and without the view") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    shell("apt-get update -q");
    // One that only root may read, which runs what can be seen to have run where nothing can be written.
    const std::string settings = "/etc/apt/apt.conf.d/99t-hook";
    const std::string pipe = "/var/tmp/t-hook";
    shell("mkfifo " + pipe);
    const base::UniqueFd said(::open(pipe.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
    const auto has_run = [&] {
      char text[64];
      return ::read(said.get(), text, sizeof text) > 0;
    };
    put(settings, "AptCli::Hooks::Install {\"echo ran >" + pipe + "\"; };\n", fs::perms(0600));
    for (const bool has_view : {true, false}) {
      CAPTURE(has_view);
      CHECK(contains(machine.told_in_plan(R"("t-app")", has_view), "change: "));
      CHECK_FALSE(has_run());
    }
    // apt runs it for a simulation, too.
    shell("apt-get --simulate install t-app");
    CHECK(has_run());
    fs::remove(pipe);
    fs::remove(settings);
  }

  TEST_CASE("apt: a plan promises nothing where apt cannot read its sources") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    shell("apt-get update -q; echo nonsense >/etc/apt/sources.list.d/t-broken.list");
    const Plan plan = machine.plan_of(R"("t-app")");
    machine.overlay().add("fix", {{.kind = states::EffectKind::file,
                                   .name = "/etc/apt/sources.list.d/t-broken.list",
                                   .present = false}});
    const Plan mended = machine.plan_of(R"("t-app")");
    shell("rm /etc/apt/sources.list.d/t-broken.list");
    CHECK(plan.verdict == Verdict::fail);
    CHECK(plan.message.find("t-broken.list") != std::string::npos);
    CHECK(mended.verdict == Verdict::unknown);
    CHECK(mended.depends_on == "fix");
  }

  TEST_CASE("apt: latest is upgraded when something newer appears, installed is not") {
    Machine machine;
    machine.offer({{"t-app", "1.9"}});
    CHECK(machine.have(R"({"t-app": "latest"})").message == "Installed: t-app (1.9)");
    machine.offer({{"t-app", "1.10"}});
    // The lists were refreshed in this round: nobody looks again.
    CHECK(machine.have(R"({"t-app": "latest"})").first == Verdict::kept);
    Machine::age_lists();
    StateHarness next_round(StateHarness::RunningSystem{});
    CHECK(next_round.converge(kState, R"({"name": "t-app"})").first == Verdict::kept);
    const Outcome upgraded = next_round.converge(kState, R"({"name": {"t-app": "latest"}})");
    CHECK(upgraded.ok);
    CHECK(upgraded.message == "Upgraded: t-app (1.9 -> 1.10)");
    CHECK(Machine::found("t-app") == "installed 1.10");
  }

  TEST_CASE("apt: latest refreshes old lists even if nothing newer comes of it") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    CHECK(machine.have(R"("t-app")").ok);
    Machine::age_lists();
    StateHarness next_round(StateHarness::RunningSystem{});
    fs::create_directories(next_round.host().state_dir);
    const Outcome outcome = next_round.converge(kState, R"({"name": {"t-app": "latest"}})");
    CHECK(outcome.ok);
    CHECK(outcome.changed);
    CHECK(outcome.message == "Package t-app is already as wanted; package lists refreshed");
    Machine::age_lists();
    CHECK(next_round.plan(kState, R"({"name": {"t-app": "latest"}})").verdict == Verdict::kept);
  }

  TEST_CASE("apt: after a clock that was wrong, latest is looked up once and then kept") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    CHECK(machine.have(R"("t-app")").ok);
    machine.offer({{"t-app", "2.0"}});
    shell("touch -d '+9 years' /var/lib/apt/lists/partial " + std::string(kSources) +
          " /etc/apt/sources.list /etc/apt/sources.list.d");
    StateHarness next_round(StateHarness::RunningSystem{});
    fs::create_directories(next_round.host().state_dir);
    CHECK(next_round.converge(kState, R"({"name": {"t-app": "latest"}})").message ==
          "Upgraded: t-app (1.0 -> 2.0)");
    StateHarness round_after(StateHarness::RunningSystem{});
    round_after.host().state_dir = next_round.host().state_dir;
    CHECK(round_after.plan(kState, R"({"name": {"t-app": "latest"}})").verdict == Verdict::kept);
  }

  TEST_CASE("apt: versions are exact, the beginning of one, or compared") {
    Machine machine;
    machine.offer(
        {{"t-app", "10.18.1-1"}, {"t-app", "10.18.2-1"}, {"t-app", "10.19-1"}, {"t-app", "1:2.0-1"}});
    CHECK(machine.have(R"({"t-app": "10.18"})").message == "Installed: t-app (10.18.2-1)");
    CHECK(machine.have(R"({"t-app": "10.18"})").first == Verdict::kept);
    CHECK(machine.have(R"({"t-app": ">10.18"})").first == Verdict::kept);
    CHECK(machine.have(R"({"t-app": ">=10.19"})").message == "Upgraded: t-app (10.18.2-1 -> 1:2.0-1)");
    CHECK(machine.have(R"({"t-app": "2.0"})").first == Verdict::kept);
    CHECK(machine.have(R"({"t-app": "<1:0"})").message == "Downgraded: t-app (1:2.0-1 -> 10.19-1)");
    CHECK(machine.have(R"({"t-app": "=10.18.1-1"})").message == "Downgraded: t-app (10.19-1 -> 10.18.1-1)");
    CHECK(machine.have(R"({"t-app": "1:2.0-1"})").message == "Upgraded: t-app (10.18.1-1 -> 1:2.0-1)");
    CHECK(Machine::found("t-app") == "installed 1:2.0-1");
  }

  TEST_CASE("apt: --allow-downgrades is given only where a version asks for it") {
    Machine machine;
    machine.offer({{"t-low", "1.0"}, {"t-high", "2.0"}});
    CHECK(machine.have(R"("t-high")").ok);
    // Only a downgrade of the dependency would do, and nobody has asked for that.
    machine.offer({{"t-high", "1.0"}, {"t-app", "1.0", "Depends: t-high (<< 2)\n"}});
    StateHarness next_round(StateHarness::RunningSystem{});
    const Outcome refused = next_round.converge(kState, R"({"name": "t-app"})");
    CHECK_FALSE(refused.ok);
    CHECK(refused.message.starts_with("apt-get install failed (exit 100): E: "));
    CHECK(Machine::found("t-high") == "installed 2.0");
    CHECK(next_round.converge(kState, R"({"name": {"t-app": "", "t-high": "1.0"}})").message ==
          "Installed: t-app (1.0); downgraded: t-high (2.0 -> 1.0)");
  }

  TEST_CASE("apt: removed leaves configuration, purged does not") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}, {"t-other", "1.0"}});
    CHECK(machine.have(R"(["t-app", "t-other"])").ok);
    CHECK(machine.have(R"({"t-app": "removed"})").message == "Removed: t-app");
    CHECK(Machine::found("t-app") == "config-files 1.0");
    CHECK(fs::exists("/etc/t-app.conf"));
    CHECK(machine.have(R"({"t-app": "removed"})").first == Verdict::kept);
    CHECK(machine.have(R"({"t-app": "purged", "t-other": "purged"})").message == "Purged: t-app, t-other");
    CHECK(Machine::found("t-app").empty());
    CHECK_FALSE(fs::exists("/etc/t-app.conf"));
  }

  TEST_CASE("apt: one state may remove, purge, install and keep") {
    Machine machine;
    machine.offer({{"t-a", "1"}, {"t-b", "1"}, {"t-c", "1", "Conflicts: t-a\n"}, {"t-d", "1"}});
    CHECK(machine.have(R"(["t-a", "t-b", "t-d"])").ok);
    const Outcome outcome =
        machine.have(R"({"t-c": "", "t-d": "1", "t-b": "purged", "t-a": "removed", "t-x": "removed"})");
    CHECK(outcome.ok);
    CHECK(outcome.message == "Installed: t-c (1); removed: t-a; purged: t-b; already as wanted: t-d, t-x");
    CHECK(Machine::found("t-a") == "config-files 1");
    CHECK(outcome.output.find("Removing t-a") < outcome.output.find("Purging configuration files for t-b"));
    CHECK(outcome.output.find("Purging configuration files for t-b") < outcome.output.find("Setting up t-c"));
  }

  TEST_CASE("apt: a changed configuration file survives an upgrade") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    CHECK(machine.have(R"("t-app")").ok);
    put("/etc/t-app.conf", "mine\n");
    machine.offer({{"t-app", "2.0"}});
    StateHarness next_round(StateHarness::RunningSystem{});
    CHECK(next_round.converge(kState, R"({"name": {"t-app": "2.0"}})").ok);
    CHECK(shell("cat /etc/t-app.conf") == "mine");
  }

  TEST_CASE("apt: package files are installed with their dependencies, in their version") {
    Machine machine;
    machine.offer({{"t-base", "1.0"}});
    const std::string newer = build({"t-file", "2.0", "Depends: t-base\n"}, "/srv/files");
    const std::string older = build({"t-file", "1.0"}, "/srv/files");
    const Outcome outcome = machine.have(R"({"some label": ")" + newer + R"(", "t-other": "latest"})");
    CHECK(outcome.ok);
    CHECK(outcome.message == "Installed: t-file (2.0); skipped: t-other");
    CHECK(Machine::found("t-base") == "installed 1.0");
    CHECK(machine.have(R"({"x": "file://)" + newer + "\"}").message == "Package t-file is already as wanted");
    CHECK(machine.have(R"({"x": ")" + older + "\"}").message == "Downgraded: t-file (2.0 -> 1.0)");
    put("/srv/files/not.deb", "no package");
    CHECK(machine.have(R"({"x": "/srv/files/not.deb"})")
              .message.starts_with("/srv/files/not.deb is not a Debian package: "));
  }

  TEST_CASE("apt: a package file that others can change is installed only as the recipe's checksum says") {
    Machine machine;
    machine.offer({{"t-base", "1.0"}});
    shell("rm -rf /srv/theirs /srv/open; mkdir /srv/theirs /srv/open; chown 1234 /srv/theirs");
    const std::string good = build({"t-file", "1.0"}, "/srv/theirs");
    const std::string evil = build({"t-file", "1.0", "Section: misc\n"}, "/srv/open");
    const std::string sum = "#sha256=" + shell("sha256sum " + good + " | cut -d' ' -f1");
    const auto refuses = [&](const std::string& file) {
      const auto plan = machine.plan(kState, R"({"name": {"x": ")" + file + "\"}}");
      return plan.verdict == Verdict::fail &&
             plan.message.find("can be changed by others") != std::string::npos;
    };
    CHECK(refuses(good));
    CHECK(refuses("file://" + good));
    shell("chmod 666 " + evil);
    CHECK(refuses(evil));
    shell("chmod 644 " + evil + "; chmod 777 /srv/open");
    CHECK(refuses(evil));
    shell("chmod 755 /srv/open; ln -sf " + good + " /srv/open/link.deb");
    CHECK(refuses("/srv/open/link.deb"));
    CHECK_FALSE(refuses(evil));
    // Whoever owns the folder puts another package of the same name and version there between plan and apply.
    const std::string json = R"({"name": {"x": ")" + good + sum + "\"}}";
    const auto plan = machine.plan(kState, json);
    CHECK(plan.verdict == Verdict::change);
    shell("cp " + good + " /srv/good; cp " + evil + " " + good);
    CHECK(machine.apply(kState, json, plan).comment.starts_with("Checksum mismatch for " + good));
    CHECK(Machine::found("t-file").empty());
    CHECK(machine.plan(kState, json).message.starts_with("Checksum mismatch for " + good));
    shell("cp /srv/good " + good);
    StateHarness next_round(StateHarness::RunningSystem{});
    const auto outcome = next_round.converge(kState, json);
    CHECK_MESSAGE(outcome.ok, outcome.message);
    CHECK(Machine::found("t-file") == "installed 1.0");
    CHECK(std::filesystem::is_empty(next_round.host().state_dir + "/downloads"));
  }

  TEST_CASE("apt: unknown packages and versions fail before anything is removed") {
    Machine machine;
    machine.offer(
        {{"t-app", "1.0"}, {"t-app", "1.1"}, {"t-old", "1.0"}, {"t-provider", "1", "Provides: t-virtual\n"}});
    CHECK(machine.have(R"("t-old")").ok);
    // The lists are fresh by now, so the plan knows.
    Outcome outcome = machine.have(R"({"t-nothing": "", "t-nowhere": "1", "t-old": "removed"})");
    CHECK(outcome.first == Verdict::fail);
    CHECK(outcome.message == "Unknown package(s): t-nothing, t-nowhere");
    StateHarness next_round(StateHarness::RunningSystem{});
    outcome =
        next_round.converge(kState, R"({"name": {"t-nothing": "", "t-virtual": "", "t-old": "removed"}})");
    CHECK(outcome.first == Verdict::change);
    CHECK(outcome.message == "Unknown package(s): t-nothing, t-virtual");
    outcome = machine.have(R"({"t-app": "3", "t-old": "purged"})");
    CHECK_FALSE(outcome.ok);
    CHECK(outcome.message == "Version 3 of t-app is not available (available: 1.1, 1.0)");
    CHECK(machine.have(R"({"t-app": ">=1.2"})").message ==
          "Version >= 1.2 of t-app is not available (available: 1.1, 1.0)");
    CHECK(Machine::found("t-old") == "installed 1.0");
    // Apt would take a name with a dash behind it for an order to remove.
    CHECK(machine.have(R"("t-old-")").message == "Unknown package(s): t-old-");
    CHECK(Machine::found("t-old") == "installed 1.0");
  }

  TEST_CASE("apt: a failing postinst fails the state, and the next round repairs it") {
    Machine machine;
    machine.offer({{"t-bad", "1.0", "", "echo cannot go on; test -e /srv/let-it-pass || exit 3\n"}});
    Outcome outcome = machine.have(R"("t-bad")");
    CHECK_FALSE(outcome.ok);
    CHECK(contains(outcome.message,
                   "apt-get install failed (exit 100): E: Sub-process /usr/bin/dpkg returned"));
    CHECK(contains(outcome.message, "error processing package t-bad"));
    CHECK(contains(outcome.message, "exit status 3"));
    CHECK(contains(outcome.output, "cannot go on"));
    CHECK(machine.plan_of(R"("t-bad")").changes.at(0).before == "half-configured (1.0)");
    put("/srv/let-it-pass", "");
    outcome = machine.have(R"("t-bad")");
    CHECK(outcome.ok);
    CHECK(outcome.message == "Installed: t-bad (1.0)");
  }

  TEST_CASE("apt: what an interrupted dpkg left behind is finished first") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    const std::string file =
        build({"t-killer", "1.0", "", "test -e /srv/let-it-pass || kill -KILL $PPID\n"}, "/srv/files");
    shell("dpkg -i " + file + " >/dev/null 2>&1 || true");
    REQUIRE(shell("ls /var/lib/dpkg/updates") != "");
    CHECK(machine.plan_of(R"("t-killer")").verdict == Verdict::change);
    put("/srv/let-it-pass", "");
    const Outcome outcome = machine.have(R"("t-app")");
    CHECK(outcome.ok);
    CHECK(outcome.message == "Installed: t-app (1.0)");
    CHECK(contains(outcome.output, "dpkg was interrupted"));
    CHECK(Machine::found("t-killer") == "installed 1.0");
  }

  TEST_CASE("apt: a dpkg that is interrupted again and again fails the state") {
    Machine machine;
    const std::string file = build({"t-killer", "1.0", "", "kill -KILL $PPID\n"}, "/srv/files");
    shell("dpkg -i " + file + " >/dev/null 2>&1 || true");
    REQUIRE(shell("ls /var/lib/dpkg/updates") != "");
    const Outcome outcome = machine.have(R"({"t-killer": "purged"})");
    CHECK_FALSE(outcome.ok);  // its script kills every dpkg that tries
    CHECK(contains(outcome.message, "dpkg was interrupted"));
  }

  TEST_CASE("apt: a lock that another process holds is waited for, and its holder named") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    for (const char* lock : {"/var/lib/dpkg/lock-frontend", "/var/lib/apt/lists/lock"}) {
      CAPTURE(lock);
      const tests::LockHolder holder(lock);
      const Outcome outcome = machine.converge(impatient(), R"({"name": "t-app"})");
      CHECK_FALSE(outcome.ok);
      CHECK(outcome.message == "Timed out waiting for the " +
                                   std::string(contains(lock, "lists") ? "package lists" : "dpkg") +
                                   " lock (held by " + holder.name() + ")");
      CHECK(Machine::found("t-app").empty());
      // A source edited in place makes the lists stale, so that the next turn gets as far as their lock.
      put(kSources, shell("cat " + std::string(kSources)) + "\n");
    }
  }

  TEST_CASE("apt: who holds a lock is told while it is waited for, and in the result") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    for (const char* lock : {"/var/lib/dpkg/lock-frontend", "/var/lib/apt/lists/lock"}) {
      CAPTURE(lock);
      tests::LockHolder holder(lock);
      StateHarness next_round(StateHarness::RunningSystem{});
      std::string told;
      next_round.live = [&](base::Stream, std::string_view text) {
        if (!text.starts_with("Waiting for the ")) return;
        told = text;
        holder.release();
      };
      const Outcome outcome = next_round.converge(kState, R"({"name": "t-app"})");
      CHECK(outcome.ok);
      CHECK(contains(told, " lock (held by " + holder.name() + "), for "));
      CHECK(contains(outcome.output, "Waited "));
      CHECK(contains(outcome.output, " lock (held by " + holder.name() + ")"));
      CHECK(next_round.converge(kState, R"({"name": {"t-app": "purged"}})").ok);
    }
  }

  TEST_CASE("apt: the state's own time limit ends the wait for a lock") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    const tests::LockHolder holder("/var/lib/dpkg/lock-frontend");
    machine.timeout = std::chrono::seconds(3);
    const Plan plan = machine.plan_of(R"("t-app")");
    const states::Applied applied = machine.apply(kState, R"({"name": "t-app"})", plan);
    CHECK(applied.end == states::AppliedEnd::timed_out);
    CHECK(applied.comment == "Timed out waiting for the dpkg lock (held by " + holder.name() + ")");
  }

  TEST_CASE("apt: debconf answers are loaded before an installation, and only then") {
    Machine machine;
    machine.offer(
        {{"t-ask", "1.0", "Depends: debconf\n",
          ". /usr/share/debconf/confmodule\ndb_get t-ask/colour\necho \"$RET\" >/srv/answer\n",
          ". /usr/share/debconf/confmodule\ndb_input high t-ask/colour || true\ndb_go || true\n",
          "Template: t-ask/colour\nType: string\nDefault: grey\nDescription: colour\n A colour.\n"}});
    put("/srv/answers", "t-ask t-ask/colour string green\n");
    const auto json = R"({"name": "t-ask", "deb-conf-file": "/srv/answers"})";
    CHECK(machine.converge(kState, json).message == "Installed: t-ask (1.0)");
    CHECK(shell("cat /srv/answer") == "green");
    put("/srv/answers", "t-ask t-ask/colour string red\n");
    CHECK(machine.converge(kState, json).first == Verdict::kept);
    CHECK(contains(shell("echo GET t-ask/colour | debconf-communicate"), "green"));
    CHECK(machine.have(R"({"t-ask": "purged"})").ok);
    fs::remove("/srv/answers");
    CHECK(machine.converge(kState, json).message == "debconf file /srv/answers cannot be read");
    put("/srv/answers", "complete nonsense\n");
    CHECK(machine.converge(kState, json).message.starts_with("debconf-set-selections failed (exit "));
  }

  TEST_CASE("apt: the name of a file of debconf answers is never a command") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    put("/srv/answers; touch ran|", "t-app t-app/colour string green\n");
    const Outcome outcome =
        machine.converge(kState, R"({"name": "t-app", "deb-conf-file": "/srv/answers; touch ran|"})");
    CHECK(outcome.message == "Installed: t-app (1.0)");
    CHECK_FALSE(fs::exists("ran"));
    CHECK_FALSE(fs::exists("/ran"));
    CHECK(contains(shell("echo GET t-app/colour | debconf-communicate"), "green"));
  }

  TEST_CASE("apt: a changed repository makes the lists stale for the next installation of the round") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    CHECK(machine.have(R"("t-app")").ok);
    build({"t-second", "1.0"}, "/srv/second-repo");
    Machine::index("/srv/second-repo");
    CHECK(machine.have(R"("t-second")").message == "Unknown package(s): t-second");
    const Outcome repo =
        machine.converge(states::linux_apt_repo::kState,
                         R"({"name": "second", "content": "deb [trusted=yes] copy:/srv/second-repo ./"})");
    CHECK(repo.changed);
    CHECK(machine.have(R"("t-second")").message == "Installed: t-second (1.0)");
    // And a round that has fresh lists does not refresh them again.
    machine.offer({{"t-third", "1.0"}});
    CHECK(machine.have(R"("t-third")").message == "Unknown package(s): t-third");
  }

  TEST_CASE("apt: a mirror that fails is a warning unless the installation fails, too") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    put("/etc/apt/sources.list.d/gone.list", "deb [trusted=yes] file:/srv/no-such-repo ./\n");
    Outcome outcome = machine.have(R"("t-app")");
    CHECK(outcome.ok);
    CHECK(outcome.message.starts_with(
        "Installed: t-app (1.0)\nWarning: apt-get update failed (exit 100): E: "));
    outcome = machine.have(R"("t-nothing")");
    CHECK_FALSE(outcome.ok);
    CHECK(
        outcome.message.starts_with("Unknown package(s): t-nothing\napt-get update failed (exit 100): E: "));
    CHECK(machine.have(R"({"t-app": "latest"})").first == Verdict::kept);
  }

  TEST_CASE("apt: unauthenticated packages need the permission of the agent's configuration") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    shell("cd /srv/test-repo && apt-ftparchive release . >/tmp/Release && mv /tmp/Release .");
    put(kSources, "deb copy:" + std::string(kRepo) + " ./\n");
    const auto json = R"({"name": "t-app", "verify-gpg": false})";
    Outcome outcome = machine.converge(kState, json);
    CHECK_FALSE(outcome.ok);
    CHECK(Machine::found("t-app").empty());
    machine.host().allow_unauthenticated_packages = true;
    CHECK_FALSE(machine.converge(kState, R"({"name": "t-app", "verify-gpg": "yes"})").ok);
    outcome = machine.converge(kState, json);
    CHECK(outcome.ok);
    CHECK(contains(outcome.output, "unauthenticated packages are accepted"));
    CHECK(Machine::found("t-app") == "installed 1.0");
  }

  TEST_CASE("apt: verify-gpg: false without permission is remarked upon and changes nothing") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    const Outcome outcome = machine.converge(kState, R"({"name": "t-app", "verify_gpg": "n"})");
    CHECK(outcome.ok);
    CHECK(contains(outcome.output, "verify-gpg: false is not honoured"));
  }

  TEST_CASE("apt: repo selects the release to install from") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    build({"t-app", "2.0"}, "/srv/special");
    Machine::index("/srv/special");
    shell(
        "cd /srv/special && apt-ftparchive -o APT::FTPArchive::Release::Suite=special "
        "-o APT::FTPArchive::Release::NotAutomatic=yes release . >/tmp/Release && mv /tmp/Release .");
    put("/etc/apt/sources.list.d/special.list", "deb [trusted=yes] copy:/srv/special ./\n");
    CHECK(machine.have(R"({"t-app": "latest"})").message == "Installed: t-app (1.0)");
    CHECK(machine.converge(kState, R"({"name": {"t-app": "latest"}, "repo": "special"})").message ==
          "Upgraded: t-app (1.0 -> 2.0)");
    CHECK(machine.have(R"({"t-app": "latest"})").first == Verdict::kept);
    CHECK(machine.have(R"({"t-app": "purged"})").ok);
    const Outcome outcome = machine.converge(kState, R"({"name": "t-app", "fromrepo": "nowhere"})");
    CHECK_FALSE(outcome.ok);
    CHECK(contains(outcome.message, "'nowhere' is invalid for APT::Default-Release"));
  }

  TEST_CASE("apt: a package on hold is not changed, and the plan says so") {
    Machine machine;
    machine.offer({{"t-app", "1.0"}});
    CHECK(machine.have(R"("t-app")").ok);
    shell("apt-mark hold t-app");
    machine.offer({{"t-app", "2.0"}});
    shell("apt-get update");
    for (const char* wanted : {"2.0", "latest", "removed", "purged"}) {
      CAPTURE(wanted);
      StateHarness next_round(StateHarness::RunningSystem{});
      const auto plan = next_round.plan(kState, R"({"name": {"t-app": ")" + std::string(wanted) + R"("}})");
      CHECK(plan.verdict == Verdict::fail);
      CHECK(plan.message == "t-app is on hold, so apt does not change it. To let it: apt-mark unhold t-app");
    }
    StateHarness next_round(StateHarness::RunningSystem{});
    CHECK(next_round.converge(kState, R"({"name": {"t-app": "installed"}})").first == Verdict::kept);
    CHECK(next_round.converge(kState, R"({"name": {"t-app": "1.0"}})").first == Verdict::kept);
    CHECK(Machine::found("t-app") == "installed 1.0");
    shell("apt-mark unhold t-app");
    CHECK(next_round.converge(kState, R"({"name": {"t-app": "latest"}})").ok);
    CHECK(Machine::found("t-app") == "installed 2.0");
  }

  TEST_CASE("apt: pins decide which version is the latest, and may forbid a package") {
    Machine machine;
    const auto pin = [](const std::string& text) {
      std::ofstream("/etc/apt/preferences.d/t-pins") << "Package: t-app\n" << text;
    };
    machine.offer({{"t-app", "1.0"}, {"t-app", "2.0"}});
    pin("Pin: version 1.*\nPin-Priority: 990\n");
    CHECK(machine.have(R"({"t-app": "latest"})").ok);
    CHECK(Machine::found("t-app") == "installed 1.0");
    CHECK(machine.have(R"({"t-app": "latest"})").first == Verdict::kept);
    // Asked for by its number.
    CHECK(machine.have(R"({"t-app": "2.0"})").ok);
    CHECK(Machine::found("t-app") == "installed 2.0");
    // What is newer than the candidate is no older than the latest.
    CHECK(machine.have(R"({"t-app": "latest"})").first == Verdict::kept);
    CHECK(machine.have(R"({"t-app": "purged"})").ok);

    pin("Pin: version *\nPin-Priority: -1\n");
    for (const char* wanted : {"installed", "latest"}) {
      const Outcome outcome = machine.have(R"({"t-app": ")" + std::string(wanted) + R"("})");
      CHECK_FALSE(outcome.ok);
      CHECK(contains(outcome.message, "apt has versions of t-app, but a pin forbids them all"));
    }
    CHECK(machine.have(R"({"t-app": "1.0"})").ok);
    CHECK(Machine::found("t-app") == "installed 1.0");
    std::filesystem::remove("/etc/apt/preferences.d/t-pins");
  }
}
