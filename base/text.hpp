// Small questions about text that several folders ask.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace base {

bool equal_ignoring_case(std::string_view a, std::string_view b);

// The whole text as a decimal number; nothing when there is anything else in it or it does not fit.
std::optional<std::int64_t> parse_integer(std::string_view text);

std::string_view trim(std::string_view text);

// The pieces between separators; an empty text has no pieces.
std::vector<std::string_view> split(std::string_view text, char separator);
template <std::same_as<std::string> Text>
std::vector<std::string_view> split(Text&& text, char separator) = delete;  // they would be of what is gone
// The words between runs of blanks, tabs and newlines.
std::vector<std::string_view> split_words(std::string_view text);
template <std::same_as<std::string> Text>
std::vector<std::string_view> split_words(Text&& text) = delete;

std::string join(std::span<const std::string> parts, std::string_view separator);

// The candidate that a person who typed `word` most likely meant, if one is close enough to suggest: one
// letter wrong, missing, too many or swapped with its neighbour, or two in words of at least six letters. The
// case of letters does not count.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates);
// The same for the end of a message: "; did you mean '--json'?", with "--" as the prefix. Empty if none is
// near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates,
                         std::string_view prefix = {});

// True if all of it is well-formed UTF-8.
bool is_utf8(std::string_view text);

// Reads one well-formed UTF-8 sequence at `at`; its length in bytes, 0 if there is none.
std::size_t utf8_length(std::string_view text, std::size_t at);

// The character that one well-formed UTF-8 sequence stands for.
char32_t utf8_character(std::string_view sequence);

// Whether a character is shown as nothing and changes how the text around it is read: the marks, embeddings,
// overrides and isolates that set its direction, and the line separators that are not a newline. With one of
// them a line can look like another, or like two.
bool changes_reading(char32_t character);

// The text if it is no longer than that; else its beginning, cut between two characters, and a mark that says
// how long it was: "abc… (1000 bytes)". For what peers say and nobody needs whole.
std::string cut_text(std::string_view text, std::size_t longest);
// How much of a peer's text a line of a log has: enough to see what it is about.
inline constexpr std::size_t kLongestQuote = 256;
inline std::string quote_of(std::string_view text) {
  return cut_text(text, kLongestQuote);
}

}  // namespace base
