// Parameters: one row each, with name, wire type, documentation and the field that it fills.
//
// A module declares a plain struct for its parameters and a table of rows. Reading a recipe fills the struct,
// and everything that can be said about a value without looking at the machine is said then, before anything
// runs.
//
//   struct Params { std::string_view path; std::optional<Mode> mode; bool absent = false; };
//   constexpr std::array kParams{
//       param<&Params::path>("path", "absolute path").required(),
//       param<&Params::mode>("mode", "octal text").fallback("0644 when created"),
//   };
//
// The type of the field decides what is accepted from the wire:
//   std::string_view, optional<string_view>   a line or text; a number is taken as its decimal text
//   bool, optional<bool>                      true/false and the words that old recipes use for them
//   List, optional<List>                      a list of texts, or one text
//   Pairs                                     a list of {key, value}; the variants of old recipes
//   Mode, Seconds (and optional of them)      octal text; a positive number of seconds
//   Watch                                     a list of paths, or true for "always"
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/arena.hpp"
#include "base/result.hpp"
#include "base/value.hpp"

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

// What stands on the wire, as in the documentation.
enum class Wire : std::uint8_t { line, text, boolean, list, pairs, mode, seconds, watch, references };
std::string_view wire_name(Wire wire);

struct Param;
// Reads `value` into the field; an error text names the parameter and what it must be.
using Store = base::Result<void> (*)(void* params, const Param& param, const base::Value& value,
                                     base::Arena& arena);

struct Param {
  std::string_view name;
  std::string_view doc;
  Wire wire = Wire::line;
  Store store = nullptr;
  bool is_required = false;
  bool is_secret = false;     // registered with the redactor; never shown
  bool keeps_empty = false;   // "" is a value, not an absence
  bool joins_lists = false;   // a list of texts is accepted and joined by newlines
  bool splits_words = false;  // pairs: "A=1 B=2" is accepted
  std::string_view fallback_text;
  std::array<std::string_view, 2> aliases{};

 private:
  // Stands before its users: clang must have seen it to evaluate them.
  template <class Change>
  constexpr Param with(Change change) const {
    Param copy = *this;
    change(copy);
    return copy;
  }

 public:
  constexpr Param required() const {
    return with([](Param& p) { p.is_required = true; });
  }
  constexpr Param secret() const {
    return with([](Param& p) { p.is_secret = true; });
  }
  constexpr Param multiline() const {
    return with([](Param& p) { p.wire = Wire::text; });
  }
  constexpr Param keep_empty() const {
    return with([](Param& p) { p.keeps_empty = true; });
  }
  constexpr Param join_lists() const {
    return with([](Param& p) { p.joins_lists = true; });
  }
  constexpr Param split_words() const {
    return with([](Param& p) { p.splits_words = true; });
  }
  // What holds when the parameter is absent, for the documentation; the value itself is the field's
  // initialiser.
  constexpr Param fallback(std::string_view text) const {
    return with([&](Param& p) { p.fallback_text = text; });
  }
  constexpr Param alias(std::string_view other) const {
    return with([&](Param& p) { p.aliases[p.aliases[0].empty() ? 0 : 1] = other; });
  }
  // For documentation only: meta.wait's list of references to other machines' states.
  constexpr Param references() const {
    return with([](Param& p) { p.wire = Wire::references; });
  }

  bool is_called(std::string_view other) const {
    return other == name || (!other.empty() && (other == aliases[0] || other == aliases[1]));
  }
};

// One reader per field type. Each answers whether the value counts as given.
base::Result<bool> read_field(std::string_view& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(bool& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(List& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(Pairs& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(Mode& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(Seconds& field, const Param&, const base::Value&, base::Arena&);
base::Result<bool> read_field(Watch& field, const Param&, const base::Value&, base::Arena&);

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
struct WireOf<List> : Is<Wire::list> {};
template <>
struct WireOf<Pairs> : Is<Wire::pairs> {};
template <>
struct WireOf<Mode> : Is<Wire::mode> {};
template <>
struct WireOf<Seconds> : Is<Wire::seconds> {};
template <>
struct WireOf<Watch> : Is<Wire::watch> {};

template <class Class, class Field>
Class class_of(Field Class::*);
template <class Class, class Field>
Field field_of(Field Class::*);

template <auto Member>
base::Result<void> store(void* params, const Param& param, const base::Value& value, base::Arena& arena) {
  using Class = decltype(class_of(Member));
  auto counts = read_field(static_cast<Class*>(params)->*Member, param, value, arena);
  if (!counts) return std::move(counts).error();
  if (!*counts && param.is_required)
    return base::Error(base::ErrorCode::invalid, "Missing parameter '" + std::string(param.name) + "'");
  return {};
}

}  // namespace detail

template <auto Member>
constexpr Param param(std::string_view name, std::string_view doc) {
  using Field = decltype(detail::field_of(Member));
  return {.name = name, .doc = doc, .wire = detail::WireOf<Field>::value, .store = detail::store<Member>};
}

// A problem of one state's parameters; `offset` is where in the recipe's text.
struct ParamProblem {
  std::string message;
  std::uint32_t offset = 0;
};

struct StateType;

// Reads a state's `parameter` object into a new parameter struct in `arena`. All problems are appended; null
// if there is any. Unknown names are problems, or go to `warnings` where that is given.
const void* read_params(const StateType& type, const base::Value& parameter, base::Arena& arena,
                        std::vector<ParamProblem>& problems, std::vector<ParamProblem>* warnings = nullptr);

}  // namespace states
