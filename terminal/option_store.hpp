// How rows of options store what was given, in whatever struct a program has for that: `.store =
// store_text<&Options::file>`. The error says what is accepted. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/text.hpp"
#include "base/value.hpp"

namespace terminal {

inline base::Error must_be(std::string_view what, std::string_view value) {
  return base::Error(base::ErrorCode::invalid,
                     "must be " + std::string(what) + ", not '" + std::string(value) + "'");
}

template <auto Member, class Options>
base::Result<void> store_text(Options& options, std::string_view value) {
  if (value.empty()) return base::Error(base::ErrorCode::invalid, "needs a value");
  options.*Member = value;
  return {};
}

template <auto Member, class Options>
base::Result<void> store_more(Options& options, std::string_view value) {
  if (value.empty()) return base::Error(base::ErrorCode::invalid, "needs a value");
  (options.*Member).emplace_back(value);
  return {};
}

template <auto Member, bool Meaning = true, class Options>
base::Result<void> store_flag(Options& options, std::string_view value) {
  const auto given = value.empty() ? std::optional(true) : base::Value::string(value).as_bool();
  if (!given) return must_be("true or false", value);
  options.*Member = *given == Meaning;
  return {};
}

template <auto Member, std::int64_t Least, std::int64_t Most, class Options>
base::Result<void> store_number(Options& options, std::string_view value) {
  const auto number = base::parse_integer(value);
  if (!number || *number < Least || *number > Most)
    return must_be("a number from " + std::to_string(Least) + " to " + std::to_string(Most), value);
  options.*Member = *number;
  return {};
}

}  // namespace terminal
