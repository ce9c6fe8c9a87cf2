// What the backend has sent as the states of a recipe, as the text of one recipe. Pure.
//
// It is a list. An item with `content` is a whole recipe as somebody wrote it, with expressions in it; all
// else is a state as it is to be. Several items become one recipe that includes the whole ones.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "recipe/inputs.hpp"

namespace agent::runtime {

struct RecipeText {
  std::string name;  // decides the syntax
  std::string text;
  std::shared_ptr<recipe::FileSource> files = {};  // that it includes; null: none
};

// An Error: it is no such list.
base::Result<RecipeText> compose_recipe(const std::string& states);

}  // namespace agent::runtime
