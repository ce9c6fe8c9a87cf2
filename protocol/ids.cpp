#include "protocol/ids.hpp"

#include "base/text.hpp"

namespace protocol {

namespace {

// The character that the UTF-8 sequence of `length` bytes stands for; 0 for those of four bytes, which hold
// none that we look for.
unsigned code_point(std::string_view sequence) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned>(sequence[at]) & 0xFF; };
  switch (sequence.size()) {
    case 2:
      return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3:
      return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    default:
      return 0;
  }
}

bool is_invisible(unsigned code) {
  return (code >= 0x80 && code < 0xA0) ||       // C1 controls
         (code >= 0x200B && code <= 0x200F) ||  // zero width, left-to-right and right-to-left marks
         (code >= 0x2028 && code <= 0x202E) ||  // line and paragraph separators, embeddings, overrides
         (code >= 0x2060 && code <= 0x206F) ||  // isolates and other format characters
         code == 0xFEFF || code == 0x061C;
}

}  // namespace

std::string_view problem_of_id(std::string_view id) {
  if (id.size() > kLongestId) return "is longer than 256 bytes";
  for (std::size_t at = 0; at < id.size();) {
    const auto byte = static_cast<unsigned char>(id[at]);
    if (byte < 0x20 || byte == 0x7F) return "has a control character in it";
    const std::size_t length = byte < 0x80 ? 1 : base::utf8_length(id, at);
    if (length == 0) return "is not valid UTF-8";
    if (length > 1 && is_invisible(code_point(id.substr(at, length))))
      return "has an invisible character in it";
    at += length;
  }
  return {};
}

std::string_view problem_of_name(std::string_view name) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (name.empty()) return "is empty";
  if (name.size() > kLongestName) return "is longer than 128 bytes";
  if (!is_alphanumeric(name.front())) return "must begin with a letter or a digit";
  for (const char c : name)
    if (!is_alphanumeric(c) && c != '.' && c != '_' && c != '-')
      return "may only have letters, digits, '.', '_' and '-' in it";
  return {};
}

}  // namespace protocol
