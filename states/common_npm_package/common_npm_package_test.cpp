#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::common_npm_package {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::common_npm_package::kState;
using tests::StateHarness;

// A machine with Debian's npm, of which nothing is ever started.
struct NpmMachine : StateHarness {
  NpmMachine() {
    host().os.family = base::OsRelease::Family::debian;
    write("/usr/bin/node", "", 0755);
    write("/usr/share/nodejs/npm/bin/npm-cli.js", "", 0755);
    write("/usr/share/nodejs/npm/npmrc", "# Debian's\nglobalconfig=/etc/npmrc\nprefix=/usr/local\n");
    std::filesystem::create_symlink("../share/nodejs/npm/bin/npm-cli.js", root() + "/usr/bin/npm");
  }
  void install(const std::string& folder, const std::string& name, const std::string& version) {
    write(folder + "/node_modules/" + name + "/package.json",
          R"({"name": "x", "version": ")" + version + "\"}");
  }
};

std::string json(const std::string& key, const std::string& value, const std::string& more = {}) {
  return R"({"name": [{"key": ")" + key + R"(", "value": ")" + value + "\"}]" + more + "}";
}

}  // namespace

TEST_CASE("common.npm.package reads what is installed from package.json") {
  NpmMachine machine;
  machine.install("/usr/local/lib", "left-pad", "1.3.0");
  machine.install("/usr/local/lib", "@scope/name", "2.0.0-beta.1");
  struct Row {
    const char* key;
    const char* value;
    Verdict verdict;
  };
  for (const Row& row : std::initializer_list<Row>{{"left-pad", "", Verdict::kept},
                                                   {"left-pad", "1.3.0", Verdict::kept},
                                                   {"left-pad@1.3.0", "", Verdict::kept},
                                                   {"left-pad@1.3.0", "1.3.0", Verdict::kept},
                                                   {"left-pad", "^1.0", Verdict::kept},
                                                   {"left-pad", ">=1 <2 || 5", Verdict::kept},
                                                   {"left-pad", "~1.2", Verdict::change},
                                                   {"left-pad", "latest", Verdict::change},
                                                   {"left-pad", "next", Verdict::change},
                                                   {"left-pad", "removed", Verdict::change},
                                                   {"@scope/name", "2.0.0-beta.1", Verdict::kept},
                                                   {"@scope/name@2.0.0-beta.1", "", Verdict::kept},
                                                   {"@scope/name", "2.0.0", Verdict::change},
                                                   {"right-pad", "removed", Verdict::kept},
                                                   {"right-pad", "", Verdict::change}}) {
    CAPTURE(row.key);
    CAPTURE(row.value);
    const auto plan = machine.plan(kState, json(row.key, row.value));
    CHECK_MESSAGE(plan.verdict == row.verdict, plan.message);
  }
}

TEST_CASE("common.npm.package finds npm's own place in its configuration") {
  NpmMachine machine;
  machine.install("/opt/tools/lib", "left-pad", "1.0.0");
  CHECK(machine.plan(kState, json("left-pad", "")).verdict == Verdict::change);
  machine.write("/etc/npmrc", "; ours\nprefix = /opt/tools\n");
  CHECK(machine.plan(kState, json("left-pad", "")).verdict == Verdict::kept);
  machine.write("/root/.npmrc", "prefix=\"/opt/roots\"\n");
  CHECK(machine.plan(kState, json("left-pad", "")).verdict == Verdict::change);
  // What depends on the environment says nothing.
  machine.write("/root/.npmrc", "prefix=${HOME}/x\n");
  CHECK(machine.plan(kState, json("left-pad", "")).verdict == Verdict::kept);
}

TEST_CASE("common.npm.package works in a folder, and plans without writing anything" *
          doctest::skip(::geteuid() != 0)) {
  NpmMachine machine;
  machine.install("/srv/application", "left-pad", "1.0.0");
  const std::string before = machine.snapshot();
  CHECK(machine.plan(kState, json("left-pad", "1.0.0", R"(, "path": "/srv/application/")")).verdict ==
        Verdict::kept);
  CHECK(machine.plan(kState, json("left-pad", "2.0.0", R"(, "path": "/usr")")).verdict == Verdict::change);
  CHECK(machine.snapshot() == before);
}

