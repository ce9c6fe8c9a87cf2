// Several changes applied as one: what each item means against what is there. Pure; any thread.
//
// What is applied has the name of a set. An assignment that `apply` makes bears it; together with the scope
// of the token that is whose it is. Only what bears the name is ever pruned by it, so what was made by hand,
// by another set, or under the same name with another scope, stays. Recipes and apps are never removed:
// nothing in the product removes them.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/domain/model.hpp"

namespace backend::domain {

// One call; the bytes are the route's (api/route.hpp).
inline constexpr std::size_t kMostApplyItems = 1000;

// Whose assignments are pruned.
struct AppliedSet {
  std::string name;
  std::string owner;  // the scope of the token; "": it has none
};

// The one that the item is about: the same recipe for the same selector in the same app. Null: it is new.
const Assignment* find_described(std::span<const Assignment> present, const Assignment& wanted);

// "" unless the assignment is another set's: two sources would undo each other for ever.
std::string problem_of_set(const Assignment& present, std::string_view set);

// Whether writing `wanted` over `present` would change anything.
bool says_same(const Assignment& present, const Assignment& wanted);

// A pin that nobody wrote down: the assignment was pinned because the recipe is others', and stays with what
// was looked at. `is_to_pin` as of ownership.hpp. Nothing: as the item says.
std::optional<std::int64_t> kept_pin(const Assignment* present, const Assignment& wanted, bool is_to_pin);

// What the set has made and does not describe any more, in order.
std::vector<Assignment> find_pruned(std::span<const Assignment> present, std::span<const Assignment> wanted,
                                    const AppliedSet& set);

// What two items are the same by: "recipe web", "app shop", "assignment of web for role=web in default".
std::string describe_recipe_item(std::string_view name);
std::string describe_app_item(std::string_view app_id);
std::string describe_assignment_item(const Assignment& wanted);

struct LineCounts {
  std::size_t added = 0, removed = 0;
  bool operator==(const LineCounts&) const = default;
};
// Of two texts; those that differ too much for a comparison count as removed and added whole.
LineCounts count_lines(std::string_view before, std::string_view after);

// What was shown to somebody, to be recognised when it is applied: parts in order, whatever is in them.
class ShownPlan {
 public:
  void add(std::string_view part);
  std::string fingerprint() const;

 private:
  std::string parts_;
};

}  // namespace backend::domain
