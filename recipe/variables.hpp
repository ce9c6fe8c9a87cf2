// The variables that a recipe declares in `vars`: their types, and what they are when nobody says more.
//
//   vars:
//     port: 8080                                                   # a default; any type
//     workers: { type: integer, min: 1, default: 4, doc: "…" }     # a declaration
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/values/value.hpp"

namespace recipe {

enum class VariableType { any, string, integer, number, boolean, list, mapping };

struct DeclaredVariable {
  std::string name;
  VariableType type = VariableType::any;
  std::optional<double> min = {}, max = {};
  std::vector<std::string> choices = {};  // of `choices` or `enum`, as text; empty: any
  std::string doc = {};
};

// Whether a variable may have this value (JSON).
base::Result<void> check_variable(const DeclaredVariable& variable, std::string_view json);

struct Declaration {
  DeclaredVariable variable;
  const base::Value* fallback = nullptr;  // null: none
};
// One member of `vars`. An object with a `type` is a declaration; all else is a default.
base::Result<Declaration> read_declaration(const base::Member& member, base::Arena& arena);
// The value as one of the variable's type: 8080 where an integer is wanted, though it was written in quotes.
base::Result<base::Value> typed(const DeclaredVariable& variable, const base::Value& value,
                                base::Arena& arena);

}  // namespace recipe
