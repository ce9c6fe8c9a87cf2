// The parameters of states: the first byte chooses the module, the rest is its parameter object as JSON. The
// module reads and checks them as those of a recipe; nothing is planned.
#include "tests/fuzz/recipes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto entries = fuzz::all_states().entries();
  std::string text = R"([{"id":"s","module":")";
  text.append(entries[data[0] % entries.size()].type->name()).append(R"(","parameter":)");
  text.append(fuzz::text_of(data + 1, size - 1)).append("}]");
  fuzz::load("parameters.json", text);
  return 0;
}
