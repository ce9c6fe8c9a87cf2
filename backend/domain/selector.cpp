#include "backend/domain/selector.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <mutex>
#include <vector>

#include "backend/domain/text_pattern.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace backend::domain {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// The scopes whose tags count for a selector: found once, and asked for each machine. Any thread.
struct KnownScopes {
  std::mutex mutex;
  std::map<std::string, bool> counts;
};
// More different scopes than a backend has tokens: then it begins anew.
constexpr std::size_t kMostKnownScopes = 1000;

}  // namespace

struct Selector::Node {
  enum class Kind { everything, any, all, none, strict, app, instance, tag, self_tag, fact };
  Kind kind = Kind::everything;
  std::vector<std::shared_ptr<const Node>> parts;  // any, all, none (one), strict (one)
  std::string key;                                 // tag, self_tag
  std::vector<std::string> path;                   // fact
  std::vector<TextPattern> values;                 // one of them
  std::unique_ptr<KnownScopes> known_scopes;       // strict
};

namespace {

using Node = Selector::Node;
using NodePtr = std::shared_ptr<const Node>;

bool is_one_of(const std::vector<TextPattern>& values, std::string_view text) {
  return std::ranges::any_of(values, [&](const TextPattern& pattern) { return pattern.matches(text); });
}

// A fact that is a list is equal to what one of its items is equal to.
bool fact_matches(const base::Value& fact, const std::vector<TextPattern>& values) {
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

// What depends on the word of a machine that is not taken for it is neither true nor false: so is its
// contrary.
enum class Truth { no, unknown, yes };

Truth truth(bool holds) {
  return holds ? Truth::yes : Truth::no;
}
Truth contrary(Truth of) {
  return of == Truth::unknown ? of : truth(of == Truth::no);
}

// `strict`: the part that is, and holds this node; null: none does.
Truth evaluate(const Node& node, const SelectorSubject& subject, const Node* strict);

// Whether a tag that a token with this scope has set counts for a strict selector.
bool counts_for(const Node& strict, const std::string& scope);

// The least or the greatest of the parts; it stops where that cannot change any more.
Truth evaluate_parts(const Node& node, const SelectorSubject& subject, const Node* strict, bool all) {
  Truth found = truth(all);
  for (const NodePtr& part : node.parts) {
    const Truth each = evaluate(*part, subject, strict);
    found = all ? std::min(found, each) : std::max(found, each);
    if (found == truth(!all)) break;
  }
  return found;
}

Truth tag_is(const Tags* tags, const Node& node) {
  if (!tags) return Truth::no;
  const auto tag = tags->find(node.key);
  return truth(tag != tags->end() && is_one_of(node.values, tag->second));
}

Truth operator_tag_is(const SelectorSubject& subject, const Node& node, const Node* strict) {
  if (strict && subject.tag_scopes) {
    const auto scope = subject.tag_scopes->find(node.key);
    if (scope != subject.tag_scopes->end() && !counts_for(*strict, scope->second))
      return subject.takes_self_tags ? tag_is(subject.self_tags, node) : Truth::no;
  }
  return tag_is(&subject.tags, node);
}

Truth fact_is(const base::Value* fact, const Node& node) {
  for (const std::string& name : node.path)
    if (fact) fact = fact->find(name);
  return truth(fact && fact_matches(*fact, node.values));
}

Truth evaluate(const Node& node, const SelectorSubject& subject, const Node* strict) {
  const bool is_believed = !strict || subject.trusts_self_reported;
  switch (node.kind) {
    case Node::Kind::everything:
      return Truth::yes;
    case Node::Kind::any:
      return evaluate_parts(node, subject, strict, false);
    case Node::Kind::all:
      return evaluate_parts(node, subject, strict, true);
    case Node::Kind::none:
      return contrary(evaluate_parts(node, subject, strict, false));
    case Node::Kind::strict:
      return truth(evaluate(*node.parts.front(), subject, &node) == Truth::yes);
    case Node::Kind::app:
      return truth(is_one_of(node.values, subject.app_id));
    case Node::Kind::instance:
      return truth(is_one_of(node.values, subject.instance_id));
    case Node::Kind::tag:
      return operator_tag_is(subject, node, strict);
    case Node::Kind::self_tag:
      return is_believed ? tag_is(subject.self_tags, node) : Truth::unknown;
    case Node::Kind::fact:
      return is_believed ? fact_is(subject.facts, node) : Truth::unknown;
  }
  return Truth::no;
}

// The proof behind Selector::is_within(): that whatever the machine is and says, `inner` is at most as true
// as `outer` (no, unknown, yes). For that order the contrary of both is the other way round.
class Containment {
 public:
  bool holds(const Node& inner, const Node& outer) {
    if (steps_ == kContainmentSteps) return false;
    ++steps_;
    using Kind = Node::Kind;
    if (outer.kind == Kind::everything) return true;
    const auto inside = [&](const NodePtr& part) { return holds(*part, outer); };
    const auto around = [&](const NodePtr& part) { return holds(inner, *part); };
    if (inner.kind == Kind::any) return std::ranges::all_of(inner.parts, inside);
    if (outer.kind == Kind::all) return std::ranges::all_of(outer.parts, around);
    if (inner.kind == Kind::strict && outer.kind == Kind::strict)
      return holds(*inner.parts[0], *outer.parts[0]);
    if (inner.kind == Kind::all && std::ranges::any_of(inner.parts, inside)) return true;
    if (outer.kind == Kind::any) return std::ranges::any_of(outer.parts, around);
    // What is true whatever the machine says is true.
    if (inner.kind == Kind::strict) return holds(*inner.parts[0], outer);
    // The other way round only where nothing is asked of the machine.
    if (outer.kind == Kind::strict) return !asks_machine(*outer.parts[0]) && holds(inner, *outer.parts[0]);
    if (inner.kind == Kind::none && outer.kind == Kind::none) return holds(*outer.parts[0], *inner.parts[0]);
    return is_comparison(inner.kind) && inner.kind == outer.kind && inner.key == outer.key &&
           inner.path == outer.path && std::ranges::all_of(inner.values, [&](const TextPattern& value) {
             return std::ranges::any_of(outer.values,
                                        [&](const TextPattern& each) { return each.covers(value); });
           });
  }

 private:
  static bool is_comparison(Node::Kind kind) {
    using Kind = Node::Kind;
    return kind == Kind::app || kind == Kind::instance || kind == Kind::tag || kind == Kind::self_tag ||
           kind == Kind::fact;
  }
  static bool asks_machine(const Node& node) {
    return node.kind == Node::Kind::self_tag || node.kind == Node::Kind::fact ||
           std::ranges::any_of(node.parts, [](const NodePtr& part) { return asks_machine(*part); });
  }

  std::size_t steps_ = 0;
};

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

  bool read_value(Node& node) {
    TextPattern pattern;
    if (take("\"")) {
      const std::size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) return fail("the text in quotes does not end") != nullptr;
      pattern.pieces[0] = text_.substr(at_, end - at_);
      at_ = end + 1;
    } else {
      const std::string_view value = word();
      if (value.empty()) return fail("expected a value") != nullptr;
      pattern = TextPattern::parse(value);
      at_ += value.size();
    }
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

NodePtr strict_node(NodePtr part) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::strict;
  node->parts.push_back(std::move(part));
  node->known_scopes = std::make_unique<KnownScopes>();
  return node;
}

bool counts_for(const Node& strict, const std::string& scope) {
  KnownScopes& known = *strict.known_scopes;
  const std::lock_guard lock(known.mutex);
  if (const auto found = known.counts.find(scope); found != known.counts.end()) return found->second;
  if (known.counts.size() == kMostKnownScopes) known.counts.clear();
  auto parsed = Parser(scope).parse();
  const bool counts = parsed && Containment().holds(strict, *strict_node(std::move(*parsed)));
  known.counts.emplace(scope, counts);
  return counts;
}

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
  selector.uses_self_tags_ = parser.uses_self_tags();
  return selector;
}