TEST_CASE("common.npm.package sees a manifest that is damaged") {
  NpmMachine machine;
  machine.write("/usr/local/lib/node_modules/left-pad/package.json", "{\"version\"");
  const auto plan = machine.plan(kState, json("left-pad", ""));
  CHECK(plan.verdict == Verdict::change);
  // Where no npm is installed, it comes first.
  REQUIRE_FALSE(plan.changes.empty());
  CHECK(plan.changes.back().before == "installed half-way (unknown)");
}

TEST_CASE("common.npm.package runs nothing where another user owns a part of the folder" *
          doctest::skip(::geteuid() != 0)) {
  StateHarness machine{StateHarness::RunningSystem{}};
  const std::string folder = machine.root() + "/app";
  const std::string wanted = json("left-pad", "", R"(, "path": ")" + folder + "\"");
  std::filesystem::create_directories(folder + "/node_modules");
  machine.write("/app/.npmrc", "");
  CHECK(machine.plan(kState, wanted).verdict == Verdict::change);
  // He could put a link in the place of what npm writes, or name the programs that npm runs.
  for (const char* part : {"/node_modules", "/.npmrc"}) {
    CAPTURE(part);
    REQUIRE(::chown((folder + part).c_str(), 12345, 12345) == 0);
    const auto plan = machine.plan(kState, wanted);
    CHECK(plan.verdict == Verdict::fail);
    CHECK_MESSAGE(plan.message.find(folder + part + " belongs to uid 12345") != std::string::npos,
                  plan.message);
    REQUIRE(::chown((folder + part).c_str(), 0, 0) == 0);
  }
  // In a user's own folder his files are his, also those that his group may write to.
  REQUIRE(::chown(folder.c_str(), 65534, 65534) == 0);
  REQUIRE(::chown((folder + "/.npmrc").c_str(), 65534, 65534) == 0);
  REQUIRE(::chmod((folder + "/.npmrc").c_str(), 0664) == 0);
  const auto plan = machine.plan(kState, wanted);
  CHECK_MESSAGE(plan.verdict == Verdict::change, plan.message);
}

TEST_CASE("common.npm.package refuses what is no name, no version and no folder") {
  StateHarness machine;
  for (const char* key : {"-g",
                          "--prefix=/x",
                          "a b",
                          "a;id",
                          "../x",
                          "/tmp/x",
                          "./x",
                          "user/repository",
                          "a/b/c",
                          "git+https://x",
                          "http://x/y.tgz",
                          "file:x",
                          "@scope",
                          "@/x",
                          "@a/",
                          "@a/b/c",
                          ".bin",
                          "_x",
                          "node_modules",
                          "$(id)",
                          "a\\nb",
                          "ä",
                          "npm:x@1",
                          "a@b@1"}) {
    CAPTURE(key);
    CHECK(machine.problems(kState, json(key, "")).starts_with("Illegal value for 'name': '"));
  }
  for (const char* value :
       {"-1", "file:../x", "http://x/y.tgz", "x.tgz", "user/repo", "1.2.3.4", "1;id", "a b", "npm:y"}) {
    CAPTURE(value);
    CHECK(machine.problems(kState, json("x", value)) ==
          "Illegal value for 'name': '" + std::string(value) + "'");
  }
  CHECK(machine.problems(kState, json("x@1", "2")) == "Package 'x' is given with two versions: '1' and '2'");
  CHECK(machine.problems(kState, json("x", "", R"(, "path": "relative")")).find("relative") !=
        std::string::npos);
  CHECK_FALSE(machine.problems(kState, json("x", "", R"(, "path": "/a/../b")")).empty());
  CHECK(machine.problems(kState, json("x", "", R"(, "path": "/")")) == "Illegal value for 'path': '/'");
  CHECK(machine.problems(kState, json("x", "1", R"(, "path": "/srv/x y; id")")).empty());
  CHECK(machine.problems(kState, "{}") == "Missing parameter 'name'");
}
