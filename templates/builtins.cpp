#include "templates/builtins.hpp"

#include <algorithm>
#include <unordered_map>

#include "templates/print.hpp"
#include "templates/text.hpp"

namespace templates {

Arguments::Arguments(const Builtin& builtin, const Value* self, const Call& call, Memory& memory)
    : builtin_(builtin), self_(self), call_(call), memory_(memory) {
  if (builtin.takes_any) return;
  const auto& names = builtin.parameters;
  const auto count = static_cast<std::size_t>(
      std::ranges::count_if(names, [](std::string_view name) { return !name.empty(); }));
  if (call.values.size() > count)
    throw Failure("'" + std::string(builtin.name) + "' takes at most " + std::to_string(count) +
                  " arguments, not " + std::to_string(call.values.size()));
  for (std::size_t i = 0; i < call.values.size(); ++i)
    given_[i] = &call.values[i];
  for (const NamedValue& named : call.named) {
    const auto found = std::ranges::find(names, named.name);
    if (found == names.end())
      throw Failure("'" + std::string(builtin.name) + "' has no argument '" + std::string(named.name) + "'");
    const Value*& place = given_[static_cast<std::size_t>(found - names.begin())];
    if (place)
      throw Failure("'" + std::string(builtin.name) + "' is given '" + std::string(named.name) + "' twice");
    place = &named.value;
  }
  for (std::size_t i = 0; i < builtin.required; ++i)
    if (!given_[i])
      throw Failure("'" + std::string(builtin.name) + "' needs the argument '" + std::string(names[i]) + "'");
}

bool Arguments::flag(std::size_t index, bool otherwise) const {
  return has(index) ? is_true(*given_[index]) : otherwise;
}

std::int64_t Arguments::integer(std::size_t index) const {
  const Value& value = defined(*given_[index]);
  if (!value.is_integral())
    throw Failure("'" + std::string(builtin_.name) + "' wants an integer as '" +
                  std::string(builtin_.parameters[index]) + "', not " + std::string(type_name(value)));
  return value.integer();
}

std::int64_t Arguments::integer(std::size_t index, std::int64_t otherwise) const {
  return has(index) ? integer(index) : otherwise;
}

std::string_view Arguments::text(std::size_t index) const {
  return text_view(*given_[index], memory_);
}

std::string_view Arguments::only_text(std::size_t index) const {
  const Value& value = defined(*given_[index]);
  if (!value.is_text())
    throw Failure("'" + std::string(builtin_.name) + "' wants a text, not " + std::string(type_name(value)));
  return value.text();
}

Value run(const Builtin& builtin, const Value* self, const Call& call, Memory& memory) {
  memory.step();
  return builtin.run(Arguments(builtin, self, call, memory));
}

Value apply(const Builtin& builtin, const Value& value, const Call& call, Memory& memory) {
  constexpr std::size_t kUsual = 4;
  const std::size_t count = call.values.size() + 1;
  std::array<Value, kUsual> usual;
  Value* values = count <= kUsual ? usual.data() : memory.array<Value>(count);
  new (values) Value(value);
  std::uninitialized_copy(call.values.begin(), call.values.end(), values + 1);
  const Call whole{{values, count}, call.named};
  return run(builtin, nullptr, whole, memory);
}

namespace {

using Table = std::unordered_map<std::string_view, const Builtin*>;

Table table_of(std::initializer_list<Rows> all) {
  Table table;
  for (const Rows& rows : all)
    for (const Builtin& row : rows)
      table.emplace(row.name, &row);
  return table;
}

const Builtin* find(const Table& table, std::string_view name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& [name, row] : table)
    names.push_back(name);
  std::ranges::sort(names);
  return names;
}

const Table& filters() {
  static const Table table =
      table_of({text_filters(), list_filters(), choice_filters(), number_filters(), ansible_filters()});
  return table;
}
const Table& tests() {
  static const Table table = table_of({plain_tests()});
  return table;
}

}  // namespace

const Builtin* find_filter(std::string_view name) {
  return find(filters(), name);
}
const Builtin* find_test(std::string_view name) {
  return find(tests(), name);
}
std::vector<std::string_view> filter_names() {
  return names_of(filters());
}
std::vector<std::string_view> test_names() {
  return names_of(tests());
}

