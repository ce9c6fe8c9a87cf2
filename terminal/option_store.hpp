// How rows of options store what was given, in the options that a program has: `.store =
// store_text<&Options::file>`, or `.store = store_by<store_color>` with a function of the program's own. The
// error says what is accepted. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "terminal/command_table.hpp"

namespace terminal {

base::Error must_be(std::string_view what, std::string_view value);

// What values mean. Text must not be empty; a flag is true unless a word says otherwise.
base::Result<std::string_view> text_value(std::string_view value);
base::Result<bool> flag_value(std::string_view value);
base::Result<std::int64_t> number_value(std::string_view value, std::int64_t least, std::int64_t most);

template <class Options, class Field>
Options& options_with(Field Options::*, CommandLine& line) {
  return static_cast<Options&>(line);
}

template <auto Member>
base::Result<void> store_text(CommandLine& line, std::string_view value) {
  const auto text = text_value(value);
  if (!text) return text.error();
  options_with(Member, line).*Member = *text;
  return {};
}

template <auto Member>
base::Result<void> store_more(CommandLine& line, std::string_view value) {
  const auto text = text_value(value);
  if (!text) return text.error();
  (options_with(Member, line).*Member).emplace_back(*text);
  return {};
}

template <auto Member, bool Meaning = true>
base::Result<void> store_flag(CommandLine& line, std::string_view value) {
  const auto given = flag_value(value);
  if (!given) return given.error();
  options_with(Member, line).*Member = *given == Meaning;
  return {};
}

template <auto Member, std::int64_t Least, std::int64_t Most>
base::Result<void> store_number(CommandLine& line, std::string_view value) {
  const auto number = number_value(value, Least, Most);
  if (!number) return number.error();
  options_with(Member, line).*Member = *number;
  return {};
}

template <class Options>
base::Result<void> store_with(base::Result<void> (*store)(Options&, std::string_view), CommandLine& line,
                              std::string_view value) {
  return store(static_cast<Options&>(line), value);
}
template <auto Store>
base::Result<void> store_by(CommandLine& line, std::string_view value) {
  return store_with(Store, line, value);
}

}  // namespace terminal
