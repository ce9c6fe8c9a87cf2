#include "backend/domain/variables/recipe_inputs.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "backend/domain/variables/merge.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "protocol/messages.hpp"

namespace backend::domain {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Value;

static_assert(kLargestVariables == protocol::kLargestVariables);

namespace {

bool flag_of(const Value& object, std::string_view name) {
  const Value* value = object.find(name);
  return value && value->as_bool().value_or(false);
}

std::string json_of(const Value& object, std::string_view name) {
  const Value* value = object.find(name);
  return value ? base::to_json(*value) : std::string();
}

bool has_type(const Value& value, std::string_view type) {
  using Kind = Value::Kind;
  if (type == "integer") return value.kind() == Kind::integer;
  if (type == "number") return value.kind() == Kind::integer || value.kind() == Kind::real;
  if (type == "boolean") return value.kind() == Kind::boolean;
  if (type == "text") return value.kind() == Kind::string;
  if (type == "list") return value.is_list();
  if (type == "mapping") return value.is_object();
  return true;  // "any", or what a later version knows
}

std::string name_of_kind(const Value& value) {
  return std::string(base::kind_name(value.kind()));
}

// The names of the variables that these recipes get.
std::set<std::string, std::less<>> wanted_names(std::span<const RecipeInputs* const> recipes,
                                                std::span<const VariableLayer* const> layers) {
  std::set<std::string, std::less<>> names;
  for (const RecipeInputs* const recipe : recipes) {
    for (const RecipeVariable& each : recipe->variables)
      if (each.is_used || each.is_required) names.insert(each.name);
    if (!recipe->uses_all_variables) continue;
    for (const VariableLayer* const layer : layers)
      for (const Variable& each : layer->variables)
        names.insert(each.name);
  }
  return names;
}

Tags wanted_tags(std::span<const RecipeInputs* const> recipes, const Tags& tags) {
  Tags wanted;
  for (const RecipeInputs* const recipe : recipes) {
    if (recipe->uses_all_tags) return tags;
    for (const std::string& name : recipe->tags)
      if (const auto found = tags.find(name); found != tags.end()) wanted.insert(*found);
  }
  return wanted;
}

std::string missing(const std::string& name) {
  return "it has no value for the variable '" + name + "', which its recipe needs: 'opsctl var set " + name +
         "=VALUE', for its app (--app), a selector (-l) or this machine (--machine)";
}

}  // namespace

const RecipeVariable* RecipeInputs::find(std::string_view name) const {
  const auto found = std::ranges::find(variables, name, &RecipeVariable::name);
  return found == variables.end() ? nullptr : &*found;
}

std::string to_json(const RecipeInputs& inputs) {
  if (inputs == RecipeInputs()) return {};
  base::JsonText json;
  json.begin_object().member("needed", inputs.are_needed);
  json.member("all_variables", inputs.uses_all_variables).member("all_tags", inputs.uses_all_tags);
  json.key("tags").begin_list();
  for (const std::string& tag : inputs.tags)
    json.value(tag);
  json.end_list().key("variables").begin_list();
  for (const RecipeVariable& each : inputs.variables) {
    json.begin_object().member("name", each.name).member("used", each.is_used);
    json.member("required", each.is_required);
    if (!each.declaration.empty()) json.key("declaration").json(each.declaration);
    if (!each.fallback.empty()) json.key("fallback").json(each.fallback);
    json.end_object();
  }
  return json.end_list().end_object().take();
}

RecipeInputs read_recipe_inputs(std::string_view json) {
  RecipeInputs inputs;
  if (json.empty()) return inputs;
  base::Arena arena;
  const auto read = base::parse_json(json, arena);
  const auto* root = std::get_if<Value>(&read);
  if (!root) return inputs;
  inputs.are_needed = flag_of(*root, "needed");
  inputs.uses_all_variables = flag_of(*root, "all_variables");
  inputs.uses_all_tags = flag_of(*root, "all_tags");
  if (const Value* tags = root->find("tags"))
    for (const Value& tag : tags->items())
      inputs.tags.emplace_back(tag.text());
  if (const Value* variables = root->find("variables"))
    for (const Value& each : variables->items()) {
      RecipeVariable& variable = inputs.variables.emplace_back();
      if (const Value* name = each.find("name")) variable.name = name->text();
      variable.is_used = flag_of(each, "used");
      variable.is_required = flag_of(each, "required");
      variable.declaration = json_of(each, "declaration");
      variable.fallback = json_of(each, "fallback");
    }
  return inputs;
}

std::string problem_of_value(const RecipeVariable& declared, std::string_view value) {
  if (declared.declaration.empty()) return {};
  base::Arena arena, other;
  const auto read = base::parse_json(value, arena);
  const auto parsed = base::parse_json(declared.declaration, other);
  const auto* given = std::get_if<Value>(&read);
  const auto* declaration = std::get_if<Value>(&parsed);
  if (!given || !declaration) return {};
  const Value* type = declaration->find("type");
  const std::string what = "'" + declared.name + "' must be ";
  if (type && !has_type(*given, type->text()))
    return what + "of type " + std::string(type->text()) + ", and is " + name_of_kind(*given);
  if (const auto number = given->is_text() ? std::nullopt : given->as_number()) {
    const Value* least = declaration->find("min");
    const Value* most = declaration->find("max");
    if (least && least->as_number() && *number < *least->as_number())
      return what + "at least " + base::to_json(*least) + ", and is " + std::string(value);
    if (most && most->as_number() && *number > *most->as_number())
      return what + "at most " + base::to_json(*most) + ", and is " + std::string(value);
  }
  if (const Value* choices = declaration->find("choices"); choices && choices->is_list()) {
    const bool is_one = std::ranges::any_of(choices->items(), [&](const Value& choice) {
      return base::to_json(choice) == base::to_json(*given);
    });
    if (!is_one) return what + "one of " + base::to_json(*choices);
  }
  return {};
}

Result<FilledInputs> fill_inputs(std::span<const RecipeInputs* const> recipes,
                                 std::span<const VariableLayer* const> layers, const Tags& tags) {
  FilledInputs filled;
  base::JsonText json;
  json.begin_object();
  bool any = false;
  for (const std::string& name : wanted_names(recipes, layers)) {
    std::vector<std::string_view> values;
    for (const VariableLayer* const layer : layers)
      if (const Variable* const variable = layer->find(name)) values.push_back(variable->value);
    const std::string merged = values.empty() ? "" : merge_values(values);
    for (const RecipeInputs* const recipe : recipes) {
      const RecipeVariable* const declared = recipe->find(name);
      if (!declared) continue;
      if (merged.empty() && declared->is_required) return Error(ErrorCode::invalid, missing(name));
      // Merged with the recipe's own, a mapping stays one: its own keys are the agent's to check.
      if (const std::string wrong = merged.empty() ? "" : problem_of_value(*declared, merged); !wrong.empty())
        return Error(ErrorCode::invalid, "the variable " + wrong + " ('opsctl var explain' says who set it)");
    }
    if (merged.empty()) continue;
    json.key(name).json(merged);
    any = true;
  }
  if (any) filled.vars = json.end_object().take();
  if (filled.vars.size() > kLargestVariables)
    return Error(ErrorCode::invalid, "the variables of its recipes have " +
                                         std::to_string(filled.vars.size()) +
                                         " bytes together, and a machine is given " +
                                         std::to_string(kLargestVariables) + " at most");
  const Tags wanted = wanted_tags(recipes, tags);
  if (wanted.empty()) return filled;
  base::JsonText text;
  text.begin_object();
  for (const auto& [name, value] : wanted)
    text.member(name, value);
  filled.tags = text.end_object().take();
  return filled;
}

}  // namespace backend::domain
