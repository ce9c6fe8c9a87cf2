#include "templates/text.hpp"

#include <algorithm>

#include "templates/unicode_tables.hpp"

namespace templates {

bool is_ascii(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::size_t character_size(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t size = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(size, text.size() - at);
}

std::size_t byte_of(std::string_view text, std::size_t index) {
  std::size_t at = 0;
  while (index > 0 && at < text.size()) {
    at += character_size(text, at);
    --index;
  }
  return at;
}

void append_character(char32_t c, std::string& to) {
  const auto put = [&to](std::uint32_t byte) { to.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0U | c >> 6);
    put(0x80U | (c & 0x3FU));
  } else if (c < 0x10000) {
    put(0xE0U | c >> 12);
    put(0x80U | (c >> 6 & 0x3FU));
    put(0x80U | (c & 0x3FU));
  } else {
    put(0xF0U | c >> 18);
    put(0x80U | (c >> 12 & 0x3FU));
    put(0x80U | (c >> 6 & 0x3FU));
    put(0x80U | (c & 0x3FU));
  }
}

std::u32string decoded(std::string_view text) {
  std::u32string codes;
  for_each_character(text, [&codes](char32_t c, std::string_view) { codes.push_back(c); });
  return codes;
}

std::string encoded(std::u32string_view text) {
  std::string bytes;
  for (const char32_t c : text)
    append_character(c, bytes);
  return bytes;
}

namespace {

bool is_in(std::span<const unicode::Span> spans, char32_t c) {
  const auto after =
      std::ranges::upper_bound(spans, static_cast<std::uint32_t>(c), {}, &unicode::Span::first);
  return after != spans.begin() && c <= std::prev(after)->last;
}

struct CaseTable {
  std::span<const unicode::Shift> shifts;
  std::span<const unicode::Several> several;
};

void append_mapped(char32_t c, const CaseTable& table, std::string& to) {
  const auto code = static_cast<std::uint32_t>(c);
  const auto one = std::ranges::lower_bound(table.several, code, {}, &unicode::Several::from);
  if (one != table.several.end() && one->from == code) {
    for (const std::uint32_t each : one->to)
      if (each != 0) append_character(each, to);
    return;
  }
  const auto after = std::ranges::upper_bound(table.shifts, code, {}, &unicode::Shift::first);
  if (after != table.shifts.begin()) {
    const unicode::Shift& shift = *std::prev(after);
    if (code <= shift.last && (code - shift.first) % shift.step == 0)
      return append_character(static_cast<char32_t>(static_cast<std::int64_t>(code) + shift.difference), to);
  }
  append_character(c, to);
}

CaseTable lower_table() {
  return {unicode::kToLower, unicode::kToLowerSeveral};
}
CaseTable upper_table() {
  return {unicode::kToUpper, unicode::kToUpperSeveral};
}
CaseTable title_table() {
  return {unicode::kToTitle, unicode::kToTitleSeveral};
}

void append_lower(char32_t c, std::string& to) {
  if (c < 0x80)
    to.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
  else
    append_mapped(c, lower_table(), to);
}
void append_upper(char32_t c, std::string& to) {
  if (c < 0x80)
    to.push_back(static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c));
  else
    append_mapped(c, upper_table(), to);
}

}  // namespace

bool is_space(char32_t c) {
  return c < 0x80 ? c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1c && c <= 0x1f) : is_in(unicode::kSpace, c);
}
bool is_alphabetic(char32_t c) {
  return is_in(unicode::kAlphabetic, c);
}
bool is_decimal(char32_t c) {
  return is_in(unicode::kDecimal, c);
}
bool is_digit(char32_t c) {
  return is_in(unicode::kDigit, c);
}
bool is_numeric(char32_t c) {
  return is_in(unicode::kNumeric, c);
}
bool is_alphanumeric(char32_t c) {
  return is_alphabetic(c) || is_decimal(c) || is_digit(c) || is_numeric(c);
}
bool is_word(char32_t c) {
  return c == '_' || is_alphanumeric(c);
}
bool is_printable(char32_t c) {
  return c < 0x80 ? c >= 0x20 && c < 0x7f : is_in(unicode::kPrintable, c);
}
bool is_lower(char32_t c) {
  return is_in(unicode::kLower, c);
}
bool is_upper(char32_t c) {
  return is_in(unicode::kUpper, c);
}
bool is_title(char32_t c) {
  return is_in(unicode::kTitle, c);
}

