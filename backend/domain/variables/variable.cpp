#include "backend/domain/variables/variable.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "base/values/json.hpp"

namespace backend::domain {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr std::array<std::string_view, 3> kLayerKinds{"app", "selector", "machine"};

constexpr std::array<std::string_view, 8> kSecretWords{"password", "passwd",      "passphrase", "token",
                                                       "secret",   "private_key", "api_key",    "credential"};

bool names_secret(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(kSecretWords,
                             [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

// What is no text, no number and nothing to look into tells nobody a secret.
bool may_hold_secret(const base::Value& value) {
  return value.is_text() || value.kind() == base::Value::Kind::integer;
}

std::string find_secret(const std::string& path, std::string_view key, const base::Value& value) {
  if (names_secret(key) && may_hold_secret(value)) return path;
  for (const base::Member& member : value.members())
    if (std::string found = find_secret(path + "." + std::string(member.key), member.key, member.value);
        !found.empty())
      return found;
  for (std::size_t i = 0; i < value.items().size(); ++i)
    if (std::string found = find_secret(path + "[" + std::to_string(i) + "]", key, value.items()[i]);
        !found.empty())
      return found;
  return {};
}

std::size_t depth_of(const base::Value& value) {
  std::size_t inner = 0;
  for (const base::Member& member : value.members())
    inner = std::max(inner, depth_of(member.value));
  for (const base::Value& item : value.items())
    inner = std::max(inner, depth_of(item));
  return value.is_list() || value.is_object() ? inner + 1 : 0;
}

Result<void> check_limits(const VariableLayer& layer) {
  if (layer.variables.size() > kMostVariables)
    return Error(ErrorCode::invalid, describe(layer) + " would have " +
                                         std::to_string(layer.variables.size()) + " variables, and has " +
                                         std::to_string(kMostVariables) +
                                         " at most: put what belongs together into one mapping");
  const std::size_t bytes = bytes_of(layer);
  if (bytes > kLargestLayer)
    return Error(ErrorCode::invalid, "the variables of " + describe(layer) + " would have " +
                                         std::to_string(bytes) + " bytes together, and have " +
                                         std::to_string(kLargestLayer) + " at most");
  return {};
}

}  // namespace

std::string_view name_of(LayerKind kind) {
  return kLayerKinds[static_cast<std::size_t>(kind)];
}

std::optional<LayerKind> layer_kind_of(std::string_view name) {
  const auto found = std::ranges::find(kLayerKinds, name);
  if (found == kLayerKinds.end()) return std::nullopt;
  return static_cast<LayerKind>(found - kLayerKinds.begin());
}

const Variable* VariableLayer::find(std::string_view name) const {
  const auto found = std::ranges::find(variables, name, &Variable::name);
  return found == variables.end() ? nullptr : &*found;
}

std::size_t bytes_of(const VariableLayer& layer) {
  std::size_t bytes = 0;
  for (const Variable& each : layer.variables)
    bytes += each.name.size() + each.value.size();
  return bytes;
}

bool says_same(const VariableLayer& layer, const std::optional<VariableLayer>& other) {
  if (!other) return layer.variables.empty();
  const auto is_same = [](const Variable& one, const Variable& two) {
    return one.name == two.name && one.value == two.value;
  };
  return layer.order == other->order && std::ranges::equal(layer.variables, other->variables, is_same);
}

std::string describe(const VariableLayer& layer) {
  switch (layer.kind) {
    case LayerKind::app:
      return "app " + layer.app_id;
    case LayerKind::selector:
      return layer.target + " in " + layer.app_id;
    case LayerKind::machine:
      break;
  }
  return "machine " + layer.target + " in " + layer.app_id;
}

std::string reach_of(const VariableLayer& layer) {
  switch (layer.kind) {
    case LayerKind::app:
      return "*";
    case LayerKind::selector:
      return layer.target;
    case LayerKind::machine:
      break;
  }
  return "instance=\"" + layer.target + "\"";
}

std::string problem_of_variable_name(std::string_view name) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; };
  const auto fits = [&](unsigned char c) { return is_letter(c) || std::isdigit(c) != 0; };
  if (name.empty()) return "a variable has a name";
  if (name.size() > kLongestVariableName)
    return "the name of a variable has " + std::to_string(kLongestVariableName) + " bytes at most";
  if (!is_letter(static_cast<unsigned char>(name.front())) || !std::ranges::all_of(name, fits))
    return "the name of a variable is a letter or _, then letters, digits and _; '" + std::string(name) +
           "' is not";
  return {};
}

Result<std::string> to_variable(const base::Value& value) {
  if (depth_of(value) > kDeepestVariable)
    return Error(ErrorCode::invalid,
                 "the value is nested more than " + std::to_string(kDeepestVariable) + " deep");
  std::string text = base::to_json(value);
  if (text.size() > kLargestVariable)
    return Error(ErrorCode::invalid, "the value has " + std::to_string(text.size()) +
                                         " bytes as JSON, and may have " + std::to_string(kLargestVariable) +
                                         "; what is large belongs into a file of the recipe");
  return text;
}

std::string find_secret_name(std::string_view name, std::string_view value) {
  base::Arena arena;
  const auto read = base::parse_json(value, arena);
  const auto* root = std::get_if<base::Value>(&read);
  return root ? find_secret(std::string(name), name, *root) : std::string();
}

Result<EditedLayer> edit_variables(const VariableLayer& before, const VariableEdits& edits,
                                   std::string_view author, Millis now) {
  std::map<std::string, Variable> after;
  if (!edits.replaces_all)
    for (const Variable& each : before.variables)
      after.emplace(each.name, each);
  for (const std::string& name : edits.unset)
    after.erase(name);
  for (const auto& [name, value] : edits.set) {
    const Variable* const known = before.find(name);
    after[name] = known && known->value == value
                      ? *known
                      : Variable{.name = name, .value = value, .author = std::string(author), .at = now};
  }
  EditedLayer edited{.layer = before};
  edited.layer.variables.clear();
  for (auto& [name, variable] : after)
    edited.layer.variables.push_back(std::move(variable));
  if (auto fine = check_limits(edited.layer); !fine) return std::move(fine).error();

  std::set<std::string, std::less<>> names;
  for (const Variable& variable : before.variables)
    names.insert(variable.name);
  for (const Variable& variable : edited.layer.variables)
    names.insert(variable.name);
  for (const std::string& name : names) {
    const Variable* const old = before.find(name);
    const Variable* const fresh = edited.layer.find(name);
    if (old && fresh && old->value == fresh->value) continue;
    VariableChange& change = edited.changes.emplace_back();
    change.layer = before.id;
    change.app_id = before.app_id;
    change.kind = before.kind;
    change.target = before.target;
    change.owner = before.owner;
    change.name = name;
    if (old) change.before = old->value;
    if (fresh) change.after = fresh->value;
    change.author = author;
    change.at = now;
  }
  return edited;
}

}  // namespace backend::domain
