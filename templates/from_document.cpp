#include "templates/from_document.hpp"

#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "templates/print.hpp"

namespace templates {

namespace {

// What a YAML scalar without quotes means. Numbers with a zero in front stay text: a mode is written so.
Value of_plain(std::string_view text, Memory& memory) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return Value::none();
  for (const std::string_view word : {"true", "yes", "on"})
    if (base::equal_ignoring_case(text, word)) return Value::boolean(true);
  for (const std::string_view word : {"false", "no", "off"})
    if (base::equal_ignoring_case(text, word)) return Value::boolean(false);
  const std::string_view digits = text.starts_with('-') || text.starts_with('+') ? text.substr(1) : text;
  const bool decimal = !digits.empty() && digits[0] >= '0' && digits[0] <= '9';
  const bool padded = digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
  if (decimal && !padded) {
    if (const auto whole = base::parse_integer(text.starts_with('+') ? digits : text))
      return Value::integer(*whole);
    double real = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), real);
    const bool is_real = digits.find_first_of(".eE") != std::string_view::npos;
    if (is_real && error == std::errc() && end == digits.data() + digits.size())
      return Value::real(text.starts_with('-') ? -real : real);
  }
  return Value::text(memory.copy(text));
}

}  // namespace

namespace {

Value copied(const base::Value& value, Memory& memory, bool frozen, const MarksOf* marks_of) {
  memory.step();
  const auto inside = [](std::uint8_t marks) {
    const std::uint8_t deeper = marks & (Marks::kSecretInside | Marks::kUnknownInside);
    const std::uint8_t own = marks & (Marks::kSecret | Marks::kUnknown);
    return static_cast<std::uint8_t>(deeper | (own << Marks::kInside));
  };
  switch (value.kind()) {
    case base::Value::Kind::null:
      return Value::none();
    case base::Value::Kind::boolean:
      return Value::boolean(value.as_bool().value_or(false));
    case base::Value::Kind::integer:
      return Value::integer(value.as_integer().value_or(0));
    case base::Value::Kind::real:
      return Value::real(value.as_number().value_or(0));
    case base::Value::Kind::string:
      return Value::text(memory.copy(value.text()));
    case base::Value::Kind::plain:
      return of_plain(value.text(), memory);
    case base::Value::Kind::list: {
      List* list = new_list(memory, value.items().size());
      std::uint8_t marks = 0;
      for (const base::Value& item : value.items()) {
        const Value made = from_document(item, memory, frozen, marks_of);
        marks |= inside(made.marks());
        list->add(memory, made);
      }
      list->is_frozen = frozen;
      return Value::list(list).marked(marks);
    }
    case base::Value::Kind::object: {
      Dict* dict = memory.make<Dict>();
      std::uint8_t marks = 0;
      for (const base::Member& member : value.members()) {
        const Value made = from_document(member.value, memory, frozen, marks_of);
        marks |= inside(made.marks());
        dict->set(memory, Value::text(memory.copy(member.key)), made);
      }
      dict->is_frozen = frozen;
      return Value::dict(dict).marked(marks);
    }
  }
  return Value::none();
}

}  // namespace

Value from_document(const base::Value& value, Memory& memory, bool frozen, const MarksOf* marks_of) {
  const Value made = copied(value, memory, frozen, marks_of);
  return marks_of ? made.marked(static_cast<std::uint8_t>(made.marks() | (*marks_of)(value))) : made;
}

namespace {

base::Value made(const Value& value, base::Arena& arena, Memory& memory, int depth) {
  constexpr int kDeepest = 64;
  if (depth > kDeepest) throw Failure("values are nested deeper than 64 levels", true);
  memory.step();
  switch (defined(value).kind()) {
    case Kind::none:
      return {};
    case Kind::boolean:
      return base::Value::boolean(value.integer() != 0);
    case Kind::integer:
      return base::Value::integer(value.integer());
    case Kind::real:
      return base::Value::real(value.real());
    case Kind::text:
      return base::Value::string(arena.copy(value.text()));
    case Kind::list:
    case Kind::tuple:
    case Kind::range:
    case Kind::view:
    case Kind::iterator: {
      std::vector<base::Value> items;
      for (const Value& item : *to_list(value, memory))
        items.push_back(made(item, arena, memory, depth + 1));
      return base::Value::list(arena.copy(std::span<const base::Value>(items)));
    }
    case Kind::dict: {
      std::vector<base::Member> members;
      for (const Dict::Entry& entry : value.dict()) {
        if (!entry.is_live) continue;
        if (!defined(entry.key).is_text()) throw Failure("the keys of this value must be text here");
        members.push_back({arena.copy(entry.key.text()), made(entry.value, arena, memory, depth + 1), 0});
      }
      return base::Value::object(arena.copy(std::span<const base::Member>(members)));
    }
    default:
      throw Failure("a " + std::string(type_name(value)) + " is no value that can be kept");
  }
}

}  // namespace

base::Value to_document(const Value& value, base::Arena& arena, Memory& memory) {
  return made(value, arena, memory, 0);
}

}  // namespace templates
