#include "base/values/value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <unordered_set>

#include "base/text.hpp"

namespace base {

Value Value::boolean(bool value) {
  Value v;
  v.kind_ = Kind::boolean;
  v.boolean_ = value;
  return v;
}

Value Value::integer(std::int64_t value) {
  Value v;
  v.kind_ = Kind::integer;
  v.integer_ = value;
  return v;
}

Value Value::real(double value) {
  Value v;
  v.kind_ = Kind::real;
  v.real_ = value;
  return v;
}

Value Value::string(std::string_view text) {
  Value v;
  v.kind_ = Kind::string;
  v.text_ = text.data();
  v.size_ = static_cast<std::uint32_t>(text.size());
  return v;
}

Value Value::plain(std::string_view text) {
  Value v = string(text);
  v.kind_ = Kind::plain;
  return v;
}

Value Value::list(std::span<const Value> items) {
  Value v;
  v.kind_ = Kind::list;
  v.items_ = items.data();
  v.size_ = static_cast<std::uint32_t>(items.size());
  return v;
}

Value Value::object(std::span<const Member> members) {
  Value v;
  v.kind_ = Kind::object;
  v.members_ = members.data();
  v.size_ = static_cast<std::uint32_t>(members.size());
  return v;
}

std::string_view Value::text() const {
  return is_text() ? std::string_view(text_, size_) : std::string_view();
}

std::span<const Value> Value::items() const {
  return is_list() ? std::span(items_, size_) : std::span<const Value>();
}

std::span<const Member> Value::members() const {
  return is_object() ? std::span(members_, size_) : std::span<const Member>();
}

const Value* Value::find(std::string_view key) const {
  for (const Member& member : members())
    if (member.key == key) return &member.value;
  return nullptr;
}

std::optional<bool> Value::as_bool() const {
  if (kind_ == Kind::boolean) return boolean_;
  if (kind_ == Kind::integer && (integer_ == 0 || integer_ == 1)) return integer_ == 1;
  if (!is_text()) return std::nullopt;
  static constexpr std::array<std::string_view, 5> kTrue{"true", "yes", "y", "on", "1"};
  static constexpr std::array<std::string_view, 5> kFalse{"false", "no", "n", "off", "0"};
  const auto same = [this](std::string_view word) { return equal_ignoring_case(text(), word); };
  if (std::ranges::any_of(kTrue, same)) return true;
  if (std::ranges::any_of(kFalse, same)) return false;
  return std::nullopt;
}

std::optional<std::int64_t> Value::as_integer() const {
  if (kind_ == Kind::integer) return integer_;
  if (!is_text()) return std::nullopt;
  return parse_integer(text());
}

std::optional<double> Value::as_number() const {
  if (kind_ == Kind::integer) return static_cast<double>(integer_);
  if (kind_ == Kind::real) return real_;
  if (!is_text() || text().empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text_, text_ + size_, value);
  if (error != std::errc() || end != text_ + size_) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;  // "nan" and "inf" are words
  return value;
}

std::optional<std::string_view> Value::as_line(Arena& arena) const {
  if (is_text()) return text();
  std::array<char, 32> buffer;
  std::to_chars_result done{};
  if (kind_ == Kind::integer)
    done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), integer_);
  else if (kind_ == Kind::real)
    done = std::to_chars(buffer.data(), buffer.data() + buffer.size(), real_);
  else
    return std::nullopt;
  return arena.copy(std::string_view(buffer.data(), static_cast<std::size_t>(done.ptr - buffer.data())));
}

std::string_view kind_name(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::null:
      return "nothing";
    case Value::Kind::boolean:
      return "a boolean";
    case Value::Kind::integer:
    case Value::Kind::real:
      return "a number";
    case Value::Kind::string:
    case Value::Kind::plain:
      return "text";
    case Value::Kind::list:
      return "a list";
    case Value::Kind::object:
      return "an object";
  }
  return "a value";
}

std::string ValueBuilder::begin(std::uint32_t offset, bool is_object) {
  if (open_.size() >= limits_.depth) return "nested deeper than " + std::to_string(limits_.depth) + " levels";
  open_.push_back({is_object ? members_.size() : items_.size(), offset, is_object});
  return {};
}

std::string ValueBuilder::begin_list(std::uint32_t offset) {
  return begin(offset, false);
}
std::string ValueBuilder::begin_object(std::uint32_t offset) {
  return begin(offset, true);
}

void ValueBuilder::key(std::string_view name, std::uint32_t offset) {
  members_.push_back({name, Value(), offset});
}

std::string ValueBuilder::add(Value value) {
  if (++count_ > limits_.values) return "more than " + std::to_string(limits_.values) + " values";
  last_ = value;
  if (open_.empty())
    root_ = value;
  else if (open_.back().is_object)
    members_.back().value = value;
  else
    items_.push_back(value);
  return {};
}

void ValueBuilder::replace_last(Value value) {
  last_ = value;
  if (open_.empty())
    root_ = value;
  else if (open_.back().is_object)
    members_.back().value = value;
  else
    items_.back() = value;
}

std::string ValueBuilder::end_list() {
  const Open open = open_.back();
  open_.pop_back();
  const auto items = arena_.copy(std::span<const Value>(items_).subspan(open.first));
  items_.resize(open.first);
  return add(Value::list(items).at(open.offset));
}

namespace {

// The key that stands twice, if one does. Objects are small as a rule (a result on the wire has 25 keys); a
// large one is worth a set.
const Member* find_duplicate(std::span<const Member> members) {
  constexpr std::size_t kSmall = 40;
  if (members.size() > kSmall) {
    std::unordered_set<std::string_view> seen;
    for (const Member& member : members)
      if (!seen.insert(member.key).second) return &member;
    return nullptr;
  }
  for (std::size_t i = 1; i < members.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (members[i].key == members[j].key) return &members[i];
  return nullptr;
}

}  // namespace

std::string ValueBuilder::end_object() {
  const Open open = open_.back();
  open_.pop_back();
  const auto added = std::span<const Member>(members_).subspan(open.first);
  if (const Member* twice = find_duplicate(added)) {
    problem_offset_ = twice->offset;
    return "the key '" + std::string(twice->key) + "' stands twice in one object";
  }
  const auto members = arena_.copy(added);
  members_.resize(open.first);
  return add(Value::object(members).at(open.offset));
}

}  // namespace base
