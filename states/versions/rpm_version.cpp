#include "states/versions/rpm_version.hpp"

#include <algorithm>

#include "states/versions/digits.hpp"

namespace states::versions {

namespace {

bool says_something(char c) {
  return is_digit(c) || is_letter(c) || c == '~' || c == '^';
}

// "~" comes before the end of a version, "^" right behind it. True if one of the two decides, or was taken
// from both; `order` is 0 in the latter case.
bool compare_marks(std::string_view& a, std::string_view& b, int& order) {
  order = 0;
  for (const char mark : {'~', '^'}) {
    const bool left = a.starts_with(mark), right = b.starts_with(mark);
    if (!left && !right) continue;
    if (left && right) {
      a.remove_prefix(1);
      b.remove_prefix(1);
    } else if (mark == '~') {
      order = left ? -1 : 1;
    } else {
      order = left ? (b.empty() ? 1 : -1) : (a.empty() ? -1 : 1);
    }
    return true;
  }
  return false;
}

struct Parts {
  std::string_view epoch;
  std::string_view version;
  std::string_view release;
};

Parts split_version(std::string_view text) {
  Parts parts;
  parts.version = without_rpm_epoch(text);
  if (parts.version.size() < text.size())
    parts.epoch = text.substr(0, text.size() - parts.version.size() - 1);
  const std::size_t dash = parts.version.find('-');
  if (dash == std::string_view::npos) return parts;
  parts.release = parts.version.substr(dash + 1);
  parts.version = parts.version.substr(0, dash);
  return parts;
}

}  // namespace

std::string_view without_rpm_epoch(std::string_view version) {
  const std::size_t colon = version.find(':');
  return colon == std::string_view::npos ? version : version.substr(colon + 1);
}

int compare_rpm_parts(std::string_view a, std::string_view b) {
  while (true) {
    const auto is_noise = [](char c) { return !says_something(c); };
    take_while(a, is_noise);
    take_while(b, is_noise);
    if (int order = 0; compare_marks(a, b, order)) {
      if (order != 0) return order;
      continue;
    }
    if (a.empty() || b.empty()) return a.empty() ? (b.empty() ? 0 : -1) : 1;
    const bool is_number = is_digit(a.front());
    const auto belongs = is_number ? is_digit : is_letter;
    const std::string_view left = take_while(a, belongs), right = take_while(b, belongs);
    if (right.empty()) return is_number ? 1 : -1;  // numbers are newer than words
    const int order = is_number ? compare_digits(left, right) : left.compare(right);
    if (order != 0) return order;
  }
}

int compare_rpm_versions(std::string_view a, std::string_view b) {
  const Parts left = split_version(a), right = split_version(b);
  if (const int order = compare_digits(left.epoch, right.epoch); order != 0) return order;
  if (const int order = compare_rpm_parts(left.version, right.version); order != 0) return order;
  if (left.release.empty() || right.release.empty()) return 0;
  return compare_rpm_parts(left.release, right.release);
}

bool is_rpm_version(std::string_view text) {
  const Parts parts = split_version(text);
  const auto is_one = [](std::string_view part) {
    return std::ranges::all_of(part, [](char c) {
      return says_something(c) || std::string_view("._+").find(c) != std::string_view::npos;
    });
  };
  const bool has_epoch = without_rpm_epoch(text).size() < text.size();
  const bool is_epoch = !has_epoch || (!parts.epoch.empty() && std::ranges::all_of(parts.epoch, is_digit));
  return is_epoch && !parts.version.empty() && is_one(parts.version) && is_one(parts.release) &&
         !text.ends_with('-');
}

}  // namespace states::versions
