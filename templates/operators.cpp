#include "templates/operators.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "templates/print.hpp"
#include "templates/text.hpp"

namespace templates {

namespace {

[[noreturn]] void unsupported(std::string_view sign, const Value& a, const Value& b) {
  throw Failure("unsupported operand type(s) for " + std::string(sign) + ": '" + std::string(type_name(a)) +
                "' and '" + std::string(type_name(b)) + "'");
}

void check_defined(const Value& a, const Value& b) {
  defined(a);
  defined(b);
}

bool are_numbers(const Value& a, const Value& b) {
  return a.is_number() && b.is_number();
}
bool are_integral(const Value& a, const Value& b) {
  return a.is_integral() && b.is_integral();
}

[[noreturn]] void by_zero(std::string_view what) {
  throw Failure(std::string(what) + " by zero");
}

Value joined(const List& a, const List& b, bool is_tuple, Memory& memory) {
  List* list = new_list(memory, a.size + b.size);
  for (const List* each : {&a, &b})
    for (const Value& item : *each)
      list->add(memory, item);
  memory.step(list->size);
  return is_tuple ? Value::tuple(list) : Value::list(list);
}

Value repeated(const Value& value, std::int64_t times, Memory& memory) {
  const std::size_t count = times < 0 ? 0 : static_cast<std::size_t>(times);
  if (value.is_text()) {
    const std::string_view text = value.text();
    if (count > 0 && text.size() > memory.limits().output / count)
      memory.check_text(memory.limits().output + 1);
    char* at = memory.text(text.size() * count);
    for (std::size_t i = 0; i < count && !text.empty(); ++i)
      text.copy(at + i * text.size(), text.size());
    const std::string_view result(at, text.size() * count);
    return value.is_markup() ? Value::markup(result) : Value::text(result);
  }
  const List& from = value.list();
  List* list = new_list(memory);
  if (from.size > 0) {
    memory.step(count);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < from.size; ++k) {
        memory.step();
        list->add(memory, from.items[k]);
      }
  }
  return value.is(Kind::tuple) ? Value::tuple(list) : Value::list(list);
}

double floor_mod(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) rest += b;
  } else {
    rest = std::copysign(0.0, b);
  }
  return rest;
}

double floor_div(double a, double b) {
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1.0;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

}  // namespace

Value add(const Value& a, const Value& b, Memory& memory) {
  check_defined(a, b);
  if (are_integral(a, b)) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a.integer(), b.integer(), &sum)) too_large_integer();
    return Value::integer(sum);
  }
  if (are_numbers(a, b)) return Value::real(a.number() + b.number());
  if (a.is_text() && b.is_text()) {
    std::string_view x = a.text(), y = b.text();
    const bool markup = a.is_markup() || b.is_markup();
    if (markup && !a.is_markup()) x = memory.copy(escaped(x));
    if (markup && !b.is_markup()) y = memory.copy(escaped(y));
    char* at = memory.text(x.size() + y.size());
    x.copy(at, x.size());
    y.copy(at + x.size(), y.size());
    const std::string_view text(at, x.size() + y.size());
    return markup ? Value::markup(text) : Value::text(text);
  }
  if (a.kind() == b.kind() && a.is_sequence()) return joined(a.list(), b.list(), a.is(Kind::tuple), memory);
  unsupported("+", a, b);
}

Value subtract(const Value& a, const Value& b) {
  check_defined(a, b);
  if (!are_numbers(a, b)) unsupported("-", a, b);
  if (!are_integral(a, b)) return Value::real(a.number() - b.number());
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(a.integer(), b.integer(), &difference)) too_large_integer();
  return Value::integer(difference);
}

Value multiply(const Value& a, const Value& b, Memory& memory) {
  check_defined(a, b);
  if (are_integral(a, b)) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a.integer(), b.integer(), &product)) too_large_integer();
    return Value::integer(product);
  }
  if (are_numbers(a, b)) return Value::real(a.number() * b.number());
  const auto can_repeat = [](const Value& value) { return value.is_text() || value.is_sequence(); };
  if (can_repeat(a) && b.is_integral()) return repeated(a, b.integer(), memory);
  if (can_repeat(b) && a.is_integral()) return repeated(b, a.integer(), memory);
  unsupported("*", a, b);
}

