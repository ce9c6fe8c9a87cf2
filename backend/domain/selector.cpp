#include "backend/domain/selector.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/json.hpp"
#include "base/text.hpp"

namespace backend::domain {

using base::Error;
using base::ErrorCode;
using base::Result;

// A value as it was written: the literal pieces between the stars.
struct Pattern {
  std::vector<std::string> pieces;

  bool matches(std::string_view text) const {
    if (pieces.size() == 1) return text == pieces[0];
    if (!text.starts_with(pieces.front())) return false;
    text.remove_prefix(pieces.front().size());
    // The leftmost place of each piece between leaves the most room for the rest.
    for (std::size_t i = 1; i + 1 < pieces.size(); ++i) {
      const std::size_t at = text.find(pieces[i]);
      if (at == std::string_view::npos) return false;
      text.remove_prefix(at + pieces[i].size());
    }
    return text.ends_with(pieces.back());
  }
};

struct Selector::Node {
  enum class Kind { everything, any, all, none, app, instance, tag, fact };
  Kind kind = Kind::everything;
  std::vector<std::shared_ptr<const Node>> parts;  // any, all, none (one)
  std::string key;                                 // tag
  std::vector<std::string> path;                   // fact
  std::vector<Pattern> values;                     // one of them
};

namespace {

using Node = Selector::Node;
using NodePtr = std::shared_ptr<const Node>;

bool is_one_of(const std::vector<Pattern>& values, std::string_view text) {
  return std::ranges::any_of(values, [&](const Pattern& pattern) { return pattern.matches(text); });
}

// A fact that is a list is equal to what one of its items is equal to.
bool fact_matches(const base::Value& fact, const std::vector<Pattern>& values) {
  using Kind = base::Value::Kind;
  std::array<char, 32> digits;
  switch (fact.kind()) {
    case Kind::string:
    case Kind::plain:
      return is_one_of(values, fact.text());
    case Kind::boolean:
      return is_one_of(values, *fact.as_bool() ? "true" : "false");
    case Kind::integer:
    case Kind::real: {
      const auto end = fact.kind() == Kind::integer
                           ? std::to_chars(digits.data(), digits.data() + digits.size(), *fact.as_integer())
                           : std::to_chars(digits.data(), digits.data() + digits.size(), *fact.as_number());
      return is_one_of(values, {digits.data(), end.ptr});
    }
    case Kind::list:
      return std::ranges::any_of(fact.items(), [&](const base::Value& item) {
        return !item.is_list() && fact_matches(item, values);
      });
    case Kind::null:
    case Kind::object:
      return false;
  }
  return false;
}

bool holds(const Node& node, const SelectorSubject& subject) {
  const auto part_holds = [&](const NodePtr& part) { return holds(*part, subject); };
  switch (node.kind) {
    case Node::Kind::everything:
      return true;
    case Node::Kind::any:
      return std::ranges::any_of(node.parts, part_holds);
    case Node::Kind::all:
      return std::ranges::all_of(node.parts, part_holds);
    case Node::Kind::none:
      return std::ranges::none_of(node.parts, part_holds);
    case Node::Kind::app:
      return is_one_of(node.values, subject.app_id);
    case Node::Kind::instance:
      return is_one_of(node.values, subject.instance_id);
    case Node::Kind::tag: {
      const auto tag = subject.tags.find(node.key);
      return tag != subject.tags.end() && is_one_of(node.values, tag->second);
    }
    case Node::Kind::fact: {
      const base::Value* fact = subject.facts;
      for (const std::string& name : node.path)
        if (fact) fact = fact->find(name);
      return fact && fact_matches(*fact, node.values);
    }
  }
  return false;
}

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
  static bool ends_word(char c) { return std::string_view(" \t\n()=!,\"").find(c) != std::string_view::npos; }
  std::string_view word() {
    const std::string_view text = rest();
    return text.substr(0, static_cast<std::size_t>(std::ranges::find_if(text, ends_word) - text.begin()));
  }
  bool take_keyword(std::string_view keyword) {
    if (!base::equal_ignoring_case(word(), keyword)) return false;
    // "or=x" is about a tag of that name.
    const std::size_t before = at_;
    at_ += keyword.size();
    if (!rest().starts_with('=') && !rest().starts_with("!=")) return true;
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
    } else {
      is_negated = take_keyword("not");
      if (!take_keyword("in")) return fail("expected '=', '!=' or 'in'");
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

  bool read_value(Node& node) {
    Pattern pattern{{std::string()}};
    if (take("\"")) {
      const std::size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) return fail("the text in quotes does not end") != nullptr;
      pattern.pieces[0] = text_.substr(at_, end - at_);
      at_ = end + 1;
    } else {
      const std::string_view value = word();
      if (value.empty()) return fail("expected a value") != nullptr;
      for (const char c : value) {
        if (c == '*')
          pattern.pieces.emplace_back();
        else
          pattern.pieces.back() += c;
      }
      at_ += value.size();
    }
    node.values.push_back(std::move(pattern));
    return true;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  bool uses_facts_ = false;
  std::string problem_;
  std::size_t problem_at_ = 0;
};

}  // namespace

Selector::Selector() : root_(std::make_shared<Node>()), text_("*") {}

Result<Selector> Selector::parse(std::string_view text) {
  text = base::trim(text);  // what is kept is what was understood
  Parser parser(text);
  auto root = parser.parse();
  if (!root) return std::move(root).error();
  Selector selector;
  selector.root_ = std::move(*root);
  selector.text_ = text;
  selector.uses_facts_ = parser.uses_facts();
  return selector;
}

bool Selector::matches(const SelectorSubject& subject) const {
  return holds(*root_, subject);
}

bool Selector::matches(const Instance& instance) const {
  const Tags tags = instance.tags();
  SelectorSubject subject{instance.app_id, instance.instance_id, tags, nullptr};
  if (!uses_facts_ || instance.facts.empty()) return matches(subject);
  base::Arena arena;
  const auto facts = base::parse_json(instance.facts, arena);
  subject.facts = std::get_if<base::Value>(&facts);
  return matches(subject);
}

}  // namespace backend::domain
