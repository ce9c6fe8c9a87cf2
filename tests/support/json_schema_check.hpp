// Whether the JSON Schema that a state type prints says what its reader does, for tests. Header only.
//
// The validator knows the keywords that we print and refuses others, so that none is printed that nobody
// checks.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "base/values/json.hpp"
#include "states/state.hpp"

namespace tests {

// JSON Schema, draft 2020-12, as far as states::json_schema() uses it.
class SchemaValidator {
 public:
  bool accepts(const base::Value& schema, const base::Value& value) {
    if (const auto all_or_nothing = schema.as_bool()) return *all_or_nothing;
    for (const base::Member& keyword : schema.members())
      if (!holds(schema, keyword.key, keyword.value, value)) return false;
    return true;
  }

 private:
  using Value = base::Value;
  using Kind = base::Value::Kind;

  static bool is_any(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
  }

  bool holds(const Value& schema, std::string_view keyword, const Value& rule, const Value& value) {
    if (is_any(keyword, {"$schema", "$comment", "title", "description", "deprecated", "writeOnly"}))
      return true;
    if (keyword == "type") return has_type(rule, value);
    if (keyword == "enum")
      return std::ranges::any_of(rule.items(), [&](const Value& one) { return same_number(one, value); });
    if (is_any(keyword, {"anyOf", "allOf", "not", "if", "then", "else"}))
      return combines(schema, keyword, rule, value);
    if (is_any(keyword, {"minLength", "maxLength", "pattern"}))
      return value.kind() != Kind::string || text_fits(keyword, rule, value.text());
    if (is_any(keyword, {"minimum", "maximum"})) return number_fits(keyword, rule, value);
    if (is_any(keyword, {"items", "contains"})) return !value.is_list() || list_fits(keyword, rule, value);
    if (is_any(keyword, {"properties", "propertyNames", "additionalProperties", "required"}))
      return !value.is_object() || object_fits(schema, keyword, rule, value);
    throw std::runtime_error("the schema uses a keyword that the test does not know: " +
                             std::string(keyword));
  }

  static bool is_number(const Value& value) {
    return value.kind() == Kind::integer || value.kind() == Kind::real;
  }

  static bool has_type(const Value& rule, const Value& value) {
    if (rule.is_list())
      return std::ranges::any_of(rule.items(), [&](const Value& one) { return has_type(one, value); });
    const std::string_view type = rule.text();
    if (type == "null") return value.is_null();
    if (type == "boolean") return value.kind() == Kind::boolean;
    if (type == "string") return value.kind() == Kind::string;
    if (type == "array") return value.is_list();
    if (type == "object") return value.is_object();
    if (type == "number") return is_number(value);
    if (type == "integer") return is_number(value) && std::trunc(*value.as_number()) == *value.as_number();
    throw std::runtime_error("unknown type " + std::string(type));
  }

  static bool same_number(const Value& a, const Value& b) {
    if (a.kind() == Kind::string) return b.kind() == Kind::string && a.text() == b.text();
    if (!is_number(a)) throw std::runtime_error("only numbers and texts are expected in enum");
    return is_number(b) && *a.as_number() == *b.as_number();
  }

  bool combines(const Value& schema, std::string_view keyword, const Value& rule, const Value& value) {
    const auto fits = [&](const Value& one) { return accepts(one, value); };
    if (keyword == "anyOf") return std::ranges::any_of(rule.items(), fits);
    if (keyword == "allOf") return std::ranges::all_of(rule.items(), fits);
    if (keyword == "not") return !accepts(rule, value);
    if (keyword == "if") return true;  // with its branches
    return accepts(*schema.find("if"), value) != (keyword == "then") || accepts(rule, value);
  }

