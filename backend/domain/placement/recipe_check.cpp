#include "backend/domain/placement/recipe_check.hpp"

#include <utility>

#include "backend/domain/placement/placement.hpp"
#include "base/sha256.hpp"
#include "base/values/json.hpp"
#include "builtins/builtins.hpp"
#include "protocol/ids.hpp"

namespace backend::domain {

namespace {

using base::Value;

// The wire has no undecided scalars. A parameter reads text from JSON as it would read the same scalar
// without quotes, but for what says "nothing", and a watch that says "always".
void write_value(const Value& value, bool is_watch, std::string& out) {
  const std::string_view text = value.text();
  switch (value.kind()) {
    case Value::Kind::plain:
      if (text.empty() || text == "~" || text == "null")
        out += "null";
      else if (is_watch && !text.starts_with('/') && value.as_bool())
        out += *value.as_bool() ? "true" : "false";
      else
        out += base::json_quote(text);
      return;
    case Value::Kind::list: {
      char before = '[';
      for (const Value& item : value.items()) {
        out += std::exchange(before, ',');
        write_value(item, false, out);
      }
      out += before == '[' ? "[]" : "]";
      return;
    }
    case Value::Kind::object: {
      char before = '{';
      for (const base::Member& member : value.members()) {
        out += std::exchange(before, ',');
        out.append(base::json_quote(member.key)).append(":");
        write_value(member.value, false, out);
      }
      out += before == '{' ? "{}" : "}";
      return;
    }
    default:
      out += base::to_json(value);
  }
}

void write_parameter(const recipe::State& state, std::string& out) {
  char before = '{';
  for (const base::Member& member : state.parameter.members()) {
    bool is_watch = false;
    for (const states::Param& param : state.type->schema())
      is_watch = is_watch || (param.wire == states::Wire::watch && param.is_called(member.key));
    out += std::exchange(before, ',');
    out.append(base::json_quote(member.key)).append(":");
    write_value(member.value, is_watch, out);
  }
  out += before == '{' ? "{}" : "}";
}

void write_list(std::string_view name, states::List texts, std::string& out) {
  if (texts.empty()) return;
  if (out.back() != '{') out += ',';
  out.append(base::json_quote(name)).append(":");
  char before = '[';
  for (const std::string_view text : texts) {
    out += std::exchange(before, ',');
    out += base::json_quote(text);
  }
  out += ']';
}

void write_state(const recipe::State& state, std::string& out) {
  out.append("{\"id\":").append(base::json_quote(state.id));
  out.append(",\"module\":").append(base::json_quote(state.type->name()));
  out.append(",\"parameter\":");
  write_parameter(state, out);
  if (state.timeout) out.append(",\"timeout\":").append(std::to_string(state.timeout->count()));
  if (state.retries > 0) out.append(",\"retries\":").append(std::to_string(state.retries));
  if (state.when) {
    out += ",\"when\":{";
    write_list("path_exists", state.when->path_exists, out);
    write_list("path_absent", state.when->path_absent, out);
    write_list("os", state.when->os, out);
    out += '}';
  }
  if (state.sensitive) out += ",\"sensitive\":true";
  out += '}';
}

CheckedRecipe refused(CheckedRecipe checked, std::string message) {
  CheckedRecipe nothing;
  nothing.warnings = std::move(checked.warnings);
  nothing.problems.push_back({std::move(message), "", {}});
  return nothing;
}

}  // namespace

CheckedRecipe check_recipe(std::string_view content) {
  const states::Registry registry({states::native_states(), builtins::builtin_states()});
  recipe::Loaded loaded = recipe::load_text("", std::string(content), registry);
  CheckedRecipe checked;
  checked.problems = std::move(loaded.problems);
  checked.warnings = std::move(loaded.warnings);
  if (!loaded.recipe) return checked;
  for (const recipe::State& state : loaded.recipe->states())
    if (const std::string_view wrong = protocol::problem_of_id(state.id); !wrong.empty())
      checked.problems.push_back(
          {.message = "the id " + std::string(wrong), .state_id = std::string(state.id)});
  if (!checked.problems.empty()) return checked;
  checked.syntax = recipe::guess_syntax("", content) == recipe::Syntax::json ? "json" : "yaml";
  checked.state_count = loaded.recipe->states().size();
  checked.states = "[";
  for (const recipe::State& state : loaded.recipe->states()) {
    if (checked.states.size() > 1) checked.states += ',';
    write_state(state, checked.states);
  }
  checked.states += ']';
  if (checked.states.size() > kLargestStates)
    return refused(std::move(checked), "the recipe is larger than what a message to an agent can hold (" +
                                           std::to_string(kLargestStates >> 10) + " KiB)");
  if (auto waits = read_states(checked.states); !waits)
    return refused(std::move(checked), waits.error().message());
  checked.digest = base::sha256_hex(checked.states);
  return checked;
}

CheckedRecipe check_single_state(std::string_view state) {
  base::Arena arena;
  const auto read = base::parse_json(state, arena);
  const auto* value = std::get_if<Value>(&read);
  if (!value || !value->is_object()) return refused({}, "a state is a JSON object with a 'module'");
  const bool has_id = value->find("id") || value->find("stateid") || value->find("state_id");
  std::string list = "[" + std::string(state) + "]";
  if (!has_id)
    list.insert(list.find('{') + 1, value->members().empty() ? "\"id\":\"run\"" : "\"id\":\"run\",");
  CheckedRecipe checked = check_recipe(list);
  if (!checked.problems.empty()) return checked;
  if (auto states = read_states(checked.states); states && !(*states)->waits.empty())
    return refused(std::move(checked), "meta.wait is a part of a recipe and cannot be run alone");
  checked.states = checked.states.substr(1, checked.states.size() - 2);
  checked.digest = base::sha256_hex(checked.states);
  return checked;
}

}  // namespace backend::domain
