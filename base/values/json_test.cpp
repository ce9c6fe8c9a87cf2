#include "base/values/json.hpp"

#include <string>
#include <variant>

#include <doctest/doctest.h>

namespace base {

namespace {

struct Parsed {
  explicit Parsed(std::string_view text, DocumentLimits limits = {})
      : result(parse_json(text, arena, limits)) {}
  const Value& operator*() const {
    if (const auto* wrong = std::get_if<SyntaxProblem>(&result)) FAIL(wrong->message);
    return std::get<Value>(result);
  }
  const Value* operator->() const { return &**this; }
  bool is_refused() const { return std::holds_alternative<SyntaxProblem>(result); }
  const SyntaxProblem& problem() const {
    REQUIRE(is_refused());
    return std::get<SyntaxProblem>(result);
  }
  Arena arena;
  std::variant<Value, SyntaxProblem> result;
};

std::string repeated(std::string_view text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i)
    out += text;
  return out;
}

}  // namespace

TEST_CASE("JSON values of every kind are read") {
  CHECK(Parsed("null")->is_null());
  CHECK(Parsed(" true ")->as_bool() == true);
  CHECK(Parsed("false")->as_bool() == false);
  CHECK(Parsed("-12")->as_integer() == -12);
  CHECK(Parsed("1.5e3")->as_number() == 1500.0);
  CHECK(Parsed("1.0")->kind() == Value::Kind::real);
  CHECK(Parsed(R"("a\n\"\\\/\u00e4\ud83d\ude00")")->text() == "a\n\"\\/\xc3\xa4\xf0\x9f\x98\x80");
  CHECK(Parsed(R"("\u0000")")->text() == std::string_view("\0", 1));
  CHECK(Parsed("[]")->is_list());
  CHECK(Parsed("{}")->is_object());
}

TEST_CASE("members keep their order, lists too") {
  const Parsed parsed(R"({"z": 1, "a": [3, 2, {"k": "v"}], "m": {}})");
  REQUIRE(parsed->members().size() == 3);
  CHECK(parsed->members()[0].key == "z");
  CHECK(parsed->members()[1].key == "a");
  CHECK(parsed->members()[2].key == "m");
  const auto items = parsed->find("a")->items();
  REQUIRE(items.size() == 3);
  CHECK(items[0].as_integer() == 3);
  CHECK(items[2].find("k")->text() == "v");
}

TEST_CASE("keys and values know where in the text they began") {
  const std::string text =
      "\n {\"a\" : 1 ,\t\"b\":[ 22,-3.5, \"x\\\"y\" ,true,[],{}],\r\n\"c\":{\"d\":null}, \"e\":5}";
  const Parsed parsed(text);
  const auto at = [&](std::string_view what) { return static_cast<std::uint32_t>(text.find(what)); };
  CHECK(parsed->offset() == at("{"));
  const auto members = parsed->members();
  REQUIRE(members.size() == 4);
  CHECK(members[0].offset == at("\"a\""));
  CHECK(members[0].value.offset() == at("1 ,"));
  CHECK(members[1].offset == at("\"b\""));
  CHECK(members[1].value.offset() == at("[ 22"));
  const auto items = members[1].value.items();
  REQUIRE(items.size() == 6);
  CHECK(items[0].offset() == at("22"));
  CHECK(items[1].offset() == at("-3.5"));
  CHECK(items[2].offset() == at("\"x"));
  CHECK(items[3].offset() == at("true"));
  CHECK(items[4].offset() == at("[]"));
  CHECK(items[5].offset() == at("{}"));
  CHECK(members[2].offset == at("\"c\""));
  CHECK(members[2].value.offset() == at("{\"d\""));
  CHECK(members[2].value.members()[0].value.offset() == at("null"));
  CHECK(members[3].offset == at("\"e\""));
  CHECK(members[3].value.offset() == at("5}"));
}