  bool text_fits(std::string_view keyword, const Value& rule, std::string_view text) {
    if (keyword == "minLength") return static_cast<std::int64_t>(text.size()) >= *rule.as_integer();
    if (keyword == "maxLength") return static_cast<std::int64_t>(text.size()) <= *rule.as_integer();
    auto [known, is_new] = patterns_.try_emplace(std::string(rule.text()));
    if (is_new) known->second = std::regex(std::string(rule.text()), std::regex::ECMAScript);
    return std::regex_search(text.begin(), text.end(), known->second);
  }

  static bool number_fits(std::string_view keyword, const Value& rule, const Value& value) {
    if (!is_number(value)) return true;
    return keyword == "minimum" ? *value.as_number() >= *rule.as_number()
                                : *value.as_number() <= *rule.as_number();
  }

  bool list_fits(std::string_view keyword, const Value& rule, const Value& value) {
    const auto fits = [&](const Value& item) { return accepts(rule, item); };
    return keyword == "items" ? std::ranges::all_of(value.items(), fits)
                              : std::ranges::any_of(value.items(), fits);
  }

  bool object_fits(const Value& schema, std::string_view keyword, const Value& rule, const Value& value) {
    if (keyword == "required")
      return std::ranges::all_of(rule.items(), [&](const Value& name) { return value.find(name.text()); });
    const Value* named = schema.find("properties");
    return std::ranges::all_of(value.members(), [&](const base::Member& member) {
      if (keyword == "propertyNames") return accepts(rule, Value::string(member.key));
      const Value* known = named ? named->find(member.key) : nullptr;
      if (keyword == "properties") return !known || accepts(*known, member.value);
      return known || accepts(rule, member.value);
    });
  }

  std::map<std::string, std::regex> patterns_;
};

// Values of every kind, with the encodings that some parameter accepts and those that none does.
inline constexpr std::array kSchemaProbes = std::to_array<std::string_view>({
    "null",
    "true",
    "false",
    "0",
    "1",
    "5",
    "-1",
    "1.5",
    "5.0",
    "1e3",
    "99",
    "100",
    "644",
    "755",
    "1777",
    "7777",
    "8000",
    "2592000",
    "2592001",
    R"("")",
    R"(" ")",
    R"("text")",
    R"("two words")",
    R"("line\nline")",
    R"("0644")",
    R"("644")",
    R"("08")",
    R"("0o644")",
    R"("12345")",
    R"("1")",
    R"("0")",
    R"("5")",
    R"("007")",
    R"("000")",
    R"("-1")",
    R"("+5")",
    R"(" 5")",
    R"("1.5")",
    R"("2592000")",
    R"("2592001")",
    R"("9999999")",
    R"("259200")",
    R"("true")",
    R"("Y")",
    R"("nO")",
    R"("off")",
    R"("ON")",
    R"("maybe")",
    R"("A=1 B=2")",
    R"("=x")",
    R"("=x\tB")",
    R"("A=")",
    R"("a\u0000b")",
    R"("/etc/x")",
    "[]",
    R"(["a"])",
    R"([""])",
    "[null]",
    "[1]",
    "[1.5]",
    "[true]",
    R"([["a"]])",
    "[{}]",
    R"(["a", null, 2])",
    R"(["a", {}])",
    R"(["a\u0000"])",
    R"(["/a", "/b"])",
    R"(["", "b"])",
    "{}",
    R"({"a": "b"})",
    R"({"a": null})",
    R"({"a": true})",
    R"({"a": 1})",
    R"({"a": []})",
    R"({"a": {}})",
    R"({"": "x"})",
    R"({"": []})",
    R"({"a\u0000": "x"})",
    R"({"a": "x\u0000"})",
    R"({"key": "A", "value": "b"})",
    R"({"key": []})",
    R"([{"key": "A", "value": "b"}])",
    R"([{"key": "A"}])",
    R"([{"key": ""}])",
    R"([{"key": null}])",
    R"([{"key": null, "value": []}])",
    R"([{"value": "x"}])",
    R"([{"value": []}])",
    R"([{"key": []}])",
    R"([{"key": true}])",
    R"([{"key": 1, "value": true}])",
    R"([{"key": "A", "value": {}}])",
    R"([{"key": "A", "value": null}])",
    R"([{"a": "b"}])",
    R"([{"a": "b", "c": []}])",
    R"([{"": "b"}])",
    R"([{"": "b", "c": 1}])",
    R"([{"key": "A", "other": []}])",
    R"([{"key": "A\u0000"}])",
    R"([{"key": "A", "value": "\u0000"}])",
    R"([{"a\u0000": "b"}])",
    R"([null, {"key": "A"}])",
    R"(["", {"a": 1}])",
});

// Where reading and schema disagree, as "accepted by the schema only: {…}"; nothing when they are the same.
class SchemaCheck {
 public:
  explicit SchemaCheck(const states::StateType& type) : type_(type) {
    text_ = states::json_schema(type.name(), type.summary(), type.schema());
    schema_ = parsed(text_);
  }

