// Variables: values that recipes refer to, set for an app, for the machines of a selector, or for one
// machine. As plain values; docs/variables.md says what each thing means.
//
// They are no secrets: whoever may read a machine reads them, and they are kept as they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/domain/model.hpp"
#include "base/result.hpp"
#include "base/values/value.hpp"

namespace backend::domain {

// What a layer is for, from weak to strong.
enum class LayerKind { app, selector, machine };
std::string_view name_of(LayerKind kind);
std::optional<LayerKind> layer_kind_of(std::string_view name);

// One variable of a layer. `value` is compact JSON.
struct Variable {
  std::string name;
  std::string value;
  std::string author;  // the name of the token that has set it
  Millis at = 0;
  bool operator==(const Variable&) const = default;
};

// All variables of an app, of a selector in it, or of one of its machines: at most one layer each.
struct VariableLayer {
  std::int64_t id = 0;
  std::string app_id;
  LayerKind kind = LayerKind::app;
  std::string target = {};  // the selector, or the machine; "": the app
  std::int64_t order = 0;   // of selectors: later ones win; then by id
  Millis created = 0;
  Edit edit = 0;
  std::string owner = {};                // the scope of whoever has written it last; "": a token without one
  std::string set = {};                  // of `apply`, which has made it; "": it was made by itself
  std::vector<Variable> variables = {};  // by name

  const Variable* find(std::string_view name) const;
};
// The same values in the same place among the others; nothing is as a layer without variables.
bool says_same(const VariableLayer& layer, const std::optional<VariableLayer>& other);
// "app shop", "role=web in shop", "machine web1 in shop".
std::string describe(const VariableLayer& layer);
// Whom it reaches, as a selector in its app.
std::string reach_of(const VariableLayer& layer);

// A change of one variable, for the history. No JSON: it was not there, or is not any more.
struct VariableChange {
  std::int64_t id = 0;  // grows with time
  std::int64_t layer = 0;
  std::string app_id;
  LayerKind kind = LayerKind::app;
  std::string target, owner;  // of the layer at that time
  std::string name;
  std::optional<std::string> before = {}, after = {};
  std::string author;
  Millis at = 0;
};

// ---- limits

inline constexpr std::size_t kLongestVariableName = 64;
inline constexpr std::size_t kLargestVariable = std::size_t{64} << 10;  // as compact JSON
inline constexpr std::size_t kDeepestVariable = 16;
inline constexpr std::size_t kMostVariables = 500;                        // of one layer
inline constexpr std::size_t kLargestLayer = std::size_t{256} << 10;      // all values together
inline constexpr std::size_t kLargestVariables = std::size_t{512} << 10;  // that one machine is given
inline constexpr std::size_t kMostSelectorLayers = 500;                   // of one app
inline constexpr std::size_t kMostMachineLayers = 100'000;                // of one app
inline constexpr std::size_t kMostVariableBytes = std::size_t{64} << 20;  // of one app and owner
inline constexpr std::size_t kMostVariableHistory = 100'000;              // changes, of one owner
inline constexpr std::size_t kMostVariableHistoryBytes = std::size_t{64} << 20;

// "" when it can be the name of a variable: a letter or _, then letters, digits and _.
std::string problem_of_variable_name(std::string_view name);
// A value as it is kept: compact, within the limits. `invalid`: it is too large, or not JSON.
base::Result<std::string> to_variable(const base::Value& value);

// The first part of a value that has the name of a secret: "db.password"; "" when there is none. Whoever sets
// it is warned: variables are no place for secrets.
std::string find_secret_name(std::string_view name, std::string_view value);

// ---- changes

// Names and values together.
std::size_t bytes_of(const VariableLayer& layer);

// What is to be different in a layer.
struct VariableEdits {
  std::vector<std::pair<std::string, std::string>> set = {};  // name, compact JSON
  std::vector<std::string> unset = {};
  bool replaces_all = false;  // what is not set is gone
};
struct EditedLayer {
  VariableLayer layer;
  std::vector<VariableChange> changes = {};  // without ids; empty: it says the same as before
};
// `invalid`: a limit. What is set to what it was keeps its author.
base::Result<EditedLayer> edit_variables(const VariableLayer& before, const VariableEdits& edits,
                                         std::string_view author, Millis now);

}  // namespace backend::domain
