// Selectors, from their text.
#include <algorithm>

#include "backend/domain/selectors/selector_node.hpp"
#include "base/text.hpp"

namespace backend::domain {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

using Node = SelectorNode;
using NodePtr = SelectorNodePtr;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<NodePtr> parse() {
    if (text_.size() > kLongestSelector) return Error(ErrorCode::limit, "a selector has at most 4096 bytes");
    NodePtr root = read_any();
    if (root && !rest().empty()) root = fail("expected 'and', 'or' or the end");
    if (!root) return Error(ErrorCode::invalid, "at " + std::to_string(problem_at_ + 1) + ": " + problem_);
    return root;
  }
  bool uses_facts() const { return uses_facts_; }
  bool uses_self_tags() const { return uses_self_tags_; }

 private:
  NodePtr fail(std::string message) {
    if (problem_.empty()) {
      problem_ = std::move(message);
      problem_at_ = at_;
    }
    return nullptr;
  }

  // What is left, from the next character that is not blank.
  std::string_view rest() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
    return text_.substr(at_);
  }
  bool take(std::string_view symbol) {
    if (!rest().starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  // A value may have < and > in it, as it may have since before they meant anything; a key has not.
  static constexpr std::string_view kEndsValue = " \t\n()=!,\"";
  static constexpr std::string_view kEndsKey = " \t\n()=!,\"<>";
  std::string_view word(std::string_view ends = kEndsKey) {
    const std::string_view text = rest();
    return text.substr(0, std::min(text.find_first_of(ends), text.size()));
  }
  bool take_keyword(std::string_view keyword) {
    if (!base::equal_ignoring_case(word(), keyword)) return false;
    // "or=x" is about a tag of that name.
    const std::size_t before = at_;
    at_ += keyword.size();
    const bool is_key =
        !rest().empty() &&
        (std::string_view("=<>").find(rest()[0]) != std::string_view::npos || rest().starts_with("!="));
    if (!is_key) return true;
    at_ = before;
    return false;
  }

  NodePtr read_any() { return read_chain("or", Node::Kind::any, &Parser::read_all); }
  NodePtr read_all() { return read_chain("and", Node::Kind::all, &Parser::read_factor); }
  NodePtr read_chain(std::string_view keyword, Node::Kind kind, NodePtr (Parser::*read)()) {
    auto node = std::make_shared<Node>();
    node->kind = kind;
    do {
      NodePtr part = (this->*read)();
      if (!part) return nullptr;
      node->parts.push_back(std::move(part));
    } while (take_keyword(keyword));
    if (node->parts.size() == 1) return node->parts[0];
    return node;
  }

  NodePtr read_factor() {
    if (depth_ == kDeepestSelector) return fail("nested too deeply");
    ++depth_;
    NodePtr node = read_factor_inside();
    --depth_;
    return node;
  }
  NodePtr read_factor_inside() {
    if (take_keyword("not")) return negated(read_factor());
    if (take("(")) {
      NodePtr node = read_any();
      if (node && !take(")")) return fail("expected ')'");
      return node;
    }
    if (word() == "*") {
      ++at_;
      return std::make_shared<Node>();
    }
    return read_comparison();
  }
  static NodePtr negated(NodePtr part) {
    if (!part) return nullptr;
    auto node = std::make_shared<Node>();
    node->kind = Node::Kind::none;
    node->parts.push_back(std::move(part));
    return node;
  }

  NodePtr read_comparison() {
    const std::string_view key = word();
    if (key.empty()) return fail("expected a key such as tag.role, fact.os.id, instance, or '*'");
    auto node = std::make_shared<Node>();
    if (!read_key(key, *node)) return nullptr;
    at_ += key.size();
    bool is_negated = take("!=");
    if (is_negated || take("=")) {
      if (!read_value(*node)) return nullptr;
    } else if (const auto kind = take_order()) {
      if (!read_bound(*kind, *node)) return nullptr;
    } else {
      is_negated = take_keyword("not");
      if (!take_keyword("in")) return fail("expected '=', '!=', '<', '>', '<=', '>=' or 'in'");
      if (!take("(")) return fail("expected '('");
      do {
        if (!read_value(*node)) return nullptr;
      } while (take(","));
      if (!take(")")) return fail("expected ',' or ')'");
    }
    return is_negated ? negated(node) : node;
  }

  bool read_key(std::string_view key, Node& node) {
    node.kind = Node::Kind::tag;
    node.key = key;
    if (key == "app") node.kind = Node::Kind::app;
    if (key == "instance") node.kind = Node::Kind::instance;
    if (key.starts_with("tag.")) node.key = key.substr(4);
    if (key.starts_with("self.")) {
      node.kind = Node::Kind::self_tag;
      node.key = key.substr(5);
      uses_self_tags_ = true;
    }
    if (key.starts_with("fact.")) {
      node.kind = Node::Kind::fact;
      uses_facts_ = true;
      for (const std::string_view name : base::split(key.substr(5), '.'))
        node.path.emplace_back(name);
    }
    const bool is_whole = node.kind != Node::Kind::fact
                              ? !node.key.empty()
                              : !node.path.empty() && std::ranges::find(node.path, "") == node.path.end();
    if (!is_whole) fail("'" + std::string(key) + "' names nothing");
    return is_whole;
  }

  std::optional<Bound::Kind> take_order() {
    if (take("<=")) return Bound::Kind::at_most;
    if (take(">=")) return Bound::Kind::at_least;
    if (take("<")) return Bound::Kind::less;
    if (take(">")) return Bound::Kind::greater;
    return std::nullopt;
  }

  bool read_bound(Bound::Kind kind, Node& node) {
    if (node.kind == Node::Kind::app || node.kind == Node::Kind::instance)
      return fail("names are compared with '=', '!=' and 'in'") != nullptr;
    const std::size_t before = at_;
    const auto value = read_word();
    if (!value) return false;
    const bool is_pattern = !value->is_quoted && value->text.find('*') != std::string::npos;
    if (is_pattern || (!is_version(value->text) && !number_of(value->text))) {
      at_ = before;
      return fail("expected a number or a version such as 4096 or 12.5") != nullptr;
    }
    node.bound = Bound{kind, value->text};
    return true;
  }

  struct Word {
    std::string text;
    bool is_quoted = false;
  };
  std::optional<Word> read_word() {
    if (take("\"")) {
      const std::size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) {
        fail("the text in quotes does not end");
        return std::nullopt;
      }
      Word word{std::string(text_.substr(at_, end - at_)), true};
      at_ = end + 1;
      return word;
    }
    const std::string_view value = word(kEndsValue);
    if (value.empty()) {
      fail("expected a value");
      return std::nullopt;
    }
    at_ += value.size();
    return Word{std::string(value), false};
  }

  bool read_value(Node& node) {
    const auto value = read_word();
    if (!value) return false;
    TextPattern pattern;
    if (value->is_quoted)
      pattern.pieces[0] = value->text;
    else
      pattern = TextPattern::parse(value->text);
    node.values.push_back(std::move(pattern));
    return true;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  bool uses_facts_ = false;
  bool uses_self_tags_ = false;
  std::string problem_;
  std::size_t problem_at_ = 0;
};

}  // namespace

Result<ParsedSelector> parse_selector(std::string_view text) {
  Parser parser(text);
  auto root = parser.parse();
  if (!root) return std::move(root).error();
  return ParsedSelector{std::move(*root), parser.uses_facts(), parser.uses_self_tags()};
}

}  // namespace backend::domain
