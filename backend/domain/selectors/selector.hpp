// Selector: which instances are meant. "tag.role=db and not fact.os.id=debian"
//
// Grammar, words in any letter case:
//   selector = term { "or" term }        term = factor { "and" factor }
//   factor   = "not" factor | "(" selector ")" | "*" | key order bound
//            | key ("=" | "!=") value | key ["not"] "in" "(" value, … ")"
//   key      = "app" | "instance" | "tag." name | "self." name | "fact." path | name (a tag)
//   value    = word, or text in "double quotes"; an unquoted * in it stands for any text
//   order    = "<" | ">" | "<=" | ">="
//   bound    = a value that is a number or a version; not for app and instance
// What an instance does not have is equal to nothing: "role=db" is false for it and "role!=db" true. Nor is
// it less or greater than anything; value_order.hpp says what is.
//
// Tags are the operator's. What a machine says of itself are "self." and "fact.". A selector that decides
// what a machine is given or who may reach it is made strict(): it matches a machine whose app does not rely
// on such words only if it would whatever the machine said, "not fact.os.id=debian" no more than
// "fact.os.id=debian".
//
// A tag that a token with a scope has set counts for a strict selector only when every machine that this can
// mean is in that scope (is_within()); for others it is not there. So whoever may tag some machines does not
// decide what others give to theirs, or who reaches them: not now, and not with a selector that comes later.
//
// A parsed selector is immutable and may be shared between threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/domain/model.hpp"
#include "base/result.hpp"
#include "base/values/value.hpp"

namespace backend::domain {

// What a selector looks at. `facts` may be null: then there are none.
struct SelectorSubject {
  std::string_view app_id;
  std::string_view instance_id;
  const Tags& tags;
  const base::Value* facts = nullptr;
  const Tags* self_tags = nullptr;    // may be null, too
  bool trusts_self_reported = false;  // its app does
  const Tags* tag_scopes = nullptr;   // Instance::tag_scopes; null: none has one
  bool takes_self_tags = false;       // its own tags stand in for those of the operator's that do not count
};

class Selector {
 public:
  // Everything.
  Selector();

  // The error names the place: "at 12: expected a value". Empty text is an error: "*" is everything.
  static base::Result<Selector> parse(std::string_view text);

  // The same, for what must not rest on a machine's own word; see above.
  Selector strict() const;
  // "(one) and (other)", each as strict as it is. Fails when that gets too long.
  static base::Result<Selector> both(const Selector& one, const Selector& other);
  // The same text, for those of its machines that `outer` matches, too.
  Selector inside(const Selector& outer) const;

  bool matches(const SelectorSubject& subject) const;
  // With the facts that the instance was read with.
  bool matches(const Instance& instance) const;
  // As if its app relied on its word so much.
  bool matches_under(const Instance& instance, SelfTrust trust) const;
  // Whether it asks for facts at all; if not, nobody needs to read them.
  bool uses_facts() const { return uses_facts_; }
  // Whether it asks for what machines say of themselves.
  bool uses_self_reported() const { return uses_facts_ || uses_self_tags_; }
  const std::string& text() const { return text_; }

  // Whether every machine that this one matches, now or ever, is matched by `outer`, too. Sound and not
  // complete: true is a proof from the form of both, false may also mean that there is no short proof
  // (docs/backend.md, "When one selector is inside another"). Bounded: kContainmentSteps.
  bool is_within(const Selector& outer) const;

  struct Node;

 private:
  std::shared_ptr<const Node> root_;
  std::string text_;
  bool uses_facts_ = false;
  bool uses_self_tags_ = false;
};

inline constexpr std::size_t kLongestSelector = 4096;
inline constexpr std::size_t kDeepestSelector = 32;
// What is_within() compares at most: both sides may be somebody's who wants us to be busy.
inline constexpr std::size_t kContainmentSteps = 20'000;

}  // namespace backend::domain
