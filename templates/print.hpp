// How values read as text: Python's str() and repr(), JSON as json.dumps() writes it, and text as numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "templates/value.hpp"

namespace templates {

// str(): behind what `out` has already.
void append_text(const Value& value, std::string& out, Memory& memory);
std::string to_text(const Value& value, Memory& memory);
// The same as a view: of the value itself if it is text.
std::string_view text_view(const Value& value, Memory& memory);
void append_repr(const Value& value, std::string& out, Memory& memory);

// The shortest text that reads back as the same double: "1.0", "1e+16", "inf".
std::string real_text(double value);

struct JsonStyle {
  int indent = -1;  // -1: one line
  std::string_view between = ", ";
  std::string_view after_key = ": ";
  bool sorted = false;
  bool ascii = true;
};
void append_json(const Value& value, const JsonStyle& style, std::string& out, Memory& memory);

// int(text, base) and float(text); nothing where Python raises ValueError. A Failure for an integer of more
// than 64 bits.
std::optional<std::int64_t> parse_int(std::string_view text, int base);
std::optional<double> parse_real(std::string_view text);
// int() of a double: a Failure for infinities and what has no 64 bits.
std::optional<std::int64_t> whole_of(double value);

[[noreturn]] void too_large_integer();

}  // namespace templates