  std::vector<std::string> disagreements() {
    for (const std::string_view whole : {"null", "{}", "[]", "true", R"("x")", R"({"not known to any": 1})"})
      compare(std::string(whole));
    for (const states::Param& param : type_.schema()) {
      compare("{" + base::join(others(param), ",") + "}");
      for (const std::string_view name : names(param))
        for (const std::string_view value : kSchemaProbes)
          compare(with(param, {member(name, value)}));
      if (param.aliases[0].empty()) continue;
      for (std::size_t i = 0; i < kSchemaProbes.size(); i += 3)
        for (std::size_t j = 0; j < kSchemaProbes.size(); j += 5)
          compare(with(param,
                       {member(param.aliases[0], kSchemaProbes[j]), member(param.name, kSchemaProbes[i])}));
    }
    return std::move(found_);
  }

  bool schema_accepts(std::string_view json) { return validator_.accepts(schema_, parsed(json)); }
  bool reader_accepts(std::string_view json) {
    base::Arena arena;
    std::vector<states::ParamProblem> problems;
    return type_.read_values(parsed(json), arena, problems) != nullptr;
  }
  std::size_t compared() const { return compared_; }

 private:
  base::Value parsed(std::string_view json) {
    auto result = base::parse_json(arena_.copy(json), arena_);
    if (auto* wrong = std::get_if<base::SyntaxProblem>(&result))
      throw std::runtime_error(wrong->message + ": " + std::string(json));
    return std::get<base::Value>(result);
  }

  void compare(const std::string& json) {
    ++compared_;
    const bool by_schema = schema_accepts(json);
    const bool by_reader = reader_accepts(json);
    if (by_schema == by_reader) return;
    found_.push_back(std::string(type_.name()) + ", accepted by the " + (by_schema ? "schema" : "reader") +
                     " only: " + json);
  }

  static std::string member(std::string_view name, std::string_view json) {
    return base::json_quote(name) + ":" + std::string(json);
  }

  static std::vector<std::string_view> names(const states::Param& param) {
    std::vector<std::string_view> all{param.name};
    for (const std::string_view alias : param.aliases)
      if (!alias.empty()) all.push_back(alias);
    return all;
  }

  // Something legal for each of the other required parameters.
  std::vector<std::string> others(const states::Param& but) const {
    std::vector<std::string> members;
    for (const states::Param& param : type_.schema())
      if (param.is_required && param.name != but.name)
        members.push_back(member(param.name, param.wire == states::Wire::boolean ? "true" : "\"100\""));
    return members;
  }
  std::string with(const states::Param& param, std::initializer_list<std::string> given) const {
    std::vector<std::string> members = others(param);
    members.insert(members.end(), given);
    return "{" + base::join(members, ",") + "}";
  }

  const states::StateType& type_;
  base::Arena arena_;
  std::string text_;
  base::Value schema_;
  SchemaValidator validator_;
  std::vector<std::string> found_;
  std::size_t compared_ = 0;
};

}  // namespace tests
