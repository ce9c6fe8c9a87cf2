#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::common_pip_package {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::common_pip_package::kState;
using tests::StateHarness;

const std::string kOurs = "/usr/local/lib/python3.11/dist-packages/";
const std::string kDistributions = "/usr/lib/python3/dist-packages/";

// A machine with Python 3.11 in which pip, and these, are installed: nothing of it is ever started.
struct PythonMachine : StateHarness {
  PythonMachine() {
    host().os.family = base::OsRelease::Family::debian;
    write("/usr/bin/python3.11", "", 0755);
    std::filesystem::create_symlink("python3.11", root() + "/usr/bin/python3");
    write(kDistributions + "pip-23.0.1.dist-info/METADATA", "");
    std::filesystem::create_directories(root() + kOurs);
  }
  void install(const std::string& name_and_version) {
    write(kOurs + name_and_version + ".dist-info/METADATA", "");
    write(kOurs + name_and_version + ".dist-info/RECORD", "");
  }
};

std::string json(const std::string& key, const std::string& value) {
  return R"({"name": [{"key": ")" + key + R"(", "value": ")" + value + R"("}]})";
}

}  // namespace

TEST_CASE("common.pip.package reads what is installed from metadata, whatever the letters of a name") {
  PythonMachine machine;
  machine.install("Flask_Login-0.6.2");
  machine.write(kDistributions + "PyYAML-6.0.egg-info", "");
  machine.write(kDistributions + "zope.interface-5.5.2-py3.11.egg-info/PKG-INFO", "");
  struct Row {
    const char* key;
    const char* value;
    Verdict verdict;
  };
  for (const Row& row : std::initializer_list<Row>{
           {"flask-login", "", Verdict::kept},
           {"FLASK.login", "installed", Verdict::kept},
           {"Flask_Login", "0.6.2", Verdict::kept},
           {"flask-login[extra]", "0.6.2.0", Verdict::kept},
           {"flask-login", ">=0.6, <0.7", Verdict::kept},
           {"flask-login", "~=0.6.0", Verdict::kept},
           {"flask-login", "0.7", Verdict::change},
           {"flask-login", ">0.6.2", Verdict::change},
           {"flask-login", "latest", Verdict::change},
           {"flask-login", "removed", Verdict::change},
           {"pyyaml", "6.0", Verdict::kept},
           {"zope-interface", "5.5.2", Verdict::kept},
           {"login", "removed", Verdict::kept},
           {"flask", "removed", Verdict::kept},
           {"flask", "", Verdict::change},
       }) {
    CAPTURE(row.key);
    CAPTURE(row.value);
    const auto plan = machine.plan(kState, json(row.key, row.value));
    CHECK_MESSAGE(plan.verdict == row.verdict, plan.message);
  }
  CHECK(machine.plan(kState, R"({"name": ["six", "pyyaml"]})").message == "Install six");
  CHECK(machine.plan(kState, json("pyyaml", "")).message == "Package pyyaml is already as wanted");
}

TEST_CASE("common.pip.package counts the copy that programs get") {
  PythonMachine machine;
  machine.write(kDistributions + "six-1.16.0.egg-info", "");
  CHECK(machine.plan(kState, json("six", "1.16.0")).verdict == Verdict::kept);
  machine.install("six-1.17.0");
  CHECK(machine.plan(kState, json("six", "1.16.0")).changes.at(0).before == "1.17.0");
  CHECK(machine.plan(kState, json("six", "1.17.0")).verdict == Verdict::kept);
}

TEST_CASE("common.pip.package plans without writing anything, and says what would be done") {
  PythonMachine machine;
  machine.install("six-1.15.0");
  machine.install("gone-1.0");
  const std::string before = machine.snapshot();
  const auto plan = machine.plan(
      kState,
      R"({"name": [{"key": "six", "value": "1.16"}, {"key": "gone", "value": "removed"}, {"key": "new"}]})");
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.message == "Remove gone; install new; change the version of six");
  REQUIRE(plan.changes.size() == 3);
  CHECK(plan.changes[0].what == "pip package six");
  CHECK(plan.changes[0].before == "1.15.0");
  CHECK(plan.changes[0].after == "1.16");
  CHECK(plan.changes[1].after == "removed");
  CHECK(plan.changes[2].before == "absent");
  CHECK_FALSE(plan.is_refresh);
  CHECK(machine.plan(kState, json("six", "latest")).is_refresh);
  CHECK(machine.snapshot() == before);
}

