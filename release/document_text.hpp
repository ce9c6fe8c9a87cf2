// What the documents' members may be, and their instants as text. For the files of this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "release/documents.hpp"

namespace release {

// "2026-11-18T00:00:00Z"
std::string to_text(Instant instant);
std::optional<Instant> parse_instant(std::string_view text);

// 1 to 64 of [0-9A-Za-z._-], beginning with a letter or a digit: nothing in it disturbs a shell, a path or a
// log.
bool is_word(std::string_view text);
bool is_sha256(std::string_view text);
// Relative, of words between slashes: stays below, whatever it is put behind.
bool is_path_below(std::string_view text);

}  // namespace release
