// The repository of modules that a recipe or an app names: module: {repo, tag, commit}. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/messages.hpp"
#include "recipe/recipe.hpp"

namespace backend::domain {

using protocol::ModuleSource;

struct NamedModules {
  std::optional<ModuleSource> source;
  recipe::Position position;              // of `module`, when there is one
  std::vector<recipe::Problem> problems;  // when there is any, there is no source
};

// What a recipe says at its top. One that cannot be read names nothing: its check says what is wrong.
NamedModules read_named_modules(std::string_view content);

// "" when an agent could ask for it at all, whatever its configuration allows.
std::string problem_of_source(const ModuleSource& source);

// "https://git.example.com/ops/modules.git at v1.4 (commit 0123456789ab)"
std::string describe(const ModuleSource& source);

}  // namespace backend::domain
