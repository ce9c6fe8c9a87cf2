// How the rows of options store what was given. Pure; for the files of option rows only.
#pragma once

#include <string>
#include <string_view>

#include "base/text.hpp"
#include "base/value.hpp"
#include "ctl/options.hpp"

namespace ctl {

inline base::Error must_be(std::string_view what, std::string_view value) {
  return base::Error(base::ErrorCode::invalid,
                     "must be " + std::string(what) + ", not '" + std::string(value) + "'");
}

template <auto Member>
base::Result<void> store_text(Options& options, std::string_view value) {
  if (value.empty()) return base::Error(base::ErrorCode::invalid, "needs a value");
  options.*Member = value;
  return {};
}

template <auto Member>
base::Result<void> store_more(Options& options, std::string_view value) {
  if (value.empty()) return base::Error(base::ErrorCode::invalid, "needs a value");
  (options.*Member).emplace_back(value);
  return {};
}

template <auto Member, bool Meaning = true>
base::Result<void> store_flag(Options& options, std::string_view value) {
  const auto given = value.empty() ? std::optional(true) : base::Value::string(value).as_bool();
  if (!given) return must_be("true or false", value);
  options.*Member = *given == Meaning;
  return {};
}

template <auto Member, std::int64_t Least, std::int64_t Most>
base::Result<void> store_number(Options& options, std::string_view value) {
  const auto number = base::parse_integer(value);
  if (!number || *number < Least || *number > Most)
    return must_be("a number from " + std::to_string(Least) + " to " + std::to_string(Most), value);
  options.*Member = *number;
  return {};
}

}  // namespace ctl
