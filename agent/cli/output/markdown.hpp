// Markdown for terminals: as much of it as the pages of states use.
#pragma once

#include <string>
#include <string_view>

#include "terminal/console.hpp"

namespace agent::cli {

// Paragraphs and list items are filled to `width`, code blocks and tables stay as they are; `code` and
// **strong** words are coloured (without colours they keep their marks, which read well as they are).
std::string render_markdown(std::string_view text, const terminal::Paint& paint, std::size_t width);

}  // namespace agent::cli
