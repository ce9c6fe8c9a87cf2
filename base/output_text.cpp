#include "base/output_text.hpp"

#include <algorithm>
#include <cstddef>

#include "base/text.hpp"

namespace base {

namespace {

constexpr char kEscape = '\x1b';
constexpr char kBell = '\a';
constexpr std::string_view kProgressDots = "..........";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool in_range(char c, int low, int high) {
  const int value = static_cast<unsigned char>(c);
  return low <= value && value <= high;
}

std::size_t skip_range(std::string_view text, std::size_t at, int low, int high) {
  while (at < text.size() && in_range(text[at], low, high)) {
    ++at;
  }
  return at;
}

constexpr std::size_t kUnfinished = std::string_view::npos;

// The end of an OSC, DCS or similar string, which BEL or ESC \ terminates. One that is never terminated ends
// with its line, so that a stray byte cannot swallow the rest of the output.
std::size_t skip_control_string(std::string_view text, std::size_t at) {
  for (; at < text.size(); ++at) {
    if (text[at] == '\n') return at;
    if (text[at] == kBell) return at + 1;
    if (text[at] != kEscape) continue;
    if (at + 1 == text.size()) return kUnfinished;
    return text[at + 1] == '\\' ? at + 2 : at;
  }
  return kUnfinished;
}

// The position after the escape sequence (ECMA-48) that begins at `at`; kUnfinished if the text ends before
// it does.
std::size_t skip_escape_sequence(std::string_view text, std::size_t at) {
  const auto after_final = [&](std::size_t place, int low) {
    if (place == text.size()) return kUnfinished;
    return in_range(text[place], low, 0x7E) ? place + 1 : place;
  };
  ++at;
  if (at == text.size()) return kUnfinished;
  switch (text[at]) {
    case '[':  // CSI: parameters, intermediates, one final byte
      at = skip_range(text, at + 1, 0x30, 0x3F);
      return after_final(skip_range(text, at, 0x20, 0x2F), 0x40);
    case ']':  // OSC
    case 'P':  // DCS
    case 'X':  // SOS
    case '^':  // PM
    case '_':  // APC
      return skip_control_string(text, at + 1);
    default:  // such as ESC ( B
      return after_final(skip_range(text, at, 0x20, 0x2F), 0x30);
  }
}

// Appends what is no part of an escape sequence. Answers where an unfinished one begins; the text's end if
// there is none.
std::size_t append_without_escapes(std::string_view raw, std::string& text) {
  std::size_t at = 0;
  while (at < raw.size()) {
    const std::size_t escape = std::min(raw.find(kEscape, at), raw.size());
    text.append(raw, at, escape - at);
    if (escape == raw.size()) return escape;
    at = skip_escape_sequence(raw, escape);
    if (at == kUnfinished) return escape;
  }
  return raw.size();
}

std::string without_escape_sequences(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  append_without_escapes(raw, text);
  return text;
}

// What a terminal shows last of a line with carriage returns in it.
std::string_view last_version(std::string_view line) {
  while (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  const std::size_t overwritten = line.rfind('\r');
  if (overwritten != std::string_view::npos) line.remove_prefix(overwritten + 1);
  return line;
}

std::string without_progress(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  while (!text.empty()) {
    const std::size_t line_end = text.find('\n');
    const bool has_end = line_end != std::string_view::npos;
    const std::string_view line = last_version(text.substr(0, line_end));
    text.remove_prefix(has_end ? line_end + 1 : text.size());
    if (line.find(kProgressDots) != std::string_view::npos) continue;
    kept.append(line);
    if (has_end) kept.push_back('\n');
  }
  return kept;
}

struct Decoded {
  std::size_t length;  // of the character, or of the part of one that was well-formed; at least 1
  bool valid;
};

// The first character of `text` by table 3-7 of the Unicode standard: no overlong forms, surrogates or values
// past U+10FFFF.
Decoded decode(std::string_view text) {
  const int lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {1, true};
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  int low = 0x80;
  int high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  for (std::size_t i = 1; i < length; ++i) {
    if (i == text.size() || !in_range(text[i], low, high)) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const Decoded character = decode(text);
    valid.append(character.valid ? text.substr(0, character.length) : kReplacement);
    text.remove_prefix(character.length);
  }
  return valid;
}

}  // namespace

std::string clean_output(std::string_view raw) {
  return valid_utf8(without_progress(without_escape_sequences(raw)));
}

std::string EscapeRemover::add(std::string_view chunk) {
  held_ += chunk;
  std::string text;
  const std::size_t unfinished = append_without_escapes(held_, text);
  held_.erase(0, unfinished);
  if (held_.size() > kLongestSequence) held_.clear();
  return text;
}

std::size_t whole_characters(std::string_view text) {
  constexpr std::size_t kLongestPart = 3;
  for (std::size_t back = 1; back <= std::min(kLongestPart, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;  // inside a sequence
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return length > back ? text.size() - back : text.size();
  }
  return text.size();
}

std::string_view last_line(std::string_view output) {
  const std::string_view text = trim(output);
  const std::size_t before = text.find_last_of('\n');
  return trim(before == std::string_view::npos ? text : text.substr(before + 1));
}

}  // namespace base
