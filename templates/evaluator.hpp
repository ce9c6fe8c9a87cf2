// Evaluator: one rendering. Expressions and calls in evaluator.cpp, statements in statements.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "templates/from_document.hpp"
#include "templates/syntax.hpp"
#include "templates/templates.hpp"

namespace templates {

struct Variables::Content {
  // A variable that nobody has asked for yet.
  struct Waiting {
    std::string name;
    base::Value value;
    std::optional<MarksOf> marks_of;
  };
  mutable Memory memory{Limits{}};
  mutable Dict names{};
  mutable std::vector<Waiting> waiting{};
  const Content* outer = nullptr;
  SecretOf secrets{};

  // The value is where it is until the next look.
  const Value* find(std::string_view name) const {
    for (const Content* content = this; content; content = content->outer)
      if (const Value* found = content->find_here(name)) return found;
    return nullptr;
  }
  const Value* find_here(std::string_view name) const;
  void forget(std::string_view name);
  const SecretOf* secret_source() const {
    for (const Content* content = this; content; content = content->outer)
      if (content->secrets) return &content->secrets;
    return nullptr;
  }
};

struct Instance;

// The variables that one block, macro or template has set.
struct Scope {
  struct Variable {
    Symbol symbol;
    Value value;
  };
  Scope* parent;
  Instance* instance;
  Variable* variables = nullptr;
  std::size_t size = 0, capacity = 0;
};

// One template that is rendered, included or imported.
struct Instance {
  const Syntax* syntax;
  Scope* includer;      // whose variables it sees; null: none
  bool sees_variables;  // those that were given
  Value* given;         // by symbol: what was looked up outside already
  bool* is_looked_up;
};

struct Macro {
  const MacroSyntax* syntax;
  Scope* scope;  // where it was defined
};

struct Loop {
  const Statement* statement;
  Scope* scope;  // outside of the loop
  List* items;
  std::size_t index = 0;
  std::size_t depth = 0;
  Value last_changed{};
  bool has_changed = false;
};

class Evaluator {
 public:
  Evaluator(const Variables::Content& variables, Loader* loader, const Limits& limits)
      : memory_(limits), variables_(variables), loader_(loader) {}

  // Both throw Failure.
  std::string render(const Syntax& syntax);
  Value evaluate(const Syntax& syntax);

  Memory& memory() { return memory_; }
  // Where the evaluation is, for a problem.
  const Syntax& syntax() const { return *scope_->instance->syntax; }
  std::uint32_t at() const { return at_; }
  bool has_used_secret() const { return has_used_secret_; }

 private:
  enum class Flow { on, next_round, leave_loop };

  Instance* instance(const Syntax& syntax, Scope* includer, bool sees_variables);
  Scope* scope(Scope* parent);
  void set(Symbol symbol, const Value& value);
  const Value* find(const Scope& from, Symbol symbol);
  Value lookup(const Expression& name);
  Value lookup_outside(Instance& instance, Symbol symbol);
  const Value* lookup_by_name(const Scope* scope, std::string_view name);

  // Notes that a value counts, with all that is in it.
  Value used(const Value& value);
  // The value of a name, attribute or item, of which only a part may count.
  Value looked_into(const Expression& expression);
  Value secret(const Call& call);
  Value value(const Expression& expression);
  Value operation(const Expression& expression);
  Value comparison(const Expression& expression);
  bool compares(Operator op, const Value& a, const Value& b);
  Value made_of(const Expression& expression);  // lists, tuples, dicts
  Value concatenated(const Expression& expression);
  Value applied(const Expression& expression, const Value& to);  // a filter or test
  Call arguments(const CallSyntax* syntax, const NamedValue* more = nullptr);
  Value called(const Expression& expression, const NamedValue* more = nullptr);
  Value call(const Value& callee, const Call& call);
  Value call_macro(const Macro& macro, const Call& call);
  void bind(const Macro& macro, const Call& call);

  Flow run(Body body);
  Flow run(const Statement& statement);
  Flow branches(const Statement& statement);
  Flow loop(const Statement& statement);
  Flow loop_over(const Statement& statement, const Value& items, Scope* outside, std::size_t depth);
  List* chosen(const Statement& statement, const Value& items);
  void assign(const Target& target, const Value& value);
  Value captured(Body body);
  Value filtered(const Expression& filter, const Value& text);
  void include(const Statement& statement);
  void import(const Statement& statement);
  std::shared_ptr<const Template> load(const Value& name, bool may_be_missing);
  void print(const Value& value);
  void check_output() const { memory_.check_text(out_->size()); }

  class Depth;
  class InScope;

  Memory memory_;
  const Variables::Content& variables_;
  Loader* loader_;
  std::vector<std::shared_ptr<const Template>> loaded_;
  std::string text_;
  std::string* out_ = &text_;
  Scope* scope_ = nullptr;
  std::uint32_t at_ = 0;
  unsigned depth_ = 0;
  bool has_used_secret_ = false;
};

class Evaluator::Depth {
 public:
  explicit Depth(Evaluator& evaluator) : evaluator_(evaluator) {
    evaluator.memory_.step();
    const unsigned most = evaluator.memory_.limits().depth;
    if (evaluator.depth_ >= most) throw Failure("goes deeper than " + std::to_string(most) + " levels", true);
    ++evaluator.depth_;
  }
  ~Depth() { --evaluator_.depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  Evaluator& evaluator_;
};

// Another scope, until the end of a block of code. After a failure the scope stays, for the place of the
// problem.
class Evaluator::InScope {
 public:
  InScope(Evaluator& evaluator, Scope* inside) : evaluator_(evaluator), before_(evaluator.scope_) {
    evaluator.scope_ = inside;
  }
  void leave() { evaluator_.scope_ = before_; }

 private:
  Evaluator& evaluator_;
  Scope* before_;
};

Value loop_attribute(const Value& loop, std::string_view name, Memory& memory);
std::string_view macro_name(const Value& macro);

}  // namespace templates
