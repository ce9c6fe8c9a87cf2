#include <filesystem>

#include <doctest/doctest.h>

#include "base/text.hpp"
#include "states/common_timezone/hardware_clock.hpp"
#include "states/common_timezone/zone.hpp"
#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::common_timezone {
extern const StateType& kState;
}
namespace states::linux_cmd {
extern const StateType& kState;
}

namespace {

namespace fs = std::filesystem;
using states::EffectKind;
using states::Verdict;
using states::common_timezone::kState;
using tests::StateHarness;

constexpr auto kBerlin = R"({"name": "Europe/Berlin"})";
constexpr auto kUtc = R"({"name": "Etc/UTC"})";

// A scratch root with a few zones: real ones, where this machine has them.
struct Machine : StateHarness {
  explicit Machine(base::OsRelease::Family family = base::OsRelease::Family::debian) {
    host().os.family = family;
    fs::create_directories(root() + "/etc");
    add_zone("Europe/Berlin", "TZif2 Berlin");
    add_zone("Etc/UTC", "TZif2 UTC");
    fs::create_symlink("Etc/UTC", root() + "/usr/share/zoneinfo/UTC");
    fs::create_symlink("/etc/localtime", root() + "/usr/share/zoneinfo/localtime");
    write("/usr/share/zoneinfo/zone.tab", "# a table\n");
  }
  void add_zone(const std::string& name, const std::string& stand_in) {
    const std::string path = "/usr/share/zoneinfo/" + name;
    fs::create_directories(fs::path(root() + path).parent_path());
    if (fs::exists(path))
      fs::copy_file(fs::canonical(path), root() + path);
    else
      write(path, stand_in);
  }
  std::string link() const { return fs::read_symlink(root() + "/etc/localtime").string(); }
};

}  // namespace

TEST_CASE("common.timezone links the zone and notes its name on debian") {
  Machine machine;
  const auto outcome = machine.converge(kState, kBerlin);
  CHECK(outcome.ok);
  CHECK(outcome.changed);
  CHECK(outcome.message == "Time zone set to Europe/Berlin (was unknown)");
  CHECK(machine.link() == "/usr/share/zoneinfo/Europe/Berlin");
  CHECK(machine.read("/etc/timezone") == "Europe/Berlin\n");
  CHECK(machine.mode("/etc/timezone") == 0644);
  CHECK_FALSE(machine.exists("/etc/adjtime"));
  CHECK(machine.converge(kState, kUtc).message == "Time zone set to Etc/UTC (was Europe/Berlin)");
}

TEST_CASE("common.timezone keeps a zone that is set, and writes nothing") {
  Machine machine;
  CHECK(machine.converge(kState, kBerlin).changed);
  const std::string before = machine.snapshot();
  const auto again = machine.converge(kState, kBerlin);
  CHECK(again.first == Verdict::kept);
  CHECK(again.message == "Time zone Europe/Berlin is already set");
  CHECK(machine.converge(kState, R"({"name": "Europe/Berlin", "use-utc": true})").message ==
        "Time zone Europe/Berlin is already set, as is UTC in the hardware clock");
  CHECK(machine.snapshot() == before);
}

TEST_CASE("common.timezone plans without writing anything") {
  Machine machine;
  machine.write("/etc/timezone", "Etc/UTC\n");
  const std::string before = machine.snapshot();
  const auto plan = machine.plan(kState, R"({"name": "Europe/Berlin", "use-utc": false})");
  CHECK(plan.verdict == Verdict::change);
  REQUIRE(plan.changes.size() == 3);
  CHECK(plan.changes[0].what == "time zone");
  CHECK(plan.changes[0].before == "Etc/UTC");
  CHECK(plan.changes[0].after == "Europe/Berlin");
  CHECK(plan.changes[1].what == "content of /etc/timezone");
  CHECK(plan.changes[2].what == "hardware clock");
  CHECK(plan.changes[2].after == "local time");
  CHECK(machine.snapshot() == before);
}

TEST_CASE("common.timezone writes no /etc/timezone where the family has none") {
  Machine machine(base::OsRelease::Family::rhel);
  CHECK(machine.converge(kState, kBerlin).changed);
  CHECK_FALSE(machine.exists("/etc/timezone"));
}

TEST_CASE("common.timezone accepts a copy of the zone, and relative links and links to links") {
  Machine machine;
  machine.write("/etc/timezone", "Europe/Berlin\n");
  machine.write("/etc/localtime", machine.read("/usr/share/zoneinfo/Europe/Berlin"));
  CHECK(machine.converge(kState, kBerlin).first == Verdict::kept);
  fs::remove(machine.root() + "/etc/localtime");
  fs::create_symlink("../usr/share/zoneinfo/Europe/Berlin", machine.root() + "/etc/localtime");
  CHECK(machine.converge(kState, kBerlin).first == Verdict::kept);
  fs::remove(machine.root() + "/etc/localtime");
  fs::create_symlink("/usr/share/zoneinfo/UTC", machine.root() + "/etc/localtime");
  machine.write("/etc/timezone", "UTC");
  CHECK(machine.converge(kState, R"({"name": "UTC"})").first == Verdict::kept);
}

