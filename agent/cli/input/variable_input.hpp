// What a recipe is filled in with, from the command line and from this machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/cli/options/options.hpp"
#include "agent/inputs/machine_secrets.hpp"
#include "base/result.hpp"
#include "recipe/inputs.hpp"
#include "recipe/recipe.hpp"

namespace agent::cli {

// "db.port=81" as variables: {"db": {"port": 81}}. A value that is no YAML by itself is a text.
base::Result<std::string> variables_of(std::string_view assignment);

// Where secrets of recipes come from on this machine.
inputs::SecretSettings secret_settings(const Options& options);

// For the recipe at `path` with this text. Facts are looked at only if the text has expressions. `is_check`:
// the machine is not looked at, and has no secrets.
base::Result<recipe::Inputs> recipe_inputs(const Options& options, const std::string& path,
                                           std::string_view text, bool is_check);

// Warnings about each --var that the recipe neither declares nor uses: a slip of the fingers, most likely.
// None where which variables it uses is computed, and none for a recipe that cannot be read.
std::vector<recipe::Problem> unused_variables(const Options& options, const std::string& path,
                                              std::string_view text);

}  // namespace agent::cli
