#include <sys/stat.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "states/linux_apt_package/planning.hpp"
#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_apt_package {
extern const StateType& kState;
}

namespace {

using states::Change;
using states::EffectKind;
using states::Plan;
using states::Verdict;
using states::linux_apt_package::kState;
using tests::StateHarness;

constexpr auto kStatus = R"(Package: dpkg
Status: install ok installed
Architecture: amd64
Version: 1.21.22

Package: tiny
Status: install ok installed
Architecture: all
Version: 1:1.2.3-4

Package: left-over
Status: deinstall ok config-files
Architecture: amd64
Version: 3.0

Package: half
Status: install ok half-configured
Architecture: amd64
Version: 5.0
)";

// A machine with the packages above and no package lists, so that no plan asks apt.
struct Machine : StateHarness {
  Machine() { write("/var/lib/dpkg/status", kStatus); }

  Plan plan_of(const std::string& name) { return plan(kState, R"({"name": )" + name + "}"); }
};

}  // namespace

TEST_CASE("linux.apt.package does not know what apt will find when an earlier state changes its sources") {
  Machine machine;
  machine.overlay().add("repo", {{.kind = EffectKind::file, .name = "/etc/apt/sources.list.d/ours.list"}});
  CHECK(machine.plan_of(R"("tiny")").verdict == Verdict::kept);
  for (const char* name : {R"("new")", R"([{"key": "tiny", "value": "removed"}])"}) {
    const Plan plan = machine.plan_of(name);
    CHECK(plan.verdict == Verdict::unknown);
    CHECK(plan.depends_on == "repo");
  }
  CHECK(
      machine.plan_of(R"("new")").message ==
      "It depends on what apt finds by then: an earlier state changes /etc/apt/sources.list.d/ours.list. As "
      "it is now: Install new");
}

TEST_CASE("linux.apt.package keeps packages that are as wanted") {
  Machine machine;
  for (const char* name :
       {R"("tiny")", R"(["tiny"])", R"(["tiny", null, ""])", R"([{"key": "tiny", "value": "installed"}])",
        R"([{"key": "tiny"}])", R"([{"key": "tiny", "value": null}])", R"([{"key": "tiny", "value": ""}])",
        R"({"tiny": ""})", R"({"tiny": null})", R"([{"tiny": "1.2"}])", R"({"tiny": 1.2})",
        R"({"tiny": "1.2.3"})", R"({"tiny": "1:1.2.3-4"})", R"({"tiny": "=1:1.2.3-4"})",
        R"({"tiny": ">1.2"})", R"({"tiny:amd64": "installed"})", R"({"left-over": "removed"})",
        R"({"nowhere": "purged"})", R"({"nowhere": "removed"})"}) {
    CAPTURE(name);
    const Plan plan = machine.plan_of(name);
    CHECK(plan.verdict == Verdict::kept);
    CHECK(plan.message.ends_with("is already as wanted"));
  }
  CHECK(machine.plan_of(R"({"tiny": "", "dpkg": ">1", "nowhere": "purged"})").message ==
        "All 3 packages are already as wanted");
}

TEST_CASE("linux.apt.package says what it would change, and writes nothing") {
  struct Row {
    const char* name;
    const char* before;
    const char* after;
    const char* message;
  };
  Machine machine;
  const std::string snapshot = machine.snapshot();
  for (const Row& row : std::initializer_list<Row>{
           {R"("nowhere")", "absent", "installed", "Install nowhere"},
           {R"({"tiny": "2"})", "1:1.2.3-4", "2", "Change the version of tiny"},
           {R"({"tiny": "<1"})", "1:1.2.3-4", "< 1", "Change the version of tiny"},
           {R"({"tiny": "removed"})", "1:1.2.3-4", "removed", "Remove tiny"},
           {R"({"tiny": "purged"})", "1:1.2.3-4", "purged", "Purge tiny"},
           {R"({"left-over": "purged"})", "removed, configuration files left", "purged", "Purge left-over"},
           {R"("left-over")", "removed, configuration files left", "installed", "Install left-over"},
           {R"("half")", "half-configured (5.0)", "installed", "Install half"},
           {R"({"half": "removed"})", "half-configured (5.0)", "removed", "Remove half"},
       }) {
    CAPTURE(row.name);
    const Plan plan = machine.plan_of(row.name);
    REQUIRE(plan.verdict == Verdict::change);
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].before == row.before);
    CHECK(plan.changes[0].after == row.after);
    CHECK(plan.message == row.message);
  }
  CHECK(machine.snapshot() == snapshot);
}

