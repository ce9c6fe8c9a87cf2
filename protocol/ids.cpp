#include "protocol/ids.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace protocol {

namespace {

bool is_invisible(char32_t code) {
  return (code >= 0x80 && code < 0xA0) ||       // C1 controls
         (code >= 0x200B && code <= 0x200F) ||  // zero width, left-to-right and right-to-left marks
         (code >= 0x2028 && code <= 0x202E) ||  // line and paragraph separators, embeddings, overrides
         (code >= 0x2060 && code <= 0x206F) ||  // isolates and other format characters
         code == 0xFEFF || code == 0x061C;
}

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

std::string_view problem_of_id(std::string_view id) {
  if (id.size() > kLongestId) return "is longer than 256 bytes";
  for (std::size_t at = 0; at < id.size();) {
    const auto byte = static_cast<unsigned char>(id[at]);
    if (byte < 0x20 || byte == 0x7F) return "has a control character in it";
    const std::size_t length = byte < 0x80 ? 1 : base::utf8_length(id, at);
    if (length == 0) return "is not valid UTF-8";
    if (length > 1 && is_invisible(base::utf8_character(id.substr(at, length))))
      return "has an invisible character in it";
    at += length;
  }
  return {};
}

std::string_view problem_of_name(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kLongestName) return "is longer than 128 bytes";
  const auto allowed = [](char c) { return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-'; };
  if (!std::ranges::all_of(name, allowed))
    return "must be made of letters (a to z), digits, '.', '_' and '-'";
  if (!is_letter_or_digit(name.front())) return "must begin with a letter or a digit";
  return {};
}

}  // namespace protocol