TEST_CASE("common.timezone repairs a name that does not agree with the link") {
  Machine machine;
  fs::create_symlink("/usr/share/zoneinfo/UTC", machine.root() + "/etc/localtime");
  machine.write("/etc/timezone", "UTC\n");
  CHECK(machine.converge(kState, kUtc).changed);  // the same bytes by another name
  CHECK(machine.link() == "/usr/share/zoneinfo/Etc/UTC");
  CHECK(machine.read("/etc/timezone") == "Etc/UTC\n");
}

TEST_CASE("common.timezone goes by the name that the link shows, where zones share their rules") {
  for (const auto family : {base::OsRelease::Family::debian, base::OsRelease::Family::rhel}) {
    Machine machine(family);
    fs::create_symlink("/usr/share/zoneinfo/UTC", machine.root() + "/etc/localtime");
    if (family == base::OsRelease::Family::debian) machine.write("/etc/timezone", "Etc/UTC\n");
    const auto plan = machine.plan(kState, kUtc);
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].before == "UTC");
    CHECK(machine.converge(kState, kUtc).ok);
    CHECK(machine.link() == "/usr/share/zoneinfo/Etc/UTC");
    CHECK(machine.converge(kState, kUtc).first == Verdict::kept);
    // And the other way round.
    CHECK(machine.converge(kState, R"({"name": "UTC"})").changed);
    CHECK(machine.link() == "/usr/share/zoneinfo/UTC");
    // A link that names no zone says nothing else.
    fs::remove(machine.root() + "/etc/localtime");
    fs::create_symlink("/usr/share/zoneinfo/UTC", machine.root() + "/etc/zone");
    fs::create_symlink("zone", machine.root() + "/etc/localtime");
    CHECK(machine.converge(kState, R"({"name": "UTC"})").first == Verdict::kept);
  }
}

TEST_CASE("common.timezone replaces links that lead nowhere, in circles or to another file") {
  for (const char* target :
       {"/nowhere", "localtime", "/usr/share/zoneinfo/Gone", "/etc/hostname", "relative/x"}) {
    Machine machine;
    machine.write("/etc/hostname", "host\n");
    fs::create_symlink(target, machine.root() + "/etc/localtime");
    CAPTURE(target);
    CHECK(machine.converge(kState, kBerlin).changed);
    CHECK(machine.link() == "/usr/share/zoneinfo/Europe/Berlin");
  }
}

TEST_CASE("common.timezone leads no link out of the root") {
  Machine machine;
  if (fs::exists("/usr/share/zoneinfo/Asia/Tokyo")) {
    CHECK(machine.plan(kState, R"({"name": "Asia/Tokyo"})").message == "Unknown time zone 'Asia/Tokyo'");
  }
  fs::create_symlink("/usr/share/zoneinfo/Europe/Berlin", machine.root() + "/usr/share/zoneinfo/Mine");
  CHECK(machine.converge(kState, R"({"name": "Mine"})").changed);
}

TEST_CASE("common.timezone refuses what is no zone") {
  Machine machine;
  for (const char* name : {"Europe/Atlantis", "Europe", "zone.tab", "Europe/Berlin/x", "Berlin"})
    CHECK(machine.plan(kState, "{\"name\": \"" + std::string(name) + "\"}").message ==
          "Unknown time zone '" + std::string(name) + "'");
  for (const char* name : {"../etc/passwd", "Europe/../UTC", "/Etc/UTC", "Etc//UTC", "./UTC", "UTC/",
                           "localtime", "-x y", "a\\nb"})
    CHECK(machine.problems(kState, "{\"name\": \"" + std::string(name) + "\"}")
              .starts_with("Unknown time zone '"));
  CHECK(machine.problems(kState, "{}") == "Missing parameter 'name'");
  CHECK(machine.problems(kState, R"({"name": ""})") == "Missing parameter 'name'");
}

TEST_CASE(
    "common.timezone names the package where there are no zones, and waits for an earlier state to bring "
    "it") {
  StateHarness machine;
  CHECK(machine.plan(kState, kBerlin).message ==
        "Unknown time zone 'Europe/Berlin': /usr/share/zoneinfo is missing (package tzdata)");
  machine.overlay().add("tz", {{.kind = EffectKind::package, .name = "tzdata"}});
  const auto plan = machine.plan(kState, kBerlin);
  CHECK(plan.verdict == Verdict::unknown);
  CHECK(plan.depends_on == "tz");
}

TEST_CASE("common.timezone after a state that touches its files is unknown") {
  for (const char* path : {"/etc/localtime", "/etc/timezone"}) {
    Machine machine;
    machine.overlay().add("other", {{.kind = EffectKind::file, .name = path}});
    CHECK(machine.plan(kState, kBerlin).verdict == Verdict::unknown);
  }
}

