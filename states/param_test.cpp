#include "states/param.hpp"

#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/values/json.hpp"
#include "states/state.hpp"

namespace states {

namespace {

struct Params {
  std::string_view line = "untouched";
  std::optional<std::string_view> maybe_line;
  std::optional<std::string_view> text;
  std::string_view joined = "untouched";
  bool flag = false;
  std::optional<bool> maybe_flag;
  List list;
  std::optional<List> maybe_list;
  Pairs pairs;
  Pairs words;
  std::optional<Mode> mode;
  std::optional<Seconds> seconds;
  Watch watch;
};

constexpr auto kParams = param_table(
    param<&Params::line>("line", "").alias("line-alias").alias("other-alias"),
    param<&Params::maybe_line>("maybe-line", ""), param<&Params::text>("text", "").multiline().keep_empty(),
    param<&Params::joined>("joined", "").multiline().join_lists(),
    param<&Params::flag>("flag", "").alias("flag_alias"), param<&Params::maybe_flag>("maybe-flag", ""),
    param<&Params::list>("list", ""), param<&Params::maybe_list>("maybe-list", ""),
    param<&Params::pairs>("pairs", ""), param<&Params::words>("words", "").split_words(),
    param<&Params::mode>("mode", ""), param<&Params::seconds>("seconds", ""),
    param<&Params::watch>("watch", ""));

constexpr auto kRequired =
    param_table(param<&Params::line>("line", "").required().alias("alias"),
                param<&Params::text>("text", "").multiline().keep_empty().required(),
                param<&Params::list>("list", "").required(), param<&Params::pairs>("pairs", "").required());

class TestState final : public State<Params> {
 public:
  template <std::size_t Count>
  constexpr explicit TestState(const ParamTable<Params, Count>& table)
      : State({.name = "test.state"}, table) {}

 private:
  base::Result<void> check(const Params& params) const override {
    if (params.line == "impossible") return base::Error(base::ErrorCode::invalid, "check says no");
    return {};
  }
  PlanWith<NoSteps> plan(const Params&, Context&) const override { return Plan::kept({}); }
  Applied apply(const Params&, const Plan&, const NoSteps&, ApplyContext&) const override {
    return Applied::done({});
  }
};

constexpr TestState kState{kParams};
constexpr TestState kStrict{kRequired};

// Parameters read from JSON, with the arena that they live in.
struct Reading {
  explicit Reading(std::string_view json, const TestState& type = kState, bool unknown_is_warning = false) {
    const auto parsed = base::parse_json(json, arena);
    REQUIRE(std::holds_alternative<base::Value>(parsed));
    value = std::get<base::Value>(parsed);
    const ParamValues* values =
        type.read_params(value, arena, problems, unknown_is_warning ? &warnings : nullptr);
    if (values) read = &TestState::values(*values);
    CHECK((read == nullptr) == !problems.empty());
  }
  const Params& operator*() const {
    for (const auto& problem : problems)
      MESSAGE(problem.message);
    REQUIRE(read);
    return *read;
  }
  std::string problem() const { return problems.empty() ? "" : problems.front().message; }