Selector Selector::strict() const {
  Selector selector = *this;
  selector.root_ = strict_node(root_);
  return selector;
}

Selector Selector::inside(const Selector& outer) const {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::all;
  node->parts = {outer.root_, root_};
  Selector selector = *this;
  selector.root_ = std::move(node);
  selector.uses_facts_ = uses_facts_ || outer.uses_facts_;
  selector.uses_self_tags_ = uses_self_tags_ || outer.uses_self_tags_;
  return selector;
}

Result<Selector> Selector::both(const Selector& one, const Selector& other) {
  // Parsed for its limits only: how strict each is stays as it is.
  auto selector = parse("(" + one.text_ + ") and (" + other.text_ + ")");
  if (!selector) return selector;
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::all;
  node->parts = {one.root_, other.root_};
  selector->root_ = std::move(node);
  return selector;
}

bool Selector::matches(const SelectorSubject& subject) const {
  return evaluate(*root_, subject, nullptr) == Truth::yes;
}

bool Selector::is_within(const Selector& outer) const {
  return Containment().holds(*root_, *outer.root_);
}

bool Selector::matches(const Instance& instance) const {
  return matches_under(instance, instance.trust);
}

bool Selector::matches_under(const Instance& instance, SelfTrust trust) const {
  const Tags tags = instance.tags_under(trust);
  SelectorSubject subject{.app_id = instance.app_id,
                          .instance_id = instance.instance_id,
                          .tags = tags,
                          .self_tags = &instance.agent_tags,
                          .trusts_self_reported = trust != SelfTrust::off,
                          .tag_scopes = &instance.tag_scopes,
                          .takes_self_tags = trust == SelfTrust::all};
  if (!uses_facts_ || instance.facts.empty()) return matches(subject);
  base::Arena arena;
  const auto facts = base::parse_json(instance.facts, arena);
  subject.facts = std::get_if<base::Value>(&facts);
  return matches(subject);
}

}  // namespace backend::domain
