// Compiled alone: its names are those of other tests.
#include "backend/domain/selectors/value_order.hpp"

#include <random>

#include <doctest/doctest.h>

#include "backend/domain/selectors/selector.hpp"
#include "base/values/json.hpp"

using backend::domain::Bound;
using backend::domain::compare_versions;
using backend::domain::Selector;

TEST_CASE("versions are compared part by part, numbers in them as numbers") {
  constexpr const char* kOrdered[] = {"0.9",  "1.0~rc1", "1.0",    "1.0-2", "1.0.1",          "1.9",
                                      "1.10", "1.10a",   "1.10.0", "2",     "6.1.0-18-amd64", "6.1.0-100",
                                      "10",   "12.5",    "12.10"};
  for (std::size_t i = 0; i < std::size(kOrdered); ++i)
    for (std::size_t j = 0; j < std::size(kOrdered); ++j)
      CHECK_MESSAGE((compare_versions(kOrdered[i], kOrdered[j]) < 0) == (i < j),
                    kOrdered[i] << " < " << kOrdered[j]);
  CHECK(compare_versions("v1.2", "1.2") == 0);
  CHECK(compare_versions("01.002", "1.2") == 0);
  CHECK(compare_versions("99999999999999999999999", "100000000000000000000000") < 0);
}

TEST_CASE("numbers are compared as numbers, and what is neither number nor version with nothing") {
  const auto holds = [](Bound::Kind kind, const char* value, std::string_view json) {
    base::Arena arena;
    return Bound{kind, value}.holds(std::get<base::Value>(base::parse_json(json, arena)));
  };
  using Kind = Bound::Kind;
  CHECK(holds(Kind::greater, "4096", "4097"));
  CHECK_FALSE(holds(Kind::greater, "4096", "4096"));
  CHECK(holds(Kind::at_least, "4096", "4096"));
  CHECK(holds(Kind::less, "1.5", "1.25"));         // a number
  CHECK(holds(Kind::greater, "1.5", "\"1.25\""));  // a version
  CHECK(holds(Kind::less, "-1", "-2.5"));
  CHECK(holds(Kind::greater, "5", "[1, \"7.1\"]"));
  CHECK_FALSE(holds(Kind::greater, "5", "[1, \"x\"]"));
  for (const char* other : {"null", "true", "{\"a\":9}", "\"many\"", "\"\"", "[]", "[[9]]"})
    for (const Kind kind : {Kind::less, Kind::at_most, Kind::greater, Kind::at_least})
      CHECK_FALSE_MESSAGE(holds(kind, "5", other), other);
  CHECK_FALSE(holds(Kind::greater, "v2", "3"));  // no number
}

namespace {

// A selector of a few words, so that its parts often have to do with each other.
class Writer {
 public:
  explicit Writer(unsigned seed) : random_(seed) {}
  std::string value() { return pick({"1", "2", "3", "10", "1.5", "1.10", "v2", "x", "-1", "2~a"}); }
  std::string comparison() {
    const std::string key = pick({"a", "self.a", "fact.a", "fact.b"});
    const std::string number = pick({"1", "2", "3", "10", "1.5", "1.10", "v2", "-1", "2~a"});
    switch (below(4)) {
      case 0:
        return key + pick({"=", "!="}) + pick({value(), std::string("*"), std::string("1*")});
      case 1:
        return key + pick({"", " not"}) + " in (" + value() + ", " + value() + ")";
      default:
        return key + pick({"<", ">", "<=", ">="}) + number;
    }
  }
  std::string selector(int depth) {
    if (depth == 0 || below(3) == 0) return comparison();
    switch (below(3)) {
      case 0:
        return "not (" + selector(depth - 1) + ")";
      case 1:
        return "(" + selector(depth - 1) + ") and (" + selector(depth - 1) + ")";
      default:
        return "(" + selector(depth - 1) + ") or (" + selector(depth - 1) + ")";
    }
  }
  std::string facts() { return R"({"a":)" + fact() + R"(,"b":)" + fact() + "}"; }
  std::string fact() {
    const std::string text = "\"" + value() + "\"";
    return pick({text, text, std::string("1"), std::string("2"), std::string("1.5"), std::string("-3"),
                 std::string("true"), std::string("null"), "[2, " + text + "]"});
  }
  std::size_t below(std::size_t end) { return random_() % end; }
  std::string pick(std::vector<std::string> from) { return from[below(from.size())]; }

 private:
  std::mt19937 random_;
};

}  // namespace

TEST_CASE("what is proved to be inside never matches what is outside, with any bounds and values") {
  Writer writer(20);
  std::size_t proved = 0, matched = 0;
  for (int i = 0; i < 40'000; ++i) {
    const std::string one = writer.selector(2), other = writer.selector(2);
    auto inner = Selector::parse(one), outer = Selector::parse(other);
    REQUIRE_MESSAGE(inner, one);
    REQUIRE_MESSAGE(outer, other);
    if (writer.below(2) == 0) inner = inner->strict(), outer = outer->strict();
    if (!inner->is_within(*outer)) continue;
    ++proved;
    for (int j = 0; j < 20; ++j) {
      const std::string text = writer.facts();
      base::Arena arena;
      const auto facts = std::get<base::Value>(base::parse_json(text, arena));
      const backend::domain::Tags tags{{"a", writer.value()}}, self{{"a", writer.value()}};
      const backend::domain::SelectorSubject subject{.app_id = "app",
                                                     .instance_id = "i",
                                                     .tags = tags,
                                                     .facts = &facts,
                                                     .self_tags = &self,
                                                     .trusts_self_reported = writer.below(2) == 0};
      if (!inner->matches(subject)) continue;
      ++matched;
      REQUIRE_MESSAGE(outer->matches(subject), one << " in " << other << " with " << text);
    }
  }
  CHECK(proved > 100);
  CHECK(matched > 100);
}
