// Formatting of recipes in YAML: two spaces, keys of a state in one order, quotes only where they are needed.
// Comments, blank lines and the bytes of texts stay.
//
// Nothing is written that does not mean the same: what came out is read again and compared with what went in,
// every time, and formatted once more to the same. What cannot be kept is refused. Pure; one thread a call.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "recipe/format/layout.hpp"

namespace recipe::format {

// A file that people write is far smaller; a bundle of 32 MiB is none.
inline constexpr std::size_t kLargest = 4 * 1024 * 1024;
inline constexpr std::size_t kMostValues = 200'000;
inline constexpr std::size_t kLargestResult = 16 * 1024 * 1024;
inline constexpr std::size_t kWidth = 100;  // a list or an object in one line is no wider

std::variant<std::string, Refusal> format_recipe(std::string_view text);

}  // namespace recipe::format
