// JSON text to Value, with the limits checked while parsing: no tree exists of what is too deep or too large.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "base/values/value.hpp"

namespace base {

// What is wrong with a text, and where (bytes from its start).
struct SyntaxProblem {
  std::string message;
  std::uint32_t offset = 0;
};

// The values live in `arena` and in `text`, which must both stay. Refused: anything but one JSON value,
// duplicate keys, invalid UTF-8, numbers out of range.
std::variant<Value, SyntaxProblem> parse_json(std::string_view text, Arena& arena,
                                              DocumentLimits limits = {});

// The text as a JSON string, in quotes. Invalid UTF-8 becomes U+FFFD.
std::string json_quote(std::string_view text);
// The same, behind what `out` has already.
void append_quoted(std::string_view text, std::string& out);

// The value as compact JSON.
std::string to_json(const Value& value);

}  // namespace base
