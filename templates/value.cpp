#include "templates/value.hpp"

#include <cmath>
#include <functional>
#include <initializer_list>

#include "templates/text.hpp"

namespace templates {

void List::reserve(Memory& memory, std::size_t count) {
  if (count <= capacity) return;
  Value* moved = memory.array<Value>(count);
  std::uninitialized_copy(items, items + size, moved);
  items = moved;
  capacity = count;
}

void List::add(Memory& memory, const Value& value) {
  const Value copy = value;  // may be one of ours
  if (size == capacity) reserve(memory, capacity < 4 ? 8 : capacity * 2);
  new (items + size++) Value(copy);
}

List* new_list(Memory& memory, std::size_t reserved) {
  List* list = memory.make<List>();
  list->reserve(memory, reserved);
  return list;
}

Value new_text(Memory& memory, std::string_view text) {
  return Value::text(memory.copy(text));
}

Value new_tuple(Memory& memory, std::initializer_list<Value> items) {
  List* list = new_list(memory, items.size());
  for (const Value& item : items)
    list->add(memory, item);
  return Value::tuple(list);
}

namespace {

constexpr std::size_t kSmallDict = 8;

void find_slot(Dict& dict, std::size_t number) {
  std::size_t at = dict.entries[number].hash & (dict.slot_count - 1);
  while (dict.slots[at] != 0)
    at = (at + 1) & (dict.slot_count - 1);
  dict.slots[at] = static_cast<std::uint32_t>(number + 1);
}

}  // namespace

Dict::Entry* Dict::find_hashed(const Value& key, std::uint64_t hash) const {
  const auto fits = [&](const Entry& entry) {
    return entry.is_live && entry.hash == hash && equal(entry.key, key);
  };
  if (!slots) {
    for (Entry& entry : *this)
      if (fits(entry)) return &entry;
    return nullptr;
  }
  for (std::size_t at = hash & (slot_count - 1); slots[at] != 0; at = (at + 1) & (slot_count - 1))
    if (fits(entries[slots[at] - 1])) return &entries[slots[at] - 1];
  return nullptr;
}

Dict::Entry* Dict::find(const Value& key) const {
  return find_hashed(key, hash_of(key));
}

Dict::Entry* Dict::find(std::string_view key) const {
  return find(Value::text(key));
}

void Dict::grow(Memory& memory) {
  const std::size_t wanted = size < 4 ? kSmallDict : size * 2;
  Entry* moved = memory.array<Entry>(wanted);
  std::size_t count = 0;
  for (const Entry& entry : *this)
    if (entry.is_live) new (moved + count++) Entry(entry);
  entries = moved;
  used = count;
  capacity = wanted;
  slots = nullptr;
  if (wanted <= kSmallDict) return;
  slot_count = 1;
  while (slot_count < wanted * 2)
    slot_count *= 2;
  slots = memory.array<std::uint32_t>(slot_count);
  std::fill_n(slots, slot_count, 0U);
  for (std::size_t number = 0; number < used; ++number)
    find_slot(*this, number);
}

void Dict::set(Memory& memory, const Value& key, const Value& value) {
  const std::uint64_t hash = hash_of(key);
  const Value kept = value;
  if (Entry* entry = find_hashed(key, hash)) {
    entry->value = kept;
    return;
  }
  if (used == capacity) grow(memory);
  new (entries + used) Entry{key, kept, hash, true};
  if (slots) find_slot(*this, used);
  ++used;
  ++size;
}

void Dict::erase(Entry* entry) {
  entry->is_live = false;
  --size;
}

void Dict::clear() {
  for (Entry& entry : *this)
    entry.is_live = false;
  size = 0;
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "NoneType";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "int";
    case Kind::real:
      return "float";
    case Kind::text:
      return "str";
    case Kind::list:
      return "list";
    case Kind::tuple:
      return "tuple";
    case Kind::dict:
      return "dict";
    case Kind::view:
      return "dict view";
    case Kind::range:
      return "range";
    case Kind::iterator:
      return "generator";
    case Kind::function:
      return "method";
    case Kind::macro:
      return "macro";
    case Kind::loop:
      return "loop";
    case Kind::space:
      return "namespace";
    case Kind::module:
      return "imported template";
    case Kind::cycler:
      return "cycler";
    case Kind::joiner:
      return "joiner";
  }
  return "value";
}

namespace {

constexpr std::string_view kLeftOut = "the condition of 'if' does not hold, and there is no 'else'";

}  // namespace

Value left_out() {
  return Value::undefined(kLeftOut);
}

bool is_left_out(const Value& value) {
  return value.is_undefined() && value.text().data() == kLeftOut.data();
}

