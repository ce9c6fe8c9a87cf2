// What a selector is made of, and how its text becomes that. For selector*.cpp alone.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backend/domain/selectors/selector.hpp"
#include "backend/domain/selectors/text_pattern.hpp"
#include "backend/domain/selectors/value_order.hpp"

namespace backend::domain {

// The scopes whose tags count for a selector: found once, and asked for each machine. Any thread.
struct KnownScopes {
  std::mutex mutex;
  std::map<std::string, bool> counts;
};
// More different scopes than a backend has tokens: then it begins anew.
inline constexpr std::size_t kMostKnownScopes = 1000;

struct Selector::Node {
  enum class Kind { everything, any, all, none, strict, app, instance, tag, self_tag, fact };
  Kind kind = Kind::everything;
  std::vector<std::shared_ptr<const Node>> parts;  // any, all, none (one), strict (one)
  std::string key;                                 // tag, self_tag
  std::vector<std::string> path;                   // fact
  std::vector<TextPattern> values;                 // one of them
  std::optional<Bound> bound;                      // instead of values
  std::unique_ptr<KnownScopes> known_scopes;       // strict
};

using SelectorNode = Selector::Node;
using SelectorNodePtr = std::shared_ptr<const SelectorNode>;

struct ParsedSelector {
  SelectorNodePtr root;
  bool uses_facts = false;
  bool uses_self_tags = false;
};
// selector_parser.cpp; see Selector::parse().
base::Result<ParsedSelector> parse_selector(std::string_view text);

// selector_within.cpp: the proof behind Selector::is_within().
bool is_proved_within(const SelectorNode& inner, const SelectorNode& outer);

}  // namespace backend::domain
