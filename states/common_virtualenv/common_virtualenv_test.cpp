#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "states/common_virtualenv/requirements.hpp"
#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::common_virtualenv {
extern const StateType& kState;
}

namespace {

namespace fs = std::filesystem;
using states::Verdict;
using states::common_virtualenv::kState;
using tests::StateHarness;

// A machine with Python 3.11, which is never started. /srv is root's, as on any machine.
struct PythonMachine : StateHarness {
  explicit PythonMachine(bool has_venv = true) {
    host().os.family = base::OsRelease::Family::debian;
    write("/usr/bin/python3.11", "", 0755);
    fs::create_symlink("python3.11", root() + "/usr/bin/python3");
    fs::create_directories(root() + "/srv");
    if (!has_venv) return;
    write("/usr/lib/python3.11/venv/__init__.py", "");
    write("/usr/lib/python3.11/ensurepip/__init__.py", "");
  }
  void make(const std::string& path) {
    fs::create_directories(root() + path + "/bin");
    fs::create_symlink("/usr/bin/python3", root() + path + "/bin/python");
    write(path + "/pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n");
    fs::create_directories(root() + path + "/lib/python3.11/site-packages");
  }
};

std::string json(const std::string& more = {}) {
  return R"({"path": "/srv/environment")" + more + "}";
}

}  // namespace

TEST_CASE("common.virtualenv keeps an environment whose python is there" * doctest::skip(::geteuid() != 0)) {
  PythonMachine machine;
  auto plan = machine.plan(kState, json());
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.message == "Make environment /srv/environment");
  CHECK(plan.changes.at(0).after == "made with /usr/bin/python3");
  CHECK_FALSE(plan.is_refresh);
  fs::create_directories(machine.root() + "/srv/environment");  // an empty folder is as good
  CHECK(machine.plan(kState, json()).verdict == Verdict::change);
  machine.make("/srv/environment");
  plan = machine.plan(kState, json());
  CHECK(plan.verdict == Verdict::kept);
  CHECK(plan.message == "Environment /srv/environment exists");
  // Flags of one that is there are not changed.
  CHECK(machine.plan(kState, json(R"(, "system-site-packages": true, "python": "/usr/bin/python3.11")"))
            .verdict == Verdict::kept);
}

TEST_CASE("common.virtualenv sees an environment whose interpreter is gone, and what is none" *
          doctest::skip(::geteuid() != 0)) {
  PythonMachine machine;
  machine.make("/srv/environment");
  fs::remove(machine.root() + "/srv/environment/bin/python");
  fs::create_symlink("/usr/bin/python3.9", machine.root() + "/srv/environment/bin/python");
  CHECK(machine.plan(kState, json()).changes.at(0).before == "its python is gone");
  CHECK(machine.plan(kState, json()).message == "Mend environment /srv/environment");
  fs::remove(machine.root() + "/srv/environment/bin/python");
  CHECK(machine.plan(kState, json()).message == "Not a virtual environment: /srv/environment");
  fs::remove_all(machine.root() + "/srv/environment");
  machine.write("/srv/environment", "a file");
  CHECK(machine.plan(kState, json()).verdict == Verdict::fail);
}

TEST_CASE("common.virtualenv says what is missing" * doctest::skip(::geteuid() != 0)) {
  PythonMachine machine;
  CHECK(machine.plan(kState, json(R"(, "python-bin": "/opt/python")")).message ==
        "Interpreter /opt/python not found");
  CHECK(machine.plan(kState, json(R"(, "python": "python-that-is-not-there")")).message ==
        "Interpreter python-that-is-not-there not found");
  CHECK(machine.plan(kState, json(R"(, "requirements-file": "/srv/none.txt")")).message ==
        "Requirements file /srv/none.txt not found");
  machine.overlay().add("file", {{.kind = states::EffectKind::file, .name = "/srv/none.txt"}});
  CHECK(machine.plan(kState, json(R"(, "requirements-file": "/srv/none.txt")")).verdict == Verdict::change);
}

TEST_CASE("common.virtualenv installs what makes environments first" * doctest::skip(::geteuid() != 0)) {
  PythonMachine machine(false);
  CHECK(machine.plan(kState, json()).changes.at(0).what == "package python3-venv");
}

