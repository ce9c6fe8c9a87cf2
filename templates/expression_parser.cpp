#include "templates/expression_parser.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>

#include "base/text.hpp"

namespace templates {

namespace {

constexpr unsigned kDeepest = 100;
constexpr unsigned kMostLinks = 5'000;

}  // namespace

ExpressionParser::Level::Level(ExpressionParser& parser) : parser_(parser) {
  if (++parser.depth_ <= kDeepest) return;
  --parser.depth_;
  fail("nested deeper than " + std::to_string(kDeepest) + " levels", parser.current().at);
}

void ExpressionParser::link() {
  if (++links_ > kMostLinks)
    fail("has more than " + std::to_string(kMostLinks) + " operators, filters and the like in one expression",
         current().at);
}

Token ExpressionParser::next() {
  const Token token = current();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool ExpressionParser::skip(std::string_view sign) {
  const bool fits = is(sign);
  if (fits) next();
  return fits;
}

bool ExpressionParser::skip_name(std::string_view name) {
  const bool fits = is_name(name);
  if (fits) next();
  return fits;
}

void ExpressionParser::expect(std::string_view sign) {
  if (!skip(sign)) unexpected("'" + std::string(sign) + "'");
}

Token ExpressionParser::expect_name() {
  if (current().kind != TokenKind::name) unexpected("a name");
  return next();
}

void ExpressionParser::fail(std::string message, std::uint32_t at) {
  throw SyntaxFailure{std::move(message), at};
}

void ExpressionParser::unexpected(std::string_view wanted) const {
  const Token& token = current();
  std::string found = "'" + std::string(token.text) + "'";
  if (token.kind == TokenKind::end) found = "the end of the template";
  if (token.kind == TokenKind::block_end) found = "the end of the block";
  if (token.kind == TokenKind::variable_end) found = "the end of the expression";
  if (token.kind == TokenKind::text) found = "a text";
  fail("expected " + std::string(wanted) + ", found " + found, token.at);
}

Symbol ExpressionParser::symbol(std::string_view name) {
  const auto [known, is_new] = syntax_.symbol_of.emplace(name, static_cast<Symbol>(syntax_.symbols.size()));
  if (is_new) syntax_.symbols.push_back(name);
  return known->second;
}

const Expression* ExpressionParser::constant(const Value& value, std::uint32_t at) {
  return memory_.make<Expression>(
      Expression{.kind = Expression::Kind::constant, .at = at, .constant = value});
}

const Expression* ExpressionParser::operation(Operator op, const Expression* a, const Expression* b,
                                              std::uint32_t at) {
  return memory_.make<Expression>(
      Expression{.kind = Expression::Kind::binary, .op = op, .at = at, .first = a, .second = b});
}

const Expression* ExpressionParser::expression(bool with_choice) {
  const Level level(*this);
  if (inside_ == 0) links_ = 0;
  ++inside_;
  const Expression* const value = with_choice ? choice() : either();
  --inside_;
  return value;
}

const Expression* ExpressionParser::choice() {
  const Expression* value = either();
  while (is_name("if")) {
    link();
    const std::uint32_t at = next().at;
    const Expression* test = either();
    const Expression* otherwise = nullptr;
    if (skip_name("else")) {
      const Level level(*this);
      otherwise = choice();
    }
    value = memory_.make<Expression>(Expression{
        .kind = Expression::Kind::choice, .at = at, .first = value, .second = otherwise, .test = test});
  }
  return value;
}

const Expression* ExpressionParser::either() {
  const Expression* value = both();
  while (is_name("or")) {
    link();
    const std::uint32_t at = next().at;
    value = memory_.make<Expression>(
        Expression{.kind = Expression::Kind::either, .at = at, .first = value, .second = both()});
  }
  return value;
}

const Expression* ExpressionParser::both() {
  const Expression* value = negation();
  while (is_name("and")) {
    link();
    const std::uint32_t at = next().at;
    value = memory_.make<Expression>(
        Expression{.kind = Expression::Kind::both, .at = at, .first = value, .second = negation()});
  }
  return value;
}

const Expression* ExpressionParser::negation() {
  if (!is_name("not")) return compare();
  const Level level(*this);
  const std::uint32_t at = next().at;
  return memory_.make<Expression>(
      Expression{.kind = Expression::Kind::negation, .at = at, .first = negation()});
}

const Expression* ExpressionParser::compare() {
  struct Sign {
    std::string_view text;
    Operator op;
  };
  static constexpr std::array<Sign, 6> kSigns{{{"==", Operator::equal},
                                               {"!=", Operator::unequal},
                                               {"<", Operator::less},
                                               {"<=", Operator::less_equal},
                                               {">", Operator::greater},
                                               {">=", Operator::greater_equal}}};
  const std::uint32_t at = current().at;
  const Expression* value = sum();
  std::vector<Comparison> comparisons;
  while (true) {
    const auto sign = std::ranges::find_if(kSigns, [this](const Sign& each) { return is(each.text); });
    if (sign != kSigns.end()) {
      next();
      comparisons.push_back({sign->op, sum()});
    } else if (skip_name("in")) {
      comparisons.push_back({Operator::in, sum()});
    } else if (is_name("not") && look().is_name("in")) {
      next();
      next();
      comparisons.push_back({Operator::not_in, sum()});
    } else {
      break;
    }
  }
  if (comparisons.empty()) return value;
  return memory_.make<Expression>(Expression{
      .kind = Expression::Kind::compare, .at = at, .first = value, .comparisons = keep(comparisons)});
}

const Expression* ExpressionParser::sum() {
  const Expression* value = concat();
  while (is("+") || is("-")) {
    link();
    const Token sign = next();
    value = operation(sign.text == "+" ? Operator::add : Operator::subtract, value, concat(), sign.at);
  }
  return value;
}

const Expression* ExpressionParser::concat() {
  const std::uint32_t at = current().at;
  std::vector<const Expression*> parts{product()};
  while (skip("~"))
    parts.push_back(product());
  if (parts.size() == 1) return parts[0];
  return memory_.make<Expression>(
      Expression{.kind = Expression::Kind::concat, .at = at, .items = keep(parts)});
}

const Expression* ExpressionParser::product() {
  const Expression* value = power();
  while (is("*") || is("/") || is("//") || is("%")) {
    link();
    const Token sign = next();
    const Operator op = sign.text == "*"    ? Operator::multiply
                        : sign.text == "/"  ? Operator::divide
                        : sign.text == "//" ? Operator::divide_floor
                                            : Operator::modulo;
    value = operation(op, value, power(), sign.at);
  }
  return value;
}

const Expression* ExpressionParser::power() {
  const Expression* value = unary();
  while (is("**")) {
    link();
    const std::uint32_t at = next().at;
    value = operation(Operator::power, value, unary(), at);
  }
  return value;
}

const Expression* ExpressionParser::unary(bool with_filter) {
  const Level level(*this);
  const Expression* value = nullptr;
  if (is("-") || is("+")) {
    const Token sign = next();
    const auto kind = sign.text == "-" ? Expression::Kind::minus : Expression::Kind::plus;
    value = memory_.make<Expression>(Expression{.kind = kind, .at = sign.at, .first = unary(false)});
  } else {
    value = primary();
  }
  value = postfix(value);
  return with_filter ? filters_and_tests(value) : value;
}

const Expression* ExpressionParser::primary() {
  const Token token = current();
  switch (token.kind) {
    case TokenKind::name: {
      next();
      if (token.text == "true" || token.text == "True") return constant(Value::boolean(true), token.at);
      if (token.text == "false" || token.text == "False") return constant(Value::boolean(false), token.at);
      if (token.text == "none" || token.text == "None") return constant(Value::none(), token.at);
      reads_.push_back({token.text, token.at});
      return memory_.make<Expression>(Expression{
          .kind = Expression::Kind::name, .at = token.at, .symbol = symbol(token.text), .name = token.text});
    }
    case TokenKind::text: {
      std::string joined;
      while (current().kind == TokenKind::text)
        joined += next().value.text();
      const bool is_one = joined.size() == token.value.text().size();
      return constant(is_one ? token.value : new_text(memory_, joined), token.at);
    }
    case TokenKind::number:
      return constant(next().value, token.at);
    default:
      break;
  }
  if (skip("(")) {
    const Expression* value = tuple(true, {}, true);
    expect(")");
    return value;
  }
  if (is("[")) return list();
  if (is("{")) return dict();
  unexpected("an expression");
}

bool ExpressionParser::is_tuple_end(std::string_view end) const {
  const TokenKind kind = current().kind;
  return kind == TokenKind::variable_end || kind == TokenKind::block_end || is(")") ||
         (!end.empty() && is_name(end));
}

const Expression* ExpressionParser::tuple(bool with_choice, std::string_view end, bool in_parentheses) {
  const std::uint32_t at = current().at;
  std::vector<const Expression*> items;
  bool is_tuple = false;
  Siblings siblings(*this);
  while (true) {
    siblings.next();
    if (!items.empty()) expect(",");
    if (is_tuple_end(end)) break;
    items.push_back(expression(with_choice));
    if (!is(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return items[0];
  if (!is_tuple && !in_parentheses) unexpected("an expression");
  return memory_.make<Expression>(
      Expression{.kind = Expression::Kind::tuple, .at = at, .items = keep(items)});
}

const Expression* ExpressionParser::list() {
  const std::uint32_t at = next().at;
  std::vector<const Expression*> items;
  Siblings siblings(*this);
  while (!is("]")) {
    siblings.next();
    if (!items.empty()) expect(",");
    if (is("]")) break;
    items.push_back(expression());
  }
  expect("]");
  return memory_.make<Expression>(Expression{.kind = Expression::Kind::list, .at = at, .items = keep(items)});
}

const Expression* ExpressionParser::dict() {
  const std::uint32_t at = next().at;
  std::vector<const Expression*> items;
  Siblings siblings(*this);
  while (!is("}")) {
    siblings.next();
    if (!items.empty()) expect(",");
    if (is("}")) break;
    items.push_back(expression());
    expect(":");
    items.push_back(expression());
  }
  expect("}");
  return memory_.make<Expression>(Expression{.kind = Expression::Kind::dict, .at = at, .items = keep(items)});
}

const Expression* ExpressionParser::postfix(const Expression* value) {
  while (true) {
    if (!is(".") && !is("[") && !is("(")) return value;
    link();
    value = is("(") ? call(value) : subscript(value);
  }
}

const Expression* ExpressionParser::filters_and_tests(const Expression* value) {
  while (true) {
    if (is("|")) {
      value = filters(value);
      continue;
    }
    if (!is_name("is") && !is("(")) return value;
    link();
    value = is("(") ? call(value) : test(value);
  }
}

const Expression* ExpressionParser::subscript(const Expression* value) {
  const Token sign = next();
  if (sign.text == ".") {
    const Token name = next();
    if (name.kind == TokenKind::name)
      return memory_.make<Expression>(
          Expression{.kind = Expression::Kind::attribute, .at = sign.at, .name = name.text, .first = value});
    if (name.kind != TokenKind::number || !name.value.is(Kind::integer))
      fail("expected a name or a number behind '.'", name.at);
    return memory_.make<Expression>(Expression{.kind = Expression::Kind::item,
                                               .at = sign.at,
                                               .first = value,
                                               .second = constant(name.value, name.at)});
  }
  std::vector<const Expression*> parts;
  bool has_slice = false;
  while (!is("]")) {
    if (!parts.empty()) expect(",");
    parts.push_back(subscripted(has_slice));
  }
  expect("]");
  if (has_slice && parts.size() > 1) fail("a slice cannot stand beside other items", sign.at);
  if (has_slice)
    return memory_.make<Expression>(
        Expression{.kind = Expression::Kind::slice, .at = sign.at, .items = parts[0]->items, .first = value});
  const Expression* key = parts.size() == 1
                              ? parts[0]
                              : memory_.make<Expression>(Expression{
                                    .kind = Expression::Kind::tuple, .at = sign.at, .items = keep(parts)});
  return memory_.make<Expression>(
      Expression{.kind = Expression::Kind::item, .at = sign.at, .first = value, .second = key});
}

const Expression* ExpressionParser::subscripted(bool& is_slice) {
  const std::uint32_t at = current().at;
  const Expression* nothing = constant(Value::none(), at);
  std::vector<const Expression*> parts(3, nothing);
  if (!is(":")) {
    parts[0] = expression();
    if (!is(":")) return parts[0];
  }
  is_slice = true;
  next();
  const auto is_end = [this] { return is("]") || is(","); };
  if (!is(":") && !is_end()) parts[1] = expression();
  if (skip(":") && !is_end()) parts[2] = expression();
  return memory_.make<Expression>(
      Expression{.kind = Expression::Kind::slice, .at = at, .items = keep(parts)});
}

const Expression* ExpressionParser::call(const Expression* value) {
  const std::uint32_t at = current().at;
  return memory_.make<Expression>(
      Expression{.kind = Expression::Kind::call, .at = at, .first = value, .call = call_arguments()});
}

const CallSyntax* ExpressionParser::call_arguments() {
  const Token open = current();
  expect("(");
  std::vector<const Expression*> values;
  std::vector<NamedExpression> named;
  CallSyntax call;
  const auto ensure = [&open](bool fine) {
    if (!fine) fail("these arguments are in an order that a call does not allow", open.at);
  };
  Siblings siblings(*this);
  std::unordered_set<std::string_view> names;
  for (bool first = true; !is(")"); first = false) {
    siblings.next();
    if (!first) {
      expect(",");
      if (is(")")) break;
    }
    if (skip("*")) {
      ensure(!call.more_values && !call.more_named);
      call.more_values = expression();
    } else if (skip("**")) {
      ensure(!call.more_named);
      call.more_named = expression();
    } else if (current().kind == TokenKind::name && look().is("=")) {
      ensure(!call.more_named);
      const Token name = next();
      next();
      if (!names.insert(name.text).second) fail("'" + std::string(name.text) + "' is given twice", name.at);
      named.push_back({name.text, expression()});
    } else {
      ensure(!call.more_values && !call.more_named && named.empty());
      values.push_back(expression());
    }
  }
  expect(")");
  call.values = keep(values);
  call.named = keep(named);
  return memory_.make<CallSyntax>(call);
}

const Expression* ExpressionParser::filters(const Expression* value, bool begins) {
  if (inside_ == 0) links_ = 0;
  while (is("|") || begins) {
    link();
    if (!begins) next();
    begins = false;
    const Token token = expect_name();
    std::string name(token.text);
    while (skip("."))
      name += "." + std::string(expect_name().text);
    const Builtin* filter = find_filter(name);
    if (!filter)
      fail("there is no filter '" + name + "'" + base::did_you_mean(name, filter_names()), token.at);
    const CallSyntax* given = is("(") ? call_arguments() : nullptr;
    value = memory_.make<Expression>(Expression{
        .kind = Expression::Kind::filter, .at = token.at, .first = value, .call = given, .builtin = filter});
  }
  return value;
}

// Whether what follows the name of a test is its argument, which may stand without parentheses.
bool ExpressionParser::takes_argument() const {
  const TokenKind kind = current().kind;
  if (kind == TokenKind::name) return !is_name("else") && !is_name("or") && !is_name("and");
  return kind == TokenKind::text || kind == TokenKind::number || is("[") || is("{");
}

const Expression* ExpressionParser::test(const Expression* value) {
  const std::uint32_t at = next().at;
  const bool negated = skip_name("not");
  const Token token = expect_name();
  std::string name(token.text);
  while (skip("."))
    name += "." + std::string(expect_name().text);
  const CallSyntax* given = nullptr;
  if (is("(")) {
    given = call_arguments();
  } else if (takes_argument()) {
    if (is_name("is")) fail("tests cannot follow each other; use 'and'", current().at);
    const Expression* argument = postfix(primary());
    given = memory_.make<CallSyntax>(CallSyntax{.values = keep(std::vector<const Expression*>{argument})});
  }
  const Builtin* builtin = find_test(name);
  if (!builtin) fail("there is no test '" + name + "'" + base::did_you_mean(name, test_names()), token.at);
  const Expression* result = memory_.make<Expression>(Expression{
      .kind = Expression::Kind::test, .at = at, .first = value, .call = given, .builtin = builtin});
  if (!negated) return result;
  return memory_.make<Expression>(Expression{.kind = Expression::Kind::negation, .at = at, .first = result});
}

}  // namespace templates
