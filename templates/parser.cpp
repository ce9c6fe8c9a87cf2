#include "templates/parser.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "templates/expression_parser.hpp"

namespace templates {

namespace {

constexpr std::array<std::string_view, 16> kStatements{
    "for",    "if",   "set", "macro", "call", "filter", "with",     "include",
    "import", "from", "do",  "print", "raw",  "break",  "continue", "else"};

class Parser : ExpressionParser {
 public:
  Parser(Syntax& syntax, std::vector<Token> tokens) : ExpressionParser(syntax, std::move(tokens)) {}

  void whole_template() {
    syntax_.body = body({});
    note_free_names();
  }

  void whole_expression() {
    syntax_.expression = expression();
    if (current().kind != TokenKind::end) unexpected("the end of the expression");
    note_free_names();
  }

 private:
  using Names = std::initializer_list<std::string_view>;
  using Kind = Statement::Kind;

  // Names that are set somewhere in the template are not asked of whoever renders it.
  void note_free_names() {
    for (const Read& read : reads_) {
      const bool is_set = std::ranges::find(sets_, read.name) != sets_.end();
      const bool is_noted =
          std::ranges::any_of(syntax_.free_names, [&](const auto& each) { return each.first == read.name; });
      if (!is_set && !is_noted && !find_global(read.name))
        syntax_.free_names.emplace_back(read.name, read.at);
    }
  }

  const Statement* make(const Statement& statement) { return memory_.make<Statement>(statement); }

  void block_end() {
    if (current().kind != TokenKind::block_end) unexpected("'%}'");
    next();
  }

  // Up to a block that begins with one of `ends`, which is then the current token; up to the end without any.
  Body body(Names ends) {
    const Level level(*this);
    std::vector<const Statement*> statements;
    while (current().kind != TokenKind::end) {
      const Token token = next();
      if (token.kind == TokenKind::data) {
        statements.push_back(make({.kind = Kind::data, .at = token.at, .data = token.text}));
      } else if (token.kind == TokenKind::variable_begin) {
        const Expression* value = tuple();
        if (current().kind != TokenKind::variable_end) unexpected("'}}'");
        next();
        statements.push_back(make({.kind = Kind::print, .at = value->at, .value = value}));
      } else {
        if (std::ranges::any_of(ends, [this](std::string_view name) { return is_name(name); }))
          return keep(statements);
        statement(statements);
        block_end();
      }
    }
    if (ends.size() > 0)
      fail("the template ends where '" + std::string(*(ends.end() - 1)) + "' is missing", current().at);
    return keep(statements);
  }

  // What stands inside of a block, whose first tag ends here.
  Body inner(Names ends) {
    skip(":");
    block_end();
    return body(ends);
  }

  void statement(std::vector<const Statement*>& to) {
    const Token token = expect_name();
    const std::string_view name = token.text;
    const auto add = [&](const Statement* made) { to.push_back(made); };
    if (name == "for") return add(loop(token.at));
    if (name == "if") return add(branches(token.at));
    if (name == "set") return add(set(token.at));
    if (name == "macro") return add(macro(token.at));
    if (name == "call") return add(call_block(token.at));
    if (name == "filter") return add(filter_block(token.at));
    if (name == "with") return add(with(token.at));
    if (name == "include") return add(include(token.at));
    if (name == "import") return add(import(token.at));
    if (name == "from") return add(from_import(token.at));
    if (name == "do") return add(make({.kind = Kind::evaluate, .at = token.at, .value = tuple()}));
    if (name == "print") return print(to);
    if (name == "break" || name == "continue") {
      if (loops_ == 0) fail("'" + std::string(name) + "' outside of a loop", token.at);
      return add(make({.kind = name == "break" ? Kind::leave_loop : Kind::next_round, .at = token.at}));
    }
    for (const std::string_view known : {"block", "extends", "autoescape", "trans"})
      if (name == known) fail("the tag '" + std::string(name) + "' is not supported", token.at);
    fail("there is no tag '" + std::string(name) + "' here" + base::did_you_mean(name, kStatements),
         token.at);
  }

  void print(std::vector<const Statement*>& to) {
    for (bool first = true; current().kind != TokenKind::block_end; first = false) {
      if (!first) expect(",");
      const Expression* value = expression();
      to.push_back(make({.kind = Kind::print, .at = value->at, .value = value}));
    }
  }

