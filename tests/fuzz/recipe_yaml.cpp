// Recipes in YAML, with all states that there are.
#include "tests/fuzz/recipes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::load("recipe.yaml", fuzz::text_of(data, size));
  return 0;
}
