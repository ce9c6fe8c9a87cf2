#include "release/document_text.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "base/utc_text.hpp"

namespace release {

namespace {

constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kLongestName = 128;  // "opsagent-<version>-linux-<arch>.tar.gz"
constexpr std::size_t kLongestPath = 255;

bool is_alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest && is_alphanumeric(text.front()) &&
         std::ranges::all_of(text,
                             [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

}  // namespace

std::string to_text(Instant instant) {
  const std::string text = base::utc_text(instant);
  return text.substr(0, text.size() - 5) + "Z";  // without ".000"
}

std::optional<Instant> parse_instant(std::string_view text) {
  const auto instant = base::parse_utc(text);
  if (!instant) return std::nullopt;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(*instant);
  // One instant, one text.
  if (seconds.time_since_epoch().count() < 0 || to_text(seconds) != text) return std::nullopt;
  return seconds;
}

bool is_word(std::string_view text) {
  return is_name(text, kLongestWord);
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_path_below(std::string_view text) {
  return !text.empty() && text.size() <= kLongestPath &&
         std::ranges::all_of(base::split(text, '/'),
                             [](std::string_view each) { return is_name(each, kLongestName); });
}

}  // namespace release