Value divide(const Value& a, const Value& b) {
  check_defined(a, b);
  if (!are_numbers(a, b)) unsupported("/", a, b);
  if (b.number() == 0) by_zero(are_integral(a, b) ? "division" : "float division");
  if (!are_integral(a, b)) return Value::real(a.number() / b.number());
  return Value::real(
      static_cast<double>(static_cast<long double>(a.integer()) / static_cast<long double>(b.integer())));
}

Value divide_floor(const Value& a, const Value& b) {
  check_defined(a, b);
  if (!are_numbers(a, b)) unsupported("//", a, b);
  if (b.number() == 0) by_zero("integer division or modulo");
  if (!are_integral(a, b)) return Value::real(floor_div(a.number(), b.number()));
  const std::int64_t x = a.integer(), y = b.integer();
  if (y == -1) return negate(Value::integer(x));
  const std::int64_t quotient = x / y;
  return Value::integer(x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient);
}

Value modulo(const Value& a, const Value& b, Memory& memory) {
  if (a.is_text()) return new_text(memory, format_percent(a.text(), b, memory));
  check_defined(a, b);
  if (!are_numbers(a, b)) unsupported("%", a, b);
  if (b.number() == 0) by_zero("modulo");
  if (!are_integral(a, b)) return Value::real(floor_mod(a.number(), b.number()));
  const std::int64_t x = a.integer(), y = b.integer();
  if (y == -1) return Value::integer(0);
  const std::int64_t rest = x % y;
  return Value::integer(rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest);
}

Value power(const Value& a, const Value& b) {
  check_defined(a, b);
  if (!are_numbers(a, b)) unsupported("** or pow()", a, b);
  if (a.number() == 0 && b.number() < 0) throw Failure("0.0 cannot be raised to a negative power");
  if (are_integral(a, b) && b.integer() >= 0) {
    std::int64_t result = 1, base = a.integer(), left = b.integer();
    while (left > 0) {
      if ((left & 1) != 0 && __builtin_mul_overflow(result, base, &result)) too_large_integer();
      left >>= 1;
      if (left > 0 && __builtin_mul_overflow(base, base, &base)) too_large_integer();
    }
    return Value::integer(result);
  }
  const double x = a.number(), y = b.number();
  const double result = std::pow(x, y);
  if (x < 0 && std::isfinite(x) && std::isfinite(y) && y != std::floor(y))
    throw Failure("a negative number to a power that is not whole is no real number");
  if (std::isinf(result) && std::isfinite(x) && std::isfinite(y)) throw Failure("the result is too large");
  return Value::real(result);
}

Value negate(const Value& a) {
  if (defined(a).is(Kind::real)) return Value::real(-a.real());
  if (!a.is_integral()) throw Failure("bad operand type for unary -: '" + std::string(type_name(a)) + "'");
  std::int64_t result = 0;
  if (__builtin_sub_overflow(std::int64_t{0}, a.integer(), &result)) too_large_integer();
  return Value::integer(result);
}

Value positive(const Value& a) {
  if (defined(a).is(Kind::real)) return a;
  if (!a.is_integral()) throw Failure("bad operand type for unary +: '" + std::string(type_name(a)) + "'");
  return Value::integer(a.integer());
}

