#include "backend/domain/selectors/selector.hpp"

#include <doctest/doctest.h>

#include "base/values/json.hpp"

namespace {

using backend::domain::Selector;

bool matches(std::string_view text) {
  static const backend::domain::Tags kTags{{"role", "db"}, {"zone", "eu-west-1"}, {"or", "gold"},
                                           {"odd", "a<b"}, {"weight", "10"},      {"in", "3"}};
  static const std::string kFacts =
      R"({"os": {"id": "debian", "major": 12, "lts": true, "version": "12.10"}, "disks": ["sda", "nvme0n1"],
          "kernel.name": "x", "mem_mb": 4097})";
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

TEST_CASE("numbers and versions are less or greater") {
  CHECK(matches("fact.mem_mb>4096"));
  CHECK_FALSE(matches("fact.mem_mb > 4097"));
  CHECK(matches("fact.mem_mb>=4097 and fact.mem_mb<=4097"));
  CHECK_FALSE(matches("fact.mem_mb<4096"));
  CHECK(matches("fact.os.version>12.9"));
  CHECK(matches("fact.os.version<\"13\""));
  CHECK(matches("weight>9"));
  CHECK(matches("tag.weight<=10.0 or role=x"));
  CHECK(matches("in>2 and in<4"));
  // What is not there, or is no number, is neither.
  CHECK_FALSE(matches("fact.none>1"));
  CHECK_FALSE(matches("fact.none<1"));
  CHECK(matches("not fact.none<1"));
  CHECK_FALSE(matches("role>1"));
  CHECK_FALSE(matches("fact.disks>0"));
  // In a value the signs are what they were.
  CHECK(matches("odd=a<b"));
}

TEST_CASE("a tag may be called like a word of the grammar") {
  CHECK(matches("or=gold"));
  CHECK(matches("role=db and or=gold"));
  CHECK(matches("tag.or=gold"));
}

