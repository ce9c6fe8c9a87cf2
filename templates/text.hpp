// Text as Python sees it: a row of code points, in UTF-8 here. All text in templates is well-formed UTF-8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace templates {

bool is_ascii(std::string_view text);
std::size_t count_characters(std::string_view text);
std::size_t character_size(std::string_view text, std::size_t at);
// The byte at which character number `index` begins; the size of the text past its end.
std::size_t byte_of(std::string_view text, std::size_t index);
void append_character(char32_t character, std::string& to);

// Calls `each(code point, its bytes)`.
template <class Function>
void for_each_character(std::string_view text, Function each) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = character_size(text, at);
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    char32_t code = byte(0);
    if (size == 2) code = (code & 0x1FU) << 6 | (byte(1) & 0x3FU);
    if (size == 3) code = (code & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
    if (size == 4)
      code = (code & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU);
    each(code, text.substr(at, size));
    at += size;
  }
}
std::u32string decoded(std::string_view text);
std::string encoded(std::u32string_view text);

bool is_space(char32_t c);
bool is_alphabetic(char32_t c);
bool is_decimal(char32_t c);
bool is_digit(char32_t c);
bool is_numeric(char32_t c);
bool is_alphanumeric(char32_t c);
bool is_word(char32_t c);  // \w
bool is_printable(char32_t c);
bool is_lower(char32_t c);
bool is_upper(char32_t c);
bool is_title(char32_t c);

std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
std::string capitalized(std::string_view text);
std::string titled(std::string_view text);  // str.title()
std::string swapped_case(std::string_view text);

// Whether there are letters with a case, and all of them have this one.
bool is_cased(std::string_view text, bool upper);

// Without blanks, or without the characters of `set`, at the ends.
std::string_view stripped(std::string_view text, bool left, bool right);
std::string_view stripped(std::string_view text, std::string_view set, bool left, bool right);
std::vector<std::string_view> lines_of(std::string_view text, bool keep_ends = false);

// HTML's & < > " ' as entities.
std::string escaped(std::string_view text);
// What is larger than `largest` is not made to its end: it is refused for its size.
std::string replaced(std::string_view text, std::string_view old, std::string_view by, std::int64_t most,
                     std::size_t largest);

}  // namespace templates
