#include "templates/uses.hpp"

#include <algorithm>
#include <unordered_set>

#include "templates/syntax.hpp"
#include "templates/text.hpp"

namespace templates {

namespace {

class Reader {
 public:
  Reader(const Syntax& syntax, Uses& uses) : syntax_(syntax), uses_(uses) {
    for (const auto& each : syntax_.free_names)
      free_names_.insert(each.first);
  }

  void read(Body body) {
    for (const Statement* statement : body)
      read(*statement);
  }

  void read(const Expression* expression) {
    if (expression) read(*expression);
  }

 private:
  using Form = Expression::Kind;

  static bool is_path(const Expression& expression) {
    return expression.kind == Form::name || expression.kind == Form::attribute ||
           expression.kind == Form::item;
  }

  // Whether it is done with a value that does not have to be there.
  static bool is_lenient(const Expression& expression) {
    const std::string_view name = expression.builtin ? expression.builtin->name : std::string_view();
    return (expression.kind == Form::filter && (name == "default" || name == "d")) ||
           (expression.kind == Form::test && (name == "defined" || name == "undefined"));
  }

  void read(const Expression& expression) {
    if (is_path(expression)) return path(expression, false);
    if (expression.kind == Form::call) return call(expression);
    if (is_lenient(expression) && expression.first && is_path(*expression.first))
      path(*expression.first, true);
    else
      read(expression.first);
    read(expression.second);
    read(expression.test);
    for (const Expression* item : expression.items)
      read(item);
    for (const Comparison& each : expression.comparisons)
      read(each.value);
    arguments(expression.call);
  }

  void arguments(const CallSyntax* call) {
    if (!call) return;
    for (const Expression* value : call->values)
      read(value);
    for (const NamedExpression& named : call->named)
      read(named.value);
    read(call->more_values);
    read(call->more_named);
  }

  void call(const Expression& expression) {
    const Expression& callee = *expression.first;
    if (callee.kind == Form::name && callee.name == "secret") {
      const CallSyntax* call = expression.call;
      if (call && call->values.size() == 1 && call->values[0]->kind == Form::constant &&
          call->values[0]->constant.is_text())
        uses_.secrets.emplace_back(call->values[0]->constant.text());
      else
        uses_.has_computed_secrets = true;
    } else if (callee.kind == Form::attribute) {
      read(callee.first);  // a method is no variable
    } else {
      read(callee);
    }
    arguments(expression.call);
  }

  // With what it begins with: a name, or something else that is read.
  void path(const Expression& expression, bool may_be_missing) {
    std::vector<std::string> parts;
    const Expression* at = &expression;
    for (; at->kind != Form::name; at = at->first) {
      if (at->kind == Form::attribute) {
        parts.emplace_back(at->name);
      } else if (at->kind == Form::item && at->second->kind == Form::constant &&
                 at->second->constant.is_text()) {
        parts.emplace_back(at->second->constant.text());
      } else if (at->kind == Form::item) {
        read(at->second);
        parts.clear();  // what is behind a computed key is not known
      } else {
        read(*at);
        return;
      }
    }
    if (!free_names_.contains(at->name)) return;
    parts.emplace_back(at->name);
    std::ranges::reverse(parts);
    go_to(at->at);
    uses_.variables.push_back({std::move(parts), syntax_.line + lines_before_,
                               in_line_ + (lines_before_ == 0 ? syntax_.column : 1), may_be_missing});
  }

  // The next one is nearly always a little behind the one before, so that is where counting goes on.
  void go_to(std::size_t at) {
    const std::string_view source = syntax_.source;
    const std::string_view between = source.substr(std::min(at, at_), at > at_ ? at - at_ : at_ - at);
    const auto lines = static_cast<std::size_t>(std::ranges::count(between, '\n'));
    lines_before_ = at > at_ ? lines_before_ + lines : lines_before_ - lines;
    if (lines == 0) {
      const std::size_t characters = count_characters(between);
      in_line_ = at > at_ ? in_line_ + characters : in_line_ - characters;
    } else {
      const std::string_view before = source.substr(0, at);
      const std::size_t newline = before.rfind('\n');
      in_line_ = count_characters(newline == std::string_view::npos ? before : before.substr(newline + 1));
    }
    at_ = at;
  }

  void name_of_template(const Expression* name) {
    if (!name) return;
    if (name->kind == Form::constant && name->constant.is_text())
      uses_.templates.emplace_back(name->constant.text());
    else if (name->kind == Form::list)
      for (const Expression* each : name->items)
        name_of_template(each);
    else
      uses_.has_computed_templates = true;
  }

  void read(const Statement& statement) {
    using Kind = Statement::Kind;
    if (statement.kind == Kind::include || statement.kind == Kind::import ||
        statement.kind == Kind::from_import)
      name_of_template(statement.value);
    read(statement.value);
    read(statement.test);
    read(statement.filter);
    for (const Branch& branch : statement.branches) {
      read(branch.test);
      read(branch.body);
    }
    for (const Expression* value : statement.values)
      read(value);
    if (statement.macro) {
      for (const Parameter& parameter : statement.macro->parameters)
        read(parameter.otherwise);
      read(statement.macro->body);
    }
    read(statement.body);
    read(statement.otherwise);
  }

  const Syntax& syntax_;
  Uses& uses_;
  std::unordered_set<std::string_view> free_names_;
  std::size_t at_ = 0, lines_before_ = 0;
  std::size_t in_line_ = 0;  // characters
};

}  // namespace

Uses uses_of(const Template& given) {
  Uses uses;
  Reader reader(given.syntax(), uses);
  reader.read(given.syntax().body);
  reader.read(given.syntax().expression);
  return uses;
}

}  // namespace templates