std::string to_lower(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for_each_character(text, [&result](char32_t c, std::string_view) { append_lower(c, result); });
  return result;
}

std::string to_upper(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for_each_character(text, [&result](char32_t c, std::string_view) { append_upper(c, result); });
  return result;
}

std::string capitalized(std::string_view text) {
  std::string result;
  bool first = true;
  for_each_character(text, [&](char32_t c, std::string_view) {
    if (first)
      append_mapped(c, title_table(), result);
    else
      append_lower(c, result);
    first = false;
  });
  return result;
}

std::string titled(std::string_view text) {
  std::string result;
  bool inside = false;
  for_each_character(text, [&](char32_t c, std::string_view) {
    if (inside)
      append_lower(c, result);
    else
      append_mapped(c, title_table(), result);
    inside = is_lower(c) || is_upper(c) || is_title(c);
  });
  return result;
}

std::string swapped_case(std::string_view text) {
  std::string result;
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    if (is_upper(c))
      append_lower(c, result);
    else if (is_lower(c))
      append_upper(c, result);
    else
      result += bytes;
  });
  return result;
}

bool is_cased(std::string_view text, bool upper) {
  bool any = false, fine = true;
  for_each_character(text, [&](char32_t c, std::string_view) {
    const bool is_high = is_upper(c), is_low = is_lower(c);
    any = any || (upper ? is_high : is_low);
    fine = fine && !is_title(c) && !(upper ? is_low : is_high);
  });
  return any && fine;
}

namespace {

template <class Predicate>
std::string_view stripped_if(std::string_view text, bool left, bool right, Predicate goes) {
  std::size_t first = text.size(), last = 0;  // of what stays
  std::size_t at = 0;
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    if (!goes(c, bytes)) {
      first = std::min(first, at);
      last = at + bytes.size();
    }
    at += bytes.size();
  });
  if (first == text.size()) return text.substr(0, left || right ? 0 : text.size());
  const std::size_t begin = left ? first : 0;
  return text.substr(begin, (right ? last : text.size()) - begin);
}

}  // namespace

std::string_view stripped(std::string_view text, bool left, bool right) {
  return stripped_if(text, left, right, [](char32_t c, std::string_view) { return is_space(c); });
}

std::string_view stripped(std::string_view text, std::string_view set, bool left, bool right) {
  return stripped_if(text, left, right, [set](char32_t, std::string_view bytes) {
    return set.find(bytes) != std::string_view::npos;
  });
}

std::vector<std::string_view> lines_of(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  std::size_t start = 0, at = 0;
  bool after_return = false;
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    at += bytes.size();
    if (c == '\n' && after_return) {
      after_return = false;
      if (keep_ends) lines.back() = text.substr(start, at - start);
      start = at;
      return;
    }
    if (after_return) start = at - bytes.size();
    after_return = false;
    const bool ends = c == '\n' || c == '\r' || c == 0x0b || c == 0x0c || (c >= 0x1c && c <= 0x1e) ||
                      c == 0x85 || c == 0x2028 || c == 0x2029;
    if (!ends) return;
    lines.push_back(text.substr(start, at - start - (keep_ends ? 0 : bytes.size())));
    if (c == '\r')
      after_return = true;
    else
      start = at;
  });
  if (after_return) start = at;
  if (start < text.size()) lines.push_back(text.substr(start));
  return lines;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&#34;";
    else if (c == '\'')
      result += "&#39;";
    else
      result += c;
  }
  return result;
}

std::string replaced(std::string_view text, std::string_view old, std::string_view by, std::int64_t most,
                     std::size_t largest) {
  std::string result;
  std::size_t at = 0;
  if (old.empty()) {  // before every character and at the end
    for_each_character(text, [&](char32_t, std::string_view bytes) {
      if (most != 0 && result.size() <= largest) result += by;
      if (most > 0) --most;
      if (result.size() <= largest) result += bytes;
    });
    if (most != 0) result += by;
    return result;
  }
  for (; most != 0 && result.size() <= largest; --most) {
    const std::size_t found = text.find(old, at);
    if (found == std::string_view::npos) break;
    result.append(text.substr(at, found - at)).append(by);
    at = found + old.size();
  }
  return result.append(text.substr(at));
}

}  // namespace templates
