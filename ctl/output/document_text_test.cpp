#include "ctl/output/document_text.hpp"

#include <doctest/doctest.h>

#include "base/programs/process.hpp"
#include "base/values/json.hpp"

namespace {

struct Parsed {
  explicit Parsed(std::string the_text) : text(std::move(the_text)) {
    auto parsed = base::parse_json(text, arena);
    if (const auto* problem = std::get_if<base::SyntaxProblem>(&parsed)) FAIL(problem->message);
    value = std::get<base::Value>(parsed);
  }
  std::string text;
  base::Arena arena;
  base::Value value;
};

}  // namespace

TEST_CASE("JSON is indented, and empty lists and objects stay on their line") {
  const Parsed document(R"({"a":[1,{"b":"x"}],"c":{},"d":[],"e":null})");
  CHECK(ctl::pretty_json(document.value) ==
        "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x\"\n    }\n  ],\n  \"c\": {},\n  \"d\": [],\n  \"e\": "
        "null\n}\n");
  const std::string pretty = ctl::pretty_json(document.value);
  CHECK(base::to_json(Parsed(pretty).value) == document.text);
}

TEST_CASE("YAML is what a person would write") {
  const Parsed document(
      R"({"name":"web1","tags":{"role":"db"},"items":[{"id":1,"on":true},{"id":2}],"text":"a\nb\n","empty":[],"list":["x",["y"]]})");
  CHECK(ctl::yaml_text(document.value) ==
        "name: web1\n"
        "tags:\n"
        "  role: db\n"
        "items:\n"
        "  - id: 1\n"
        "    \"on\": true\n"
        "  - id: 2\n"
        "text: |\n"
        "  a\n"
        "  b\n"
        "empty: []\n"
        "list:\n"
        "  - x\n"
        "  -\n"
        "    - \"y\"\n");
}

TEST_CASE("YAML quotes what a reader could take for something else") {
  for (const char* text : {"yes", "No", "null", "~", "1.10", "0644", "1e5", "", " x", "a: b", "# c", "- d",
                           "2026-03-01", "on", "!x"}) {
    const std::string yaml = ctl::yaml_text(base::Value::list(std::vector{base::Value::string(text)}));
    CHECK_MESSAGE(yaml == "- " + base::json_quote(text) + "\n", text);
  }
}

TEST_CASE("what changes the direction of text leaves neither JSON nor YAML as it is") {
  const std::vector<base::Value> list{base::Value::string("a\u202Eb\u2066c\u061Cd")};
  for (const std::string& text :
       {ctl::pretty_json(base::Value::list(list)), ctl::yaml_text(base::Value::list(list))})
    CHECK_MESSAGE(text.find("a\\u202eb\\u2066c\\u061cd") != std::string::npos, text);
}

TEST_CASE("control characters leave neither JSON nor YAML as they are") {
  const base::Value value = base::Value::string("\x7f\xc2\x9b\xe2\x80\xa8\x1b");
  const std::vector<base::Value> list{value};
  for (const std::string& text :
       {ctl::pretty_json(base::Value::list(list)), ctl::yaml_text(base::Value::list(list))}) {
    CHECK(text.find("\\u007f\\u009b\\u2028\\u001b") != std::string::npos);
    CHECK(text.find('\x7f') == std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
  }
}
