// What is said about a state, and about one change, in a plan: by an agent and by opsctl.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "terminal/console.hpp"

namespace terminal {

// All texts are made printable, and end with a newline. `width`: of the terminal; 0: no line is broken.

// Its lines behind `indent`; those that are too long are broken between words, with a hanging indent.
std::string message_text(std::string_view message, std::string_view indent, std::optional<Style> style,
                         const Paint& paint, std::size_t width);

struct ShownChange {
  std::string_view what;
  std::string_view before;  // "": it was not there, or is not known
  std::string_view after;
  std::string_view diff;
};

// "what: before -> after", and the diff. Only broken between the three: what people copy, such as a command
// or a path, stays in one piece, and so do the lines of the diff.
std::string change_text(const ShownChange& change, std::string_view indent, const Paint& paint,
                        std::size_t width);

}  // namespace terminal