TEST_CASE("a selector that is wrong says where") {
  CHECK(problem("") == "at 1: expected a key such as tag.role, fact.os.id, instance, or '*'");
  CHECK(problem("role") == "at 5: expected '=', '!=', '<', '>', '<=', '>=' or 'in'");
  CHECK(problem("role=") == "at 6: expected a value");
  CHECK(problem("role=db and") == "at 12: expected a key such as tag.role, fact.os.id, instance, or '*'");
  CHECK(problem("role=db role=x") == "at 9: expected 'and', 'or' or the end");
  CHECK(problem("(role=db") == "at 9: expected ')'");
  CHECK(problem("role in (a b)") == "at 12: expected ',' or ')'");
  CHECK(problem("role=\"db") == "at 7: the text in quotes does not end");
  CHECK(problem("fact.=x") == "at 1: 'fact.' names nothing");
  CHECK(problem("fact.a..b=x") == "at 1: 'fact.a..b' names nothing");
  CHECK(problem("fact.a>") == "at 8: expected a value");
  CHECK(problem("fact.a>many") == "at 8: expected a number or a version such as 4096 or 12.5");
  CHECK(problem("fact.a>1*") == "at 8: expected a number or a version such as 4096 or 12.5");
  CHECK(problem("instance>1") == "at 10: names are compared with '=', '!=' and 'in'");
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

namespace {

bool is_within(std::string_view inner, std::string_view outer) {
  return Selector::parse(inner)->is_within(*Selector::parse(outer));
}

}  // namespace

TEST_CASE("a selector is inside another when its form proves it") {
  constexpr std::pair<const char*, const char*> kProved[] = {
      {"role=web", "*"},
      {"role=web", "tag.role=web"},
      {"role=web and zone=eu", "role=web"},
      {"(role=web) and (zone=eu or zone=us)", "role=web"},
      {"role=web", "role in (web, db)"},
      {"role in (web, db)", "role in (db, web, proxy)"},
      {"role=web or role=db", "role in (web, db)"},
      {"role in (web, db)", "role=*b"},
      {"instance=web-eu-*", "instance=web-*"},
      {"instance=*", "instance=*"},
      {"zone=eu and role=web and app=shop", "(app=shop and role=web) or instance=x"},
      {"role!=web", "not role=web"},
      {"not role in (web, db)", "role!=web"},
      {"fact.os.id=debian and role=web", "fact.os.id=d*"},
      {"fact.a>5", "fact.a>3"},
      {"fact.a>=5", "fact.a>=5"},
      {"fact.a>5", "fact.a>=5"},
      {"fact.a<=1.9", "fact.a<2"},
      {"fact.a in (4, 5)", "fact.a>3"},
      {"fact.a>5", "fact.a=*"},
      {"not fact.a>3", "not fact.a>5"},
  };
  for (const auto& [inner, outer] : kProved)
    CHECK_MESSAGE(is_within(inner, outer), inner << " in " << outer);
}

TEST_CASE("what is not proved to be inside is taken to be outside") {
  constexpr std::pair<const char*, const char*> kNotProved[] = {
      {"*", "role=web"},
      {"role=*", "role=web"},
      {"role=w*", "role=web"},
      {"instance=*", "role=web"},
      {"role=web or role=db", "role=web"},
      {"(role=web) and (app=x) or (app=default)", "role=web"},
      {"role=web", "role=web and zone=eu"},
      {"not role=db", "role=web"},
      {"role!=web", "role=web"},
      {"not role=web", "not role in (web, db)"},
      {"tag.role=web", "fact.role=web"},
      {"tag.app=shop", "app=shop"},
      {"fact.a.b=x", "fact.a=x"},
      {"instance=\"web-*\"", "instance=web-1"},
      {"instance=a*", "instance=a*a"},    // "a" is in the one only
      {"instance=a*b", "instance=*b*"},   // true, and not proved
      {"*", "role=web or not role=web"},  // likewise
      {"fact.a>3", "fact.a>5"},
      {"fact.a>=5", "fact.a>5"},
      {"fact.a<5", "fact.a>3"},
      {"fact.a>1.25", "fact.a>1.5"},  // as versions, not as numbers
      {"fact.a>1.5", "fact.a>1.25"},  // the other way round
      {"fact.a=x", "fact.a>3"},
      {"fact.a=4*", "fact.a>3"},
      {"fact.a>3", "fact.b>3"},
      {"fact.a>3", "fact.a=4"},
  };
  for (const auto& [inner, outer] : kNotProved)
    CHECK_FALSE_MESSAGE(is_within(inner, outer), inner << " in " << outer);
}

TEST_CASE("what rests on the word of machines is inside what does not only where that changes nothing") {
  const auto strict = [](std::string_view text) { return Selector::parse(text)->strict(); };
  const auto plain = [](std::string_view text) { return *Selector::parse(text); };
  for (const char* text : {"role=web", "fact.os.id=debian", "not self.role=db", "role=web and fact.a=b"}) {
    CHECK_MESSAGE(strict(text).is_within(strict(text)), text);
    CHECK_MESSAGE(strict(text).is_within(plain(text)), text);
  }
  CHECK(plain("role=web").is_within(strict("role=web")));  // nothing is asked of the machine
  CHECK_FALSE(plain("self.role=web").is_within(strict("self.role=web")));
  CHECK_FALSE(plain("not fact.a=b").is_within(strict("not fact.a=b")));
  CHECK(Selector::both(strict("role=web"), plain("fact.a=b"))->is_within(strict("role=web")));
  CHECK(strict("(role=web) and (fact.a=b)").is_within(strict("role=web")));
  CHECK_FALSE(strict("self.role=web").is_within(strict("role=web")));
  CHECK_FALSE(strict("role=web").is_within(strict("self.role=web")));
}

TEST_CASE("whether one selector is inside another is answered in bounded time, whoever wrote them") {
  // Each level doubles the ways that a search without a bound would try.
  std::string inner = "a=1", outer = "b=1";
  for (int i = 0; i < 14; ++i) {
    inner = "(a=1 and " + inner + ") and (a=2 and " + std::string("a=3") + ")";
    outer = "(b=1 or " + outer + ") or (b=2 or b=3)";
  }
  for (int i = 0; i < 200; ++i)
    CHECK_FALSE(is_within(inner, outer));
}

TEST_CASE("a tag that was set with a scope counts for selectors inside of it, and is not there for others") {
  backend::domain::Instance machine;
  machine.app_id = "default";
  machine.instance_id = "web1";
  machine.agent_tags = {{"tier", "own"}};
  machine.operator_tags = {{"team", "a"}, {"zone", "eu"}, {"tier", "pci"}};
  machine.tag_scopes = {{"tier", "team=a"}};
  const auto matches = [&](std::string_view text) {
    return Selector::parse(text)->strict().matches(machine);
  };
  struct Row {
    const char* selector;
    bool expected;
  };
  for (const Row& row : {
           Row{"tier=pci", false},
           {"not tier=pci", true},
           {"tier!=pci", true},
           {"tier in (pci, x)", false},
           {"instance=web1 and tier=pci", false},
           {"team=a and tier=pci", true},
           {"(team=a) and (tier=pci)", true},
           {"team=a and not tier=pci", false},
           {"team=a and zone=eu and tier=pci", true},
           {"team in (a, b) and tier=pci", false},
           {"team=a or tier=pci", true},  // by its team
           {"zone=eu or tier=pci", true},
           {"zone=us or tier=pci", false},
           {"team=a", true},
           {"self.tier=own", false},
       })
    CHECK_MESSAGE(matches(row.selector) == row.expected, row.selector);
  // A look sees all.
  CHECK(Selector::parse("tier=pci")->matches(machine));
  // Each part of two is as strict as it is; a scope that somebody looks within stays what it is.
  CHECK(Selector::both(Selector::parse("team=a")->strict(), *Selector::parse("tier=pci"))->matches(machine));
  CHECK_FALSE(
      Selector::both(Selector::parse("tier=pci")->strict(), *Selector::parse("team=a"))->matches(machine));
  CHECK_FALSE(Selector::parse("team=a")->inside(Selector::parse("tier=pci")->strict()).matches(machine));
  // Where the app takes a machine's own tags, they are as if this one had not been set.
  machine.trust = backend::domain::SelfTrust::all;
  CHECK(matches("tier=own"));
  CHECK_FALSE(matches("tier=pci"));
  // What is no selector is nobody's scope.
  machine.tag_scopes = {{"tier", "team="}};
  CHECK_FALSE(matches("team=a and tier=pci"));
}
