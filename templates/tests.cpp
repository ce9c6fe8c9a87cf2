// The tests: what stands behind "is".
#include <algorithm>
#include <array>
#include <string>

#include "base/text.hpp"
#include "templates/builtins.hpp"
#include "templates/operators.hpp"
#include "templates/print.hpp"
#include "templates/text.hpp"

namespace templates {

namespace {

using A = const Arguments&;

template <Kind... kKinds>
Value is_one_of(A a) {
  return Value::boolean(((a[0].kind() == kKinds) || ...));
}

Value is_defined(A a) {
  return Value::boolean(!a[0].is_undefined());
}

template <int kRest>
Value has_rest(A a) {
  const Value rest = modulo(a[0], Value::integer(2), a.memory());
  return Value::boolean(equal(rest, Value::integer(kRest)));
}
Value is_divisible(A a) {
  return Value::boolean(equal(modulo(a[0], a[1], a.memory()), Value::integer(0)));
}

template <bool kWanted>
Value is_exactly(A a) {
  return Value::boolean(a[0].is(Kind::boolean) && (a[0].integer() != 0) == kWanted);
}
template <bool kUpper>
Value has_case(A a) {
  return Value::boolean(is_cased(a.text(0), kUpper));
}
Value is_sequence(A a) {
  return Value::boolean(has_length(a[0]) && !a[0].is(Kind::view));
}
Value can_be_walked(A a) {
  return Value::boolean(is_iterable(a[0]) || a[0].is(Kind::loop));
}
Value is_callable(A a) {
  constexpr auto kCallable =
      std::to_array<Kind>({Kind::undefined, Kind::function, Kind::macro, Kind::loop, Kind::joiner});
  return Value::boolean(std::ranges::find(kCallable, a[0].kind()) != kCallable.end());
}
Value is_same_as(A a) {
  return Value::boolean(is_same(a[0], a[1]));
}
Value is_escaped(A a) {
  return Value::boolean(a[0].is_text() && a[0].is_markup());
}
Value is_in(A a) {
  return Value::boolean(contains(a[1], a[0], a.memory()));
}
Value is_equal(A a) {
  return Value::boolean(equal(a[0], a[1]));
}
Value is_unequal(A a) {
  return Value::boolean(!equal(a[0], a[1]));
}
Value is_greater(A a) {
  return Value::boolean(compare(a[0], a[1], ">") == 1);
}
Value is_at_least(A a) {
  const int order = compare(a[0], a[1], ">=");
  return Value::boolean(order == 0 || order == 1);
}
Value is_less(A a) {
  return Value::boolean(compare(a[0], a[1], "<") == -1);
}
Value is_at_most(A a) {
  const int order = compare(a[0], a[1], "<=");
  return Value::boolean(order == 0 || order == -1);
}
Value is_filter(A a) {
  return Value::boolean(defined(a[0]).is_text() && find_filter(a[0].text()) != nullptr);
}
Value is_test(A a) {
  return Value::boolean(defined(a[0]).is_text() && find_test(a[0].text()) != nullptr);
}

// Ansible's.
Value is_truthy(A a) {
  return Value::boolean(is_true(a[0]));
}
Value is_falsy(A a) {
  return Value::boolean(!is_true(a[0]));
}
Value holds(A a) {
  return Value::boolean(contains(a[0], a[1], a.memory()));
}
bool is_within(const Value& some, const Value& all, Memory& memory) {
  const List& items = *to_list(some, memory);
  const Value whole = Value::list(to_list(all, memory));
  return std::all_of(items.begin(), items.end(),
                     [&](const Value& item) { return contains(whole, item, memory); });
}
Value is_subset(A a) {
  return Value::boolean(is_within(a[0], a[1], a.memory()));
}
Value is_superset(A a) {
  return Value::boolean(is_within(a[1], a[0], a.memory()));
}

// Numbers and words of a version, as Python's LooseVersion splits it.
List* version_parts(std::string_view text, Memory& memory) {
  List* parts = new_list(memory);
  const auto class_of = [](char c) {
    return c >= '0' && c <= '9' ? 1 : c >= 'a' && c <= 'z' ? 2 : c == '.' ? 3 : 4;
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    const int type = class_of(text[at]);
    while (end < text.size() && class_of(text[end]) == type && type != 3)
      ++end;
    const std::string_view part = text.substr(at, end - at);
    if (type == 1)
      parts->add(memory, Value::integer(parse_int(part, 10).value_or(0)));
    else if (type != 3)
      parts->add(memory, Value::text(part));
    at = end;
  }
  return parts;
}

Value has_version(A a) {
  const Value one = Value::list(version_parts(a.text(0), a.memory()));
  const Value other = Value::list(version_parts(a.text(1), a.memory()));
  const std::string_view sign = a.has(2) ? a.text(2) : "==";
  const auto is = [&](std::string_view x, std::string_view y, std::string_view z = {}) {
    return sign == x || sign == y || (!z.empty() && sign == z);
  };
  if (a.text(0).empty() || a.text(1).empty()) throw Failure("a version to compare is empty");
  if (is("==", "eq", "=")) return Value::boolean(equal(one, other));
  if (is("!=", "ne", "<>")) return Value::boolean(!equal(one, other));
  const int order = compare(one, other, sign);
  if (is("<", "lt")) return Value::boolean(order < 0);
  if (is("<=", "le")) return Value::boolean(order <= 0);
  if (is(">", "gt")) return Value::boolean(order > 0);
  if (is(">=", "ge")) return Value::boolean(order >= 0);
  throw Failure("'" + std::string(sign) + "' is no way to compare versions; use one of == != < <= > >=");
}

constexpr auto kTests = std::to_array<Builtin>({
    {"defined", {"value"}, 1, is_defined},
    {"undefined", {"value"}, 1, is_one_of<Kind::undefined>},
    {"none", {"value"}, 1, is_one_of<Kind::none>},
    {"boolean", {"value"}, 1, is_one_of<Kind::boolean>},
    {"true", {"value"}, 1, is_exactly<true>},
    {"false", {"value"}, 1, is_exactly<false>},
    {"integer", {"value"}, 1, is_one_of<Kind::integer>},
    {"float", {"value"}, 1, is_one_of<Kind::real>},
    {"number", {"value"}, 1, is_one_of<Kind::integer, Kind::real, Kind::boolean>},
    {"string", {"value"}, 1, is_one_of<Kind::text>},
    {"mapping", {"value"}, 1, is_one_of<Kind::dict>},
    {"sequence", {"value"}, 1, is_sequence},
    {"iterable", {"value"}, 1, can_be_walked},
    {"callable", {"value"}, 1, is_callable},
    {"sameas", {"value", "other"}, 2, is_same_as},
    {"escaped", {"value"}, 1, is_escaped},
    {"odd", {"value"}, 1, has_rest<1>},
    {"even", {"value"}, 1, has_rest<0>},
    {"divisibleby", {"value", "num"}, 2, is_divisible},
    {"lower", {"value"}, 1, has_case<false>},
    {"upper", {"value"}, 1, has_case<true>},
    {"in", {"value", "seq"}, 2, is_in},
    {"filter", {"value"}, 1, is_filter},
    {"test", {"value"}, 1, is_test},
    {"==", {"a", "b"}, 2, is_equal},
    {"eq", {"a", "b"}, 2, is_equal},
    {"equalto", {"a", "b"}, 2, is_equal},
    {"!=", {"a", "b"}, 2, is_unequal},
    {"ne", {"a", "b"}, 2, is_unequal},
    {">", {"a", "b"}, 2, is_greater},
    {"gt", {"a", "b"}, 2, is_greater},
    {"greaterthan", {"a", "b"}, 2, is_greater},
    {">=", {"a", "b"}, 2, is_at_least},
    {"ge", {"a", "b"}, 2, is_at_least},
    {"<", {"a", "b"}, 2, is_less},
    {"lt", {"a", "b"}, 2, is_less},
    {"lessthan", {"a", "b"}, 2, is_less},
    {"<=", {"a", "b"}, 2, is_at_most},
    {"le", {"a", "b"}, 2, is_at_most},
    {"truthy", {"value"}, 1, is_truthy},
    {"falsy", {"value"}, 1, is_falsy},
    {"contains", {"value", "item"}, 2, holds},
    {"subset", {"value", "of"}, 2, is_subset},
    {"superset", {"value", "of"}, 2, is_superset},
    {"version", {"value", "version", "operator"}, 2, has_version},
    {"version_compare", {"value", "version", "operator"}, 2, has_version},
});

}  // namespace

Rows plain_tests() {
  return kTests;
}

}  // namespace templates
