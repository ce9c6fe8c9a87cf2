#include "backend/domain/variables/recipe_inputs.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "backend/domain/variables/merge.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "base/values/json_text.hpp"
#include "protocol/messages.hpp"
#include "recipe/document.hpp"
#include "recipe/inputs.hpp"
#include "recipe/variables.hpp"

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

// What YAML has without quotes becomes what it looks like.
void write_typed(const Value& value, base::JsonText& json) {
  if (value.is_object()) {
    json.begin_object();
    for (const base::Member& member : value.members()) {
      json.key(member.key);
      write_typed(member.value, json);
    }
    json.end_object();
  } else if (value.is_list()) {
    json.begin_list();
    for (const Value& item : value.items())
      write_typed(item, json);
    json.end_list();
  } else if (value.kind() == Value::Kind::plain) {
    const std::string_view text = value.text();
    const bool is_number = value.as_number() && !(text.size() > 1 && text[0] == '0' && text[1] != '.');
    if (text.empty() || text == "~" || text == "null")
      json.null();
    else if (is_number && value.as_integer())
      json.value(*value.as_integer());
    else if (is_number)
      json.json(base::to_json(Value::real(*value.as_number())));
    else if (text == "true" || text == "false")
      json.value(text == "true");
    else
      json.value(text);
  } else {
    json.json(base::to_json(value));
  }
}
std::string typed_json(const Value& value) {
  base::JsonText json;
  write_typed(value, json);
  return json.take();
}

// The recipe's own `vars`: defaults, and declarations, which are objects with a `type`.
void read_own_variables(const Value& vars, std::vector<RecipeVariable>& variables) {
  for (const base::Member& member : vars.members()) {
    RecipeVariable& variable = variables.emplace_back();
    variable.name = member.key;
    const bool is_declaration = member.value.find("type") != nullptr;
    if (!is_declaration) {
      variable.fallback = typed_json(member.value);
      continue;
    }
    variable.declaration = typed_json(member.value);
    if (const Value* fallback = member.value.find("default"))
      variable.fallback = typed_json(*fallback);
    else
      variable.is_required = true;
  }
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
  const auto found = std::ranges::lower_bound(variables, name, {}, &RecipeVariable::name);
  return found == variables.end() || found->name != name ? nullptr : &*found;
}

Result<RecipeInputs> inputs_of_recipe(std::string_view content) {
  RecipeInputs inputs;
  auto used = recipe::used_variables("", std::string(content));
  if (!used) return std::move(used).error();
  if (!used->has_expressions) return inputs;
  inputs.are_needed = true;
  recipe::Document document;
  document.text = content;
  document.syntax = recipe::guess_syntax("", content);
  if (auto wrong = recipe::parse(document)) return Error(ErrorCode::invalid, wrong->message);
  if (const Value* vars = document.root.find("vars")) read_own_variables(*vars, inputs.variables);
  std::unordered_map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < inputs.variables.size(); ++i)
    known.emplace(inputs.variables[i].name, i);
  std::set<std::string> tags;
  for (const recipe::UsedVariables::Use& use : used->uses) {
    const std::string_view given = use.path.front();
    const bool is_all = use.path.size() == 1;
    if (given == "vars") {
      if (is_all) {
        inputs.uses_all_variables = true;
        continue;
      }
      const auto [place, is_new] = known.emplace(use.path[1], inputs.variables.size());
      if (is_new) inputs.variables.push_back({.name = use.path[1]});
      RecipeVariable& variable = inputs.variables[place->second];
      const bool has_value = !variable.fallback.empty();
      variable.is_used = true;
      variable.is_required = variable.is_required || (!has_value && !use.may_be_missing);
    } else if (given == "tags") {
      if (is_all)
        inputs.uses_all_tags = true;
      else
        tags.insert(use.path[1]);
    }
  }
  std::ranges::sort(inputs.variables, {}, &RecipeVariable::name);
  inputs.tags.assign(tags.begin(), tags.end());
  return inputs;
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
  std::ranges::sort(inputs.variables, {}, &RecipeVariable::name);
  return inputs;
}

std::string problem_of_value(const RecipeVariable& declared, std::string_view value) {
  if (declared.declaration.empty()) return {};
  base::Arena arena;
  const auto parsed = base::parse_json(declared.declaration, arena);
  const auto* declaration = std::get_if<Value>(&parsed);
  if (!declaration) return {};
  auto read = recipe::read_declaration({.key = declared.name, .value = *declaration}, arena);
  if (!read) return {};  // of a later version: the agent knows
  auto fine = recipe::check_variable(read->variable, value);
  return fine ? std::string() : fine.error().message();
}

Result<FilledInputs> fill_inputs(std::span<const RecipeInputs* const> recipes,
                                 std::span<const VariableLayer* const> layers, const Tags& tags) {
  FilledInputs filled;
  base::JsonText json;
  json.begin_object();
  bool any = false;
  // One look at each layer: a recipe may name many, and there may be many layers.
  std::map<std::string, std::vector<std::string_view>, std::less<>> given;
  for (const std::string& name : wanted_names(recipes, layers))
    given.emplace(name, std::vector<std::string_view>());
  for (const VariableLayer* const layer : layers)
    for (const Variable& variable : layer->variables)
      if (const auto wanted = given.find(variable.name); wanted != given.end())
        wanted->second.push_back(variable.value);
  for (const auto& [name, values] : given) {
    const std::string merged = values.empty() ? "" : merge_values(values);
    for (const RecipeInputs* const recipe : recipes) {
      const RecipeVariable* const declared = recipe->find(name);
      if (!declared) continue;
      if (merged.empty() && declared->is_required) return Error(ErrorCode::invalid, missing(name));
      // Merged with the recipe's own, a mapping stays one: its own keys are the agent's to check.
      if (const std::string wrong = merged.empty() ? "" : problem_of_value(*declared, merged); !wrong.empty())
        return Error(ErrorCode::invalid, wrong + " ('opsctl var explain' says who set it)");
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
