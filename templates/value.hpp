// Value: what an expression is worth, with the types that Jinja2 gets from Python. A small view into the
// Memory of a rendering, or into a Variables, whose lists and dicts are frozen: a template cannot change what
// it was given.
#pragma once

#include <cstdint>
#include <string_view>

#include "templates/memory.hpp"

namespace templates {

enum class Kind : std::uint8_t {
  undefined,  // a name or an item that is not there; text() says which
  none,
  boolean,
  integer,
  real,
  text,
  list,
  tuple,
  dict,
  view,  // of a dict: items(), keys(), values()
  range,
  iterator,  // what map(), select() … answer: can be gone through once
  function,  // of ours: a method with what it belongs to, or a global one
  macro,
  loop,
  space,   // namespace()
  module,  // an imported template
  cycler,
  joiner,
};

struct List;
struct Dict;
struct View;
struct Range;
struct Iterator;
struct Function;
struct Macro;
struct Loop;
struct Cycler;

// What is known of a value besides what it says. "Inside": of something in a list or dict.
struct Marks {
  static constexpr std::uint8_t kSecret = 1, kUnknown = 2;
  static constexpr std::uint8_t kSecretInside = 4, kUnknownInside = 8;
  static constexpr std::uint8_t kAnySecret = kSecret | kSecretInside;
  static constexpr std::uint8_t kAnyUnknown = kUnknown | kUnknownInside;
  static constexpr int kInside = 2;  // bits between one and the other
};

class Value {
 public:
  Value() : integer_(0) {}
  static Value undefined(std::string_view why) { return Value(Kind::undefined, why); }  // not copied
  static Value none() { return Value(Kind::none); }
  static Value boolean(bool value) {
    Value v(Kind::boolean);
    v.integer_ = value ? 1 : 0;
    return v;
  }
  static Value integer(std::int64_t value) {
    Value v(Kind::integer);
    v.integer_ = value;
    return v;
  }
  static Value real(double value) {
    Value v(Kind::real);
    v.real_ = value;
    return v;
  }
  static Value text(std::string_view text) { return Value(Kind::text, text); }  // not copied
  static Value markup(std::string_view text) {                                  // is escaped already
    Value v(Kind::text, text);
    v.is_markup_ = true;
    return v;
  }
  static Value list(List* list) { return Value(Kind::list, list); }
  static Value tuple(List* list) { return Value(Kind::tuple, list); }
  static Value dict(Dict* dict) { return Value(Kind::dict, dict); }
  static Value space(Dict* dict) { return Value(Kind::space, dict); }
  static Value module(Dict* dict) { return Value(Kind::module, dict); }
  static Value of(View* view) { return Value(Kind::view, view); }
  static Value of(Range* range) { return Value(Kind::range, range); }
  static Value of(Iterator* iterator) { return Value(Kind::iterator, iterator); }
  static Value of(Function* function) { return Value(Kind::function, function); }
  static Value of(Macro* macro) { return Value(Kind::macro, macro); }
  static Value of(Loop* loop) { return Value(Kind::loop, loop); }
  static Value cycler(Cycler* cycler) { return Value(Kind::cycler, cycler); }
  static Value joiner(Cycler* joiner) { return Value(Kind::joiner, joiner); }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  bool is_undefined() const { return kind_ == Kind::undefined; }
  bool is_none() const { return kind_ == Kind::none; }
  bool is_text() const { return kind_ == Kind::text; }
  bool is_markup() const { return is_markup_; }
  bool is_integral() const { return kind_ == Kind::integer || kind_ == Kind::boolean; }
  bool is_number() const { return is_integral() || kind_ == Kind::real; }
  bool is_sequence() const { return kind_ == Kind::list || kind_ == Kind::tuple; }

  // Each only for its kind.
  std::int64_t integer() const { return integer_; }  // of a boolean, too
  double real() const { return real_; }
  double number() const { return kind_ == Kind::real ? real_ : static_cast<double>(integer_); }
  std::string_view text() const { return {text_, size_}; }
  List& list() const { return *static_cast<List*>(object_); }
  Dict& dict() const { return *static_cast<Dict*>(object_); }
  template <class T>
  T& as() const {
    return *static_cast<T*>(object_);
  }
  const void* address() const { return object_; }

