// Unified diffs in colours.
#pragma once

#include <string>
#include <string_view>

#include "terminal/console.hpp"

namespace terminal {

// The lines of a diff, each behind `indent`, made printable.
std::string diff_text(std::string_view diff, std::string_view indent, const Paint& paint);

}  // namespace terminal
