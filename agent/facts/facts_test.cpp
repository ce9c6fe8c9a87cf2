#include "agent/facts/facts.hpp"

#include <unistd.h>

#include <doctest/doctest.h>

#include "agent/facts/merge_patch.hpp"
#include "base/values/json.hpp"

using namespace agent::facts;

TEST_CASE("facts describe this machine, and are the same when nothing has changed") {
  const AgentFacts own{.version = "1.2.3", .tags = {{"role", "db"}, {"zone", "a"}}};
  const Facts first = gather(own);
  base::Arena arena;
  const auto parsed = base::parse_json(first.json, arena);
  const auto* root = std::get_if<base::Value>(&parsed);
  REQUIRE(root);
  CHECK(root->find("cpu")->find("count")->as_integer() == ::sysconf(_SC_NPROCESSORS_ONLN));
  CHECK(root->find("memory")->find("total_mb")->as_integer().value() > 16);
  CHECK(root->find("os")->find("id")->text() == "debian");
  CHECK(root->find("packages")->find("count")->as_integer().value() > 10);
  CHECK(root->find("tags")->find("role")->text() == "db");
  CHECK(root->find("agent")->find("version")->text() == "1.2.3");
  CHECK(root->find("kernel")->find("release"));
  CHECK(root->find("virtualization")->is_text());
  CHECK(root->find("interfaces")->is_object());
  CHECK(root->find("disks")->is_object());
  std::string_view last;
  for (const base::Member& member : root->members()) {
    CHECK(last < member.key);  // sorted, so that equal facts are equal text
    last = member.key;
  }

  CHECK(gather(own).hash == first.hash);
  CHECK(gather({.version = "1.2.3"}).hash != first.hash);
}

TEST_CASE("a patch holds what changed, came and went, and nothing else") {
  CHECK(merge_patch(R"({"a":1,"b":{"c":2,"d":[1]}})", R"({"a":1,"b":{"c":2,"d":[1]}})") == "{}");
  CHECK(merge_patch(R"({"a":1,"b":{"c":2,"d":3},"e":[1]})", R"({"b":{"c":2,"d":4,"f":5},"e":[1,2]})") ==
        R"({"a":null,"b":{"d":4,"f":5},"e":[1,2]})");
  CHECK(merge_patch(R"({"a":{"x":1}})", R"({"a":"text"})") == R"({"a":"text"})");
  CHECK(merge_patch(R"({"a":"text"})", R"({"a":{"x":1}})") == R"({"a":{"x":1}})");
  CHECK(!merge_patch("[]", "{}"));
  CHECK(!merge_patch("{}", R"({"a":null})"));
}

TEST_CASE("facts say how many reports no backend will ever see") {
  CHECK(gather({.version = "1"}).json.find("lost_reports") == std::string::npos);
  CHECK(
      gather({.version = "1", .lost_reports = 3}).json.find(R"("agent":{"lost_reports":3,"version":"1"})") !=
      std::string::npos);
}
