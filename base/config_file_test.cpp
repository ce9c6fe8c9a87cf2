#include "base/config_file.hpp"

#include <doctest/doctest.h>

using base::parse_config;

TEST_CASE("config lines may be written as on the command line or as settings below section headers") {
  const auto file = parse_config(
      "# a remark\n"
      "; another\n"
      "[main]\n"
      "state_dir = /var/lib/x\n"
      "--round-delay=60\n"
      "--root /mnt\n"
      "\n"
      "  --json  \n"
      "log_file=\"/var/log/with blank.log\"\r\n",
      "agent.conf");
  REQUIRE(file.problems.empty());
  REQUIRE(file.settings.size() == 5);
  CHECK(file.settings[0].name == "state-dir");
  CHECK(file.settings[0].value == "/var/lib/x");
  CHECK(file.settings[0].line == 4);
  CHECK(file.settings[1].name == "round-delay");
  CHECK(file.settings[1].value == "60");
  CHECK(file.settings[2].value == "/mnt");
  CHECK(file.settings[3].name == "json");
  CHECK_FALSE(file.settings[3].has_value);
  CHECK(file.settings[4].value == "/var/log/with blank.log");
  CHECK(file.settings[4].line == 9);
}

TEST_CASE("a config value keeps whatever stands in it") {
  const auto file = parse_config("a = x # not a remark = \"y\"\n--b=c=d\nempty =\n", "f");
  REQUIRE(file.problems.empty());
  REQUIRE(file.settings.size() == 3);
  CHECK(file.settings[0].value == "x # not a remark = \"y\"");
  CHECK(file.settings[1].value == "c=d");
  CHECK(file.settings[2].has_value);
  CHECK(file.settings[2].value.empty());
}

TEST_CASE("config lines that make no sense are named by file and line, all of them") {
  const auto file = parse_config("state_dir\nok = 1\n= 5\nfoo bar = 1\n", "/etc/x.conf");
  REQUIRE(file.problems.size() == 3);
  CHECK(file.problems[0] == "/etc/x.conf:1: 'state_dir' needs '= value'");
  CHECK(file.problems[1] == "/etc/x.conf:3: expected 'name = value' or '--name=value'");
  CHECK(file.problems[2].starts_with("/etc/x.conf:4:"));
  CHECK(file.settings.size() == 1);
}
