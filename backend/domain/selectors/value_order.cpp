#include "backend/domain/selectors/value_order.hpp"

#include <algorithm>
#include <charconv>

namespace backend::domain {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view without_v(std::string_view text) {
  return text.size() > 1 && (text[0] == 'v' || text[0] == 'V') && is_digit(text[1]) ? text.substr(1) : text;
}

// Where a character of what stands between the numbers comes; the end is 0.
int rank(std::string_view text, std::size_t at) {
  if (at == text.size() || is_digit(text[at])) return 0;
  const auto c = static_cast<unsigned char>(text[at]);
  if (c == '~') return -1;
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter ? c : c + 256;
}

std::string_view take_digits(std::string_view& text) {
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

bool agrees(Bound::Kind kind, std::partial_ordering order) {
  switch (kind) {
    case Bound::Kind::less:
      return order < 0;
    case Bound::Kind::at_most:
      return order <= 0;
    case Bound::Kind::greater:
      return order > 0;
    case Bound::Kind::at_least:
      return order >= 0;
  }
  return false;
}

bool is_upper(Bound::Kind kind) {
  return kind == Bound::Kind::less || kind == Bound::Kind::at_most;
}

// Of two bounds on the same side, whether the first lets nothing through that the second does not, when
// their values stand to each other so.
bool is_tighter(Bound::Kind inner, Bound::Kind outer, std::partial_ordering order) {
  if (order == 0) {
    const bool lets_equal = inner == Bound::Kind::at_most || inner == Bound::Kind::at_least;
    return !lets_equal || inner == outer;
  }
  return is_upper(inner) ? order < 0 : order > 0;
}

}  // namespace

bool is_version(std::string_view text) {
  const std::string_view rest = without_v(text);
  return !rest.empty() && is_digit(rest[0]);
}

std::weak_ordering compare_versions(std::string_view a, std::string_view b) {
  a = without_v(a);
  b = without_v(b);
  while (!a.empty() || !b.empty()) {
    std::size_t at = 0;
    while (rank(a, at) != 0 || rank(b, at) != 0) {
      if (rank(a, at) != rank(b, at)) return rank(a, at) <=> rank(b, at);
      ++at;
    }
    a.remove_prefix(at);
    b.remove_prefix(at);
    const std::string_view one = take_digits(a), other = take_digits(b);
    if (one.size() != other.size()) return one.size() <=> other.size();
    if (one != other) return one <=> other;
  }
  return std::weak_ordering::equivalent;
}

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_written_so =
      !text.empty() && (is_digit(text.back()) && (is_digit(text[0]) || text[0] == '-'));
  if (error != std::errc() || end != text.data() + text.size() || !is_written_so) return std::nullopt;
  return number;
}

bool Bound::holds(std::string_view text) const {
  return is_version(text) && is_version(value) && agrees(kind, compare_versions(text, value));
}

bool Bound::holds(double number) const {
  const auto limit = number_of(value);
  return limit && agrees(kind, number <=> *limit);
}

bool Bound::holds(const base::Value& fact) const {
  using ValueKind = base::Value::Kind;
  switch (fact.kind()) {
    case ValueKind::string:
    case ValueKind::plain:
      return holds(fact.text());
    case ValueKind::integer:
    case ValueKind::real:
      return holds(*fact.as_number());
    case ValueKind::list:
      return std::ranges::any_of(fact.items(),
                                 [&](const base::Value& item) { return !item.is_list() && holds(item); });
    case ValueKind::boolean:
    case ValueKind::null:
    case ValueKind::object:
      return false;
  }
  return false;
}

bool Bound::is_within(const Bound& outer) const {
  if (is_upper(kind) != is_upper(outer.kind)) return false;
  // For numbers and for text there is an order each, and a fact may be either.
  if (const auto own = number_of(value)) {
    const auto limit = number_of(outer.value);
    if (!limit || !is_tighter(kind, outer.kind, *own <=> *limit)) return false;
  }
  return !is_version(value) ||
         (is_version(outer.value) && is_tighter(kind, outer.kind, compare_versions(value, outer.value)));
}

bool Bound::holds_for_all_written(std::string_view text) const {
  const auto number = number_of(text);
  return holds(text) && (!number || holds(*number));
}

}  // namespace backend::domain
