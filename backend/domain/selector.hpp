// Selector: which instances are meant. "tag.role=db and not fact.os.id=debian"
//
// Grammar, words in any letter case:
//   selector = term { "or" term }        term = factor { "and" factor }
//   factor   = "not" factor | "(" selector ")" | "*" | key ("=" | "!=") value | key ["not"] "in" "(" value, …
//   ")" key      = "app" | "instance" | "tag." name | "fact." path | name (a tag) value    = word, or text in
//   "double quotes"; an unquoted * in it stands for any text
// What an instance does not have is equal to nothing: "role=db" is false for it and "role!=db" true.
//
// A parsed selector is immutable and may be shared between threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/domain/model.hpp"
#include "base/result.hpp"
#include "base/value.hpp"

namespace backend::domain {

// What a selector looks at. `facts` may be null: then there are none.
struct SelectorSubject {
  std::string_view app_id;
  std::string_view instance_id;
  const Tags& tags;
  const base::Value* facts = nullptr;
};

class Selector {
 public:
  // Everything.
  Selector();

  // The error names the place: "at 12: expected a value". Empty text is an error: "*" is everything.
  static base::Result<Selector> parse(std::string_view text);

  bool matches(const SelectorSubject& subject) const;
  // With the facts that the instance was read with.
  bool matches(const Instance& instance) const;
  // Whether it asks for facts at all; if not, nobody needs to read them.
  bool uses_facts() const { return uses_facts_; }
  const std::string& text() const { return text_; }

  struct Node;

 private:
  std::shared_ptr<const Node> root_;
  std::string text_;
  bool uses_facts_ = false;
};

inline constexpr std::size_t kLongestSelector = 4096;
inline constexpr std::size_t kDeepestSelector = 32;

}  // namespace backend::domain
