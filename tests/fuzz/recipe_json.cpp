// Recipes in JSON, with all states that there are.
#include "tests/fuzz/recipes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::load("recipe.json", fuzz::text_of(data, size));
  return 0;
}
