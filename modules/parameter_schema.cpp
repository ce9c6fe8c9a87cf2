#include "modules/parameter_schema.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <unordered_set>

#include "base/text.hpp"
#include "base/values/json_text.hpp"
#include "states/param.hpp"

namespace modules {

namespace {

using base::Member;
using base::Value;
using states::Param;
using states::Wire;

constexpr std::size_t kLongestParameter = 64;
constexpr std::size_t kMostChoices = 100;  // what a person can look through

using Words = std::initializer_list<std::string_view>;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestParameter && std::ranges::all_of(text, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

class Reader {
 public:
  Reader(base::Arena& arena, std::vector<base::SyntaxProblem>& problems)
      : arena_(arena), problems_(problems) {}

  Parameters read(const Value& schema) {
    if (!schema.is_object()) {
      problem("'schema' must be an object: the JSON Schema of the parameters", schema.offset());
      return {};
    }
    check_keywords(
        schema, {"type", "properties", "required", "description", "additionalProperties", "title", "$schema"},
        "of the schema");
    const Value* type = schema.find("type");
    if (!type || type->text() != "object")
      problem("the schema's 'type' must be \"object\": parameters are an object",
              type ? type->offset() : schema.offset());
    if (const Value* more = schema.find("additionalProperties");
        more && (more->kind() != Value::Kind::boolean || *more->as_bool()))
      problem("'additionalProperties' of the schema can only be false: unknown parameters are refused",
              more->offset());
    read_description(schema, made_.description);
    if (const Value* properties = schema.find("properties")) read_properties(*properties);
    if (const Value* required = schema.find("required")) read_required(*required);
    return std::move(made_);
  }

 private:
  void problem(std::string message, std::uint32_t offset) {
    problems_.push_back({std::move(message), offset});
  }

  void check_keywords(const Value& object, Words known, std::string_view where) {
    for (const Member& member : object.members())
      if (std::ranges::find(known, member.key) == known.end())
        problem("keyword '" + base::quote_of(member.key) + "' " + std::string(where) + " is not supported" +
                    base::did_you_mean(member.key, std::span(known.begin(), known.size())),
                member.offset);
  }

  void read_description(const Value& object, std::string_view& into) {
    const Value* given = object.find("description");
    if (!given) return;
    if (!given->is_text()) return problem("'description' must be text", given->offset());
    into = given->text();
  }

  void read_properties(const Value& properties) {
    if (!properties.is_object()) return problem("'properties' must be an object", properties.offset());
    if (properties.members().size() > states::Schema::kMostParams)
      return problem("a module has at most " + std::to_string(states::Schema::kMostParams) + " parameters",
                     properties.offset());
    for (const Member& member : properties.members()) {
      if (!is_name(member.key)) {
        problem("'" + base::quote_of(member.key) +
                    "' cannot be the name of a parameter: letters, digits, _ and -, at most 64",
                member.offset);
        continue;
      }
      if (!member.value.is_object()) {
        problem("the schema of '" + std::string(member.key) + "' must be an object", member.value.offset());
        continue;
      }
      read_property(member.key, member.value);
    }
  }

  void read_property(std::string_view name, const Value& property) {
    Param param{.name = name};
    read_description(property, param.doc);
    const Value* type = property.find("type");
    const std::string_view word = type ? type->text() : std::string_view();
    if (word == "string")
      read_string(property, param);
    else if (word == "integer")
      read_integer(property, param);
    else if (word == "boolean")
      read_boolean(property, param);
    else if (word == "array")
      read_texts(property, "items", param, Wire::list);
    else if (word == "object")
      read_texts(property, "additionalProperties", param, Wire::pairs);
    else
      return problem("the 'type' of '" + std::string(name) +
                         "' must be \"string\", \"boolean\", \"integer\", \"array\" or \"object\"",
                     type ? type->offset() : property.offset());
    if (const Value* secret = property.find("writeOnly")) {
      if (secret->kind() != Value::Kind::boolean)
        problem("'writeOnly' must be true or false", secret->offset());
      else
        param.is_secret = *secret->as_bool();
    }
    std::string_view fallback;
    if (const Value* given = property.find("default")) {
      auto json = as_json(param, *given, arena_);
      if (!json) {
        problem("the default does not fit: " + json.error().message(), given->offset());
      } else {
        fallback = *json;
        param.fallback_text = *json;
      }
    }
    made_.rows.push_back(param);
    made_.defaults.push_back(fallback);
  }

  void check_property(const Value& property, Words own) {
    std::vector<std::string_view> known{"type", "description", "default", "writeOnly"};
    known.insert(known.end(), own);
    for (const Member& member : property.members())
      if (std::ranges::find(known, member.key) == known.end())
        problem("keyword '" + base::quote_of(member.key) + "' is not supported here; supported are " +
                    listed(known),
                member.offset);
  }

  static std::string listed(std::span<const std::string_view> words) {
    std::string text;
    for (const std::string_view word : words)
      text.append(text.empty() ? "" : ", ").append(word);
    return text;
  }

  void read_string(const Value& property, Param& param) {
    check_property(property, {"enum", "minLength", "format"});
    param.keeps_empty = true;
    if (const Value* least = property.find("minLength")) {
      const auto number = least->kind() == Value::Kind::integer ? least->as_integer() : std::nullopt;
      if (!number || *number < 0 || *number > 1)
        problem("'minLength' can only be 0, or 1: not empty", least->offset());
      else
        param.keeps_empty = *number == 0;
    }
    if (const Value* format = property.find("format")) {
      if (format->text() != "text") problem("'format' can only be \"text\": several lines", format->offset());
      param.wire = Wire::text;
    }
    const Value* choices = property.find("enum");
    if (!choices) return;
    param.keeps_empty = false;
    const bool texts = choices->is_list() && !choices->items().empty() &&
                       std::ranges::all_of(choices->items(), [](const Value& item) {
                         return item.is_text() && !item.text().empty();
                       });
    if (!texts || choices->items().size() > kMostChoices || param.wire == Wire::text)
      return problem("'enum' must be a list of 1 to " + std::to_string(kMostChoices) +
                         " texts that are not empty, of a string without 'format'",
                     choices->offset());
    std::vector<std::string_view> words;
    for (const Value& item : choices->items())
      words.push_back(item.text());
    param.choices = arena_.copy(std::span<const std::string_view>(words));
  }

  void read_boolean(const Value& property, Param& param) {
    check_property(property, {});
    param.wire = Wire::boolean;
  }

  void read_integer(const Value& property, Param& param) {
    check_property(property, {"minimum", "maximum"});
    param.wire = Wire::integer;
    for (const auto& [key, into] : {std::pair(std::string_view("minimum"), &param.least),
                                    std::pair(std::string_view("maximum"), &param.most)}) {
      const Value* given = property.find(key);
      if (!given) continue;
      if (given->kind() != Value::Kind::integer)
        problem("'" + std::string(key) + "' must be a whole number", given->offset());
      else
        *into = *given->as_integer();
    }
    if (param.least > param.most) problem("'minimum' is larger than 'maximum'", property.offset());
  }

  // A list or an object whose values are texts.
  void read_texts(const Value& property, std::string_view keyword, Param& param, Wire wire) {
    check_property(property, {keyword});
    param.wire = wire;
    const Value* values = property.find(keyword);
    const Value* type = values ? values->find("type") : nullptr;
    if (!type || type->text() != "string" || values->members().size() != 1)
      problem("'" + std::string(keyword) + "' must be {\"type\": \"string\"}",
              values ? values->offset() : property.offset());
  }

  void read_required(const Value& required) {
    if (!required.is_list()) return problem("'required' must be a list of names", required.offset());
    for (const Value& name : required.items()) {
      const auto row = std::ranges::find(made_.rows, name.text(), &Param::name);
      if (!name.is_text() || row == made_.rows.end()) {
        problem("'required' names '" + base::quote_of(name.text()) + "', which is not among the properties",
                name.offset());
        continue;
      }
      row->is_required = true;
      if (!made_.defaults[static_cast<std::size_t>(row - made_.rows.begin())].empty())
        problem("'" + std::string(name.text()) + "' is required and has a default: it cannot have both",
                name.offset());
    }
  }

  base::Arena& arena_;
  std::vector<base::SyntaxProblem>& problems_;
  Parameters made_;
};

base::Result<std::string_view> pairs_json(const Param& param, const Value& value, base::Arena& arena) {
  states::Pairs pairs;
  auto given = states::read_field(pairs, param, value, arena);
  if (!given) return std::move(given).error();
  if (!*given) return std::string_view();
  base::JsonText json;
  json.begin_object();
  std::unordered_set<std::string_view> keys;
  for (const states::Pair& pair : pairs) {
    if (!keys.insert(pair.key).second)
      return base::Error(base::ErrorCode::invalid, "Parameter '" + std::string(param.name) + "' has '" +
                                                       base::quote_of(pair.key) + "' twice");
    json.member(pair.key, pair.value);
  }
  return arena.copy(json.end_object().take());
}

}  // namespace

Parameters read_parameters(const Value& schema, base::Arena& arena,
                           std::vector<base::SyntaxProblem>& problems) {
  return Reader(arena, problems).read(schema);
}

base::Result<std::string_view> as_json(const Param& param, const Value& value, base::Arena& arena) {
  base::JsonText json;
  base::Result<bool> given = false;
  switch (param.wire) {
    case Wire::boolean: {
      bool flag = false;
      given = states::read_field(flag, param, value, arena);
      json.value(flag);
      break;
    }
    case Wire::integer: {
      std::int64_t number = 0;
      given = states::read_field(number, param, value, arena);
      json.value(number);
      break;
    }
    case Wire::list: {
      states::List texts;
      given = states::read_field(texts, param, value, arena);
      json.begin_list();
      for (const std::string_view text : texts)
        json.value(text);
      json.end_list();
      break;
    }
    case Wire::pairs:
      return pairs_json(param, value, arena);
    default: {
      std::string_view text;
      given = states::read_field(text, param, value, arena);
      json.value(text);
    }
  }
  if (!given) return std::move(given).error();
  if (!*given) return std::string_view();
  return arena.copy(json.take());
}

}  // namespace modules
