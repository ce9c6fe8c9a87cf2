#include "backend/domain/selector.hpp"

#include <doctest/doctest.h>

#include "base/json.hpp"

namespace {

using backend::domain::Selector;

bool matches(std::string_view text) {
  static const backend::domain::Tags kTags{{"role", "db"}, {"zone", "eu-west-1"}, {"or", "gold"}};
  static const std::string kFacts =
      R"({"os": {"id": "debian", "major": 12, "lts": true}, "disks": ["sda", "nvme0n1"], "kernel.name": "x"})";
  base::Arena arena;
  const auto facts = std::get<base::Value>(base::parse_json(kFacts, arena));
  const auto selector = Selector::parse(text);
  REQUIRE_MESSAGE(selector, text << ": " << selector.error().message());
  return selector->matches({"shop", "web-1", kTags, &facts});
}

std::string problem(std::string_view text) {
  const auto selector = Selector::parse(text);
  return selector ? "" : selector.error().message();
}

}  // namespace

TEST_CASE("a selector compares app, instance, tags and facts") {
  CHECK(matches("*"));
  CHECK(matches("app=shop"));
  CHECK_FALSE(matches("app=other"));
  CHECK(matches("instance = web-1"));
  CHECK(matches("tag.role=db"));
  CHECK(matches("role=db"));
  CHECK_FALSE(matches("role=web"));
  CHECK(matches("role!=web"));
  CHECK(matches("fact.os.id=debian"));
  CHECK(matches("fact.os.major=12"));
  CHECK(matches("fact.os.lts=true"));
  CHECK(matches("fact.disks=nvme0n1"));
  CHECK_FALSE(matches("fact.os=debian"));
}

TEST_CASE("what an instance does not have is equal to nothing") {
  CHECK_FALSE(matches("team=a"));
  CHECK(matches("team!=a"));
  CHECK_FALSE(matches("team=*"));
  CHECK(matches("not team=*"));
  CHECK_FALSE(matches("fact.os.id.deeper=x"));
  backend::domain::Tags none;
  CHECK_FALSE(Selector::parse("fact.os.id=debian")->matches({"a", "b", none, nullptr}));
}

TEST_CASE("and binds more tightly than or, and not more than both") {
  CHECK(matches("role=web and zone=x or role=db"));
  CHECK_FALSE(matches("role=web and (zone=x or role=db)"));
  CHECK(matches("not role=web and role=db"));
  CHECK_FALSE(matches("not (role=web or role=db)"));
  CHECK(matches("NOT role=web AND role=db"));
  CHECK(matches("not not role=db"));
}

TEST_CASE("lists of values, stars and quotes") {
  CHECK(matches("role in (web, db)"));
  CHECK_FALSE(matches("role not in (web, db)"));
  CHECK(matches("zone=eu-*"));
  CHECK(matches("zone=*west*"));
  CHECK(matches("zone=e*-*1"));
  CHECK_FALSE(matches("zone=*west"));
  CHECK_FALSE(matches("zone=eu-west-1*1"));
  CHECK_FALSE(matches("zone=\"eu-*\""));
  CHECK(matches("zone=\"eu-west-1\""));
}

TEST_CASE("a tag may be called like a word of the grammar") {
  CHECK(matches("or=gold"));
  CHECK(matches("role=db and or=gold"));
  CHECK(matches("tag.or=gold"));
}

TEST_CASE("a selector that is wrong says where") {
  CHECK(problem("") == "at 1: expected a key such as tag.role, fact.os.id, instance, or '*'");
  CHECK(problem("role") == "at 5: expected '=', '!=' or 'in'");
  CHECK(problem("role=") == "at 6: expected a value");
  CHECK(problem("role=db and") == "at 12: expected a key such as tag.role, fact.os.id, instance, or '*'");
  CHECK(problem("role=db role=x") == "at 9: expected 'and', 'or' or the end");
  CHECK(problem("(role=db") == "at 9: expected ')'");
  CHECK(problem("role in (a b)") == "at 12: expected ',' or ')'");
  CHECK(problem("role=\"db") == "at 7: the text in quotes does not end");
  CHECK(problem("fact.=x") == "at 1: 'fact.' names nothing");
  CHECK(problem("fact.a..b=x") == "at 1: 'fact.a..b' names nothing");
  CHECK(problem("tag.=x") == "at 1: 'tag.' names nothing");
}

TEST_CASE("a selector is bounded in length and depth") {
  CHECK(problem(std::string(5000, 'a') + "=b") == "a selector has at most 4096 bytes");
  CHECK(problem(std::string(1000, '(') + "*" + std::string(1000, ')')).find("nested too deeply") !=
        std::string::npos);
  std::string nots;
  for (int i = 0; i < 500; ++i)
    nots += "not ";
  CHECK(problem(nots + "*").find("nested too deeply") != std::string::npos);
  CHECK(problem(std::string(20, '(') + "*" + std::string(20, ')')) == "");
}

TEST_CASE("a selector knows whether it needs facts") {
  CHECK(Selector::parse("role=a or not fact.os.id=x")->uses_facts());
  CHECK_FALSE(Selector::parse("role=a or instance=fact.x")->uses_facts());
}
