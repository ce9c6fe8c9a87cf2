// The printed JSON Schema against what reading a recipe really accepts.
#include <doctest/doctest.h>

#include "states/state.hpp"
#include "tests/support/json_schema_check.hpp"

namespace states {

namespace {

struct Values {
  std::string_view line;
  bool flag = false;
  List list;
  Pairs pairs;
  Mode mode;
  Seconds seconds;
  std::int64_t number = 0;
  Watch watch;
  References references;
};

constexpr std::array<std::string_view, 2> kChoices{"text", "5"};
constexpr auto choice(BoundParam<Values> bound) {
  bound.row.choices = kChoices;
  return bound;
}
constexpr auto limited(BoundParam<Values> bound) {
  bound.row.least = 1;
  bound.row.most = 100;
  return bound;
}

constexpr auto kOptional = param_table(
    param<&Values::line>("line", "a line").alias("row"), param<&Values::line>("text", "").multiline(),
    param<&Values::line>("kept", "").keep_empty(), param<&Values::line>("joined", "").join_lists(),
    param<&Values::line>("script", "").multiline().join_lists().secret(),
    param<&Values::flag>("flag", "").alias("flag_"),
    param<&Values::list>("list", "").alias("one").alias("two"),
    param<&Values::pairs>("pairs", "").alias("packages"), param<&Values::pairs>("words", "").split_words(),
    param<&Values::mode>("mode", "").fallback("0644"), param<&Values::seconds>("seconds", ""),
    param<&Values::number>("number", ""), choice(param<&Values::line>("choice", "")),
    param<&Values::watch>("watch", ""), param<&Values::references>("references", ""));

// Each alone in its table: what is required of one does not depend on the others.
template <class Wanted>
constexpr auto required(Wanted wanted) {
  return param_table(wanted.required(), param<&Values::line>("other", ""));
}
constexpr auto kLine = required(param<&Values::line>("it", ""));
constexpr auto kAliased = required(param<&Values::line>("it", "").alias("alias"));
constexpr auto kText = required(param<&Values::line>("it", "").multiline());
constexpr auto kKept = required(param<&Values::line>("it", "").keep_empty());
constexpr auto kJoined = required(param<&Values::line>("it", "").multiline().join_lists());
constexpr auto kFlag = required(param<&Values::flag>("it", ""));
constexpr auto kList = required(param<&Values::list>("it", ""));
constexpr auto kPairs = required(param<&Values::pairs>("it", ""));
constexpr auto kWords = required(param<&Values::pairs>("it", "").split_words());
constexpr auto kMode = required(param<&Values::mode>("it", ""));
constexpr auto kSeconds = required(param<&Values::seconds>("it", ""));
constexpr auto kNumber = required(param<&Values::number>("it", ""));
constexpr auto kChoice = required(choice(param<&Values::line>("it", "")));
constexpr auto kLimited = required(limited(param<&Values::number>("it", "")));
constexpr auto kWatch = required(param<&Values::watch>("it", ""));
constexpr auto kReferences = required(param<&Values::references>("it", ""));

class Probe final : public State<Values> {
 public:
  template <std::size_t Count>
  constexpr explicit Probe(const ParamTable<Values, Count>& table) : State({.name = "test.probe"}, table) {}
  constexpr Probe() : State({.name = "test.nothing"}) {}

 private:
  PlanWith<NoSteps> plan(const Values&, Context&) const override { return Plan::kept({}); }
  Applied apply(const Values&, const Plan&, const NoSteps&, ApplyContext&) const override {
    return Applied::done({});
  }
};

void check_agreement(const StateType& type) {
  tests::SchemaCheck check(type);
  for (const std::string& disagreement : check.disagreements())
    FAIL_CHECK(disagreement);
  CHECK((type.schema().empty() || check.compared() > tests::kSchemaProbes.size()));
}

}  // namespace

TEST_CASE("the JSON Schema of a module accepts exactly what reading its parameters does") {
  for (const RegistryEntry& entry : native_states())
    check_agreement(*entry.type);
}

TEST_CASE("the JSON Schema of every type of parameter accepts exactly what its reader does") {
  SUBCASE("optional") {
    check_agreement(Probe(kOptional));
  }
  SUBCASE("none at all") {
    check_agreement(Probe());
  }
  SUBCASE("required line") {
    check_agreement(Probe(kLine));
  }
  SUBCASE("required line with an alias") {
    check_agreement(Probe(kAliased));
  }
  SUBCASE("required text") {
    check_agreement(Probe(kText));
  }
  SUBCASE("required line that may be empty") {
    check_agreement(Probe(kKept));
  }
  SUBCASE("required text from a list") {
    check_agreement(Probe(kJoined));
  }
  SUBCASE("required boolean") {
    check_agreement(Probe(kFlag));
  }
  SUBCASE("required list") {
    check_agreement(Probe(kList));
  }
  SUBCASE("required pairs") {
    check_agreement(Probe(kPairs));
  }
  SUBCASE("required pairs from words") {
    check_agreement(Probe(kWords));
  }
  SUBCASE("required mode") {
    check_agreement(Probe(kMode));
  }
  SUBCASE("required seconds") {
    check_agreement(Probe(kSeconds));
  }
  SUBCASE("required number") {
    check_agreement(Probe(kNumber));
  }
  SUBCASE("required choice") {
    check_agreement(Probe(kChoice));
  }
  SUBCASE("required watch") {
    check_agreement(Probe(kWatch));
  }
  SUBCASE("required references") {
    check_agreement(Probe(kReferences));
  }
}

TEST_CASE("the limits of a number hold for numbers and for their texts") {
  const Probe probe(kLimited);
  tests::SchemaCheck check(probe);
  for (const char* fine : {R"({"it": 1})", R"({"it": 100})", R"({"it": "100"})"}) {
    CHECK(check.schema_accepts(fine));
    CHECK(check.reader_accepts(fine));
  }
  for (const char* wrong : {R"({"it": 0})", R"({"it": 101})", R"({"it": -1})"}) {
    CHECK_FALSE(check.schema_accepts(wrong));
    CHECK_FALSE(check.reader_accepts(wrong));
  }
  // JSON Schema has no words for the limits of a number that stands in a text.
  CHECK(check.schema_accepts(R"({"it": "101"})"));
  CHECK_FALSE(check.reader_accepts(R"({"it": "101"})"));
}

TEST_CASE("the JSON Schema tells what people and forms need to know") {
  base::Arena arena;
  const std::string text = json_schema("test.probe", "what it is for", Schema(kOptional.schema));
  const auto parsed = base::parse_json(text, arena);
  REQUIRE(std::holds_alternative<base::Value>(parsed));
  const base::Value& schema = std::get<base::Value>(parsed);
  CHECK(schema.find("$schema")->text() == "https://json-schema.org/draft/2020-12/schema");
  CHECK(schema.find("title")->text() == "test.probe");
  CHECK(schema.find("description")->text() == "what it is for");
  const base::Value& properties = *schema.find("properties");
  CHECK(properties.find("line")->find("description")->text() == "a line");
  CHECK(properties.find("mode")->find("description")->text() == "; default: 0644");
  CHECK(properties.find("row")->find("deprecated")->as_bool() == true);
  CHECK(properties.find("script")->find("writeOnly")->as_bool() == true);
  CHECK(properties.find("line")->find("writeOnly") == nullptr);
}

}  // namespace states
