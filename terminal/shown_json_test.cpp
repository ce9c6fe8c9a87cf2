#include "terminal/shown_json.hpp"

#include <doctest/doctest.h>

#include "base/values/json.hpp"

using terminal::quote_json;
using terminal::shown_json;

namespace {

std::string shown(std::string_view json, std::initializer_list<const char*> secrets) {
  base::Redactor redactor;
  for (const char* secret : secrets)
    redactor.add(secret);
  const std::string text = shown_json(json, redactor);
  base::Arena arena;
  CHECK(std::holds_alternative<base::Value>(base::parse_json(text, arena)));
  return text;
}

}  // namespace

TEST_CASE("secrets are taken out of the texts of a JSON document, never out of its structure") {
  CHECK(shown(R"({"state":"a state","true":true,"n":123456,"list":["true",null,false]})",
              {"state", "true", "123456", "null", "list"}) ==
        R"({"state":"a ***","true":true,"n":123456,"list":["***",null,false]})");
  CHECK(shown(R"({ "state" : "state" })", {"state"}) == R"({ "state" : "***" })");
}

TEST_CASE("escapes of JSON are no part of a text that is searched") {
  CHECK(shown(R"({"a":"\nabc"})", {"nabc"}) == R"({"a":"\nabc"})");
  CHECK(shown(R"({"a":"x\"y\\z\u0041BCD"})", {"ABCD"}) == R"({"a":"x\"y\\z***"})");
  CHECK(shown(R"({"a":"p\/w: \"x\"\n+ end"})", {"p/w: \"x\"\n+"}) == R"({"a":"*** end"})");
  CHECK(shown(R"(["\\","hunter22\\"])", {"hunter22"}) == R"(["\\","***\\"])");
}

TEST_CASE("nothing in a JSON document plays with the terminal, and it means the same") {
  CHECK(shown("{\"a\u202E\":\"\u2066x\u200F\x7f\u009b\"}", {}) ==
        R"({"a\u202e":"\u2066x\u200f\u007f\u009b"})");
  CHECK(shown("[\"Gr\u00fc\u00dfe \U0001F680\"]", {}) == "[\"Gr\u00fc\u00dfe \U0001F680\"]");
  CHECK(quote_json("a\u202Eb\n") == R"("a\u202eb\n")");
}
