#include "protocol/ids.hpp"

#include <string>

#include <doctest/doctest.h>

#include "base/values/json.hpp"
#include "protocol/codec.hpp"

namespace protocol {

namespace {

constexpr std::string_view kCharacters = "must be made of letters (a to z), digits, '.', '_' and '-'";
constexpr std::string_view kFirst = "must begin with a letter or a digit";

struct Case {
  std::string name;
  std::string_view problem;
};

const std::vector<Case> kCases = {
    {"a", ""},
    {"0", ""},
    {"i-0123456789abcdef", ""},
    {"Web_1.example.org", ""},
    {"a..b", ""},
    {std::string(128, 'x'), ""},
    {"", "is empty"},
    {std::string(129, 'x'), "is longer than 128 bytes"},
    {".", kFirst},
    {"..", kFirst},
    {".hidden", kFirst},
    {"-x", kFirst},
    {"--help", kFirst},
    {"_x", kFirst},
    {"../x", kCharacters},
    {"a/b", kCharacters},
    {"a b", kCharacters},
    {"a\nb", kCharacters},
    {"a\n", kCharacters},
    {std::string("a\0b", 3), kCharacters},
    {std::string("a\0", 2), kCharacters},
    {"a\x7f", kCharacters},
    {"\x1b[31m", kCharacters},
    {"a\u202eb", kCharacters},  // right-to-left override
    {"a\u200f", kCharacters},   // right-to-left mark
    {"\u2066x", kCharacters},
    {"b\u00fcro", kCharacters},
    {"\u0430pp", kCharacters},  // a Cyrillic a
    {"a\xff", kCharacters},     // not UTF-8
    {"a\xc3", kCharacters},
    {"a=b", kCharacters},
    {"a,b", kCharacters},
    {"$(x)", kCharacters},
    {"a*", kCharacters},
};

std::string field(std::string_view text, std::string_view name) {
  std::string out(text);
  const std::size_t at = out.find('@');
  return out.replace(at, 1, base::json_quote(name));
}

std::string agent_error(const std::string& text) {
  const auto message = parse_agent_message(text);
  return message ? "" : message.error().message();
}
std::string backend_error(const std::string& text) {
  const auto message = parse_backend_message(text);
  return message ? "" : message.error().message();
}

bool is_json_text(const std::string& name) {
  return problem_of_id(name) != "is not valid UTF-8";
}

}  // namespace

TEST_CASE("a name is letters, digits, dots, underscores and dashes, and begins with a letter or a digit") {
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    CHECK(problem_of_name(c.name) == c.problem);
  }
}

TEST_CASE("names of machines and apps are checked wherever a message has them") {
  // {"Message.field", the text}; @ is where the name goes.
  const std::vector<std::pair<std::string, std::string>> required = {
      {"Handshake.instance_id",
       R"({"code":"Handshake","instance_id":@,"agent_version":"1","protocol_version":1})"},
      {"TestAns.instance_id",
       R"({"code":"TestAns","instance_id":@,"agent_version":"1","protocol_version":1})"}};
  const std::vector<std::pair<std::string, std::string>> optional = {
      {"Handshake.app_id",
       R"({"code":"Handshake","instance_id":"i","app_id":@,"agent_version":"1","protocol_version":1})"},
      {"StateLog.instance_id",
       R"({"code":"StateLog","instance_id":@,"recipe_version":1,"id":"s","state_result":true})"},
      {"StateLog.app_id",
       R"({"code":"StateLog","app_id":@,"recipe_version":1,"id":"s","state_result":true})"},
      {"WaitQuery.instance_id", R"({"code":"WaitQuery","instance_id":@,"recipe_version":1})"},
      {"WaitQuery.app_id", R"({"code":"WaitQuery","app_id":@,"recipe_version":1})"},
      {"CertRequest.instance_id", R"({"code":"CertRequest","csr":"x","instance_id":@})"},
      {"CertRequest.app_id", R"({"code":"CertRequest","csr":"x","app_id":@})"}};
  const auto refusal = [](const std::string& where, const Case& c) {
    return c.problem.empty() ? std::string() : where + ": " + std::string(c.problem);
  };
  for (const Case& c : kCases) {
    if (!is_json_text(c.name)) continue;
    CAPTURE(c.name);
    for (const auto& [where, text] : required)
      CHECK(agent_error(field(text, c.name)) == refusal(where, c));
    for (const auto& [where, text] : optional)
      CHECK(agent_error(field(text, c.name)) == (c.name.empty() ? "" : refusal(where, c)));
    CHECK(backend_error(
              field(R"({"code":"WaitList","recipe_version":1,"waited":[{"instance_id":@,"state_id":"s"}]})",
                    c.name)) == refusal("WaitList.waited[0].instance_id", c));
  }
}

TEST_CASE("a tag has a name for its key, and visible text for its value") {
  const auto error = [](std::string_view tags) {
    return agent_error(
        R"({"code":"Handshake","instance_id":"i","agent_version":"1","protocol_version":1,"tags":)" +
        std::string(tags) + "}");
  };
  CHECK(error(R"({"role":"web","zone":"","note":"b\u00fcro / 2nd floor"})") == "");
  CHECK(error(R"({"":"x"})") == "Handshake.tags: a key is empty");
  CHECK(error(R"({"a b":"x"})") == "Handshake.tags: a key " + std::string(kCharacters));
  CHECK(error(R"({"..":"x"})") == "Handshake.tags: a key " + std::string(kFirst));
  CHECK(error(R"({"role":"a\nb"})") == "Handshake.tags.role: has a control character in it");
  CHECK(error(R"({"role":"a\u202eb"})") == "Handshake.tags.role: has an invisible character in it");
  CHECK(error("{\"role\":\"" + std::string(257, 'x') + "\"}") ==
        "Handshake.tags.role: is longer than 256 bytes");
  CHECK(error(R"({"role":1})") == "Handshake.tags.role: text is expected, not a number");
  CHECK(error("[]") == "Handshake.tags: an object is expected, not a list");
}

}  // namespace protocol
