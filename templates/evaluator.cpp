#include "templates/evaluator.hpp"

#include <algorithm>

#include "templates/operators.hpp"
#include "templates/print.hpp"

namespace templates {

namespace {

// Run by the evaluator itself.
constexpr Builtin kSecret{.name = "secret", .parameters = {"name"}, .required = 1};

}  // namespace

std::string Evaluator::render(const Syntax& syntax) {
  scope_ = scope(nullptr);
  scope_->instance = instance(syntax, nullptr, true);
  run(syntax.body);
  check_output();
  return std::move(text_);
}

Value Evaluator::evaluate(const Syntax& syntax) {
  scope_ = scope(nullptr);
  scope_->instance = instance(syntax, nullptr, true);
  return value(*syntax.expression);
}

Instance* Evaluator::instance(const Syntax& syntax, Scope* includer, bool sees_variables) {
  const std::size_t count = syntax.symbols.size();
  bool* is_looked_up = memory_.array<bool>(count);
  std::fill_n(is_looked_up, count, false);
  return memory_.make<Instance>(
      Instance{&syntax, includer, sees_variables, memory_.array<Value>(count), is_looked_up});
}

Scope* Evaluator::scope(Scope* parent) {
  return memory_.make<Scope>(Scope{parent, parent ? parent->instance : nullptr});
}

void Evaluator::set(Symbol symbol, const Value& value) {
  for (std::size_t i = 0; i < scope_->size; ++i)
    if (scope_->variables[i].symbol == symbol) {
      scope_->variables[i].value = value;
      return;
    }
  if (scope_->size == scope_->capacity) {
    const std::size_t wanted = scope_->capacity == 0 ? 4 : scope_->capacity * 2;
    auto* moved = memory_.array<Scope::Variable>(wanted);
    std::uninitialized_copy_n(scope_->variables, scope_->size, moved);
    scope_->variables = moved;
    scope_->capacity = wanted;
  }
  new (scope_->variables + scope_->size++) Scope::Variable{symbol, value};
}

const Value* Evaluator::find(const Scope& from, Symbol symbol) {
  for (const Scope* scope = &from; scope; scope = scope->parent)
    for (std::size_t i = 0; i < scope->size; ++i)
      if (scope->variables[i].symbol == symbol) return &scope->variables[i].value;
  return nullptr;
}

const Value* Evaluator::lookup_by_name(const Scope* scope, std::string_view name) {
  for (; scope; scope = scope->instance->includer) {
    const auto& symbols = scope->instance->syntax->symbol_of;
    const auto known = symbols.find(name);
    if (known == symbols.end()) continue;
    if (const Value* found = find(*scope, known->second)) return found;
  }
  return nullptr;
}

Value Evaluator::lookup_outside(Instance& instance, Symbol symbol) {
  const std::string_view name = instance.syntax->symbols[symbol];
  if (const Value* found = lookup_by_name(instance.includer, name)) return *found;
  if (instance.is_looked_up[symbol]) return instance.given[symbol];
  Value found;
  if (const Value* given = instance.sees_variables ? variables_.find(name) : nullptr)
    found = *given;
  else if (name == kSecret.name && variables_.secret_source())
    found = Value::of(memory_.make<Function>(Function{&kSecret, Value::none()}));
  else if (const Builtin* global = find_global(name))
    found = Value::of(memory_.make<Function>(Function{global, Value::none()}));
  else
    found = Value::undefined(memory_.copy("'" + std::string(name) + "' is not defined"));
  instance.is_looked_up[symbol] = true;
  return *new (instance.given + symbol) Value(found);
}

Value Evaluator::lookup(const Expression& name) {
  if (const Value* found = find(*scope_, name.symbol)) return *found;
  return lookup_outside(*scope_->instance, name.symbol);
}

Value Evaluator::used(const Value& value) {
  if (value.marks() == 0) return value;
  if ((value.marks() & Marks::kAnyUnknown) != 0) throw UsesUnknown();
  has_used_secret_ = true;
  return value;
}

Value Evaluator::looked_into(const Expression& expression) {
  using Form = Expression::Kind;
  if (expression.kind == Form::name) {
    at_ = expression.at;
    return lookup(expression);
  }
  if (expression.kind != Form::attribute && expression.kind != Form::item) return value(expression);
  const Depth depth(*this);
  const Value of = looked_into(*expression.first);
  if ((of.marks() & (Marks::kSecret | Marks::kUnknown)) != 0) used(of);
  if (expression.kind == Form::item) {
    const Value key = value(*expression.second);
    at_ = expression.at;
    return item(of, key, memory_);
  }
  at_ = expression.at;
  const Value found = attribute(of, expression.name, memory_);
  if (found.is(Kind::function)) used(of);  // a method sees all of it
  return found;
}

Value Evaluator::value(const Expression& expression) {
  using Form = Expression::Kind;
  switch (expression.kind) {
    case Form::constant:
      return expression.constant;
    case Form::name:
    case Form::attribute:
    case Form::item:
      return used(looked_into(expression));
    default:
      break;
  }
  const Depth depth(*this);
  switch (expression.kind) {
    case Form::list:
    case Form::tuple:
    case Form::dict:
      return made_of(expression);
    case Form::slice: {
      const Value of = value(*expression.first);
      const Value start = value(*expression.items[0]), stop = value(*expression.items[1]),
                  step = value(*expression.items[2]);
      at_ = expression.at;
      return slice(of, start, stop, step, memory_);
    }
    case Form::call:
      return called(expression);
    case Form::filter:
    case Form::test:
      return applied(expression, value(*expression.first));
    case Form::compare:
      return comparison(expression);
    case Form::concat:
      return concatenated(expression);
    case Form::both: {
      const Value first = value(*expression.first);
      return is_true(first) ? value(*expression.second) : first;
    }
    case Form::either: {
      const Value first = value(*expression.first);
      return is_true(first) ? first : value(*expression.second);
    }
    case Form::choice:
      if (is_true(value(*expression.test))) return value(*expression.first);
      if (expression.second) return value(*expression.second);
      return left_out();
    default:
      return operation(expression);
  }
}

Value Evaluator::operation(const Expression& expression) {
  using Form = Expression::Kind;
  const Value a = value(*expression.first);
  const Value b = expression.second ? value(*expression.second) : Value();
  at_ = expression.at;
  if (expression.kind == Form::negation) return Value::boolean(!is_true(a));
  if (expression.kind == Form::minus) return negate(a);
  if (expression.kind == Form::plus) return positive(a);
  switch (expression.op) {
    case Operator::add:
      return add(a, b, memory_);
    case Operator::subtract:
      return subtract(a, b);
    case Operator::multiply:
      return multiply(a, b, memory_);
    case Operator::divide:
      return divide(a, b);
    case Operator::divide_floor:
      return divide_floor(a, b);
    case Operator::modulo:
      return modulo(a, b, memory_);
    default:
      return power(a, b);
  }
}

bool Evaluator::compares(Operator op, const Value& a, const Value& b) {
  switch (op) {
    case Operator::equal:
      return equal(a, b);
    case Operator::unequal:
      return !equal(a, b);
    case Operator::less:
      return compare(a, b, "<") == -1;
    case Operator::less_equal: {
      const int order = compare(a, b, "<=");
      return order == -1 || order == 0;
    }
    case Operator::greater:
      return compare(a, b, ">") == 1;
    case Operator::greater_equal: {
      const int order = compare(a, b, ">=");
      return order == 1 || order == 0;
    }
    case Operator::in:
      return contains(b, a, memory_);
    default:
      return !contains(b, a, memory_);
  }
}

Value Evaluator::comparison(const Expression& expression) {
  Value left = value(*expression.first);
  for (const Comparison& each : expression.comparisons) {
    const Value right = value(*each.value);
    at_ = expression.at;
    if (!compares(each.op, left, right)) return Value::boolean(false);
    left = right;
  }
  return Value::boolean(true);
}

Value Evaluator::made_of(const Expression& expression) {
  if (expression.kind == Expression::Kind::dict) {
    Dict* dict = memory_.make<Dict>();
    for (std::size_t i = 0; i < expression.items.size(); i += 2) {
      const Value key = value(*expression.items[i]);
      const Value given = value(*expression.items[i + 1]);
      at_ = expression.items[i]->at;
      dict->set(memory_, key, given);
    }
    return Value::dict(dict);
  }
  List* list = new_list(memory_, expression.items.size());
  for (const Expression* each : expression.items)
    list->add(memory_, value(*each));
  return expression.kind == Expression::Kind::list ? Value::list(list) : Value::tuple(list);
}

Value Evaluator::concatenated(const Expression& expression) {
  std::string text;
  for (const Expression* each : expression.items) {
    const Value part = value(*each);
    at_ = each->at;
    append_text(part, text, memory_);
  }
  return new_text(memory_, text);
}

Call Evaluator::arguments(const CallSyntax* syntax, const NamedValue* more) {
  if (!syntax) return {};
  List values;
  values.reserve(memory_, syntax->values.size());
  for (const Expression* each : syntax->values)
    values.add(memory_, value(*each));
  std::size_t named_count = syntax->named.size() + (more ? 1 : 0);
  List* more_values = syntax->more_values ? to_list(value(*syntax->more_values), memory_) : nullptr;
  std::vector<NamedValue> named;
  named.reserve(named_count);
  for (const NamedExpression& each : syntax->named)
    named.push_back({each.name, value(*each.value)});
  if (syntax->more_named) {
    const Value given = value(*syntax->more_named);
    at_ = syntax->more_named->at;
    if (!defined(given).is(Kind::dict)) throw Failure("what stands behind '**' must be a dict");
    for (const Dict::Entry& entry : given.dict()) {
      if (!entry.is_live) continue;
      if (!entry.key.is_text()) throw Failure("keywords must be strings");
      for (const NamedValue& each : named)
        if (each.name == entry.key.text()) throw Failure("'" + std::string(each.name) + "' is given twice");
      named.push_back({entry.key.text(), entry.value});
    }
  }
  if (more) named.push_back(*more);
  if (more_values)
    for (const Value& each : *more_values)
      values.add(memory_, each);
  auto* kept = memory_.array<NamedValue>(named.size());
  std::uninitialized_copy(named.begin(), named.end(), kept);
  return {{values.items, values.size}, {kept, named.size()}};
}

Value Evaluator::applied(const Expression& expression, const Value& to) {
  const Call given = arguments(expression.call);
  at_ = expression.at;
  return apply(*expression.builtin, to, given, memory_);
}

Value Evaluator::called(const Expression& expression, const NamedValue* more) {
  const Value callee = value(*expression.first);
  const Call given = arguments(expression.call, more);
  at_ = expression.at;
  return call(callee, given);
}

Value Evaluator::call(const Value& callee, const Call& given) {
  switch (defined(callee).kind()) {
    case Kind::function: {
      const Function& function = callee.as<Function>();
      if (function.builtin == &kSecret) return secret(given);
      return templates::run(*function.builtin, &function.self, given, memory_);
    }
    case Kind::macro:
      return call_macro(callee.as<Macro>(), given);
    case Kind::loop: {
      const Loop& loop = callee.as<Loop>();
      if (!loop.statement->recursive) throw Failure("only a loop that says 'recursive' can be called");
      if (given.values.size() != 1 || !given.named.empty())
        throw Failure("loop() takes what it is to go through");
      std::string text;
      std::string* const before = std::exchange(out_, &text);
      loop_over(*loop.statement, given.values[0], loop.scope, loop.depth + 1);
      out_ = before;
      return new_text(memory_, text);
    }
    case Kind::joiner: {
      Cycler& joiner = callee.as<Cycler>();
      return Value::text(joiner.next++ == 0 ? std::string_view() : joiner.separator);
    }
    default:
      throw Failure("a " + std::string(type_name(callee)) + " cannot be called");
  }
}

Value Evaluator::secret(const Call& given) {
  const Arguments arguments(kSecret, nullptr, given, memory_);
  const bool is_after_secret = std::exchange(has_used_secret_, true);
  const Answer<std::string> found = (*variables_.secret_source())(arguments.only_text(0), is_after_secret);
  if (const auto* problem = std::get_if<Problem>(&found)) {
    if (problem->is_unknown) throw UsesUnknown();
    throw Failure(problem->message);
  }
  return new_text(memory_, std::get<std::string>(found));
}

Value Evaluator::call_macro(const Macro& macro, const Call& given) {
  const Depth depth(*this);
  InScope inside(*this, scope(macro.scope));
  bind(macro, given);
  const Value text = captured(macro.syntax->body);
  inside.leave();
  return text;
}

void Evaluator::bind(const Macro& macro, const Call& given) {
  const MacroSyntax& syntax = *macro.syntax;
  const std::string name = "'" + std::string(syntax.name) + "'";
  const std::size_t count = std::min(given.values.size(), syntax.parameters.size());
  const auto own = [&](std::string_view word) {
    return std::ranges::any_of(syntax.parameters, [&](const Parameter& each) { return each.name == word; });
  };
  const auto find_named = [&](std::string_view wanted) -> const Value* {
    for (const NamedValue& each : given.named)
      if (each.name == wanted) return &each.value;
    return nullptr;
  };
  const auto symbol = [&](std::string_view word) { return scope_->instance->syntax->symbol_of.at(word); };
  if (given.values.size() > syntax.parameters.size() && !syntax.uses_values)
    throw Failure("the macro " + name + " takes at most " + std::to_string(syntax.parameters.size()) +
                  " arguments");
  Dict* others = memory_.make<Dict>();
  for (const NamedValue& each : given.named) {
    const auto parameter =
        std::ranges::find(syntax.parameters, each.name, &Parameter::name) - syntax.parameters.begin();
    const auto index = static_cast<std::size_t>(parameter);
    if (index >= count && index < syntax.parameters.size()) continue;
    if (each.name == "caller" && syntax.uses_caller && !own("caller")) continue;
    if (!syntax.uses_named || index < count)
      if (!syntax.uses_named)
        throw Failure("the macro " + name + " has no parameter '" + std::string(each.name) + "' left");
    others->set(memory_, Value::text(each.name), each.value);
  }
  if (syntax.uses_caller && !own("caller")) {
    const Value* caller = find_named("caller");
    set(symbol("caller"), caller && !caller->is_none()
                              ? *caller
                              : Value::undefined("no caller is defined: the macro is not used by 'call'"));
  }
  if (syntax.uses_named) set(symbol("kwargs"), Value::dict(others));
  if (syntax.uses_values) {
    List* more = new_list(memory_);
    for (std::size_t i = count; i < given.values.size(); ++i)
      more->add(memory_, given.values[i]);
    set(symbol("varargs"), Value::tuple(more));
  }
  for (std::size_t i = 0; i < syntax.parameters.size(); ++i) {
    const Parameter& parameter = syntax.parameters[i];
    if (i < count)
      set(parameter.symbol, given.values[i]);
    else if (const Value* named = find_named(parameter.name))
      set(parameter.symbol, *named);
    else
      set(parameter.symbol, Value::undefined(memory_.copy("the parameter '" + std::string(parameter.name) +
                                                          "' was not given")));
  }
  for (std::size_t i = count; i < syntax.parameters.size(); ++i)
    if (syntax.parameters[i].otherwise && !find_named(syntax.parameters[i].name))
      set(syntax.parameters[i].symbol, value(*syntax.parameters[i].otherwise));
}

std::string_view macro_name(const Value& macro) {
  return macro.as<Macro>().syntax->name;
}

}  // namespace templates