const Value& defined(const Value& value) {
  if (value.is_undefined()) throw Failure(std::string(value.text()));
  return value;
}

bool is_true(const Value& value) {
  if (is_left_out(value)) return false;
  switch (defined(value).kind()) {
    case Kind::none:
      return false;
    case Kind::boolean:
    case Kind::integer:
      return value.integer() != 0;
    case Kind::real:
      return value.real() != 0;
    case Kind::text:
      return !value.text().empty();
    case Kind::list:
    case Kind::tuple:
      return value.list().size > 0;
    case Kind::dict:
      return value.dict().size > 0;
    case Kind::view:
    case Kind::range:
      return length(value) > 0;
    default:
      return true;
  }
}

namespace {

// Exact, as Python does it: an integer is not made a double first.
int compare_numbers(const Value& a, const Value& b) {
  const auto order = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  if (a.is_integral() && b.is_integral()) return order(a.integer(), b.integer());
  if (!a.is_integral() && !b.is_integral())
    return std::isnan(a.real()) || std::isnan(b.real()) ? 2 : order(a.real(), b.real());
  if (!a.is_integral()) {
    const int turned = compare_numbers(b, a);
    return turned == 2 ? 2 : -turned;
  }
  const double real = b.real();
  if (std::isnan(real)) return 2;
  if (real >= 9223372036854775808.0) return -1;
  if (real < -9223372036854775808.0) return 1;
  const double whole = std::floor(real);
  const int whole_order = order(a.integer(), static_cast<std::int64_t>(whole));
  return whole_order != 0 ? whole_order : real > whole ? -1 : 0;
}

// Values may contain each other; nobody means to go that deep.
class Nesting {
 public:
  Nesting() {
    if (++depth() > kDeepest) {
      --depth();
      throw Failure("values are nested deeper than " + std::to_string(kDeepest) + " levels", true);
    }
  }
  ~Nesting() { --depth(); }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  static constexpr int kDeepest = 200;
  static int& depth() {
    thread_local int depth = 0;
    return depth;
  }
};

bool equal_dicts(const Dict& a, const Dict& b) {
  if (a.size != b.size) return false;
  for (const Dict::Entry& entry : a) {
    if (!entry.is_live) continue;
    const Dict::Entry* other = b.find(entry.key);
    if (!other || !equal(entry.value, other->value)) return false;
  }
  return true;
}

bool equal_ranges(const Range& a, const Range& b) {
  return a.size == b.size && (a.size == 0 || (a.start == b.start && (a.size == 1 || a.step == b.step)));
}

}  // namespace

bool equal(const Value& a, const Value& b) {
  defined(a);
  defined(b);
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::none:
      return true;
    case Kind::text:
      return a.text() == b.text();
    case Kind::list:
    case Kind::tuple: {
      const Nesting nesting;
      if (a.list().size != b.list().size) return false;
      for (std::size_t i = 0; i < a.list().size; ++i)
        if (!equal(a.list().items[i], b.list().items[i])) return false;
      return true;
    }
    case Kind::dict: {
      const Nesting nesting;
      return equal_dicts(a.dict(), b.dict());
    }
    case Kind::range:
      return equal_ranges(a.as<Range>(), b.as<Range>());
    default:
      return a.address() == b.address();
  }
}

int compare(const Value& a, const Value& b, std::string_view sign) {
  defined(a);
  defined(b);
  if (a.is_number() && b.is_number()) return compare_numbers(a, b);
  if (a.is_text() && b.is_text()) {
    const int order = a.text().compare(b.text());  // the order of UTF-8 is that of code points
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  if (a.kind() == b.kind() && a.is_sequence()) {
    const Nesting nesting;
    const List &x = a.list(), &y = b.list();
    for (std::size_t i = 0; i < x.size && i < y.size; ++i)
      if (!equal(x.items[i], y.items[i])) return compare(x.items[i], y.items[i], sign);
    return x.size < y.size ? -1 : x.size > y.size ? 1 : 0;
  }
  throw Failure("'" + std::string(sign) + "' not supported between '" + std::string(type_name(a)) +
                "' and '" + std::string(type_name(b)) + "'");
}

bool less(const Value& a, const Value& b, std::string_view sign) {
  return compare(a, b, sign) == -1;
}

std::uint64_t hash_of(const Value& value) {
  switch (defined(value).kind()) {
    case Kind::none:
      return 17;
    case Kind::boolean:
    case Kind::integer:
      return std::hash<double>()(static_cast<double>(value.integer()));  // as the equal double
    case Kind::real:
      return std::hash<double>()(value.real());
    case Kind::text:
      return std::hash<std::string_view>()(value.text());
    case Kind::tuple: {
      const Nesting nesting;
      std::uint64_t hash = 0x345678;
      for (const Value& item : value.list())
        hash = (hash ^ hash_of(item)) * 1000003;
      return hash;
    }
    case Kind::list:
    case Kind::dict:
    case Kind::view:
      throw Failure("unhashable type: '" + std::string(type_name(value)) + "'");
    default:
      return std::hash<const void*>()(value.address());
  }
}

bool is_same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
      return a.text().data() == b.text().data();
    case Kind::none:
      return true;
    case Kind::boolean:
    case Kind::integer:
      return a.integer() == b.integer();
    case Kind::real:
      return a.real() == b.real();
    case Kind::text:
      return a.text() == b.text();
    default:
      return a.address() == b.address();
  }
}