TEST_CASE("common.timezone fails where a directory is in the way") {
  Machine machine;
  fs::create_directory(machine.root() + "/etc/localtime");
  CHECK(machine.plan(kState, kBerlin).message == "/etc/localtime is a directory");
}

TEST_CASE("common.timezone sets what the hardware clock keeps, and keeps the rest of the file") {
  Machine machine;
  CHECK(machine.converge(kState, kUtc).changed);
  const auto local = machine.converge(kState, R"({"name": "Etc/UTC", "use-utc": false})");
  CHECK(local.changed);
  CHECK(local.message == "Hardware clock set to local time");
  CHECK(machine.read("/etc/adjtime") == "0.0 0 0.0\n0\nLOCAL\n");
  machine.write("/etc/adjtime", "1.5 1700000000 0.0\n1700000001\nLOCAL\n");
  CHECK(machine.converge(kState, R"({"name": "Etc/UTC"})").first == Verdict::kept);
  CHECK(machine.converge(kState, R"({"name": "Etc/UTC", "use-utc": true})").message ==
        "Hardware clock set to UTC");
  CHECK(machine.read("/etc/adjtime") == "1.5 1700000000 0.0\n1700000001\nUTC\n");
}

TEST_CASE("common.timezone reports both changes when there are two") {
  Machine machine;
  CHECK(machine.converge(kState, R"({"name": "Europe/Berlin", "use_utc": "n"})").message ==
        "Time zone set to Europe/Berlin (was unknown)\n\nHardware clock set to local time");
}

TEST_CASE("common.timezone understands use-utc in every form") {
  struct Row {
    const char* json;
    const char* clock;  // what is changed to; "" for nothing
  };
  for (const Row& row : {Row{"true", ""}, Row{"\"True\"", ""}, Row{"\"y\"", ""}, Row{"1", ""},
                         Row{"null", ""}, Row{"\"\"", ""}, Row{"false", "local time"},
                         Row{"\"False\"", "local time"}, Row{"\"n\"", "local time"}, Row{"0", "local time"}})
    for (const char* name : {"use-utc", "use_utc"}) {
      Machine machine;
      CHECK(machine.converge(kState, kBerlin).changed);
      const auto plan = machine.plan(
          kState, R"({"name": "Europe/Berlin", ")" + std::string(name) + "\": " + row.json + "}");
      CAPTURE(row.json);
      REQUIRE(plan.changes.size() == (*row.clock ? 1 : 0));
      if (*row.clock) CHECK(plan.changes[0].after == row.clock);
    }
  Machine machine;
  CHECK(machine.problems(kState, R"({"name": "UTC", "use-utc": "maybe"})") ==
        "Parameter 'use-utc' must be true or false");
}

TEST_CASE("adjtime files of any shape get a third line") {
  using states::common_timezone::adjtime_with;
  CHECK(adjtime_with("", false) == "0.0 0 0.0\n0\nLOCAL\n");
  CHECK(adjtime_with("1 2 3", true) == "1 2 3\n0\nUTC\n");
  CHECK(adjtime_with("1 2 3\n", true) == "1 2 3\n0\nUTC\n");
  CHECK(adjtime_with("1 2 3\n4\n", false) == "1 2 3\n4\nLOCAL\n");
  CHECK(adjtime_with("1 2 3\n4\nUTC\nmore\n", false) == "1 2 3\n4\nLOCAL\n");
}

TEST_SUITE("system") {
  TEST_CASE("common.timezone sets the zone of the running system") {
    StateHarness machine{StateHarness::RunningSystem{}};
    CHECK(machine.converge(kState, R"({"name": "Asia/Tokyo", "use-utc": false})").changed);
    CHECK(fs::read_symlink("/etc/localtime") == "/usr/share/zoneinfo/Asia/Tokyo");
    CHECK(machine.converge(kState, R"({"name": "Asia/Tokyo", "use-utc": false})").first == Verdict::kept);
    CHECK(machine.converge(kState, R"({"name": "Etc/UTC", "use-utc": true})").changed);
    CHECK(machine.converge(kState, R"({"name": "Etc/UTC", "use-utc": true})").first == Verdict::kept);
  }

  TEST_CASE("common.timezone sets the name that timedatectl shows, also when another has the same rules") {
    StateHarness machine{StateHarness::RunningSystem{}};
    const auto shown = [&] {
      const auto said = machine.converge(states::linux_cmd::kState,
                                         // The service that answers has read it when it was started.
                                         R"({"cmd": "systemctl stop systemd-timedated && )"
                                         R"(timedatectl show --property=Timezone --value"})");
      return std::string(base::trim(said.output));
    };
    CHECK(machine.converge(kState, R"({"name": "Asia/Calcutta"})").ok);
    CHECK(shown() == "Asia/Calcutta");
    CHECK(machine.converge(kState, R"({"name": "Asia/Kolkata"})").changed);
    CHECK(shown() == "Asia/Kolkata");
    CHECK(machine.converge(kState, R"({"name": "Etc/UTC"})").changed);
  }
}
