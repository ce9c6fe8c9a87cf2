// The statements of templates, run by the Evaluator.
#include <algorithm>
#include <utility>

#include "templates/evaluator.hpp"
#include "templates/print.hpp"

namespace templates {

Evaluator::Flow Evaluator::run(Body body) {
  for (const Statement* statement : body)
    if (const Flow flow = run(*statement); flow != Flow::on) return flow;
  return Flow::on;
}

void Evaluator::print(const Value& value) {
  append_text(value, *out_, memory_);
}

Evaluator::Flow Evaluator::run(const Statement& statement) {
  using Form = Statement::Kind;
  if (statement.kind == Form::data) {
    memory_.step();
    *out_ += statement.data;
    check_output();
    return Flow::on;
  }
  const Depth depth(*this);
  at_ = statement.at;
  switch (statement.kind) {
    case Form::print: {
      const Value shown = value(*statement.value);
      at_ = statement.at;
      print(shown);
      check_output();
      break;
    }
    case Form::branches:
      return branches(statement);
    case Form::loop:
      return loop(statement);
    case Form::set:
      assign(statement.targets[0], value(*statement.value));
      break;
    case Form::set_block: {
      InScope inside(*this, scope(scope_));
      Value text = captured(statement.body);
      if (statement.filter) text = filtered(*statement.filter, text);
      inside.leave();
      assign(statement.targets[0], text);
      break;
    }
    case Form::macro:
      set(statement.targets[0].symbol, Value::of(memory_.make<Macro>(Macro{statement.macro, scope_})));
      break;
    case Form::call_block: {
      const NamedValue caller{"caller", Value::of(memory_.make<Macro>(Macro{statement.macro, scope_}))};
      const Value text = called(*statement.value, &caller);
      print(text);
      break;
    }
    case Form::filter_block: {
      InScope inside(*this, scope(scope_));
      const Value text = captured(statement.body);
      print(filtered(*statement.filter, text));
      inside.leave();
      break;
    }
    case Form::with: {
      Scope* inner = scope(scope_);
      std::vector<Value> values;
      for (const Expression* each : statement.values)
        values.push_back(value(*each));
      InScope inside(*this, inner);
      for (std::size_t i = 0; i < values.size(); ++i)
        assign(statement.targets[i], values[i]);
      const Flow flow = run(statement.body);
      inside.leave();
      return flow;
    }
    case Form::include:
      include(statement);
      break;
    case Form::import:
    case Form::from_import:
      import(statement);
      break;
    case Form::evaluate:
      value(*statement.value);
      break;
    case Form::leave_loop:
      return Flow::leave_loop;
    case Form::next_round:
      return Flow::next_round;
    case Form::data:
      break;
  }
  return Flow::on;
}

Evaluator::Flow Evaluator::branches(const Statement& statement) {
  for (const Branch& branch : statement.branches)
    if (!branch.test || is_true(value(*branch.test))) return run(branch.body);
  return Flow::on;
}

void Evaluator::assign(const Target& target, const Value& given) {
  if (!target.is_tuple && target.attribute.empty()) return set(target.symbol, given);
  at_ = target.at;
  if (!target.attribute.empty()) {
    const Value* found = find(*scope_, target.symbol);
    const Value space = found ? *found : lookup_outside(*scope_->instance, target.symbol);
    if (!defined(space).is(Kind::space)) throw Failure("only a namespace() can be assigned to by its items");
    return space.dict().set(memory_, Value::text(target.attribute), given);
  }
  Walk walk(given, memory_);
  Value item;
  for (const Target& part : target.parts) {
    if (!walk.next(item))
      throw Failure("not enough values: " + std::to_string(target.parts.size()) + " are expected");
    assign(part, item);
    at_ = target.at;
  }
  if (walk.next(item))
    throw Failure("too many values: " + std::to_string(target.parts.size()) + " are expected");
}

Value Evaluator::captured(Body body) {
  std::string text;
  std::string* const before = std::exchange(out_, &text);
  try {
    run(body);
  } catch (...) {
    out_ = before;
    throw;
  }
  out_ = before;
  return new_text(memory_, text);
}

// The filters of a block: the innermost is applied to a constant in the place of the text.
Value Evaluator::filtered(const Expression& filter, const Value& text) {
  return applied(filter,
                 filter.first->kind == Expression::Kind::filter ? filtered(*filter.first, text) : text);
}

Evaluator::Flow Evaluator::loop(const Statement& statement) {
  return loop_over(statement, value(*statement.value), scope_, 0);
}

// Those of the items that the loop's condition takes.
List* Evaluator::chosen(const Statement& statement, const Value& items) {
  List* list = items.is_sequence() && !items.is_undefined() ? &items.list() : to_list(items, memory_);
  if (!statement.test) return list;
  List* taken = new_list(memory_);
  Scope* inner = scope(scope_);
  InScope inside(*this, inner);
  for (std::size_t i = 0; i < list->size; ++i) {
    inner->size = 0;
    assign(statement.targets[0], list->items[i]);
    if (is_true(value(*statement.test))) taken->add(memory_, list->items[i]);
  }
  inside.leave();
  return taken;
}

Evaluator::Flow Evaluator::loop_over(const Statement& statement, const Value& items, Scope* outside,
                                     std::size_t depth) {
  const Depth level(*this);
  at_ = statement.value->at;
  InScope in_outside(*this, outside);
  List* list = chosen(statement, items);
  Loop* loop = memory_.make<Loop>(Loop{&statement, outside, list});
  loop->depth = depth;
  const auto loop_symbol = scope_->instance->syntax->symbol_of.find("loop");
  const bool has_loop = statement.uses_loop && loop_symbol != scope_->instance->syntax->symbol_of.end();
  Scope* inner = scope(outside);
  InScope inside(*this, inner);
  bool any = false;
  for (; loop->index < list->size; ++loop->index) {
    memory_.step();
    any = true;
    if (statement.keeps_scope) {
      scope_ = inner = scope(outside);
    } else {
      inner->size = 0;
    }
    if (has_loop) set(loop_symbol->second, Value::of(loop));
    assign(statement.targets[0], list->items[loop->index]);
    if (run(statement.body) == Flow::leave_loop) break;
    scope_ = inner;
  }
  inside.leave();
  Flow flow = Flow::on;
  if (!any && !statement.otherwise.empty()) {
    InScope in_else(*this, scope(outside));
    flow = run(statement.otherwise);
    in_else.leave();
  }
  in_outside.leave();
  return flow;
}

std::shared_ptr<const Template> Evaluator::load(const Value& name, bool may_be_missing) {
  List one;
  if (defined(name).is_text()) one.add(memory_, name);
  const List& names = name.is_sequence() ? name.list() : one;
  if (!name.is_text() && !name.is_sequence()) throw Failure("an included template needs a name");
  std::string all;
  for (const Value& each : names) {
    if (!defined(each).is_text()) throw Failure("an included template needs a name");
    all += (all.empty() ? "'" : ", '") + std::string(each.text()) + "'";
    if (!loader_) continue;
    auto loaded = loader_->load(each.text());
    if (const auto* problem = std::get_if<Problem>(&loaded)) throw Failure(describe(*problem));
    if (const auto& found = std::get<0>(loaded)) {
      constexpr std::size_t kMostLoaded = 10'000;
      if (loaded_.size() >= kMostLoaded) throw Failure("includes more than 10000 templates", true);
      if (std::ranges::find(loaded_, found) == loaded_.end()) loaded_.push_back(found);
      return found;
    }
  }
  if (may_be_missing) return nullptr;
  throw Failure("there is no template " + all);
}

void Evaluator::include(const Statement& statement) {
  const auto included = load(value(*statement.value), statement.may_be_missing);
  if (!included) return;
  Scope* top = scope(nullptr);
  top->instance =
      instance(included->syntax(), statement.with_context ? scope_ : nullptr, statement.with_context);
  InScope inside(*this, top);
  run(included->syntax().body);
  inside.leave();
}

void Evaluator::import(const Statement& statement) {
  const auto imported = load(value(*statement.value), false);
  Scope* top = scope(nullptr);
  top->instance =
      instance(imported->syntax(), statement.with_context ? scope_ : nullptr, statement.with_context);
  InScope inside(*this, top);
  captured(imported->syntax().body);
  inside.leave();
  at_ = statement.at;
  Dict* names = memory_.make<Dict>();
  for (std::size_t i = 0; i < top->size; ++i) {
    const std::string_view name = imported->syntax().symbols[top->variables[i].symbol];
    if (!name.starts_with('_')) names->set(memory_, Value::text(name), top->variables[i].value);
  }
  if (statement.kind == Statement::Kind::import) return assign(statement.targets[0], Value::module(names));
  for (const Import& each : statement.imports) {
    const Dict::Entry* entry = names->find(each.name);
    set(each.symbol, entry ? entry->value
                           : Value::undefined(memory_.copy("the imported template has no '" +
                                                           std::string(each.name) + "'")));
  }
}

namespace {

Value cycle(const Arguments& arguments) {
  const auto& given = arguments.call().values;
  if (given.empty()) throw Failure("cycle() needs values");
  return given[arguments.self().as<Loop>().index % given.size()];
}

Value changed(const Arguments& arguments) {
  Loop& loop = arguments.self().as<Loop>();
  List* now = new_list(arguments.memory());
  for (const Value& each : arguments.call().values)
    now->add(arguments.memory(), each);
  const Value value = Value::tuple(now);
  if (loop.has_changed && equal(loop.last_changed, value)) return Value::boolean(false);
  loop.last_changed = value;
  loop.has_changed = true;
  return Value::boolean(true);
}

constexpr std::array<Builtin, 2> kLoopMethods{
    {{"cycle", {}, 0, cycle, true}, {"changed", {}, 0, changed, true}}};

}  // namespace

Rows loop_methods() {
  return kLoopMethods;
}

Value loop_attribute(const Value& value, std::string_view name, Memory&) {
  const Loop& loop = value.as<Loop>();
  const auto number = [](std::size_t given) { return Value::integer(static_cast<std::int64_t>(given)); };
  const std::size_t size = loop.items->size;
  if (name == "index") return number(loop.index + 1);
  if (name == "index0") return number(loop.index);
  if (name == "revindex") return number(size - loop.index);
  if (name == "revindex0") return number(size - loop.index - 1);
  if (name == "first") return Value::boolean(loop.index == 0);
  if (name == "last") return Value::boolean(loop.index + 1 >= size);
  if (name == "length") return number(size);
  if (name == "depth") return number(loop.depth + 1);
  if (name == "depth0") return number(loop.depth);
  if (name == "previtem")
    return loop.index > 0 ? loop.items->items[loop.index - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem")
    return loop.index + 1 < size ? loop.items->items[loop.index + 1]
                                 : Value::undefined("there is no next item");
  return Value();
}

}  // namespace templates
