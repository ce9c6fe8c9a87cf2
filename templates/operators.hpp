// What the operators of expressions do, with Python's rules for numbers, text and lists.
#pragma once

#include "templates/value.hpp"

namespace templates {

Value add(const Value& a, const Value& b, Memory& memory);
Value subtract(const Value& a, const Value& b);
Value multiply(const Value& a, const Value& b, Memory& memory);
Value divide(const Value& a, const Value& b);
Value divide_floor(const Value& a, const Value& b);
Value modulo(const Value& a, const Value& b, Memory& memory);  // of text: its format
Value power(const Value& a, const Value& b);
Value negate(const Value& a);
Value positive(const Value& a);

// text % values, and text.format(values, names).
std::string format_percent(std::string_view format, const Value& values, Memory& memory);
std::string format_braces(std::string_view format, const List& values, const Dict* names, Memory& memory);

// value[start:stop:step]; each of the three may be none.
Value slice(const Value& value, const Value& start, const Value& stop, const Value& step, Memory& memory);

// Python's round().
Value rounded(const Value& value, std::int64_t digits);

}  // namespace templates
