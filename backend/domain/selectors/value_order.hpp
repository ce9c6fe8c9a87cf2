// Which of two values is less: for selectors such as fact.memory.total_mb>4096 and fact.os.version<12.5.
// Pure.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "base/values/value.hpp"

namespace backend::domain {

// A text that begins with a digit, or with a v and a digit: "12", "6.1.0-18-amd64", "v2.4".
bool is_version(std::string_view text);

// Part by part, digits as numbers and what stands between them as text: 1.9 < 1.10 < 1.10-2. A ~ comes before
// the end: 2.0~rc1 < 2.0. A v before the first digit does not count. A total order of versions.
std::weak_ordering compare_versions(std::string_view a, std::string_view b);

// The whole text as a decimal number, as JSON writes them; nothing when it is none.
std::optional<double> number_of(std::string_view text);

// What values are compared with: "less than 12.5".
struct Bound {
  enum class Kind { less, at_most, greater, at_least };
  Kind kind = Kind::less;
  std::string value;  // is_version(), or a number

  // A text is compared as a version; it is neither less nor greater when it is none.
  bool holds(std::string_view text) const;
  // A number is compared as a number, and is neither with what is none.
  bool holds(double number) const;
  // A list holds when one of its items does.
  bool holds(const base::Value& fact) const;

  // Whether every value for which this one holds is one for which `outer` does.
  bool is_within(const Bound& outer) const;
  // Whether it holds for every value that is equal to this text, be it text or a number.
  bool holds_for_all_written(std::string_view text) const;
};

}  // namespace backend::domain
