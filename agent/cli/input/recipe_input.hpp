// Recipes from files, with their problems shown, and the machine that they are for.
#pragma once

#include <memory>
#include <string>

#include "agent/cli/options/options.hpp"
#include "recipe/recipe.hpp"
#include "states/context.hpp"
#include "terminal/console.hpp"

namespace agent::cli {

// Of what was read from this file. Null when there are problems; they have been shown then, as warnings have
// in any case.
std::shared_ptr<const recipe::Recipe> usable_recipe(recipe::Loaded loaded, const std::string& path,
                                                    const Options& options, terminal::Console& console);

// "error: …" and "warning: …" lines as compilers print them, on standard error.
void show_problems(const recipe::Loaded& loaded, const std::string& path, terminal::Console& console);

// The machine itself, or the files below `root`, which must be a folder.
base::Result<states::Host> make_host(const std::string& root, const std::string& state_dir);

// What --root means: "" for the running system, else the folder's path without links. Refused: a link on the
// way that others could point elsewhere (base/files/way.hpp), and what turns out to be "/" though it says
// something else.
base::Result<std::string> root_path(const std::string& root);

// The path as seen from "/", so that it means the same from every working folder.
base::Result<std::string> absolute_path(const std::string& path);

}  // namespace agent::cli
