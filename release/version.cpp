#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "release/documents.hpp"

namespace release {

namespace {

constexpr std::size_t kLongestVersion = 64;
constexpr std::size_t kLongestNumber = 9;

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_number(std::string_view text) {
  return is_digits(text) && text.size() <= kLongestNumber && (text.size() == 1 || text.front() != '0');
}

bool is_pre_release_part(std::string_view text) {
  if (is_digits(text)) return is_number(text);
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

struct Parts {
  std::string_view numbers;      // "1.4.0"
  std::string_view pre_release;  // "rc.1"
};

Parts split_version(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return {text, {}};
  return {text.substr(0, dash), text.substr(dash + 1)};
}

std::strong_ordering compare_part(std::string_view a, std::string_view b) {
  if (is_digits(a) && is_digits(b)) {
    if (const auto by_length = a.size() <=> b.size(); by_length != 0) return by_length;
    return a <=> b;
  }
  if (is_digits(a) != is_digits(b))
    return is_digits(a) ? std::strong_ordering::less : std::strong_ordering::greater;
  return a <=> b;
}

std::strong_ordering compare_lists(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> left = base::split(a, '.'), right = base::split(b, '.');
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i)
    if (const auto order = compare_part(left[i], right[i]); order != 0) return order;
  return left.size() <=> right.size();
}

}  // namespace

bool is_version(std::string_view text) {
  if (text.size() > kLongestVersion) return false;
  const Parts parts = split_version(text);
  const auto numbers = base::split(parts.numbers, '.');
  if (numbers.size() != 3 || !std::ranges::all_of(numbers, is_number)) return false;
  if (parts.numbers.size() == text.size()) return true;
  return !parts.pre_release.empty() &&
         std::ranges::all_of(base::split(parts.pre_release, '.'), is_pre_release_part);
}

std::strong_ordering compare_versions(std::string_view a, std::string_view b) {
  const Parts left = split_version(a), right = split_version(b);
  if (const auto order = compare_lists(left.numbers, right.numbers); order != 0) return order;
  // What has no pre-release is the release itself, and comes after them.
  if (left.pre_release.empty() || right.pre_release.empty())
    return left.pre_release.empty() <=> right.pre_release.empty();
  return compare_lists(left.pre_release, right.pre_release);
}

}  // namespace release
