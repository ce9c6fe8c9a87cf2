// Uploaded recipes: checked as agents check them, and turned into the wire's form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/domain/model.hpp"
#include "recipe/recipe.hpp"

namespace backend::domain {

struct CheckedRecipe {
  std::vector<recipe::Problem> problems;  // when there is any, the rest is empty
  std::vector<recipe::Problem> warnings;
  std::string syntax;  // "yaml" or "json"
  std::string states;  // JSON list: loads on the agent to the very states that the content says
  std::string digest;  // SHA-256 of `states`
  std::size_t state_count = 0;
};

// Pure; any thread. Takes milliseconds for thousands of states: not for the loop.
CheckedRecipe check_recipe(std::string_view content);

// One state ({"module", "parameter", …} with or without id, JSON) as `Run` carries it.
CheckedRecipe check_single_state(std::string_view state);

}  // namespace backend::domain
