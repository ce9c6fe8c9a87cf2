#include "backend/domain/placement/recipe_check.hpp"

#include <utility>

#include "backend/domain/placement/foreign_states.hpp"
#include "backend/domain/placement/placement.hpp"
#include "backend/domain/variables/recipe_inputs.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"
#include "builtins/builtins.hpp"
#include "builtins/wait_targets.hpp"
#include "modules/module_type.hpp"
#include "protocol/ids.hpp"
#include "recipe/expressions.hpp"

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

// What it has to do with other states, as one condition. Patterns have become ids: where several recipes are
// one list, a pattern must not match states of the others.
void write_control(const recipe::Control& control, const std::vector<recipe::State>& states,
                   std::string& out) {
  if (out.back() != '{') out += ',';
  out += "\"control\":{";
  for (const auto& [name, places] :
       {std::pair("on_change_of", &control.on_change_of), std::pair("restart_on", &control.restart_on),
        std::pair("reload_on", &control.reload_on), std::pair("require", &control.require)}) {
    std::vector<std::string_view> ids;
    for (const std::size_t place : *places)
      ids.push_back(states[place].id);
    write_list(name, ids, out);
  }
  const auto key = [&](std::string_view name) -> std::string& {
    if (out.back() != '{') out += ',';
    return out.append(base::json_quote(name)).append(":");
  };
  if (!control.once.empty()) key("once") += base::json_quote(control.once);
  if (control.continues) key("continue_on_failure") += "true";
  out += '}';
}

