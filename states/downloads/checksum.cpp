#include "states/downloads/checksum.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"

namespace states::downloads {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

bool is_hex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

// Words of a line; the "*" with which sha256sum marks binary files is none of the name's.
std::optional<Checksum> sum_in(std::string_view line) {
  std::string word;
  const auto take = [&word]() -> std::optional<Checksum> {
    const std::string candidate = std::exchange(word, {});
    const auto kind = base::digest_kind_of_length(candidate.size());
    if (!kind || !is_hex(candidate)) return std::nullopt;
    return Checksum{*kind, lower(candidate)};
  };
  for (const char c : line) {
    if (c != ' ' && c != '\t' && c != '\r' && c != '=' && c != ':') {
      word += c;
      continue;
    }
    if (auto sum = take()) return sum;
  }
  return take();
}

bool names(std::string_view line, std::string_view file_name) {
  for (std::size_t at = line.find(file_name); at != std::string_view::npos;
       at = line.find(file_name, at + 1)) {
    const std::size_t end = at + file_name.size();
    constexpr std::string_view kAround = " \t\r*/()";
    const bool begins = at == 0 || kAround.find(line[at - 1]) != std::string_view::npos;
    const bool ends = end == line.size() || kAround.find(line[end]) != std::string_view::npos;
    if (begins && ends) return true;
  }
  return false;
}

}  // namespace

Result<Checksum> parse_checksum(std::string_view text) {
  const std::string_view given = base::trim(text);
  const std::size_t separator = given.find_first_of(":=");
  const std::string_view digits =
      separator == std::string_view::npos ? given : base::trim(given.substr(separator + 1));
  const auto kind = separator == std::string_view::npos
                        ? base::digest_kind_of_length(digits.size())
                        : base::digest_kind(lower(given.substr(0, separator)));
  if (!kind || !is_hex(digits) || digits.size() != base::digest_length(*kind))
    return Error(ErrorCode::invalid,
                 "'" + std::string(given.substr(0, 200)) +
                     "' is not a checksum: md5, sha1, sha256 or sha512, a colon, and its hexadecimal digits");
  return Checksum{*kind, lower(digits)};
}

Result<Checksum> find_checksum(std::string_view sums, std::string_view file_name) {
  const auto lines = base::split(sums, '\n');
  for (const std::string_view line : lines)
    if (names(line, file_name))
      if (auto sum = sum_in(line)) return std::move(*sum);
  for (const std::string_view line : lines) {
    if (base::trim(line).empty()) continue;
    if (auto sum = sum_in(line)) return std::move(*sum);
    break;
  }
  return Error(ErrorCode::invalid, "it holds no checksum of " + std::string(file_name));
}

Checksum checksum_of(base::DigestKind kind, std::string_view bytes) {
  base::Digest digest(kind);
  digest.add(bytes);
  return {kind, digest.finish()};
}

}  // namespace states::downloads
