// Uploaded recipes: checked as agents check them, and turned into the wire's form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/domain/model.hpp"
#include "modules/module_set.hpp"
#include "recipe/recipe.hpp"

namespace backend::domain {

// The modules of the repository that a recipe uses, as far as they are known.
struct RecipeModules {
  // Null: nobody could look at them. States of modules that are not native are taken as they are written
  // then, and a warning says so with `why`.
  const ::modules::ModuleSet* set = nullptr;
  std::string why = {};
  std::vector<std::string> winners = {};  // modules that may have the name of a native state
  std::string agent_version = {};         // of the agents that this backend is of one release with
};

struct CheckedRecipe {
  std::vector<recipe::Problem> problems;  // when there is any, the rest is empty
  std::vector<recipe::Problem> warnings;
  std::string syntax;  // "yaml" or "json"
  std::string states;  // JSON list: loads on the agent to the very states that the content says
  std::string digest;  // SHA-256 of `states`
  std::size_t state_count = 0;
  std::string inputs;  // what it refers to, as of NewRevision
  // What the recipe names that is not native, whether it is known or not; also when there are problems.
  std::vector<std::string> foreign;
};

// Pure; any thread. Takes milliseconds for thousands of states: not for the loop. `compat_v1`: a recipe of
// version 1 is taken as far as it can be; what is wrong with a state is a warning.
CheckedRecipe check_recipe(std::string_view content, const RecipeModules* modules = nullptr,
                           bool compat_v1 = false);

// One state ({"module", "parameter", …} with or without id, JSON) as `Run` carries it.
CheckedRecipe check_single_state(std::string_view state, const RecipeModules* modules = nullptr);

}  // namespace backend::domain