TEST_CASE("nesting is limited however deep a text goes, and never ends the process") {
  for (const char* open : {"[", "{\"a\":", "[{\"a\":"}) {
    const Parsed deep(repeated(open, 100'000));
    CHECK(deep.problem().message == "nested deeper than 64 levels");
  }
  const Parsed complete(repeated("[", 100'000) + repeated("]", 100'000));
  CHECK(complete.problem().message == "nested deeper than 64 levels");
  CHECK(complete.problem().offset == 64);
  CHECK(Parsed(repeated("[", 64) + repeated("]", 64))->is_list());
  CHECK(Parsed(repeated("[", 65) + repeated("]", 65)).is_refused());
  CHECK(Parsed("[[1]]", {.depth = 1}).is_refused());
}

TEST_CASE("the number of values is limited") {
  CHECK(Parsed("[1,2,3]", {.values = 4})->items().size() == 3);
  CHECK(Parsed("[1,2,3,4]", {.values = 4}).problem().message == "more than 4 values");
}

TEST_CASE("a key that stands twice is refused where it stands the second time") {
  const Parsed twice(R"({"a": 1, "b": {"a": 2}, "a": 3})");
  CHECK(twice.problem().message == "the key 'a' stands twice in one object");
  CHECK(twice.problem().offset == 24);
  CHECK(Parsed(R"({"\u0061": 1, "a": 2})").is_refused());
  CHECK(Parsed(R"([{"a": 1}, {"a": 1}])")->items().size() == 2);
  std::string large = "{";
  for (int i = 0; i < 1000; ++i)
    large += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  CHECK(Parsed(large + "\"last\":0}")->members().size() == 1001);
  const Parsed large_twice(large + "\"k500\":0}");
  CHECK(large_twice.problem().message == "the key 'k500' stands twice in one object");
  CHECK(large_twice.problem().offset == large.size());
}

TEST_CASE("invalid UTF-8 is refused, in keys too") {
  for (const char* text : {"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xe2\x82\"", "{\"\xff\": 1}",
                           R"("\ud800")", R"("\udc00\ud800")", "\xff"})
    CHECK(Parsed(text).is_refused());
}

TEST_CASE("numbers that no machine number holds are refused") {
  CHECK(Parsed("9223372036854775807")->as_integer() == INT64_MAX);
  CHECK(Parsed("-9223372036854775808")->as_integer() == INT64_MIN);
  for (const char* text : {"9223372036854775808", "18446744073709551615", "18446744073709551616",
                           "-9223372036854775809", "123456789012345678901234567890"}) {
    const Parsed parsed("[0, " + std::string(text) + "]");
    CHECK(parsed.problem().message == "a number is out of range");
    CHECK(parsed.problem().offset == 4);
  }
  for (const char* text : {"1e999", "-1e999", "1e99999999999"})
    CHECK(Parsed(text).is_refused());
  CHECK(Parsed("1e300")->as_number() == 1e300);
}

TEST_CASE("large numbers are written so that they can be read again") {
  for (const char* text : {"-266666666666666666666.5", "9223372036854775808.0", "1e19", "1e22", "1e300",
                           "-9223372036854775808.0", "9223372036854774784.0"}) {
    const Parsed parsed(text);
    const std::string written = to_json(std::get<Value>(parsed.result));
    CAPTURE(written);
    CHECK(Parsed(written)->as_number() == parsed->as_number());
    CHECK(to_json(std::get<Value>(Parsed(written).result)) == written);
  }
}

TEST_CASE("a text that is cut off anywhere is refused") {
  const std::string whole = R"({"a": [1, -2.5e3, "x\u00e4", true, null], "b": {"c": "d"}})";
  REQUIRE_FALSE(Parsed(whole).is_refused());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Parsed cut(whole.substr(0, length));
    CAPTURE(length);
    CHECK(cut.is_refused());
    CHECK(cut.problem().offset <= length);
    CHECK_FALSE(cut.problem().message.empty());
  }
}

TEST_CASE("what is not one JSON value is refused, with the place") {
  for (const char* text :
       {"",    " ",        "{} {}", "[1,]",      "{\"a\":1,}", "{a: 1}",  "'a'", "01",      "1.", ".5", "+1",
        "NaN", "Infinity", "[1 2]", "{\"a\" 1}", "\"\t\"",     "\"\\x\"", "tru", "// c\n1", "]",  "{]"})
    CHECK(Parsed(text).is_refused());
  const Parsed wrong("[1, x]");
  CHECK(wrong.problem().offset == 4);
  CHECK(wrong.problem().message.find("json.exception") == std::string::npos);
}

TEST_CASE("texts are quoted for JSON") {
  CHECK(json_quote("") == "\"\"");
  CHECK(json_quote("a\"\\\n\x01\xc3\xa4") == "\"a\\\"\\\\\\n\\u0001\xc3\xa4\"");
  CHECK(json_quote("\xff") == "\"\xef\xbf\xbd\"");
}

TEST_CASE("a value is written as the JSON that it was read from") {
  for (const char* text :
       {"null", "true", "-5", "1.5", "\"a\\n\"", "[]", "{}", R"({"a":[1,"b",{"c":null}],"d":false})"})
    CHECK(to_json(*Parsed(text)) == text);
}

}  // namespace base