TEST_CASE("linux.apt.package tells later states what it would install and remove") {
  Machine machine;
  const Plan plan = machine.plan_of(R"({"nowhere": "", "tiny": "removed", "dpkg": ""})");
  REQUIRE(plan.effects.size() == 2);
  CHECK(plan.effects[0].name == "nowhere");
  CHECK(plan.effects[0].present);
  CHECK(plan.effects[1].name == "tiny");
  CHECK_FALSE(plan.effects[1].present);
}

TEST_CASE("linux.apt.package plans with what earlier states would install and remove") {
  Machine machine;
  machine.overlay().add("first", {{.kind = EffectKind::package, .name = "fresh"},
                                  {.kind = EffectKind::package, .name = "tiny", .present = false}});
  CHECK(machine.plan_of(R"("fresh")").verdict == Verdict::kept);
  CHECK(machine.plan_of(R"({"tiny": "removed"})").verdict == Verdict::kept);
  for (const char* name : {R"({"fresh": "latest"})", R"({"fresh": ">1"})", R"({"fresh": "removed"})",
                           R"({"tiny": "purged"})", R"("tiny")"}) {
    CAPTURE(name);
    const Plan plan = machine.plan_of(name);
    CHECK(plan.verdict == Verdict::unknown);
    CHECK(plan.depends_on == "first");
  }
}

TEST_CASE("linux.apt.package refreshes lists that are too old to tell what is latest") {
  Machine machine;
  Plan plan = machine.plan_of(R"({"tiny": "latest"})");
  REQUIRE(plan.verdict == Verdict::change);
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].what == "package lists");
  CHECK(plan.changes[0].before == "refreshed never");
  CHECK(plan.message == "Refresh the package lists");

  namespace fs = std::filesystem;
  const std::string stamp = machine.root() + "/var/lib/apt/periodic/update-success-stamp";
  machine.write("/var/lib/apt/periodic/update-success-stamp", "");
  CHECK(machine.plan_of(R"({"tiny": "latest"})").verdict == Verdict::kept);
  fs::last_write_time(stamp, fs::file_time_type::clock::now() - std::chrono::hours(5));
  plan = machine.plan_of(R"({"tiny": "latest"})");
  REQUIRE(plan.verdict == Verdict::change);
  CHECK(plan.changes[0].before == "refreshed 5 h ago");

  fs::last_write_time(stamp, fs::file_time_type::clock::now() - std::chrono::seconds(10));
  machine.write("/etc/apt/sources.list", "");
  plan = machine.plan_of(R"({"tiny": "latest"})");
  REQUIRE(plan.verdict == Verdict::change);
  CHECK(plan.changes[0].before == "refreshed before the sources changed");
  // Whether the lists are fresh is of no interest to what is only to be installed.
  CHECK(machine.plan_of(R"("tiny")").verdict == Verdict::kept);
}

TEST_CASE("linux.apt.package does not believe time stamps that are still to come") {
  namespace fs = std::filesystem;
  const auto set = [](const Machine& machine, const char* path, std::chrono::hours from_now) {
    fs::last_write_time(machine.root() + path, fs::file_time_type::clock::now() + from_now);
  };
  const char* const stamp = "/var/lib/apt/periodic/update-success-stamp";
  constexpr auto kYears = std::chrono::hours(24 * 3000);
  Machine machine;
  machine.write(stamp, "");
  set(machine, stamp, kYears);
  // Lists of the future are not recent for years, but unknown.
  const Plan plan = machine.plan_of(R"({"tiny": "latest"})");
  REQUIRE(plan.verdict == Verdict::change);
  CHECK(plan.changes[0].before == "refreshed at a time that is still to come (a clock was wrong)");
  // Another stamp that can be true counts.
  fs::create_directories(machine.root() + "/var/lib/apt/lists/partial");
  set(machine, "/var/lib/apt/lists/partial", std::chrono::hours(0));
  CHECK(machine.plan_of(R"({"tiny": "latest"})").verdict == Verdict::kept);
  // Sources of the future do not make lists stale for ever.
  machine.write("/etc/apt/sources.list", "");
  set(machine, "/etc/apt/sources.list", kYears);
  machine.write("/etc/apt/sources.list.d/x.list", "");
  set(machine, "/etc/apt/sources.list.d/x.list", kYears);
  set(machine, "/etc/apt/sources.list.d", kYears);
  CHECK(machine.plan_of(R"({"tiny": "latest"})").verdict == Verdict::kept);
}

TEST_CASE("linux.apt.package counts what an interrupted dpkg has noted") {
  Machine machine;
  machine.write("/var/lib/dpkg/updates/0000",
                "Package: tiny\nStatus: install ok unpacked\nArchitecture: all\nVersion: 1:1.2.3-4\n");
  machine.write("/var/lib/dpkg/updates/tmp.i", "Package: dpkg\nStatus: install ok unpacked\n");
  const Plan plan = machine.plan_of(R"(["tiny", "dpkg"])");
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].before == "unpacked (1:1.2.3-4)");
}

