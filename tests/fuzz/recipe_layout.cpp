// Layouts of YAML, formatted: refused, or the same text when formatted again.
#include "recipe/format/format.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto made = recipe::format::format_recipe(fuzz::text_of(data, size));
  if (const auto* refusal = std::get_if<recipe::format::Refusal>(&made)) {
    fuzz::require(!refusal->message.empty(), "a refusal says why");
    fuzz::require(refusal->position.line <= size + 1, "a refusal is within the text");
    return 0;
  }
  const std::string& text = std::get<std::string>(made);
  const auto again = recipe::format::format_recipe(text);
  const auto* same = std::get_if<std::string>(&again);
  fuzz::require(same && *same == text, "what is formatted stays as it is");
  return 0;
}