  Target name_target() {
    const Token token = expect_name();
    for (const std::string_view word : {"true", "false", "none", "True", "False", "None"})
      if (token.text == word) fail("'" + std::string(word) + "' cannot be assigned to", token.at);
    if (token.text == "loop" && loops_ > 0) fail("'loop' cannot be assigned to inside of a loop", token.at);
    sets_.push_back(token.text);
    return {.at = token.at, .symbol = symbol(token.text)};
  }

  Target one_target() {
    if (!skip("(")) return name_target();
    const Level level(*this);
    const Target inside = target({}, true);
    expect(")");
    return inside;
  }

  Target target(std::string_view end, bool in_parentheses = false) {
    const std::uint32_t at = current().at;
    std::vector<Target> parts;
    bool is_tuple = false;
    while (true) {
      if (!parts.empty()) expect(",");
      if (is_tuple_end(end) || is("=")) break;
      parts.push_back(one_target());
      if (!is(",")) break;
      is_tuple = true;
    }
    if (!is_tuple && parts.size() == 1) return parts[0];
    if (!is_tuple && !in_parentheses) unexpected("a name");
    return {.at = at, .parts = keep(parts), .is_tuple = true};
  }

  std::span<const Target> one(const Target& target) { return keep(std::vector<Target>{target}); }

  const Statement* set(std::uint32_t at) {
    Statement made{.kind = Kind::set, .at = at};
    if (current().kind == TokenKind::name && look().is(".")) {
      const Token name = next();
      next();
      const Token attribute = expect_name();
      reads_.push_back({name.text, name.at});
      made.targets = one({.at = name.at, .symbol = symbol(name.text), .attribute = attribute.text});
    } else {
      made.targets = one(target({}));
    }
    if (skip("=")) {
      made.value = tuple();
      return make(made);
    }
    made.kind = Kind::set_block;
    const Expression* inner_text = constant(Value::text({}), at);
    made.filter = filters(inner_text);
    if (made.filter == inner_text) made.filter = nullptr;
    made.body = inner({"endset"});
    next();
    return make(made);
  }

  const Statement* loop(std::uint32_t at) {
    Statement made{.kind = Kind::loop, .at = at};
    ++loops_;
    const Target assigned = target("in");
    if (!skip_name("in")) unexpected("'in'");
    made.targets = one(assigned);
    made.value = tuple(false, "recursive");
    if (skip_name("if")) made.test = expression();
    made.recursive = skip_name("recursive");
    const std::size_t read = reads_.size();
    const std::size_t kept = keepers_;
    made.body = inner({"else", "endfor"});
    made.keeps_scope = keepers_ > kept || made.recursive;
    made.uses_loop = made.recursive ||
                     std::any_of(reads_.begin() + static_cast<std::ptrdiff_t>(read), reads_.end(),
                                 [](const Read& each) { return each.name == "loop"; }) ||
                     keepers_ > kept || includes_ > 0;
    --loops_;
    sets_.push_back("loop");
    if (next().text == "else") {
      made.otherwise = inner({"endfor"});
      next();
    }
    return make(made);
  }

  const Statement* branches(std::uint32_t at) {
    std::vector<Branch> made;
    const Expression* test = tuple(false);
    while (true) {
      const Body inside = inner({"elif", "else", "endif"});
      made.push_back({test, inside});
      const Token token = next();
      if (token.text == "elif") {
        test = tuple(false);
        continue;
      }
      if (token.text == "else") {
        made.push_back({nullptr, inner({"endif"})});
        next();
      }
      return make({.kind = Kind::branches, .at = at, .branches = keep(made)});
    }
  }

  const Statement* with(std::uint32_t at) {
    std::vector<Target> targets;
    std::vector<const Expression*> values;
    while (current().kind != TokenKind::block_end) {
      if (!targets.empty()) expect(",");
      targets.push_back(one_target());
      expect("=");
      values.push_back(expression());
    }
    Statement made{.kind = Kind::with, .at = at, .targets = keep(targets), .values = keep(values)};
    made.body = inner({"endwith"});
    next();
    return make(made);
  }

  // The parameters and the body of a macro or a call block.
  void signature(MacroSyntax& macro) {
    std::vector<Parameter> parameters;
    expect("(");
    while (!is(")")) {
      if (!parameters.empty()) expect(",");
      const Token name = current();
      const Target target = name_target();
      const Expression* otherwise = skip("=") ? expression() : nullptr;
      if (!otherwise && !parameters.empty() && parameters.back().otherwise)
        fail("a parameter without a default follows one with a default", name.at);
      if (!otherwise && name.text == "caller") fail("'caller' as a parameter needs a default", name.at);
      for (const Parameter& each : parameters)
        if (each.name == name.text)
          fail("the parameter '" + std::string(name.text) + "' stands twice", name.at);
      parameters.push_back({target.symbol, name.text, otherwise});
    }
    expect(")");
    macro.parameters = keep(parameters);
  }