namespace {

const Builtin* find_method(const Value& value, std::string_view name) {
  static const Table text = table_of({text_methods()}), list = table_of({list_methods()}),
                     tuple = table_of({tuple_methods()}), dict = table_of({dict_methods()}),
                     cycler = table_of({cycler_methods()}), loop = table_of({loop_methods()});
  switch (value.kind()) {
    case Kind::text:
      return find(text, name);
    case Kind::list:
      return find(list, name);
    case Kind::tuple:
      return find(tuple, name);
    case Kind::dict:
      return find(dict, name);
    case Kind::cycler:
      return find(cycler, name);
    case Kind::loop:
      return find(loop, name);
    default:
      return nullptr;
  }
}

// What Python has and this language has not: refused, and not taken for an item of that name.
bool is_pythons(const Value& value, std::string_view name) {
  static constexpr std::array<std::string_view, 6> kText{"encode",     "maketrans",    "translate",
                                                         "format_map", "isidentifier", "isascii"};
  static constexpr std::array<std::string_view, 9> kNumber{
      "real",     "imag",       "numerator",        "denominator", "conjugate",
      "to_bytes", "from_bytes", "as_integer_ratio", "bit_length"};
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) return true;
  if (value.is_text()) return std::ranges::find(kText, name) != kText.end();
  if (value.is_number())
    return std::ranges::find(kNumber, name) != kNumber.end() || name == "is_integer" || name == "hex" ||
           name == "fromhex" || name == "bit_count";
  if (value.is(Kind::dict)) return name == "fromkeys";
  if (value.is(Kind::view)) return name == "mapping" || name == "isdisjoint";
  if (value.is(Kind::range))
    return name == "start" || name == "stop" || name == "step" || name == "count" || name == "index";
  if (value.is(Kind::iterator))
    return name == "send" || name == "throw" || name == "close" || name.starts_with("gi_");
  return false;
}

Value not_there(const Value& value, const std::string& what, Memory& memory) {
  return Value::undefined(memory.copy("a " + std::string(type_name(value)) + " has no " + what));
}

std::optional<Value> own_attribute(const Value& value, std::string_view name, Memory& memory) {
  if (const Builtin* method = find_method(value, name))
    return Value::of(memory.make<Function>(Function{method, value}));
  if (is_pythons(value, name))
    throw Failure("'" + std::string(name) + "' of a " + std::string(type_name(value)) +
                  " is not available in templates");
  if (value.is(Kind::tuple) && value.list().is_group && name == "grouper") return value.list().items[0];
  if (value.is(Kind::tuple) && value.list().is_group && name == "list") return value.list().items[1];
  if (value.is(Kind::cycler) && name == "current") {
    const Cycler& cycler = value.as<Cycler>();
    return cycler.items->items[cycler.next];
  }
  return std::nullopt;
}

}  // namespace

Value loop_attribute(const Value& loop, std::string_view name, Memory& memory);
std::string_view macro_name(const Value& macro);

Value attribute(const Value& value, std::string_view name, Memory& memory) {
  if (defined(value).is(Kind::loop)) {
    const Value found = loop_attribute(value, name, memory);
    if (!found.is_undefined() || found.text().data()) return found;
  }
  if (auto own = own_attribute(value, name, memory)) return *own;
  if (value.is(Kind::dict) || value.is(Kind::space) || value.is(Kind::module)) {
    const Dict::Entry* entry = value.dict().find(name);
    if (entry) return entry->value;
  }
  if (value.is(Kind::macro) && name == "name") return Value::text(macro_name(value));
  return not_there(value, "'" + std::string(name) + "'", memory);
}

Value item(const Value& value, const Value& key, Memory& memory) {
  defined(value);
  if (value.is(Kind::dict)) {
    const bool can_be_key =
        key.is_undefined() || (!key.is(Kind::list) && !key.is(Kind::dict) && !key.is(Kind::view));
    const Dict::Entry* entry = can_be_key ? value.dict().find(key) : nullptr;
    if (entry) return entry->value;
  } else if (key.is_integral() && (value.is_sequence() || value.is_text() || value.is(Kind::range))) {
    const auto size = static_cast<std::int64_t>(length(value));
    const std::int64_t index = key.integer() < 0 ? key.integer() + size : key.integer();
    if (index >= 0 && index < size) {
      const auto at = static_cast<std::size_t>(index);
      if (value.is_sequence()) return value.list().items[at];
      if (value.is(Kind::range)) return Value::integer(value.as<Range>().at(at));
      const std::size_t byte = byte_of(value.text(), at);
      const std::string_view one = value.text().substr(byte, character_size(value.text(), byte));
      return value.is_markup() ? Value::markup(one) : Value::text(one);
    }
  }
  if (key.is_text()) {
    if (!value.is(Kind::dict)) return attribute(value, key.text(), memory);
    if (auto own = own_attribute(value, key.text(), memory)) return *own;
  }
  std::string shown = "item";
  if (!key.is_undefined()) {
    shown = "item ";
    append_repr(key, shown, memory);
  }
  return not_there(value, shown, memory);
}

Path::Path(const Value& given, Memory& memory) : parts_(new_list(memory)) {
  if (given.is_none()) return;
  if (!given.is_text()) {
    parts_->add(memory, given);
    return;
  }
  std::string_view rest = given.text();
  while (true) {
    const std::size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    parts_->add(memory, is_number ? Value::integer(parse_int(part, 10).value_or(0)) : Value::text(part));
    if (dot == std::string_view::npos) return;
    rest.remove_prefix(dot + 1);
  }
}

Value Path::follow(Value value, const Value& otherwise, Memory& memory) const {
  for (const Value& part : *parts_) {
    value = item(value, part, memory);
    if (value.is_undefined() && !otherwise.is_none()) value = otherwise;
  }
  return value;
}

}  // namespace templates
