// ExpressionParser: what parses expressions; the parser of statements derives from it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "templates/lexer.hpp"
#include "templates/syntax.hpp"

namespace templates {

class ExpressionParser {
 protected:
  ExpressionParser(Syntax& syntax, std::vector<Token> tokens)
      : syntax_(syntax), memory_(syntax.memory), tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token next();
  bool is(std::string_view sign) const { return current().is(sign); }
  bool is_name(std::string_view name) const { return current().is_name(name); }
  bool skip(std::string_view sign);
  bool skip_name(std::string_view name);
  void expect(std::string_view sign);
  Token expect_name();
  [[noreturn]] static void fail(std::string message, std::uint32_t at);
  [[noreturn]] void unexpected(std::string_view wanted) const;

  const Expression* expression(bool with_choice = true);
  // Several with commas between them are a tuple. `end`: a name that ends it, too.
  const Expression* tuple(bool with_choice = true, std::string_view end = {}, bool in_parentheses = false);
  const Expression* filters(const Expression* value, bool begins = false);

  Symbol symbol(std::string_view name);
  const Expression* constant(const Value& value, std::uint32_t at);
  bool is_tuple_end(std::string_view end) const;

  template <class T>
  std::span<const T> keep(const std::vector<T>& items) {
    T* kept = memory_.array<T>(items.size());
    std::uninitialized_copy(items.begin(), items.end(), kept);
    return {kept, items.size()};
  }

  // Says what was read, for "caller", "loop" and what is never set.
  struct Read {
    std::string_view name;
    std::uint32_t at;
  };
  std::vector<Read> reads_;

  // Nested blocks, brackets and operators.
  class Level {
   public:
    explicit Level(ExpressionParser& parser);
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    ExpressionParser& parser_;
  };

  Syntax& syntax_;
  Memory& memory_;

 private:
  // One more operator, filter or the like that has what stands before it inside: `a + b + c` is as deep as it
  // is long. Counted for a whole expression, with all that is in its brackets.
  void link();
  // Of things that stand beside each other, such as the items of a list, the deepest counts.
  class Siblings {
   public:
    explicit Siblings(ExpressionParser& parser)
        : parser_(parser), before_(parser.links_), most_(parser.links_) {}
    ~Siblings() { next(), parser_.links_ = most_; }
    Siblings(const Siblings&) = delete;
    Siblings& operator=(const Siblings&) = delete;
    void next() {
      most_ = std::max(most_, parser_.links_);
      parser_.links_ = before_;
    }

   private:
    ExpressionParser& parser_;
    const unsigned before_;
    unsigned most_;
  };
  const Expression* choice();
  const Expression* either();
  const Expression* both();
  const Expression* negation();
  const Expression* compare();
  const Expression* sum();
  const Expression* concat();
  const Expression* product();
  const Expression* power();
  const Expression* unary(bool with_filter = true);
  const Expression* primary();
  const Expression* list();
  const Expression* dict();
  const Expression* postfix(const Expression* value);
  const Expression* filters_and_tests(const Expression* value);
  const Expression* subscript(const Expression* value);
  const Expression* subscripted(bool& is_slice);
  const Expression* call(const Expression* value);
  const CallSyntax* call_arguments();
  const Expression* test(const Expression* value);
  const Expression* operation(Operator op, const Expression* a, const Expression* b, std::uint32_t at);
  bool takes_argument() const;

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
  unsigned inside_ = 0;  // of how many expressions
  unsigned links_ = 0;   // of the outermost one
};

}  // namespace templates
