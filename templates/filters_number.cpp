// Jinja2's filters for numbers.
#include <array>
#include <cmath>
#include <string>

#include "templates/builtins.hpp"
#include "templates/operators.hpp"
#include "templates/print.hpp"

namespace templates {

namespace {

using A = const Arguments&;

Value absolute(A a) {
  if (!defined(a[0]).is_number())
    throw Failure("bad operand type for abs(): '" + std::string(type_name(a[0])) + "'");
  if (a[0].is(Kind::real)) return Value::real(std::fabs(a[0].real()));
  return a[0].integer() < 0 ? negate(a[0]) : Value::integer(a[0].integer());
}

Value integer(A a) {
  const Value otherwise = a.get(1, Value::integer(0));
  const Value& value = defined(a[0]);
  const auto of = [](std::optional<std::int64_t> whole) {
    return whole ? std::optional(Value::integer(*whole)) : std::nullopt;
  };
  if (value.is_integral()) return Value::integer(value.integer());
  if (value.is(Kind::real)) return of(whole_of(value.real())).value_or(otherwise);
  if (!value.is_text()) return otherwise;
  if (const auto whole = parse_int(value.text(), static_cast<int>(a.integer(2, 10))))
    return Value::integer(*whole);
  const auto real = parse_real(value.text());
  return real ? of(whole_of(*real)).value_or(otherwise) : otherwise;
}

Value real(A a) {
  const Value otherwise = a.get(1, Value::real(0));
  const Value& value = defined(a[0]);
  if (value.is_number()) return Value::real(value.number());
  const auto parsed = value.is_text() ? parse_real(value.text()) : std::nullopt;
  return parsed ? Value::real(*parsed) : otherwise;
}

Value round(A a) {
  const std::string_view method = a.has(2) ? a.text(2) : "common";
  const std::int64_t digits = a.integer(1, 0);
  if (method == "common") return rounded(a[0], digits);
  if (method != "ceil" && method != "floor") throw Failure("round: the method must be common, ceil or floor");
  const Value unit = power(Value::integer(10), Value::integer(digits));
  const Value scaled = multiply(a[0], unit, a.memory());
  Value whole = scaled;
  if (scaled.is(Kind::real)) {
    const auto number = whole_of(method == "ceil" ? std::ceil(scaled.real()) : std::floor(scaled.real()));
    if (!number) throw Failure("cannot convert float NaN to integer");
    whole = Value::integer(*number);
  }
  return divide(whole, unit);
}

Value file_size(A a) {
  const auto value = defined(a[0]).is_text() ? parse_real(a[0].text())
                     : a[0].is_number()      ? std::optional(a[0].number())
                                             : std::nullopt;
  if (!value) throw Failure("filesizeformat wants a number");
  static constexpr std::array<std::string_view, 8> kBinary{"KiB", "MiB", "GiB", "TiB",
                                                           "PiB", "EiB", "ZiB", "YiB"};
  static constexpr std::array<std::string_view, 8> kDecimal{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
  const bool binary = a.flag(1);
  const double base = binary ? 1024 : 1000;
  if (*value == 1) return Value::text("1 Byte");
  if (*value < base) {
    const auto whole = whole_of(*value);
    if (!whole) throw Failure("cannot convert float NaN to integer");
    return new_text(a.memory(), std::to_string(*whole) + " Bytes");
  }
  double unit = base;
  std::string_view name;
  for (const std::string_view each : binary ? kBinary : kDecimal) {
    unit *= base;
    name = each;
    if (*value < unit) break;
  }
  List number;
  number.add(a.memory(), Value::real(base * *value / unit));
  return new_text(a.memory(), format_braces("{:.1f} ", number, nullptr, a.memory()) + std::string(name));
}

constexpr auto kFilters = std::to_array<Builtin>({
    {"abs", {"x"}, 1, absolute},
    {"int", {"value", "default", "base"}, 1, integer},
    {"float", {"value", "default"}, 1, real},
    {"round", {"value", "precision", "method"}, 1, round},
    {"filesizeformat", {"value", "binary"}, 1, file_size},
});

}  // namespace

Rows number_filters() {
  return kFilters;
}

}  // namespace templates
