// The tree that a template is parsed into. Its nodes live in the Memory of the Syntax that owns them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "templates/builtins.hpp"
#include "templates/value.hpp"

namespace templates {

struct Expression;
struct Statement;
using Expressions = std::span<const Expression* const>;
using Body = std::span<const Statement* const>;
using Symbol = std::uint32_t;

enum class Operator : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  divide_floor,
  modulo,
  power,
  equal,
  unequal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  not_in,
};

struct NamedExpression {
  std::string_view name;
  const Expression* value;
};

struct CallSyntax {
  Expressions values;
  std::span<const NamedExpression> named;
  const Expression* more_values = nullptr;  // *list
  const Expression* more_named = nullptr;   // **dict
};

struct Comparison {
  Operator op;
  const Expression* value;
};

struct Expression {
  enum class Kind : std::uint8_t {
    constant,
    name,
    list,
    tuple,
    dict,
    attribute,
    item,
    slice,
    call,
    filter,
    test,
    negation,
    minus,
    plus,
    binary,
    concat,
    compare,
    both,
    either,
    choice,
  };
  Kind kind;
  Operator op = Operator::add;
  std::uint32_t at = 0;
  Symbol symbol = 0;
  Value constant{};
  std::string_view name{};
  Expressions items{};  // of lists and tuples; of dicts key, value, key …; of slices start, stop, step
  const Expression* first = nullptr;   // what an operator, attribute, filter … is applied to
  const Expression* second = nullptr;  // of a choice: what it is if not `test`; may be null
  const Expression* test = nullptr;
  const CallSyntax* call = nullptr;
  const Builtin* builtin = nullptr;
  std::span<const Comparison> comparisons{};
};

// What is assigned to: a name, several, or an item of a namespace.
struct Target {
  std::uint32_t at = 0;
  Symbol symbol = 0;
  std::string_view attribute{};
  std::span<const Target> parts{};
  bool is_tuple = false;
};

struct Parameter {
  Symbol symbol;
  std::string_view name;
  const Expression* otherwise = nullptr;
};

struct MacroSyntax {
  std::string_view name;
  std::span<const Parameter> parameters;
  Body body;
  bool uses_caller = false, uses_values = false, uses_named = false;  // caller, varargs, kwargs
};

struct Branch {
  const Expression* test;  // null: else
  Body body;
};

struct Import {
  std::string_view name;
  Symbol symbol;
};

struct Statement {
  enum class Kind : std::uint8_t {
    data,
    print,
    branches,
    loop,
    set,
    set_block,
    macro,
    call_block,
    filter_block,
    with,
    include,
    import,
    from_import,
    evaluate,
    leave_loop,
    next_round,
  };
  Kind kind;
  std::uint32_t at = 0;
  std::string_view data{};
  const Expression* value = nullptr;   // printed, assigned, gone through, called, included
  const Expression* test = nullptr;    // of a loop
  const Expression* filter = nullptr;  // of blocks: applied to a constant, which the block's text replaces
  std::span<const Branch> branches{};
  std::span<const Target> targets{};
  Expressions values{};  // of "with"
  Body body{}, otherwise{};
  const MacroSyntax* macro = nullptr;
  std::span<const Import> imports{};
  bool recursive = false, uses_loop = false, keeps_scope = false;
  bool with_context = true, may_be_missing = false;
};

struct Syntax {
  explicit Syntax(const Limits& limits) : memory(limits) {}

  std::string name;
  std::string source;
  std::uint32_t line = 1, column = 1;  // where the source begins in its file
  Memory memory;
  Body body;
  const Expression* expression = nullptr;  // of an expression: no body then
  std::vector<std::string_view> symbols;
  std::unordered_map<std::string_view, Symbol> symbol_of;
  std::vector<std::pair<std::string_view, std::uint32_t>> free_names;  // read and set nowhere in it
};

}  // namespace templates
