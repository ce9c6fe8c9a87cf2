#include <string>

#include <doctest/doctest.h>

#include "states/linux_yum_package/entry.hpp"
#include "states/rpm/dnf.hpp"
#include "states/rpm/rpm_database.hpp"
#include "states/state.hpp"
#include "tests/support/state_harness.hpp"

namespace states::linux_yum_package {
extern const StateType& kState;
}

namespace {

using states::linux_yum_package::kState;
using tests::StateHarness;

std::string json(const std::string& key, const std::string& value, const std::string& more = {}) {
  return R"({"name": [{"key": ")" + key + R"(", "value": ")" + value + "\"}]" + more + "}";
}

}  // namespace

TEST_CASE("linux.yum.package reads what is wanted of a package") {
  using namespace states::linux_yum_package;
  struct Row {
    const char* value;
    const char* version;
    bool is_satisfied;
  };
  for (const Row& row : std::initializer_list<Row>{{"1.2", "1.2-3", true},
                                                   {"1.2", "1.2.7-1", true},
                                                   {"1.2", "1.20-1", false},
                                                   {"1.2", "2:1.2-3", true},
                                                   {"1.2-3", "1.2-3", true},
                                                   {"1.2-3", "1.2-30", false},
                                                   {"1.2-3", "1.2-3.el9", true},
                                                   {"=1.2", "1.2.7-1", false},
                                                   {"=1.2", "1.2-9", true},
                                                   {">=1.2", "1.10-1", true},
                                                   {"> 1.2", "1.2-9", false},
                                                   {"<2.0", "2.0~rc1-1", true},
                                                   {"<=1.2-3", "1.2-4", false},
                                                   {">=1:0.1", "9.0-1", false}}) {
    CAPTURE(row.value);
    CAPTURE(row.version);
    const states::Pair pair{"x", row.value};
    const auto request = read_request({&pair, 1});
    REQUIRE(request);
    CHECK(is_satisfied(request->entries.at(0), row.version) == row.is_satisfied);
  }
  const states::Pair pair{"glibc.i686", ""};
  const auto request = read_request({&pair, 1});
  REQUIRE(request);
  CHECK(request->entries.at(0).name == "glibc");
  CHECK(request->entries.at(0).architecture == "i686");
}

TEST_CASE("linux.yum.package reads the table of a dnf that was not to go on, wrapped lines as well") {
  const auto removals = states::rpm::parse_removals(
      "Dependencies resolved.\n"
      "==========================\n"
      " Package   Architecture   Version   Repository   Size\n"
      "==========================\n"
      "Installing:\n"
      " t-new     noarch         1.0-1     test         5.9 k\n"
      "     replacing  t-old.noarch 1.0-1\n"
      "Removing:\n"
      " t-a       noarch         1.0-1     @test        2  \n"
      "Removing dependent packages:\n"
      " t-with-a-name-that-is-so-long-that-it-has-a-line-of-its-own\n"
      "           x86_64         2:1.0-1   @test        5.9 M\n"
      " t-b       noarch         3.0-1     @test        2  \n"
      "\nTransaction Summary\n==========================\nRemove  3 Packages\n");
  REQUIRE(removals.size() == 4);
  CHECK(removals[0].name == "t-old");
  CHECK(removals[1].name == "t-a");
  CHECK(removals[2].name == "t-with-a-name-that-is-so-long-that-it-has-a-line-of-its-own");
  CHECK(removals[2].version == "2:1.0-1");
  CHECK(removals[3].name == "t-b");
}

TEST_CASE("the rpm database finds packages by name and architecture, newest first") {
  const states::rpm::RpmDatabase database(
      states::rpm::parse_packages("warning: "
                                  "noise\nkernel\tx86_64\t0\t5.9-1\nkernel\tx86_64\t0\t5.10-1\nbind\tx86_"
                                  "64\t32\t9.16-1\nglibc\ti686\t0\t2."
                                  "34-1\n"));
  REQUIRE(database.find("kernel").size() == 2);
  CHECK(database.find("kernel")[0]->version == "5.10-1");
  CHECK(database.find("bind")[0]->version == "32:9.16-1");
  CHECK(database.find("glibc", "x86_64").empty());
  CHECK(database.find("glibc", "i686").size() == 1);
}

TEST_CASE("linux.yum.package refuses what is no name, no version and no repository") {
  StateHarness machine;
  for (const char* key : {"-y", "--setopt=x", "a b", "a;id", "../x", "/usr/bin/x", "@group", "*", "a*",
                          "http://x/y", "$(id)", "a\\nb", "ä", "(a or b)"}) {
    CAPTURE(key);
    CHECK(machine.problems(kState, json(key, "")).starts_with("Illegal value for 'name': '"));
  }
  for (const char* value : {"-1", "1 2", "1;id", ">=", "!=1", "==1", "1/2", "$(id)", "1-", ":1"}) {
    CAPTURE(value);
    CHECK(machine.problems(kState, json("x", value)) ==
          "Illegal value for 'name': '" + std::string(value) + "'");
  }
  for (const char* repo : {"-x", "a b", "a;id", "*", "$(id)"}) {
    CAPTURE(repo);
    CHECK(machine.problems(kState, json("x", "", R"(, "repo": ")" + std::string(repo) + "\"")) ==
          "Illegal value for 'repo': '" + std::string(repo) + "'");
  }
  CHECK(machine.problems(kState, json("x", "https://user:hidden@h/x.rpm")).starts_with("Cannot download "));
  CHECK_FALSE(machine.problems(kState, json("x", "relative.rpm")).empty());
  CHECK(machine.problems(kState, "{}") == "Missing parameter 'name'");
  CHECK(machine.problems(kState, R"({"name": [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}]})") ==
        "Package 'a' is given twice with different values");
}
