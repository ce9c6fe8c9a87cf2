// json_schema(): what states/param.cpp accepts, said in JSON Schema. json_schema_test.cpp holds the two
// against each other.
#include <vector>

#include "base/text.hpp"
#include "base/values/json_text.hpp"
#include "states/schema.hpp"

namespace states {

namespace {

using base::JsonText;

constexpr std::string_view kNull = R"({"type":"null"})";
constexpr std::string_view kNumber = R"({"type":"number"})";
constexpr std::string_view kBoolean = R"({"type":"boolean"})";
constexpr std::string_view kWithoutNul = "^[^\\u0000]*$";
constexpr std::string_view kBooleanWords =
    "[Tt][Rr][Uu][Ee]|[Yy]|[Yy][Ee][Ss]|[Oo][Nn]|1|[Ff][Aa][Ll][Ss][Ee]|[Nn]|[Nn][Oo]|[Oo][Ff][Ff]|0";
// 1 to 2592000.
constexpr std::string_view kSecondsDigits =
    "0*([1-9][0-9]{0,5}|1[0-9]{6}|2[0-4][0-9]{5}|25[0-8][0-9]{4}|259[01][0-9]{3}|2592000)";
static_assert(kLongestSeconds == 2592000, "kSecondsDigits says so, too");

std::string list_of(const std::vector<std::string>& forms) {
  JsonText json;
  json.begin_list();
  for (const std::string& form : forms)
    json.json(form);
  return json.end_list().take();
}

std::string any_of(const std::vector<std::string>& forms) {
  return JsonText().begin_object().key("anyOf").json(list_of(forms)).end_object().take();
}

std::string text_form(std::string_view pattern, bool may_be_empty) {
  JsonText json;
  json.begin_object().member("type", "string");
  if (!may_be_empty) json.member("minLength", 1);
  json.optional("pattern", pattern);
  return json.end_object().take();
}

std::string text_matching(std::string_view words, bool may_be_empty) {
  return text_form("^(" + std::string(words) + ")" + (may_be_empty ? "?" : "") + "$", true);
}

// One of these, those that are numbers also as such; "" is an absence.
std::string choice_form(std::span<const std::string_view> choices, bool may_be_empty) {
  JsonText json;
  json.begin_object().key("enum").begin_list();
  for (const std::string_view choice : choices)
    json.value(choice);
  for (const std::string_view choice : choices)
    if (const auto number = base::parse_integer(choice); number && std::to_string(*number) == choice)
      json.value(*number);
  if (may_be_empty) json.value("");
  return json.end_list().end_object().take();
}

std::string integer_form(std::int64_t least, std::int64_t most) {
  JsonText json;
  json.begin_object().member("type", "integer");
  if (least != std::numeric_limits<std::int64_t>::min()) json.member("minimum", least);
  if (most != std::numeric_limits<std::int64_t>::max()) json.member("maximum", most);
  return json.end_object().take();
}

// A list of texts; of a required one at least one entry must not be empty.
std::string list_of_texts(std::string_view pattern, bool needs_entry) {
  JsonText json;
  json.begin_object().member("type", "array").key("items");
  json.json(any_of({std::string(kNull), std::string(kNumber), text_form(pattern, true)}));
  if (needs_entry) json.key("contains").json(any_of({std::string(kNumber), text_form({}, false)}));
  return json.end_object().take();
}

// The value that belongs to a key.
std::string pair_value() {
  return any_of(
      {std::string(kNull), std::string(kBoolean), std::string(kNumber), text_form(kWithoutNul, true)});
}

// An object whose members are the pairs.
std::string object_of_pairs(bool is_item, bool needs_entry) {
  JsonText json;
  json.begin_object().member("type", "object");
  // In a list, these two names mean themselves.
  if (is_item) json.key("properties").begin_object().member("key", false).member("value", false).end_object();
  json.key("propertyNames").begin_object().member("pattern", kWithoutNul).end_object();
  json.key("additionalProperties").json(pair_value());
  if (needs_entry) json.key("not").json(R"({"propertyNames":{"maxLength":0}})");
  return json.end_object().take();
}

// {"key": …, "value": …}
std::string key_and_value(bool needs_entry) {
  JsonText json;
  json.begin_object().member("type", "object").key("properties").begin_object();
  json.key("key").json(any_of({std::string(kNumber), text_form(kWithoutNul, !needs_entry)}));
  json.key("value").json(pair_value()).end_object();
  return json.key("required").begin_list().value("key").end_list().end_object().take();
}

// An entry without a key counts as an empty row, whatever its value is.
std::string value_without_key(std::string_view present) {
  JsonText json;
  json.begin_object().member("type", "object").key("properties").begin_object();
  json.key("key").json(kNull).end_object();
  return json.key("required").begin_list().value(present).end_list().end_object().take();
}

std::string pair_items(bool needs_entry) {
  std::vector<std::string> forms{std::string(kNumber), text_form(kWithoutNul, !needs_entry),
                                 object_of_pairs(true, needs_entry), key_and_value(needs_entry)};
  if (!needs_entry)
    forms.insert(forms.end(), {std::string(kNull), value_without_key("key"), value_without_key("value")});
  return any_of(forms);
}

void add_pairs(std::vector<std::string>& forms, const Param& param) {
  JsonText list;
  list.begin_object().member("type", "array").key("items").json(pair_items(false));
  if (param.is_required) list.key("contains").json(pair_items(true));
  forms.push_back(list.end_object().take());
  forms.push_back(object_of_pairs(false, param.is_required));
  forms.push_back(text_form(kWithoutNul, !param.is_required));
  if (param.splits_words && param.is_required)  // a word of "A=1 B=2" with a name
    forms.back() =
        R"({"allOf":[)" + forms.back() + "," + text_form("(^|[ \\t-\\r])[^= \\t-\\r]", true) + "]}";
}

// All that a parameter may be, null aside.
std::vector<std::string> accepted_forms(const Param& param) {
  const bool may_be_empty = !param.is_required;
  const std::string_view pattern = param.wire == Wire::text ? std::string_view() : kWithoutNul;
  std::vector<std::string> forms;
  switch (param.wire) {
    case Wire::line:
    case Wire::text:
      if (!param.choices.empty()) {
        forms = {choice_form(param.choices, may_be_empty)};
        break;
      }
      forms = {text_form(pattern, may_be_empty || param.keeps_empty), std::string(kNumber)};
      if (param.joins_lists) forms.push_back(list_of_texts(pattern, param.is_required));
      break;
    case Wire::boolean:
      forms = {std::string(kBoolean), R"({"enum":[0,1]})", text_matching(kBooleanWords, may_be_empty)};
      break;
    case Wire::integer:
      forms = {text_matching("-?[0-9]{1," + std::to_string(kMostDigits) + "}", may_be_empty),
               integer_form(param.least, param.most)};
      break;
    case Wire::watch:
      forms = {std::string(kBoolean)};
      [[fallthrough]];
    case Wire::list:
      forms.push_back(list_of_texts(pattern, param.is_required));
      forms.push_back(text_form(pattern, may_be_empty));
      forms.emplace_back(kNumber);
      break;
    case Wire::pairs:
      add_pairs(forms, param);
      break;
    case Wire::mode:
      forms = {text_matching("[0-7]{3,4}", may_be_empty)};
      break;
    case Wire::seconds:
      forms = {text_matching(kSecondsDigits, may_be_empty), integer_form(1, kLongestSeconds)};
      break;
    case Wire::references:
      forms = {R"({"not":{"type":"null"}})"};
      break;
  }
  return forms;
}

bool has_alias(const Param& param) {
  return !param.aliases[0].empty();
}

// Null, which counts as not given, included where it does no harm: the value may stand under another name.
std::string accepted_list(const Param& param) {
  std::vector<std::string> forms = accepted_forms(param);
  if (!param.is_required || has_alias(param)) forms.emplace_back(kNull);
  return list_of(forms);
}

// {"required": ["name"], "properties": {"name": {"not": {"type": "null"}}}}
std::string is_given(std::string_view name) {
  JsonText json;
  json.begin_object().key("required").begin_list().value(name).end_list();
  json.key("properties").begin_object().key(name).json(R"({"not":{"type":"null"}})").end_object();
  return json.end_object().take();
}

void add_properties(JsonText& json, const Param& param) {
  std::string description(param.doc);
  if (!param.fallback_text.empty()) description += "; default: " + std::string(param.fallback_text);
  json.key(param.name).begin_object().member("description", description);
  if (param.is_secret) json.member("writeOnly", true);
  json.key("anyOf").json(accepted_list(param)).end_object();
  for (const std::string_view alias : param.aliases) {
    if (alias.empty()) continue;
    json.key(alias).begin_object().member(
        "description", "another name of '" + std::string(param.name) + "', which wins if both are given");
    if (param.is_secret) json.member("writeOnly", true);
    json.member("deprecated", true).end_object();
  }
}

// What cannot be said of a property by itself: an alias is not looked at when the name is given, and one of
// the names must be.
void add_conditions(std::vector<std::string>& conditions, const Param& param) {
  std::vector<std::string> given{is_given(param.name)};
  for (const std::string_view alias : param.aliases) {
    if (alias.empty()) continue;
    JsonText json;
    json.begin_object().key("if").json(is_given(param.name)).key("else").begin_object();
    json.key("properties").begin_object().key(alias).begin_object();
    json.key("anyOf").json(accepted_list(param)).end_object().end_object();
    conditions.push_back(json.end_object().end_object().take());
    given.push_back(is_given(alias));
  }
  if (param.is_required && has_alias(param)) conditions.push_back(any_of(given));
}

}  // namespace

std::string json_schema(std::string_view title, std::string_view description, Schema schema) {
  std::vector<std::string_view> required;
  std::vector<std::string> conditions;
  bool needs_any = false;
  for (const Param& param : schema) {
    needs_any = needs_any || param.is_required;
    if (param.is_required && !has_alias(param)) required.push_back(param.name);
    add_conditions(conditions, param);
  }
  JsonText json;
  json.begin_object().member("$schema", "https://json-schema.org/draft/2020-12/schema");
  json.member("title", title).member("description", description);
  // Without a required parameter, `parameter` may be left empty.
  json.key("type").json(needs_any ? R"("object")" : R"(["object","null"])");
  json.key("properties").begin_object();
  for (const Param& param : schema)
    add_properties(json, param);
  json.end_object().member("additionalProperties", false);
  if (!required.empty()) {
    json.key("required").begin_list();
    for (const std::string_view name : required)
      json.value(name);
    json.end_list();
  }
  if (!conditions.empty()) json.key("allOf").json(list_of(conditions));
  return json.end_object().take();
}

}  // namespace states
