#include "backend/domain/placement/apply_rules.hpp"

#include <algorithm>

#include "base/diff.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"

namespace backend::domain {

namespace {

bool is_about_same(const Assignment& one, const Assignment& other) {
  return one.app_id == other.app_id && one.recipe == other.recipe && one.selector == other.selector;
}

}  // namespace

const Assignment* find_described(std::span<const Assignment> present, const Assignment& wanted) {
  const auto found =
      std::ranges::find_if(present, [&](const Assignment& each) { return is_about_same(each, wanted); });
  return found == present.end() ? nullptr : &*found;
}

std::string problem_of_set(const Assignment& present, std::string_view set) {
  if (present.set.empty() || present.set == set) return {};
  return "assignment " + std::to_string(present.id) + " is of the set '" + present.set +
         "': describe it in one set only, or apply this as --set " + present.set;
}

bool says_same(const Assignment& present, const Assignment& wanted) {
  return present.revision == wanted.revision && present.order == wanted.order &&
         present.kill_on_change == wanted.kill_on_change && present.round_delay_s == wanted.round_delay_s;
}

std::optional<std::int64_t> kept_pin(const Assignment* present, const Assignment& wanted, bool is_to_pin) {
  if (wanted.revision || !present || !is_to_pin) return wanted.revision;
  return present->revision;
}

std::vector<Assignment> find_pruned(std::span<const Assignment> present, std::span<const Assignment> wanted,
                                    const AppliedSet& set) {
  std::vector<Assignment> pruned;
  for (const Assignment& each : present)
    if (!each.set.empty() && each.set == set.name && each.owner == set.owner && !find_described(wanted, each))
      pruned.push_back(each);
  return pruned;
}

std::string describe_recipe_item(std::string_view name) {
  return "recipe " + std::string(name);
}

std::string describe_app_item(std::string_view app_id) {
  return "app " + std::string(app_id);
}

std::string describe_assignment_item(const Assignment& wanted) {
  return "assignment of " + wanted.recipe + " for " + wanted.selector + " in " + wanted.app_id;
}

LineCounts count_lines(std::string_view before, std::string_view after) {
  constexpr std::size_t kAllLines = 10'000'000;
  LineCounts counts;
  const std::string diff = base::unified_diff(before, after, kAllLines);
  for (const std::string_view line : base::split(diff, '\n')) {
    if (line.starts_with('+')) ++counts.added;
    if (line.starts_with('-')) ++counts.removed;
  }
  return counts;
}

void ShownPlan::add(std::string_view part) {
  // With its length, so that no two lists of parts are one text.
  parts_ += std::to_string(part.size()) + ":";
  parts_ += part;
}

std::string ShownPlan::fingerprint() const {
  return base::sha256_hex(parts_);
}

}  // namespace backend::domain