  base::Arena arena;
  base::Value value;
  std::vector<ParamProblem> problems;
  std::vector<ParamProblem> warnings;
  const Params* read = nullptr;
};

std::string with(std::string_view name, std::string_view json) {
  return "{\"" + std::string(name) + "\": " + std::string(json) + "}";
}

std::vector<std::string> texts(List list) {
  return {list.begin(), list.end()};
}

std::string shown(Pairs pairs) {
  std::string text;
  for (const Pair& pair : pairs)
    text += "<" + std::string(pair.key) + "|" + std::string(pair.value) + ">";
  return text;
}

}  // namespace

TEST_CASE("a line is a text, or a number as its decimal text") {
  struct Row {
    const char* json;
    const char* line;
  };
  for (const Row& row :
       {Row{"\"a b\"", "a b"}, Row{"600", "600"}, Row{"-1", "-1"}, Row{"0", "0"}, Row{"1.5", "1.5"},
        Row{"9223372036854775807", "9223372036854775807"}, Row{"\" x \"", " x "}, Row{"\"0644\"", "0644"},
        Row{"\"@{host.ip}\"", "@{host.ip}"}, Row{"\"$a $$b\"", "$a $$b"}}) {
    CAPTURE(row.json);
    CHECK((*Reading(with("line", row.json))).line == row.line);
    CHECK((*Reading(with("maybe-line", row.json))).maybe_line == row.line);
  }
}

TEST_CASE("a line that is null or empty is not given") {
  for (const char* json : {"null", "\"\""}) {
    CHECK((*Reading(with("line", json))).line == "untouched");
    CHECK_FALSE((*Reading(with("maybe-line", json))).maybe_line);
  }
}

TEST_CASE("an empty text is a value where the parameter says so, null is not") {
  CHECK((*Reading(with("text", "\"\""))).text == "");
  CHECK_FALSE((*Reading(with("text", "null"))).text);
  CHECK((*Reading(with("text", "\"a\\nb\\u0000\""))).text == std::string_view("a\nb\0", 4));
}

TEST_CASE("a line of another type is refused") {
  for (const char* json : {"true", "[]", "[\"a\"]", "{}"})
    CHECK(Reading(with("line", json)).problem() == "Parameter 'line' must be a line of text");
  CHECK(Reading(with("text", "[\"a\"]")).problem() == "Parameter 'text' must be text");
}

TEST_CASE("a text that joins lists takes a list of lines") {
  CHECK((*Reading(with("joined", R"(["a", "b", null, 3])"))).joined == "a\nb\n3");
  CHECK((*Reading(with("joined", "\"a\""))).joined == "a");
  CHECK((*Reading(with("joined", "[]"))).joined == "untouched");
  CHECK((*Reading(with("joined", "[\"\"]"))).joined == "untouched");
  CHECK(Reading(with("joined", "[{}]")).problem() == "Parameter 'joined' must be text");
}

TEST_CASE("NUL is refused where a program or a system call would end the text there") {
  CHECK(Reading(with("line", "\"root\\u0000x\"")).problem() == "Parameter 'line' must not contain NUL");
  CHECK(Reading(with("list", "[\"a\\u0000\"]")).problem() == "Parameter 'list' must not contain NUL");
  CHECK(Reading(with("list", "\"a\\u0000\"")).problem() == "Parameter 'list' must not contain NUL");
  CHECK(Reading(with("mode", "\"0644\\u0000\"")).problem() == "Parameter 'mode' must not contain NUL");
  for (const char* json :
       {R"({"a\u0000": "b"})", R"({"a": "b\u0000"})", R"([{"key": "a\u0000"}])", R"(["a\u0000"])",
        R"([{"key": "a", "value": "\u0000"}])", R"([{"a\u0000": 1}])", R"("a\u0000=1")"})
    CHECK(Reading(with("words", json)).problem() == "Parameter 'words' must not contain NUL");
}

TEST_CASE("booleans in all forms that recipes use") {
  for (const char* json : {"true", "\"y\"", "\"yes\"", "\"True\"", "\"true\"", "\"1\"", "1", "\"YES\"",
                           "\"Y\"", "\"TRUE\"", "\"on\""}) {
    CAPTURE(json);
    CHECK((*Reading(with("flag", json))).flag);
    CHECK((*Reading(with("maybe-flag", json))).maybe_flag == true);
  }
  for (const char* json : {"false", "\"n\"", "\"no\"", "\"False\"", "\"false\"", "\"0\"", "0", "\"NO\"",
                           "\"N\"", "\"FALSE\"", "\"off\""}) {
    CAPTURE(json);
    CHECK_FALSE((*Reading(with("flag", json))).flag);
    CHECK((*Reading(with("maybe-flag", json))).maybe_flag == false);
  }
  for (const char* json : {"null", "\"\""}) {
    CHECK_FALSE((*Reading(with("flag", json))).flag);
    CHECK_FALSE((*Reading(with("maybe-flag", json))).maybe_flag.has_value());
  }
  for (const char* json : {"2", "-1", "1.0", "\"maybe\"", "\"true \"", "[]", "[true]", "{}"})
    CHECK(Reading(with("flag", json)).problem() == "Parameter 'flag' must be true or false");
}

TEST_CASE("a list is a list of texts or one bare text") {
  using Texts = std::vector<std::string>;
  CHECK(texts((*Reading(with("list", R"(["a", "b c"])"))).list) == Texts{"a", "b c"});
  CHECK(texts((*Reading(with("list", R"("a b")"))).list) == Texts{"a b"});
  CHECK(texts((*Reading(with("list", "5"))).list) == Texts{"5"});
  CHECK(texts((*Reading(with("list", R"([1, 2.5, "x"])"))).list) == Texts{"1", "2.5", "x"});
  CHECK(texts((*Reading(with("list", R"(["a", null, "", "b"])"))).list) == Texts{"a", "b"});
  for (const char* json : {"true", "{}", "{\"a\": 1}", "[[]]", "[true]", "[{}]"})
    CHECK(Reading(with("list", json)).problem() == "Parameter 'list' must be a list of texts");
}

TEST_CASE("an empty list is given, but null, an empty text and a list of nothing are not") {
  const Reading empty(with("maybe-list", "[]"));
  REQUIRE((*empty).maybe_list);
  CHECK((*empty).maybe_list->empty());
  for (const char* json : {"null", "\"\"", "[\"\"]", "[null]", "[null, \"\"]"})
    CHECK_FALSE((*Reading(with("maybe-list", json))).maybe_list.has_value());
}

TEST_CASE("pairs in all forms that recipes use, in their order") {
  struct Row {
    const char* json;
    const char* pairs;
  };
  for (const Row& row : {
           Row{R"([{"key": "b", "value": "2"}, {"key": "a", "value": "1"}])", "<b|2><a|1>"},
           Row{R"([{"key": "a"}, {"key": "b", "value": null}, {"key": "c", "value": ""}])", "<a|><b|><c|>"},
           Row{R"([{"value": "1", "key": 5}, {"key": "n", "value": 7}, {"key": "f", "value": 0.5}])",
               "<5|1><n|7><f|0.5>"},
           Row{R"([{"key": "t", "value": true}, {"key": "f", "value": false}])", "<t|true><f|false>"},
           Row{R"(["a", "b=c", 3])", "<a|><b=c|><3|>"},
           Row{R"({"b": "2", "a": 1, "c": null})", "<b|2><a|1><c|>"},
           Row{R"([{"nginx": "latest"}, {"a": null}])", "<nginx|latest><a|>"},
           Row{R"([{"key": "", "value": "1"}, {"value": "1"}, {"key": null}, {}, null, "", {"key": "k"}])",
               "<k|>"},
           Row{R"({"": "x", "k": "v"})", "<k|v>"},
           Row{R"("one")", "<one|>"},
           Row{R"("A=1 B=2")", "<A=1 B=2|>"},
           Row{"[]", ""},
           Row{"{}", ""},
           Row{"\"\"", ""},
           Row{"null", ""},
       }) {
    CAPTURE(row.json);
    CHECK(shown((*Reading(with("pairs", row.json))).pairs) == row.pairs);
  }
  for (const char* json :
       {"5", "true", "[[]]", "[true]", R"([{"key": []}])", R"([{"key": "a", "value": []}])",
        R"([{"key": "a", "value": {}}])", R"({"a": []})", R"([{"a": {}}])"})
    CHECK(Reading(with("pairs", json)).problem() ==
          "Parameter 'pairs' must be a list of key and value pairs");
}

TEST_CASE("pairs that split words take a bare text of assignments") {
  const auto words = [](const char* json) { return shown((*Reading(with("words", json))).words); };
  CHECK(words(R"("A=1 B=2")") == "<A|1><B|2>");
  CHECK(words(R"("A=x=y  B= C")") == "<A|x=y><B|><C|>");
  CHECK(words(R"("=x A=1")") == "<A|1>");
  CHECK(words("\"\"") == "");
  CHECK(words(R"({"A": "1 2"})") == "<A|1 2>");
  CHECK(words(R"([{"key": "A", "value": "1 2"}])") == "<A|1 2>");
}

TEST_CASE("modes are octal texts of three or four digits") {
  const auto mode = [](const char* json) { return (*Reading(with("mode", json))).mode; };
  CHECK(mode("\"0644\"")->bits == 0644);
  CHECK(mode("\"644\"")->bits == 0644);
  CHECK(mode("\"4755\"")->bits == 04755);
  CHECK(mode("\"000\"")->bits == 0);
  CHECK_FALSE(mode("\"\""));
  CHECK_FALSE(mode("null"));
  for (const char* text : {"rw", "0888", "64", "00644", "-644", " 644", "0o644", "0644x"})
    CHECK(Reading(with("mode", "\"" + std::string(text) + "\"")).problem() ==
          "Illegal mode '" + std::string(text) + "'");
  for (const char* number : {"420", "644", "0", "4.5"})
    CHECK(Reading(with("mode", number)).problem() ==
          "Parameter 'mode' must be octal text such as \"0644\", with quotes: the number " +
              std::string(number) + " may be meant as octal or as decimal");
  CHECK(Reading(with("mode", "[]")).problem() == "Parameter 'mode' must be an octal mode such as \"0644\"");
}

TEST_CASE("seconds are positive whole numbers up to a month") {
  const auto seconds = [](const char* json) { return (*Reading(with("seconds", json))).seconds; };
  CHECK(seconds("600")->value == std::chrono::seconds(600));
  CHECK(seconds("\"600\"")->value == std::chrono::seconds(600));
  CHECK(seconds("2592000")->value == std::chrono::hours(30 * 24));
  CHECK_FALSE(seconds("\"\""));
  for (const char* json : {"0", "-1", "2592001", "1.5", "\"1m\"", "\"99999999999999999999\""})
    CHECK(Reading(with("seconds", json)).problem().starts_with("Illegal seconds '"));
  CHECK(Reading(with("seconds", "true")).problem() == "Parameter 'seconds' must be a number of seconds");
}

TEST_CASE("a watch is a list of paths, one path, or a boolean for always") {
  using Texts = std::vector<std::string>;
  const auto paths = [](const char* json) { return texts((*Reading(with("watch", json))).watch.paths); };
  CHECK(paths(R"(["/a", "/b"])") == Texts{"/a", "/b"});
  CHECK(paths(R"("/a")") == Texts{"/a"});
  CHECK(paths("[]").empty());
  CHECK(paths("\"\"").empty());
  CHECK((*Reading(with("watch", "true"))).watch.always);
  CHECK_FALSE((*Reading(with("watch", "false"))).watch.always);
  CHECK_FALSE((*Reading(with("watch", R"(["/a"])"))).watch.always);
  CHECK(Reading(with("watch", "{}")).problem() == "Parameter 'watch' must be a list of paths");
}

TEST_CASE("scalars without quotes in YAML mean what their reader wants") {
  base::Arena arena;
  Params params;
  const auto store = [&](std::string_view name, std::string_view text) {
    for (std::size_t row = 0; row < kParams.schema.size(); ++row)
      if (const Param& param = kParams.schema[row]; param.name == name)
        return bool(kParams.stores[row](params, param, base::Value::plain(text), arena));
    return false;
  };
  CHECK(store("line", "no"));
  CHECK(params.line == "no");
  CHECK(store("flag", "Yes"));
  CHECK(params.flag);
  CHECK(store("mode", "0755"));
  CHECK(params.mode->bits == 0755);
  CHECK(store("seconds", "30"));
  CHECK(params.seconds->value == std::chrono::seconds(30));
  CHECK(store("watch", "yes"));
  CHECK(params.watch.always);
  for (const char* nothing : {"", "~", "null"}) {
    CHECK(store("maybe-line", nothing));
    CHECK_FALSE(params.maybe_line);
    CHECK(store("text", nothing));
    CHECK_FALSE(params.text);
  }
}

TEST_CASE("every problem of a state is listed, each where it is") {
  const Reading reading(R"({"flag": "x", "mode": "rw", "lime": 1, "seconds": 0})");
  REQUIRE(reading.problems.size() == 4);
  CHECK(reading.problems[0].message == "Parameter 'flag' must be true or false");
  CHECK(reading.problems[0].offset == 9);
  CHECK(reading.problems[1].message == "Illegal mode 'rw'");
  CHECK(reading.problems[1].offset == 22);
  CHECK(reading.problems[2].message == "Illegal seconds '0'");
  CHECK(reading.problems[3].message == "Unknown parameter 'lime' of test.state; did you mean 'line'?");
  CHECK(reading.problems[3].offset == 28);
}

TEST_CASE("unknown parameters of old recipes are warnings") {
  const Reading reading(R"({"line": "x", "bogus": 1})", kState, true);
  CHECK((*reading).line == "x");
  REQUIRE(reading.warnings.size() == 1);
  CHECK(reading.warnings[0].message == "Unknown parameter 'bogus' of test.state");
}

TEST_CASE("a parameter may be given by its aliases, and its own name wins wherever it stands") {
  CHECK((*Reading(R"({"line-alias": "a"})")).line == "a");
  CHECK((*Reading(R"({"other-alias": "a"})")).line == "a");
  CHECK((*Reading(R"({"line-alias": "a", "line": "b"})")).line == "b");
  CHECK((*Reading(R"({"line": "b", "line-alias": "a"})")).line == "b");
  CHECK((*Reading(R"({"flag_alias": "y"})")).flag);
}

TEST_CASE("a name that is null does not stand in the way of an alias") {
  CHECK((*Reading(R"({"line": null, "line-alias": "a"})")).line == "a");
  CHECK((*Reading(R"({"flag": null, "flag_alias": true})")).flag);
}

TEST_CASE("no parameters at all are an empty object or null, nothing else") {
  CHECK((*Reading("{}")).line == "untouched");
  CHECK((*Reading("null")).line == "untouched");
  CHECK(Reading("[]").problem() == "'parameter' must be an object");
  CHECK(Reading("\"x\"").problem() == "'parameter' must be an object");
}

TEST_CASE("required parameters must be there and must say something") {
  const auto problems = [](std::string_view json) {
    std::vector<std::string> messages;
    for (const auto& problem : Reading(json, kStrict).problems)
      messages.push_back(problem.message);
    return messages;
  };
  using Messages = std::vector<std::string>;
  const Messages all{"Missing parameter 'line'", "Missing parameter 'text'", "Missing parameter 'list'",
                     "Missing parameter 'pairs'"};
  CHECK(problems("{}") == all);
  CHECK(problems("null") == all);
  CHECK(problems(R"({"line": null, "text": null, "list": null, "pairs": null})") == all);
  CHECK(problems(R"({"line": "", "text": "", "list": "", "pairs": ["a"]})") ==
        Messages{"Missing parameter 'line'", "Missing parameter 'list'"});
  const Messages unusable{"Parameter 'list' has no usable entry", "Parameter 'pairs' has no usable entry"};
  CHECK(problems(R"({"line": "a", "text": "", "list": [], "pairs": []})") == unusable);
  CHECK(problems(R"({"line": "a", "text": "", "list": ["", null], "pairs": [{"value": 1}]})") == unusable);
  CHECK(problems(R"({"alias": "a", "text": "", "list": "a", "pairs": "a"})").empty());
  CHECK(problems(R"({"line": null, "alias": "a", "text": "", "list": "a", "pairs": "a"})").empty());
}

TEST_CASE("a required parameter that is null is reported where it stands") {
  const Reading reading(R"({"text": "", "list": "a", "pairs": "a", "line": null})", kStrict);
  REQUIRE(reading.problems.size() == 1);
  CHECK(reading.problems[0].offset == 48);
}

TEST_CASE("a module's own rules are asked when the values are fine") {
  CHECK(Reading(R"({"line": "impossible"})").problem() == "check says no");
  const Reading both(R"({"line": "impossible", "mode": "x"})");
  REQUIRE(both.problems.size() == 1);
  CHECK(both.problem() == "Illegal mode 'x'");
}

}  // namespace states