void write_state(const recipe::State& state, const std::vector<recipe::State>& states, std::string& out) {
  // As it was written: what is wrong with it, or would keep it from running, must not get lost on the way.
  if (state.is_unusable) return write_value(state.written, false, out);
  out.append("{\"id\":").append(base::json_quote(state.id));
  out.append(",\"module\":").append(base::json_quote(state.type->name()));
  out.append(",\"parameter\":");
  write_parameter(state, out);
  if (state.timeout) out.append(",\"timeout\":").append(std::to_string(state.timeout->count()));
  if (state.retries > 0) out.append(",\"retries\":").append(std::to_string(state.retries));
  if (state.when || state.control) {
    out += ",\"when\":{";
    const recipe::When when = state.when.value_or(recipe::When());
    write_list("path_exists", when.path_exists, out);
    write_list("path_absent", when.path_absent, out);
    write_list("os", when.os, out);
    // An agent that does not know it refuses the recipe, instead of running the state in every round.
    if (state.control) write_control(*state.control, states, out);
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

// A module as far as its parameters go; nothing is run here.
class CheckedType final : public ::modules::ModuleType {
 public:
  explicit CheckedType(const ::modules::Manifest& manifest) : ModuleType(manifest) {}

  states::Plan make_plan(const states::ParamValues&, states::Context&) const override {
    return states::Plan::fail("Internal error: this module is not run here");
  }
  states::Applied apply_plan(const states::ParamValues&, const states::Plan&,
                             states::ApplyContext&) const override {
    return states::Applied::failed("Internal error: this module is not run here");
  }
};

// All that a recipe may name, with what that lives in.
struct KnownStates {
  std::vector<states::RegistryEntry> native;
  std::vector<std::unique_ptr<CheckedType>> types;
  std::vector<states::RegistryEntry> entries;  // of the modules
  std::vector<std::string> problems;           // of the modules' names
};

KnownStates known_states(const RecipeModules* modules) {
  KnownStates known;
  const auto native = states::native_states();
  if (!modules || !modules->set) {
    known.native.assign(native.begin(), native.end());
    return known;
  }
  known.native = ::modules::without_replaced(native, *modules->set, modules->winners, known.problems);
  for (const ::modules::Module& module : modules->set->modules()) {
    known.types.push_back(std::make_unique<CheckedType>(*module.manifest));
    known.entries.push_back({.type = known.types.back().get(), .page = module.page});
  }
  return known;
}

void warn(CheckedRecipe& checked, std::string message) {
  checked.warnings.push_back({.message = std::move(message), .state_id = "", .position = {}});
}

void warn_of_unchecked(const UncheckedTypes& unchecked, const std::string& why, CheckedRecipe& checked) {
  if (unchecked.states() == 0) return;
  warn(checked, std::to_string(unchecked.states()) + (unchecked.states() == 1 ? " state is" : " states are") +
                    " not checked, and the agents will (" + base::join(checked.foreign, ", ") + "): " + why);
}

void warn_of_versions(const RecipeModules& modules, CheckedRecipe& checked) {
  if (!modules.set || modules.agent_version.empty()) return;
  if (auto refusal = modules.set->compat().refusal(modules.agent_version))
    warn(checked, "agents of this release refuse the modules: " + *refusal);
}

// What the machine fills in goes there as it was written, as one item of the list: an agent that knows
// nothing of expressions takes no such item. Its `states` say what stands in it, as far as the backend has to
// know.
void write_whole(std::string_view content, const CheckedRecipe& checked,
                 const std::vector<recipe::State>& states, std::string& out) {
  out.append("{\"syntax\":").append(base::json_quote(checked.syntax));
  out.append(",\"content\":").append(base::json_quote(content)).append(",\"states\":[");
  char before = ' ';
  for (const recipe::State& state : states) {
    if (std::exchange(before, ',') == ',') out += ',';
    out.append("{\"id\":").append(base::json_quote(state.id));
    out.append(",\"module\":").append(base::json_quote(state.type->name()));
    if (state.type->name() == builtins::kWaitModule) {
      out += ",\"parameter\":";
      write_parameter(state, out);
    }
    out += '}';
  }
  out += "]}";
}

// What the backend has to know of a wait must not be left to the machine.
void check_waits_known(const std::vector<recipe::State>& states, CheckedRecipe& checked) {
  for (const recipe::State& state : states)
    if (state.type->name() == builtins::kWaitModule &&
        (recipe::has_expression(state.id) || !state.parameter.find("state")))
      checked.problems.push_back({.message =
                                      "what meta.wait waits for, and its id, must be written down: the "
                                      "backend does not know what a machine makes of an expression",
                                  .state_id = std::string(state.id)});
}

CheckedRecipe load_checked(std::string_view content, const states::Registry& registry, bool compat_v1) {
  const recipe::Inputs check{.is_check = true, .compat_v1 = compat_v1};
  recipe::Loaded loaded = recipe::load_text("", std::string(content), registry, check);
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
  auto inputs = inputs_of_recipe(content);
  if (!inputs) return refused(std::move(checked), inputs.error().message());
  checked.inputs = to_json(*inputs);
  checked.states = "[";
  if (inputs->are_needed) {
    check_waits_known(loaded.recipe->states(), checked);
    if (!checked.problems.empty()) return checked;
    write_whole(content, checked, loaded.recipe->states(), checked.states);
  }
  for (const recipe::State& state : loaded.recipe->states()) {
    if (inputs->are_needed) break;
    if (checked.states.size() > 1) checked.states += ',';
    write_state(state, loaded.recipe->states(), checked.states);
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

}  // namespace

CheckedRecipe check_recipe(std::string_view content, const RecipeModules* modules, bool compat_v1) {
  const KnownStates known = known_states(modules);
  if (!known.problems.empty()) {
    CheckedRecipe refused;
    for (const std::string& problem : known.problems)
      refused.problems.push_back({.message = problem, .state_id = "", .position = {}});
    return refused;
  }
  const states::Registry registry({known.native, builtins::builtin_states(), known.entries});
  if (!modules || modules->set) {
    CheckedRecipe checked = load_checked(content, registry, compat_v1);
    if (modules || !checked.problems.empty())
      checked.foreign =
          foreign_modules(content, states::Registry({states::native_states(), builtins::builtin_states()}));
    if (modules && !checked.foreign.empty()) warn_of_versions(*modules, checked);
    return checked;
  }
  const UncheckedTypes unchecked(content, registry);
  CheckedRecipe checked = load_checked(
      content, states::Registry({known.native, builtins::builtin_states(), unchecked.entries()}), compat_v1);
  for (const states::RegistryEntry& each : unchecked.entries())
    checked.foreign.emplace_back(each.type->name());
  warn_of_unchecked(unchecked, modules->why, checked);
  return checked;
}

CheckedRecipe check_single_state(std::string_view state, const RecipeModules* modules) {
  base::Arena arena;
  const auto read = base::parse_json(state, arena);
  const auto* value = std::get_if<Value>(&read);
  if (!value || !value->is_object()) return refused({}, "a state is a JSON object with a 'module'");
  const bool has_id = value->find("id") || value->find("stateid") || value->find("state_id");
  std::string list = "[" + std::string(state) + "]";
  if (!has_id)
    list.insert(list.find('{') + 1, value->members().empty() ? "\"id\":\"run\"" : "\"id\":\"run\",");
  CheckedRecipe checked = check_recipe(list, modules);
  if (!checked.problems.empty()) return checked;
  if (!checked.inputs.empty())
    return refused(std::move(checked), "a state that is run alone cannot have expressions");
  if (auto states = read_states(checked.states); states && !(*states)->waits.empty())
    return refused(std::move(checked), "meta.wait is a part of a recipe and cannot be run alone");
  checked.states = checked.states.substr(1, checked.states.size() - 2);
  checked.digest = base::sha256_hex(checked.states);
  return checked;
}

}  // namespace backend::domain
