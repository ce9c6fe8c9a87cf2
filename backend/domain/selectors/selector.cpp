#include "backend/domain/selectors/selector.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "backend/domain/selectors/selector_node.hpp"
#include "base/text.hpp"
#include "base/values/json.hpp"

namespace backend::domain {

using base::Result;

namespace {

using Node = SelectorNode;
using NodePtr = SelectorNodePtr;

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
  if (tag == tags->end()) return Truth::no;
  return truth(node.bound ? node.bound->holds(std::string_view(tag->second))
                          : is_one_of(node.values, tag->second));
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
  if (!fact) return Truth::no;
  return truth(node.bound ? node.bound->holds(*fact) : fact_matches(*fact, node.values));
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
  auto parsed = parse_selector(scope);
  const bool counts = parsed && is_proved_within(strict, *strict_node(std::move(parsed->root)));
  known.counts.emplace(scope, counts);
  return counts;
}

}  // namespace

Selector::Selector() : root_(std::make_shared<Node>()), text_("*") {}

Result<Selector> Selector::parse(std::string_view text) {
  text = base::trim(text);  // what is kept is what was understood
  auto parsed = parse_selector(text);
  if (!parsed) return std::move(parsed).error();
  Selector selector;
  selector.root_ = std::move(parsed->root);
  selector.text_ = text;
  selector.uses_facts_ = parsed->uses_facts;
  selector.uses_self_tags_ = parsed->uses_self_tags;
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
  return is_proved_within(*root_, *outer.root_);
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
