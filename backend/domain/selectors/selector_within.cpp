// Whether one selector is inside another.
#include <algorithm>

#include "backend/domain/selectors/selector_node.hpp"

namespace backend::domain {

namespace {

using Node = SelectorNode;
using NodePtr = SelectorNodePtr;

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
           inner.path == outer.path && are_values_within(inner, outer);
  }

 private:
  // Of two comparisons of the same thing: whether whatever value the one takes, the other does.
  static bool are_values_within(const Node& inner, const Node& outer) {
    if (inner.bound && outer.bound) return inner.bound->is_within(*outer.bound);
    // What is less or greater than anything is there, and equal to "*".
    if (inner.bound)
      return std::ranges::any_of(
          outer.values, [](const TextPattern& each) { return each.pieces == std::vector<std::string>(2); });
    return std::ranges::all_of(inner.values, [&](const TextPattern& value) {
      if (outer.bound) return value.pieces.size() == 1 && outer.bound->holds_for_all_written(value.pieces[0]);
      return std::ranges::any_of(outer.values, [&](const TextPattern& each) { return each.covers(value); });
    });
  }
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

}  // namespace

bool is_proved_within(const SelectorNode& inner, const SelectorNode& outer) {
  return Containment().holds(inner, outer);
}

}  // namespace backend::domain