TEST_CASE("common.pip.package sees an installation that was ended half-way") {
  PythonMachine machine;
  machine.write(kOurs + "six-1.16.0.dist-info/METADATA", "");
  const auto plan = machine.plan(kState, json("six", "1.16.0"));
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.changes.at(0).before == "installed half-way (1.16.0)");
  // What pip was about to throw away is nothing.
  machine.write(kOurs + "~op-1.0.dist-info/METADATA", "");
  CHECK(machine.plan(kState, json("op", "removed")).verdict == Verdict::kept);
}

TEST_CASE("common.pip.package leaves packages of the distribution to the distribution") {
  PythonMachine machine;
  machine.write(kDistributions + "six-1.16.0.egg-info", "");
  machine.write("/var/lib/dpkg/info/python3-six.list", "/.\n" + kDistributions + "six-1.16.0.egg-info\n");
  machine.write("/var/lib/dpkg/info/python3.11.list", "/.\n" + kDistributions + "six-1.16.0.egg-info/x\n");
  CHECK(machine.plan(kState, json("six", "removed")).message ==
        "six belongs to package python3-six, not removed");
}

TEST_CASE("common.pip.package installs a missing pip first, where there is a package of it") {
  PythonMachine machine;
  std::filesystem::remove_all(machine.root() + kDistributions + "pip-23.0.1.dist-info");
  const auto plan = machine.plan(kState, json("six", ""));
  REQUIRE(plan.changes.size() == 2);
  CHECK(plan.changes[0].what == "package python3-pip");
  // Nothing is to be done: nothing is needed.
  CHECK(machine.plan(kState, json("six", "removed")).verdict == Verdict::kept);
  machine.host().os.family = base::OsRelease::Family::other;
  CHECK(machine.plan(kState, json("six", "")).message == "Cannot run common.pip.package: 'pip3' is missing");
}

TEST_CASE("common.pip.package after another state with the same package knows what that leaves") {
  PythonMachine machine;
  machine.overlay().add("first", {{.kind = states::EffectKind::package, .name = "pip:six"}});
  CHECK(machine.plan(kState, json("Six", "")).verdict == Verdict::kept);
  CHECK(machine.plan(kState, json("six", "1.0")).depends_on == "first");
  CHECK(machine.plan(kState, json("six", "removed")).depends_on == "first");
}

TEST_CASE("common.pip.package refuses what is no name and no version") {
  StateHarness machine;
  for (const char* key : {"-r",     "--index-url=http://x",
                          "a b",    "a;id",
                          "../x",   "/tmp/x",
                          "./x",    "a@http://x",
                          "a/b",    "git+https://x",
                          "x.whl",  "x.tar.gz",
                          "X.ZIP",  "a[",
                          "a[b",    "a]b[",
                          "a[b;c]", "a[]",
                          ".a",     "a-",
                          "$(id)",  "`id`",
                          "a\\nb",  "ä"}) {
    CAPTURE(key);
    CHECK(machine.problems(kState, json(key, "")).starts_with("Illegal value for 'name': '"));
  }
  for (const char* value : {"-1", "1 --pre", "1;id", "@ http://x", ">=", ">=1;python_version<'3'", "1..2",
                            "opscode", "file:///x", "=1.0", "1,2"}) {
    CAPTURE(value);
    CHECK(machine.problems(kState, json("six", value)) ==
          "Illegal value for 'name': '" + std::string(value) + "'");
  }
  CHECK(machine.problems(kState, R"({})") == "Missing parameter 'name'");
  CHECK(
      machine.problems(kState, R"({"name": [{"key": "a.b", "value": "1"}, {"key": "A-b", "value": "2"}]})") ==
      "Package 'a-b' is given twice with different values");
  CHECK(machine.problems(kState, R"({"name": ["six"], "install_options": "--x"})").empty());
}
