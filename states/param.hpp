// Parameters of native modules: the schema of each, and the field of a struct that it fills.
//
// A module declares a plain struct for its parameters and a table of rows. Reading a recipe fills the struct,
// and everything that can be said about a value without looking at the machine is said then, before anything
// runs.
//
//   struct Params { std::string_view path; std::optional<Mode> mode; bool absent = false; };
//   constexpr auto kParams = param_table(
//       param<&Params::path>("path", "absolute path").required(),
//       param<&Params::mode>("mode", "octal text").fallback("0644 when created"));
//
// The table has the rows of the schema (kParams.schema) and, beside them, how each field is filled.
//
// The type of the field decides what is accepted from the wire:
//   std::string_view, optional<string_view>   a line or text; a number is taken as its decimal text
//   bool, optional<bool>                      true/false and the words that old recipes use for them
//   List, optional<List>                      a list of texts, or one text
//   Pairs                                     a list of {key, value}; the variants of old recipes
//   Mode (and optional of it)                 octal text, of YAML also without quotes; no number
//   Seconds (and optional of it)              a positive number of seconds
//   Watch                                     a list of paths, or true for "always"
//   References                                anything: states of other machines, which the backend reads
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/values/arena.hpp"
#include "base/values/value.hpp"
#include "states/schema.hpp"

namespace states {

using List = std::span<const std::string_view>;

struct Pair {
  std::string_view key;
  std::string_view value;  // empty when none was given
};
using Pairs = std::span<const Pair>;

struct Mode {
  mode_t bits = 0;
};
struct Seconds {
  std::chrono::seconds value{};
};
struct Watch {
  List paths;
  bool always = false;
};

// Not interpreted on this machine.
struct References {
  base::Value value;  // as written
};

// Whether a value counts as not given: null, and a YAML scalar that says "nothing".
bool is_absent(const base::Value& value);

// One reader per field type. Each answers whether the value counts as given.
base::Result<bool> read_field(std::string_view& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(bool& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(std::int64_t& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(List& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(Pairs& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(Mode& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(Seconds& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(Watch& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(References& field, const Param&, const base::Value&, base::Arena&);

template <class T>
base::Result<bool> read_field(std::optional<T>& field, const Param& param, const base::Value& value,
                              base::Arena& arena) {
  T given{};
  auto counts = read_field(given, param, value, arena);
  if (counts && *counts) field = given;
  return counts;
}

namespace detail {

template <class T>
struct WireOf;
template <class T>
struct WireOf<std::optional<T>> : WireOf<T> {};
template <Wire W>
struct Is {
  static constexpr Wire value = W;
};
template <>
struct WireOf<std::string_view> : Is<Wire::line> {};
template <>
struct WireOf<bool> : Is<Wire::boolean> {};
template <>
struct WireOf<std::int64_t> : Is<Wire::integer> {};
template <>
struct WireOf<List> : Is<Wire::list> {};
template <>
struct WireOf<Pairs> : Is<Wire::pairs> {};
template <>
struct WireOf<Mode> : Is<Wire::mode> {};
template <>
struct WireOf<Seconds> : Is<Wire::seconds> {};
template <>
struct WireOf<Watch> : Is<Wire::watch> {};
template <>
struct WireOf<References> : Is<Wire::references> {};

template <class Class, class Field>
Class class_of(Field Class::*);
template <class Class, class Field>
Field field_of(Field Class::*);

template <auto Member>
base::Result<bool> store(decltype(class_of(Member))& params, const Param& param, const base::Value& value,
                         base::Arena& arena) {
  return read_field(params.*Member, param, value, arena);
}

}  // namespace detail

// Reads `value` into a field of Params, and answers whether it counts as given. An error text names the
// parameter and what it must be.
template <class Params>
using Store = base::Result<bool> (*)(Params& params, const Param& param, const base::Value& value,
                                     base::Arena& arena);

// One row of a table while it is written down.
template <class Params>
struct BoundParam {
  Param row;
  Store<Params> store = nullptr;

 private:
  // Stands before its users: clang must have seen it to evaluate them.
  template <class Change>
  constexpr BoundParam with(Change change) const {
    BoundParam copy = *this;
    change(copy.row);
    return copy;
  }

 public:
  constexpr BoundParam required() const {
    return with([](Param& p) { p.is_required = true; });
  }
  constexpr BoundParam secret() const {
    return with([](Param& p) { p.is_secret = true; });
  }
  constexpr BoundParam multiline() const {
    return with([](Param& p) { p.wire = Wire::text; });
  }
  constexpr BoundParam keep_empty() const {
    return with([](Param& p) { p.keeps_empty = true; });
  }
  constexpr BoundParam join_lists() const {
    return with([](Param& p) { p.joins_lists = true; });
  }
  constexpr BoundParam split_words() const {
    return with([](Param& p) { p.splits_words = true; });
  }
  constexpr BoundParam names() const {
    return with([](Param& p) { p.names_things = true; });
  }
  // The words that are accepted. They are not copied.
  constexpr BoundParam only(std::span<const std::string_view> words) const {
    return with([&](Param& p) { p.choices = words; });
  }
  // What holds when the parameter is absent, for the documentation; the value itself is the field's
  // initialiser.
  constexpr BoundParam fallback(std::string_view text) const {
    return with([&](Param& p) { p.fallback_text = text; });
  }
  constexpr BoundParam alias(std::string_view other) const {
    return with([&](Param& p) { p.aliases[p.aliases[0].empty() ? 0 : 1] = other; });
  }
};

template <auto Member>
constexpr auto param(std::string_view name, std::string_view doc) {
  using Params = decltype(detail::class_of(Member));
  using Field = decltype(detail::field_of(Member));
  return BoundParam<Params>{.row = {.name = name, .doc = doc, .wire = detail::WireOf<Field>::value},
                            .store = detail::store<Member>};
}

// The parameters of a module: the schema, and how to fill the field of each of its rows.
template <class Params, std::size_t Count>
struct ParamTable {
  static_assert(Count <= Schema::kMostParams);
  std::array<Param, Count> schema{};
  std::array<Store<Params>, Count> stores{};
};

template <class Params, class... Others>
constexpr ParamTable<Params, 1 + sizeof...(Others)> param_table(const BoundParam<Params>& first,
                                                                const Others&... others) {
  return {{first.row, others.row...}, {first.store, others.store...}};
}

// A problem of one state's parameters; `offset` is where in the recipe's text.
struct ParamProblem {
  std::string message;
  std::uint32_t offset = 0;
};

}  // namespace states