namespace {

struct Bounds {
  std::int64_t start, stop, step;
};

std::optional<std::int64_t> index_of(const Value& value) {
  if (defined(value).is_none()) return std::nullopt;
  if (!value.is_integral()) throw Failure("slice indices must be integers or None");
  return value.integer();
}

// As Python's slice.indices().
Bounds bounds_of(const Value& start, const Value& stop, const Value& step, std::int64_t size) {
  const std::int64_t by = index_of(step).value_or(1);
  if (by == 0) throw Failure("slice step cannot be zero");
  const std::int64_t low = by < 0 ? -1 : 0, high = by < 0 ? size - 1 : size;
  const auto clipped = [&](const Value& given, std::int64_t otherwise) {
    const auto index = index_of(given);
    if (!index) return otherwise;
    if (*index < 0) return std::max(*index < -size ? low : *index + size, low);
    return std::min(*index, high);
  };
  return {clipped(start, by < 0 ? high : low), clipped(stop, by < 0 ? low : high), by};
}

template <class Function>
void for_each_index(const Bounds& bounds, Function each) {
  if (bounds.step > 0)
    for (std::int64_t i = bounds.start; i < bounds.stop;) {
      each(static_cast<std::size_t>(i));
      if (__builtin_add_overflow(i, bounds.step, &i)) return;
    }
  else
    for (std::int64_t i = bounds.start; i > bounds.stop;) {
      each(static_cast<std::size_t>(i));
      if (__builtin_add_overflow(i, bounds.step, &i)) return;
    }
}

}  // namespace

Value slice(const Value& value, const Value& start, const Value& stop, const Value& step, Memory& memory) {
  if (defined(value).is_text()) {
    const std::u32string codes = decoded(value.text());
    memory.step(codes.size() / 64);
    std::u32string part;
    for_each_index(bounds_of(start, stop, step, static_cast<std::int64_t>(codes.size())),
                   [&](std::size_t i) { part += codes[i]; });
    const std::string_view text = memory.copy(encoded(part));
    return value.is_markup() ? Value::markup(text) : Value::text(text);
  }
  if (value.is(Kind::range)) {
    const Range& range = value.as<Range>();
    const Bounds bounds = bounds_of(start, stop, step, static_cast<std::int64_t>(range.size));
    std::size_t count = 0;
    for_each_index(bounds, [&](std::size_t) { ++count; });
    const auto place = [&](std::int64_t index) { return range.start + index * range.step; };
    return Value::of(
        memory.make<Range>(Range{place(bounds.start), place(bounds.stop), range.step * bounds.step, count}));
  }
  if (!value.is_sequence()) throw Failure("'" + std::string(type_name(value)) + "' object cannot be sliced");
  List* part = new_list(memory);
  const List& from = value.list();
  for_each_index(bounds_of(start, stop, step, static_cast<std::int64_t>(from.size)), [&](std::size_t i) {
    memory.step();
    part->add(memory, from.items[i]);
  });
  return value.is(Kind::tuple) ? Value::tuple(part) : Value::list(part);
}

Value rounded(const Value& value, std::int64_t digits) {
  if (!defined(value).is_number())
    throw Failure("type " + std::string(type_name(value)) + " doesn't define __round__ method");
  if (value.is_integral()) {
    if (digits >= 0) return Value::integer(value.integer());
    if (digits < -18) return Value::integer(0);
    std::int64_t unit = 1;
    for (std::int64_t i = digits; i < 0; ++i)
      unit *= 10;
    const Value whole = divide_floor(Value::integer(value.integer()), Value::integer(unit));
    const std::int64_t rest = value.integer() - whole.integer() * unit;
    const bool up = rest * 2 > unit || (rest * 2 == unit && whole.integer() % 2 != 0);
    std::int64_t result = 0;
    if (__builtin_mul_overflow(whole.integer() + (up ? 1 : 0), unit, &result)) too_large_integer();
    return Value::integer(result);
  }
  const double real = value.real();
  if (!std::isfinite(real) || digits > 323) return value;
  if (digits < -308) return Value::real(std::copysign(0.0, real));
  if (digits >= 0) {
    // Decimal digits of the exact value, rounded half to even: what printf does.
    std::array<char, 800> buffer;
    std::snprintf(buffer.data(), buffer.size(), "%.*f", static_cast<int>(digits), real);
    return Value::real(std::strtod(buffer.data(), nullptr));
  }
  const double unit = std::pow(10.0, static_cast<double>(-digits));
  const double result = std::nearbyint(real / unit) * unit;
  return Value::real(result);
}

}  // namespace templates
