// Text in lines of a certain width, for terminals.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace terminal {

// How many columns a text takes: its characters, without colour sequences. Wide characters count as one.
std::size_t display_width(std::string_view text);

// The words of `text` in lines of at most `width` columns (longer words stand alone). The first line starts
// with `first`, the others with `rest`; no newline at the end.
std::string wrap(std::string_view text, std::string_view first, std::string_view rest, std::size_t width);

// The same with parts that stay whole, whatever is in them: commands and other things that people copy. A
// `width` of 0: all in one line.
std::string wrap_parts(std::span<const std::string> parts, std::string_view first, std::string_view rest,
                       std::size_t width);

// The lines of `text` that are not empty, the first behind `first`, the others behind `rest`. Those that are
// longer than `width` columns are broken between words, unless `width` is 0. No newline at the end.
std::string wrap_lines(std::string_view text, std::string_view first, std::string_view rest,
                       std::size_t width);

// The text if it has no more columns than that; else its beginning, and "…" in the last of them.
std::string cut_to_width(std::string_view text, std::size_t width);

// Control characters made visible ("\x1b" as "\\x1b"), so that no text of a file or program can play with the
// terminal; also those that change how a line is read ("\\u202e": base::changes_reading()). What is not UTF-8
// is U+FFFD. Tabs stay; newlines too with `keep_newlines`.
std::string printable(std::string_view text, bool keep_newlines = false);

// The lines that are not empty, joined: "a\n\nb" with "; " is "a; b".
std::string join_lines(std::string_view text, std::string_view separator);

}  // namespace terminal