  void macro_body(MacroSyntax& macro, std::string_view end) {
    const std::size_t read = reads_.size();
    const int loops = std::exchange(loops_, 0);
    for (const std::string_view name : {"caller", "varargs", "kwargs"})
      symbol(name);
    macro.body = inner({end});
    next();
    loops_ = loops;
    ++keepers_;
    const auto uses = [&](std::string_view name) {
      const bool is_parameter =
          std::ranges::any_of(macro.parameters, [&](const Parameter& each) { return each.name == name; });
      return !is_parameter && std::any_of(reads_.begin() + static_cast<std::ptrdiff_t>(read), reads_.end(),
                                          [&](const Read& each) { return each.name == name; });
    };
    macro.uses_caller = uses("caller");
    macro.uses_values = uses("varargs");
    macro.uses_named = uses("kwargs");
    for (const std::string_view name : {"caller", "varargs", "kwargs"})
      sets_.push_back(name);
  }

  const Statement* macro(std::uint32_t at) {
    MacroSyntax made;
    made.name = current().text;
    const Target name = name_target();
    signature(made);
    macro_body(made, "endmacro");
    return make(
        {.kind = Kind::macro, .at = at, .targets = one(name), .macro = memory_.make<MacroSyntax>(made)});
  }

  const Statement* call_block(std::uint32_t at) {
    MacroSyntax made;
    made.name = "caller";
    if (is("(")) signature(made);
    const Expression* call = expression();
    if (call->kind != Expression::Kind::call) fail("'call' needs the call of a macro", call->at);
    symbol("caller");
    macro_body(made, "endcall");
    return make(
        {.kind = Kind::call_block, .at = at, .value = call, .macro = memory_.make<MacroSyntax>(made)});
  }

  const Statement* filter_block(std::uint32_t at) {
    Statement made{.kind = Kind::filter_block, .at = at};
    made.filter = filters(constant(Value::text({}), at), true);
    made.body = inner({"endfilter"});
    next();
    return make(made);
  }

  void context(Statement& made, bool otherwise) {
    made.with_context = otherwise;
    if ((!is_name("with") && !is_name("without")) || !look().is_name("context")) return;
    made.with_context = next().text == "with";
    next();
  }

  const Statement* include(std::uint32_t at) {
    Statement made{.kind = Kind::include, .at = at};
    made.value = expression();
    if (is_name("ignore") && look().is_name("missing")) {
      made.may_be_missing = true;
      next();
      next();
    }
    context(made, true);
    ++includes_;
    return make(made);
  }

  const Statement* import(std::uint32_t at) {
    Statement made{.kind = Kind::import, .at = at};
    made.value = expression();
    if (!skip_name("as")) unexpected("'as'");
    made.targets = one(name_target());
    context(made, false);
    ++keepers_;
    return make(made);
  }

  const Statement* from_import(std::uint32_t at) {
    Statement made{.kind = Kind::from_import, .at = at};
    made.value = expression();
    if (!skip_name("import")) unexpected("'import'");
    made.with_context = false;
    std::vector<Import> imports;
    const auto is_context = [this] {
      return (is_name("with") || is_name("without")) && look().is_name("context");
    };
    while (true) {
      if (!imports.empty()) expect(",");
      if (is_context()) break;
      const Token name = current();
      Target target = name_target();
      if (name.text.starts_with('_')) fail("names that begin with '_' cannot be imported", name.at);
      if (skip_name("as")) target = name_target();
      imports.push_back({name.text, target.symbol});
      if (is_context() || !is(",")) break;
    }
    context(made, false);
    made.imports = keep(imports);
    ++keepers_;
    return make(made);
  }

  std::vector<std::string_view> sets_;
  int loops_ = 0;
  std::size_t keepers_ = 0;   // macros and imports so far: what may look at a scope after it
  std::size_t includes_ = 0;  // they may read whatever there is
};

void check_text(const Syntax& syntax) {
  if (!base::is_utf8(syntax.source)) throw SyntaxFailure{"the template is not valid UTF-8", 0};
}

}  // namespace

void parse_template(Syntax& syntax, const Options& options) {
  check_text(syntax);
  Parser(syntax, tokenize(syntax.source, options, syntax.memory)).whole_template();
}

void parse_expression(Syntax& syntax) {
  check_text(syntax);
  Parser(syntax, tokenize_expression(syntax.source, syntax.memory)).whole_expression();
}

}  // namespace templates
