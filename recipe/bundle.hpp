// A recipe that travels: its text with all files that it names in it, under the key `files`.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "recipe/inputs.hpp"

namespace recipe {

// Of all files together.
inline constexpr std::size_t kLargestBundle = 16 * 1024 * 1024;

// The text as it is when it names no files; else with them behind it, so that its lines keep their numbers.
// Refused: a name that is only known on the machine, a file that is missing, and more than fits. `name`
// decides the syntax by its ending.
base::Result<std::string> bundle(std::string_view name, std::string text, FileSource& files);

}  // namespace recipe