TEST_CASE("linux.apt.package names package files that are not there, or cannot be fetched") {
  Machine machine;
  CHECK(machine.plan_of(R"({"x": "ftp://example.org/x.deb"})").message.find("ftp is not supported") !=
        std::string::npos);
  const Plan remote = machine.plan_of(R"({"x": "https://example.invalid/x.deb"})");
  CHECK(remote.verdict == Verdict::change);
  REQUIRE(remote.changes.size() == 1);
  CHECK(remote.changes[0].what == "package x");
  CHECK(remote.changes[0].after == "from https://example.invalid/x.deb");
  CHECK(machine.plan_of(R"({"x": "/srv/x.deb"})").message == "Package file /srv/x.deb does not exist");
  std::filesystem::create_directories(machine.root() + "/srv/y.deb");
  CHECK(machine.plan_of(R"({"x": "/srv/y.deb"})").message == "Package file /srv/y.deb is a directory");
  machine.overlay().add("fetch", {{.kind = EffectKind::file, .name = "/srv/x.deb"}});
  const Plan plan = machine.plan_of(R"({"x": "/srv/x.deb"})");
  CHECK(plan.verdict == Verdict::unknown);
  CHECK(plan.depends_on == "fetch");
}

TEST_CASE("linux.apt.package needs its debconf file only when something is installed") {
  Machine machine;
  const auto plan = [&](const char* name) {
    return machine.plan(kState, R"({"debconf": "/etc/answers", "name": ")" + std::string(name) + "\"}");
  };
  CHECK(plan("tiny").verdict == Verdict::kept);
  CHECK(plan("nowhere").message == "debconf file /etc/answers cannot be read");
  machine.overlay().add("script", {{.kind = EffectKind::anything, .name = ""}});
  CHECK(plan("nowhere").verdict == Verdict::unknown);
  machine.overlay().add("maker", {{.kind = EffectKind::file, .name = "/etc/answers"}});
  CHECK(plan("nowhere").verdict == Verdict::change);
  machine.write("/etc/answers", "");
  CHECK(plan("nowhere").verdict == Verdict::change);
}

TEST_CASE("linux.apt.package takes no link, FIFO or folder for a debconf file") {
  Machine machine;
  machine.write("/srv/secret", "root's");
  std::filesystem::create_symlink("secret", machine.root() + "/srv/link");
  std::filesystem::create_directory(machine.root() + "/srv/folder");
  REQUIRE(::mkfifo((machine.root() + "/srv/fifo").c_str(), 0600) == 0);
  for (const std::string name : {"link", "folder", "fifo"}) {
    const Plan plan = machine.plan(kState, R"({"name": "nowhere", "deb-conf-file": "/srv/)" + name + "\"}");
    CHECK(plan.verdict == Verdict::fail);
    CHECK(plan.message == "debconf file /srv/" + name + " cannot be read: it is not a regular file");
  }
}

TEST_CASE("linux.apt.package fails when the package database cannot be read") {
  StateHarness machine;
  const Plan plan = machine.plan(kState, R"({"name": "tiny"})");
  CHECK(plan.verdict == Verdict::fail);
  CHECK(plan.message.starts_with("reading the package database: "));
}

TEST_CASE("linux.apt.package refuses parameters that cannot be meant") {
  StateHarness machine;
  struct Row {
    const char* json;
    const char* problem;
  };
  for (const Row& row : std::initializer_list<Row>{
           {R"({})", "Missing parameter 'name'"},
           {R"({"name": []})", "Parameter 'name' has no usable entry"},
           {R"({"name": [{"value": "latest"}]})", "Parameter 'name' has no usable entry"},
           {R"({"name": {"tiny": "newest"}})", "Illegal value for 'name': 'newest'"},
           {R"({"name": "-y"})", "Illegal value for 'name': '-y'"},
           {R"({"name": "tiny", "repo": "-t"})", "Illegal value for 'repo': '-t'"},
           {R"({"name": "tiny", "deb-conf-file": "x"})", "'x' is not an absolute path"},
           {R"({"name": "tiny", "verify-gpg": "perhaps"})", "Parameter 'verify-gpg' must be true or false"},
       }) {
    CAPTURE(row.json);
    CHECK(machine.problems(kState, row.json) == row.problem);
  }
  for (const char* good :
       {R"({"name": "tiny", "fromrepo": "bookworm-backports", "verify_gpg": "n"})",
        R"({"name": "tiny", "repo": "", "verify-gpg": "False", "deb-conf-file": null})",
        R"({"name": "tiny", "repo": "a=stable", "verify-gpg": 0, "debconf": "/etc/answers"})"}) {
    CAPTURE(good);
    CHECK(machine.problems(kState, good).empty());
  }
}
