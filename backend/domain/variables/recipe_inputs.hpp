// What a recipe needs to be filled in with on a machine, as far as its text says; kept with each revision.
// Pure; any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/domain/variables/variable.hpp"
#include "base/result.hpp"

namespace backend::domain {

// A variable of a recipe: declared in its `vars`, used in it, or both.
struct RecipeVariable {
  std::string name;
  bool is_used = false;
  // Declared without a default: whoever runs the recipe has to have a value.
  bool is_required = false;
  std::string declaration = {};  // JSON: {"type": "integer", "min": 1, "doc": "…"}; "": no type is declared
  std::string fallback = {};     // the recipe's own value, JSON; "": it has none
  bool operator==(const RecipeVariable&) const = default;
};

struct RecipeInputs {
  // It has expressions or templates: an agent that does not know them cannot run it.
  bool are_needed = false;
  std::vector<RecipeVariable> variables = {};  // by name
  bool uses_all_variables = false;             // which ones is computed on the machine
  std::vector<std::string> tags = {};          // by name
  bool uses_all_tags = false;

  const RecipeVariable* find(std::string_view name) const;
  bool operator==(const RecipeInputs&) const = default;
};

// Reads it from the text of a recipe. An Error: its expressions are wrong, which its loader says with more
// words.
base::Result<RecipeInputs> inputs_of_recipe(std::string_view content);

// "" for a recipe that needs none.
std::string to_json(const RecipeInputs& inputs);
RecipeInputs read_recipe_inputs(std::string_view json);

// What one machine is given for its recipes: compact JSON objects; "" for none.
struct FilledInputs {
  std::string vars, tags;
};
// `layers` from weak to strong. `invalid`: a variable is missing or not what a recipe declares; the text says
// which, and what to do.
base::Result<FilledInputs> fill_inputs(std::span<const RecipeInputs* const> recipes,
                                       std::span<const VariableLayer* const> layers, const Tags& tags);

// Why this value of a variable is not what the recipe declares; "" if it is, or nothing is declared.
std::string problem_of_value(const RecipeVariable& declared, std::string_view value);

}  // namespace backend::domain
