#include <filesystem>

#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::common_gem_package {
extern const StateType& kState;
}

namespace {

using states::Verdict;
using states::common_gem_package::kState;
using tests::StateHarness;

// A machine with ruby 3.1, of which nothing is ever started.
struct RubyMachine : StateHarness {
  RubyMachine() {
    host().os.family = base::OsRelease::Family::debian;
    write("/usr/bin/ruby3.1", "", 0755);
    std::filesystem::create_symlink("ruby3.1", root() + "/usr/bin/ruby");
  }
  void install(const std::string& file, const std::string& stub,
               const std::string& home = "/var/lib/gems/3.1.0") {
    write(home + "/specifications/" + file + ".gemspec",
          "# -*- encoding: utf-8 -*-\n# stub: " + stub + " ruby lib\n");
  }
};

std::string json(const std::string& key, const std::string& value) {
  return R"({"name": [{"key": ")" + key + R"(", "value": ")" + value + R"("}]})";
}

}  // namespace

TEST_CASE("common.gem.package reads what is installed from specifications") {
  RubyMachine machine;
  machine.install("rack-2.2.1", "rack 2.2.1");
  machine.install("rack-3.0.0", "rack 3.0.0");
  machine.install("rack-test-2.0", "rack-test 2.0");
  machine.install("foo-2-1.0", "foo-2 1.0");
  machine.install("nokogiri-1.15.0-x86_64-linux", "nokogiri 1.15.0 x86_64-linux");
  machine.install("json-2.6.1", "json 2.6.1", "/usr/lib/ruby/gems/3.1.0");
  machine.install("old-1.0", "old 1.0", "/var/lib/gems/2.7.0");
  machine.install("default/set-1.0.2", "set 1.0.2", "/usr/lib/ruby/gems/3.1.0");
  machine.write("/var/lib/gems/3.1.0/specifications/plain-1.1.gemspec", "Gem::Specification.new");
  struct Row {
    const char* key;
    const char* value;
    Verdict verdict;
  };
  for (const Row& row : std::initializer_list<Row>{{"rack", "", Verdict::kept},
                                                   {"rack", "2.2.1", Verdict::kept},
                                                   {"rack", "3.0", Verdict::kept},
                                                   {"rack", "~> 2.1", Verdict::kept},
                                                   {"rack", "> 3.0", Verdict::change},
                                                   {"rack", "latest", Verdict::change},
                                                   {"rack", "removed", Verdict::change},
                                                   {"rack-test", "2.0", Verdict::kept},
                                                   {"foo", "removed", Verdict::kept},
                                                   {"foo-2", "1.0", Verdict::kept},
                                                   {"nokogiri", "1.15.0", Verdict::kept},
                                                   {"json", "", Verdict::kept},
                                                   {"set", "1.0.2", Verdict::kept},
                                                   {"plain", "1.1", Verdict::kept},
                                                   {"old", "", Verdict::change},
                                                   {"Rack", "", Verdict::change}}) {
    CAPTURE(row.key);
    CAPTURE(row.value);
    const auto plan = machine.plan(kState, json(row.key, row.value));
    CHECK_MESSAGE(plan.verdict == row.verdict, plan.message);
  }
  CHECK(machine.plan(kState, json("rack", "4")).changes.at(0).before == "3.0.0, 2.2.1");
}

TEST_CASE("common.gem.package plans without writing anything, and leaves the distribution's gems alone") {
  RubyMachine machine;
  machine.install("rake-13.0.6", "rake 13.0.6", "/usr/share/rubygems-integration/all");
  machine.write("/var/lib/dpkg/info/rake.list",
                "/usr/share/rubygems-integration/all/specifications/rake-13.0.6.gemspec\n");
  const std::string before = machine.snapshot();
  CHECK(machine.plan(kState, json("rake", "removed")).message == "rake belongs to package rake, not removed");
  CHECK(machine.plan(kState, json("rack", "")).message == "Install rack");
  CHECK(machine.plan(kState, json("rake", "14")).message == "Change the version of rake");
  CHECK(machine.snapshot() == before);
}

TEST_CASE("common.gem.package refuses what is no name and no version") {
  StateHarness machine;
  for (const char* key : {"-v", "--source=http://x", "a b", "a;id", "../x", "/tmp/x", "a:1.0", "x.gem", ".a",
                          "1", "1.2", "$(id)", "a\\nb", "ä", "http://x"}) {
    CAPTURE(key);
    CHECK(machine.problems(kState, json(key, "")).starts_with("Illegal value for 'name': '"));
  }
  for (const char* value : {"-1", "1 --pre", "1;id", ">=", "1..2", "opscode", "== 1", "file:///x"}) {
    CAPTURE(value);
    CHECK(machine.problems(kState, json("x", value)) ==
          "Illegal value for 'name': '" + std::string(value) + "'");
  }
  CHECK(machine.problems(kState, "{}") == "Missing parameter 'name'");
  CHECK(machine.problems(kState, R"({"name": [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]})") ==
        "Package 'a' is given twice with different values");
}
