#include "states/debian/debian_version.hpp"

#include <algorithm>

#include "states/versions/digits.hpp"

namespace states::debian {

namespace {

using versions::compare_digits;
using versions::is_digit;
using versions::is_letter;
using versions::take_while;

bool is_sign(char c) {
  return !is_digit(c);
}

// Where a character stands in the order: "~", then the end of the run, then letters, then the rest.
int rank_at(std::string_view run, std::size_t at) {
  if (at >= run.size()) return 0;
  const char c = run[at];
  if (c == '~') return -1;
  constexpr int kBehindLetters = 256;
  return static_cast<unsigned char>(c) + (is_letter(c) ? 0 : kBehindLetters);
}

int compare_signs(std::string_view a, std::string_view b) {
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
    if (const int difference = rank_at(a, i) - rank_at(b, i); difference != 0) return difference;
  return 0;
}

int compare_parts(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const std::string_view a_signs = take_while(a, is_sign), b_signs = take_while(b, is_sign);
    if (const int signs = compare_signs(a_signs, b_signs); signs != 0) return signs;
    const std::string_view a_number = take_while(a, is_digit), b_number = take_while(b, is_digit);
    if (const int numbers = compare_digits(a_number, b_number); numbers != 0) return numbers;
  }
  return 0;
}

struct Parts {
  std::string_view epoch;
  std::string_view upstream;
  std::string_view revision;
};

Parts split_version(std::string_view version) {
  Parts parts{.upstream = without_epoch(version)};
  if (parts.upstream.size() < version.size())
    parts.epoch = version.substr(0, version.size() - parts.upstream.size() - 1);
  const std::size_t dash = parts.upstream.rfind('-');
  if (dash == std::string_view::npos) return parts;
  parts.revision = parts.upstream.substr(dash + 1);
  parts.upstream = parts.upstream.substr(0, dash);
  return parts;
}

}  // namespace

std::string_view without_epoch(std::string_view version) {
  const std::size_t colon = version.find(':');
  return colon == std::string_view::npos ? version : version.substr(colon + 1);
}

int compare_debian_versions(std::string_view a, std::string_view b) {
  const Parts left = split_version(a), right = split_version(b);
  if (const int epochs = compare_digits(left.epoch, right.epoch); epochs != 0) return epochs;
  if (const int upstreams = compare_parts(left.upstream, right.upstream); upstreams != 0) return upstreams;
  return compare_parts(left.revision, right.revision);
}

bool is_debian_version(std::string_view text) {
  const std::string_view rest = without_epoch(text);
  if (rest.empty() || !is_digit(rest.front())) return false;
  if (rest.size() < text.size()) {
    const std::string_view epoch = text.substr(0, text.size() - rest.size() - 1);
    if (epoch.empty() || !std::ranges::all_of(epoch, is_digit)) return false;
  }
  return std::ranges::all_of(rest, [](char c) {
    return is_digit(c) || is_letter(c) || std::string_view(".+-~:").find(c) != std::string_view::npos;
  });
}

}  // namespace states::debian
