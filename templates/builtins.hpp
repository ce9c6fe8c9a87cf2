// Builtin: a filter, test, method or global function. All are called in the same way, by position and by
// name.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "templates/value.hpp"

namespace templates {

struct NamedValue {
  std::string_view name;
  Value value;
};

// What stands in the parentheses of a call.
struct Call {
  std::span<const Value> values;
  std::span<const NamedValue> named;
};

class Arguments;

struct Builtin {
  static constexpr std::size_t kMost = 6;

  std::string_view name;
  std::array<std::string_view, kMost> parameters;  // of a filter or test, the first is what it is applied to
  std::size_t required = 0;
  Value (*run)(const Arguments&) = nullptr;
  bool takes_any = false;  // reads the call itself
};

// The arguments of one call, sorted to the parameters.
class Arguments {
 public:
  // `self`: what a method belongs to, or null. A Failure if the call does not fit.
  Arguments(const Builtin& builtin, const Value* self, const Call& call, Memory& memory);

  Memory& memory() const { return memory_; }
  const Value& self() const { return *self_; }
  const Call& call() const { return call_; }

  bool has(std::size_t index) const { return given_[index] != nullptr; }
  const Value& operator[](std::size_t index) const { return *given_[index]; }
  Value get(std::size_t index, const Value& otherwise) const {
    return has(index) ? *given_[index] : otherwise;
  }
  bool flag(std::size_t index, bool otherwise = false) const;
  std::int64_t integer(std::size_t index, std::int64_t otherwise) const;
  std::int64_t integer(std::size_t index) const;
  // str() of the argument; a Failure for what is undefined.
  std::string_view text(std::size_t index) const;
  // A Failure if it is something else than a text.
  std::string_view only_text(std::size_t index) const;

 private:
  const Builtin& builtin_;
  const Value* self_;
  const Call& call_;
  Memory& memory_;
  std::array<const Value*, Builtin::kMost> given_{};
};

Value run(const Builtin& builtin, const Value* self, const Call& call, Memory& memory);
// A filter or test, applied to `value`.
Value apply(const Builtin& builtin, const Value& value, const Call& call, Memory& memory);

// Null if there is none of that name.
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_global(std::string_view name);
std::vector<std::string_view> filter_names();
std::vector<std::string_view> test_names();
std::vector<std::string_view> global_names();

struct Function {
  const Builtin* builtin;
  Value self;  // none: a global function
};

// value.name and value[key]: undefined if there is no such thing.
Value attribute(const Value& value, std::string_view name, Memory& memory);
Value item(const Value& value, const Value& key, Memory& memory);

// A way to items within items: "a.b.0", a number, or none for the value itself.
class Path {
 public:
  Path(const Value& given, Memory& memory);
  Value follow(Value value, const Value& otherwise, Memory& memory) const;

 private:
  List* parts_;
};

// Where the tables come from, by subject.
using Rows = std::span<const Builtin>;
Rows text_filters();
Rows list_filters();
Rows choice_filters();  // map, select, groupby …
Rows number_filters();
Rows ansible_filters();
Rows plain_tests();
Rows text_methods();
Rows list_methods();
Rows tuple_methods();
Rows dict_methods();
Rows cycler_methods();
Rows loop_methods();

}  // namespace templates
