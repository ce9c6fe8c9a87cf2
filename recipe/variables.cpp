#include "recipe/variables.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/text.hpp"
#include "base/values/json.hpp"

namespace recipe {

namespace {

using base::Error;
using base::ErrorCode;
using base::Member;
using base::Result;
using base::Value;

struct TypeName {
  std::string_view name;
  VariableType type;
};
constexpr std::array<TypeName, 8> kTypes{{{"string", VariableType::string},
                                          {"text", VariableType::string},
                                          {"integer", VariableType::integer},
                                          {"number", VariableType::number},
                                          {"boolean", VariableType::boolean},
                                          {"list", VariableType::list},
                                          {"mapping", VariableType::mapping},
                                          {"any", VariableType::any}}};

Error wrong(std::string_view name, std::string_view what) {
  return {ErrorCode::invalid, "the variable '" + std::string(name) + "' " + std::string(what)};
}

bool is_name(std::string_view name) {
  constexpr std::size_t kLongest = 128;
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= kLongest && std::ranges::all_of(name, fits) &&
         !(name[0] >= '0' && name[0] <= '9');
}

std::string number_text(double number) {
  const std::string text = std::to_string(number);
  const std::size_t last = text.find_last_not_of('0');
  return text.substr(0, text[last] == '.' ? last : last + 1);
}

}  // namespace

Result<Declaration> read_declaration(const Member& member, base::Arena& arena) {
  static constexpr std::array<std::string_view, 7> kKnown{"type",    "min",     "max", "enum",
                                                          "choices", "default", "doc"};
  Declaration read{.variable = {.name = std::string(member.key)}};
  DeclaredVariable& variable = read.variable;
  if (!is_name(member.key))
    return wrong(member.key, "needs a name of letters, digits and '_' that does not begin with a digit");
  const Value* type = member.value.find("type");
  if (!type) {
    read.fallback = &member.value;
    return read;
  }
  const auto found = std::ranges::find(kTypes, type->text(), &TypeName::name);
  if (found == kTypes.end()) {
    std::vector<std::string_view> names;
    for (const TypeName& each : kTypes)
      names.push_back(each.name);
    return wrong(member.key, "has the unknown type '" + std::string(type->text()) + "'" +
                                 base::did_you_mean(type->text(), names) +
                                 "; a mapping with a key 'type' as its default is written { type: mapping, "
                                 "default: { type: … } }");
  }
  variable.type = found->type;
  const bool is_number = variable.type == VariableType::integer || variable.type == VariableType::number;
  for (const Member& each : member.value.members()) {
    if (std::ranges::find(kKnown, each.key) == kKnown.end())
      return wrong(member.key, "has the unknown key '" + std::string(each.key) + "'" +
                                   base::did_you_mean(each.key, kKnown));
    if (each.key == "default") {
      read.fallback = &each.value;
    } else if (each.key == "doc") {
      variable.doc = each.value.as_line(arena).value_or("");
    } else if (each.key == "min" || each.key == "max") {
      const auto bound = each.value.as_number();
      if (!bound || !is_number)
        return wrong(member.key,
                     "has a '" + std::string(each.key) + "', which must be a number and is for numbers");
      (each.key == "min" ? variable.min : variable.max) = *bound;
    } else if (each.key == "enum" || each.key == "choices") {
      for (const Value& item : each.value.items())
        if (const auto text = item.as_line(arena)) variable.choices.emplace_back(*text);
      if (variable.choices.empty() || variable.choices.size() != each.value.items().size())
        return wrong(member.key,
                     "has '" + std::string(each.key) + "', which must be a list of texts or numbers");
    }
  }
  return read;
}

Result<Value> typed(const DeclaredVariable& variable, const Value& value, base::Arena& arena) {
  const auto refuse = [&](std::string_view what) {
    return wrong(variable.name,
                 "must be " + std::string(what) + ", not " + std::string(base::kind_name(value.kind())));
  };
  Value made = value;
  switch (variable.type) {
    case VariableType::any:
      break;
    case VariableType::string: {
      const auto text = value.as_line(arena);
      if (!text) return refuse("a string");
      made = Value::string(*text).at(value.offset());
      break;
    }
    case VariableType::integer: {
      const auto number = value.as_integer();
      if (!number) return refuse("an integer");
      made = Value::integer(*number).at(value.offset());
      break;
    }
    case VariableType::number: {
      const auto number = value.as_number();
      if (!number) return refuse("a number");
      if (value.kind() != Value::Kind::integer) made = Value::real(*number).at(value.offset());
      break;
    }
    case VariableType::boolean: {
      const auto given = value.as_bool();
      if (!given) return refuse("true or false");
      made = Value::boolean(*given).at(value.offset());
      break;
    }
    case VariableType::list:
      if (!value.is_list()) return refuse("a list");
      break;
    case VariableType::mapping:
      if (!value.is_object()) return refuse("a mapping");
      break;
  }
  if (variable.min || variable.max) {
    const double number = made.as_number().value_or(0);
    if (variable.min && number < *variable.min)
      return wrong(variable.name, "must be at least " + number_text(*variable.min));
    if (variable.max && number > *variable.max)
      return wrong(variable.name, "must be at most " + number_text(*variable.max));
  }
  if (!variable.choices.empty()) {
    const auto text = made.as_line(arena);
    if (!text || std::ranges::find(variable.choices, *text) == variable.choices.end())
      return wrong(variable.name, "must be one of: " + base::join(variable.choices, ", "));
  }
  return made;
}

Result<void> check_variable(const DeclaredVariable& variable, std::string_view json) {
  base::Arena arena;
  const auto parsed = base::parse_json(json, arena);
  const auto* value = std::get_if<Value>(&parsed);
  if (!value) return wrong(variable.name, "is not JSON: " + std::get<base::SyntaxProblem>(parsed).message);
  if (auto fits = typed(variable, *value, arena); !fits) return std::move(fits).error();
  return {};
}

}  // namespace recipe