TEST_CASE("common.virtualenv plans without writing anything" * doctest::skip(::geteuid() != 0)) {
  PythonMachine machine;
  machine.make("/srv/environment");
  machine.write("/srv/requirements.txt", "six==1.16.0\n");
  const std::string before = machine.snapshot();
  const auto plan = machine.plan(kState, json(R"(, "requirements-file": "/srv/requirements.txt")"));
  CHECK(plan.verdict == Verdict::change);
  CHECK(plan.is_refresh);
  CHECK(plan.message == "Install the requirements of /srv/requirements.txt");
  CHECK(machine.snapshot() == before);
}

TEST_CASE("common.virtualenv looks again whose folders of wheels those are, before pip sees them" *
          doctest::skip(::geteuid() != 0)) {
  StateHarness machine{StateHarness::RunningSystem{}};
  const std::string folder = machine.root() + "/environment";
  fs::create_directories(folder + "/bin");
  // Says what it was given.
  machine.write("/environment/bin/python", "#!/bin/sh\necho \"given $*\"\n", 0755);
  machine.write("/six.txt", "six\n");
  const std::string wheels = machine.root() + "/wheels";
  const std::string wanted = R"({"path": ")" + folder + R"(", "requirements-file": ")" + machine.root() +
                             R"(/six.txt", "extra-search-dir": [")" + wheels + "\"]}";
  const auto plan = machine.plan(kState, wanted);
  REQUIRE(plan.verdict == Verdict::change);
  // One that is missing is not named: who knows who makes it a moment later.
  const auto without = machine.apply(kState, wanted, plan);
  CHECK_MESSAGE(without.ok(), without.comment);
  CHECK(without.output.find("given -m pip install") != std::string::npos);
  CHECK(without.output.find(wheels) == std::string::npos);
  // Another user has made it since the plan.
  fs::create_directory(wheels);
  REQUIRE(::chown(wheels.c_str(), 12345, 12345) == 0);
  const auto refused = machine.apply(kState, wanted, plan);
  CHECK_FALSE(refused.ok());
  CHECK_MESSAGE(refused.comment.find(wheels + " belongs to uid 12345") != std::string::npos, refused.comment);
  CHECK(refused.output.find("given") == std::string::npos);
  REQUIRE(::chown(wheels.c_str(), 0, 0) == 0);
  CHECK(machine.apply(kState, wanted, plan).output.find("--find-links=" + wheels) != std::string::npos);
}

TEST_CASE("common.virtualenv knows a file of requirements that names packages only") {
  using states::common_virtualenv::names_packages_only;
  for (const char* text :
       {"", "six\n", "six==1.0 # the old one\n\n# more\nflask[async]>=2,<3; python_version>'3'\r\n"}) {
    CAPTURE(text);
    CHECK(names_packages_only(text));
  }
  for (const char* text :
       {"-r other.txt", "six\n--index-url http://x", "-e .", "./local", "x @ http://x/y", "http://x/y.whl",
        "x.whl", "six \\\n  ==1", "six==${VERSION}", "  -c limits.txt", "x.tar.gz"}) {
    CAPTURE(text);
    CHECK_FALSE(names_packages_only(text));
  }
}

TEST_CASE("common.virtualenv refuses what are no paths") {
  StateHarness machine;
  CHECK(machine.problems(kState, R"({})") == "Missing parameter 'path'");
  CHECK(machine.problems(kState, R"({"path": "/"})") == "Illegal value for 'path': '/'");
  for (const char* path : {"relative", "-x", "/a/../b", "$(id)"}) {
    CAPTURE(path);
    CHECK_FALSE(machine.problems(kState, R"({"path": ")" + std::string(path) + "\"}").empty());
    CHECK_FALSE(
        machine.problems(kState, json(R"(, "requirements-file": ")" + std::string(path) + "\"")).empty());
    CHECK_FALSE(
        machine.problems(kState, json(R"(, "extra-search-dir": [")" + std::string(path) + "\"]")).empty());
  }
  for (const char* python : {"-c", "--version", "bin/python", "../python"}) {
    CAPTURE(python);
    CHECK_FALSE(machine.problems(kState, json(R"(, "python": ")" + std::string(python) + "\"")).empty());
  }
}
