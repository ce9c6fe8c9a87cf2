// Numbers in versions: of any length, so that a date with a time behind it does not overflow.
#pragma once

#include <string_view>

namespace states::versions {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Takes the longest beginning of `rest` of which each character is as `belongs` says.
template <class Belongs>
std::string_view take_while(std::string_view& rest, Belongs belongs) {
  std::size_t size = 0;
  while (size < rest.size() && belongs(rest[size]))
    ++size;
  const std::string_view run = rest.substr(0, size);
  rest.remove_prefix(size);
  return run;
}

// The order of two runs of digits by their value; an empty one is 0.
inline int compare_digits(std::string_view a, std::string_view b) {
  const auto drop_zeros = [](std::string_view& digits) {
    while (digits.starts_with('0'))
      digits.remove_prefix(1);
  };
  drop_zeros(a);
  drop_zeros(b);
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

}  // namespace states::versions