  // Only of values that were given: what is made of them has none. An evaluation notes what it has used.
  std::uint8_t marks() const { return marks_; }
  Value marked(std::uint8_t marks) const {
    Value copy = *this;
    copy.marks_ = marks;
    return copy;
  }

 private:
  explicit Value(Kind kind) : integer_(0), kind_(kind) {}
  Value(Kind kind, std::string_view text) : text_(text.data()), size_(text.size()), kind_(kind) {}
  Value(Kind kind, void* object) : object_(object), kind_(kind) {}

  union {
    std::int64_t integer_;
    double real_;
    const char* text_;
    void* object_;
  };
  std::size_t size_ = 0;
  Kind kind_ = Kind::undefined;
  bool is_markup_ = false;
  std::uint8_t marks_ = 0;
};

struct List {
  Value* items = nullptr;
  std::size_t size = 0;
  std::size_t capacity = 0;
  bool is_frozen = false;
  bool is_group = false;  // a tuple of groupby: has .grouper and .list

  Value* begin() const { return items; }
  Value* end() const { return items + size; }
  void add(Memory& memory, const Value& value);
  void reserve(Memory& memory, std::size_t count);
};

List* new_list(Memory& memory, std::size_t reserved = 0);

// Keeps the order of insertion, as Python's does.
struct Dict {
  struct Entry {
    Value key;
    Value value;
    std::uint64_t hash = 0;
    bool is_live = false;
  };
  Entry* entries = nullptr;
  std::size_t used = 0;  // entries, with those that were removed
  std::size_t size = 0;
  std::size_t capacity = 0;
  std::uint32_t* slots = nullptr;  // 0: free; else the number of an entry, from 1. Only when there are many
  std::size_t slot_count = 0;
  bool is_frozen = false;

  Entry* begin() const { return entries; }
  Entry* end() const { return entries + used; }
  Entry* find(const Value& key) const;  // a Failure if the key cannot be one
  Entry* find(std::string_view key) const;
  void set(Memory& memory, const Value& key, const Value& value);
  void erase(Entry* entry);
  void clear();

 private:
  Entry* find_hashed(const Value& key, std::uint64_t hash) const;
  void grow(Memory& memory);
};

struct View {
  enum class What : std::uint8_t { items, keys, values };
  Dict* dict;
  What what;
};

struct Range {
  std::int64_t start, stop, step;  // `stop`: as it was given, for people
  std::size_t size;
  std::int64_t at(std::size_t index) const { return start + static_cast<std::int64_t>(index) * step; }
};

// What is computed item by item in Python is computed at once here; a failure on the way comes when whoever
// goes through the items arrives there.
struct Iterator {
  List* items;
  std::size_t next = 0;
  std::string_view failure{};  // "" none
};

struct Cycler {
  List* items;
  std::size_t next = 0;
  std::string_view separator{};  // of a joiner
};

// "str", "int", "list" …: the names that Python's messages have.
std::string_view type_name(const Value& value);

// What "a if b" is without an "else" and with a `b` that does not hold: undefined, but it may be shown, as an
// empty text, and is false. Jinja2 does so even when it is strict.
Value left_out();
bool is_left_out(const Value& value);

// The value, or a Failure if it is undefined.
const Value& defined(const Value& value);

bool is_true(const Value& value);
// Python's ==.
bool equal(const Value& a, const Value& b);
// Python's <, for what has an order; a Failure otherwise. `sign`: as it would be shown.
bool less(const Value& a, const Value& b, std::string_view sign = "<");
// <, ==, > as -1, 0, 1; 2 if a NaN is among them.
int compare(const Value& a, const Value& b, std::string_view sign);
std::uint64_t hash_of(const Value& value);
bool is_same(const Value& a, const Value& b);

// Items of what can be gone through, one by one.
class Walk {
 public:
  Walk(const Value& value, Memory& memory);  // a Failure if it has no items
  bool next(Value& item);

 private:
  Value value_;
  Memory& memory_;
  std::size_t at_ = 0;
  std::size_t first_size_ = 0;  // of a dict: it must not grow meanwhile
};

bool is_iterable(const Value& value);
List* to_list(const Value& value, Memory& memory);  // a new one
std::size_t length(const Value& value);             // a Failure if it has none
bool has_length(const Value& value);
bool contains(const Value& container, const Value& item, Memory& memory);

Value new_text(Memory& memory, std::string_view text);  // copied
Value new_tuple(Memory& memory, std::initializer_list<Value> items);

}  // namespace templates