bool is_iterable(const Value& value) {
  switch (defined(value).kind()) {
    case Kind::text:
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
    case Kind::view:
    case Kind::range:
    case Kind::iterator:
      return true;
    default:
      return false;
  }
}

bool has_length(const Value& value) {
  return !value.is_undefined() && is_iterable(value) && !value.is(Kind::iterator);
}

std::size_t length(const Value& value) {
  switch (defined(value).kind()) {
    case Kind::text:
      return count_characters(value.text());
    case Kind::list:
    case Kind::tuple:
      return value.list().size;
    case Kind::dict:
      return value.dict().size;
    case Kind::view:
      return value.as<View>().dict->size;
    case Kind::range:
      return value.as<Range>().size;
    default:
      throw Failure("object of type '" + std::string(type_name(value)) + "' has no len()");
  }
}

Walk::Walk(const Value& value, Memory& memory) : value_(value), memory_(memory) {
  if (!is_iterable(value)) throw Failure("'" + std::string(type_name(value)) + "' object is not iterable");
  if (value.is(Kind::dict)) first_size_ = value.dict().size;
  if (value.is(Kind::view)) first_size_ = value.as<View>().dict->size;
}

bool Walk::next(Value& item) {
  memory_.step();
  switch (value_.kind()) {
    case Kind::text: {
      const std::string_view text = value_.text();
      if (at_ >= text.size()) return false;
      const std::size_t size = character_size(text, at_);
      item = Value::text(text.substr(at_, size));
      at_ += size;
      return true;
    }
    case Kind::list:
    case Kind::tuple:
      if (at_ >= value_.list().size) return false;
      item = value_.list().items[at_++];
      return true;
    case Kind::range:
      if (at_ >= value_.as<Range>().size) return false;
      item = Value::integer(value_.as<Range>().at(at_++));
      return true;
    case Kind::iterator: {
      Iterator& iterator = value_.as<Iterator>();
      if (iterator.next < iterator.items->size) {
        item = iterator.items->items[iterator.next++];
        return true;
      }
      if (iterator.failure.empty()) return false;
      const std::string failure(iterator.failure);
      iterator.failure = {};
      throw Failure(failure);
    }
    default:
      break;
  }
  const Dict& dict = value_.is(Kind::dict) ? value_.dict() : *value_.as<View>().dict;
  const View::What what = value_.is(Kind::dict) ? View::What::keys : value_.as<View>().what;
  if (dict.size != first_size_) throw Failure("dictionary changed size during iteration");
  while (at_ < dict.used && !dict.entries[at_].is_live)
    ++at_;
  if (at_ >= dict.used) return false;
  const Dict::Entry& entry = dict.entries[at_++];
  item = what == View::What::keys     ? entry.key
         : what == View::What::values ? entry.value
                                      : new_tuple(memory_, {entry.key, entry.value});
  return true;
}

List* to_list(const Value& value, Memory& memory) {
  Walk walk(value, memory);
  List* list = new_list(memory, has_length(value) && !value.is_text() ? length(value) : 0);
  for (Value item; walk.next(item);)
    list->add(memory, item);
  return list;
}

bool contains(const Value& container, const Value& item, Memory& memory) {
  switch (defined(container).kind()) {
    case Kind::text:
      if (!defined(item).is_text())
        throw Failure("'in <string>' requires string as left operand, not " + std::string(type_name(item)));
      return container.text().find(item.text()) != std::string_view::npos;
    case Kind::dict:
      return container.dict().find(item) != nullptr;
    case Kind::view:
      if (container.as<View>().what == View::What::keys)
        return container.as<View>().dict->find(item) != nullptr;
      break;
    default:
      break;
  }
  if (!is_iterable(container))
    throw Failure("argument of type '" + std::string(type_name(container)) + "' is not iterable");
  Walk walk(container, memory);
  for (Value each; walk.next(each);)
    if (equal(each, item)) return true;
  return false;
}

}  // namespace templates
