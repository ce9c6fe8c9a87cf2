#include "states/versions/gem_version.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "states/versions/digits.hpp"
#include "states/versions/relation.hpp"

namespace states::versions {

namespace {

// Runs of digits and runs of letters.
std::vector<std::string> segments_of(std::string_view version) {
  std::vector<std::string> segments;
  while (!version.empty()) {
    const char first = version.front();
    if (first == '-') segments.emplace_back("pre");  // "1.0-a" is "1.0.pre.a"
    if (is_digit(first))
      segments.emplace_back(take_while(version, is_digit));
    else if (is_letter(first))
      segments.emplace_back(take_while(version, is_letter));
    else
      version.remove_prefix(1);
  }
  return segments;
}

bool is_number(const std::string& segment) {
  return is_digit(segment.front());
}

int compare_segments(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  static const std::string kZero = "0";
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string& left = i < a.size() ? a[i] : kZero;
    const std::string& right = i < b.size() ? b[i] : kZero;
    if (is_number(left) != is_number(right)) return is_number(left) ? 1 : -1;
    if (const int order = is_number(left) ? compare_digits(left, right) : left.compare(right); order != 0)
      return order;
  }
  return 0;
}

// Zeros before a word, or at the end, say nothing: "1.0.a" is "1.a".
std::vector<std::string> canonical(std::string_view version) {
  std::vector<std::string> kept;
  const auto drop_zeros = [&] {
    while (kept.size() > 1 && is_number(kept.back()) && compare_digits(kept.back(), "") == 0)
      kept.pop_back();
  };
  bool was_number = true;
  for (std::string& segment : segments_of(version)) {
    if (was_number && !is_number(segment)) drop_zeros();
    was_number = is_number(segment);
    kept.push_back(std::move(segment));
  }
  drop_zeros();
  return kept;
}

// The segments before the first word.
std::vector<std::string> release_of(std::string_view version) {
  std::vector<std::string> segments = segments_of(version);
  segments.erase(std::ranges::find_if_not(segments, is_number), segments.end());
  return segments;
}

// "~> 1.2.3": the same up to the last number but one.
bool is_compatible(std::string_view version, std::string_view wanted) {
  if (compare_gem_versions(version, wanted) < 0) return false;
  std::vector<std::string> prefix = release_of(wanted);
  if (prefix.size() > 1) prefix.pop_back();
  std::vector<std::string> found = release_of(version);
  found.resize(std::max(found.size(), prefix.size()), "0");
  found.resize(prefix.size());
  return compare_segments(found, prefix) == 0;
}

struct GemClause {
  bool is_compatible = false;
  Relation relation = Relation::equal;
  std::string version;
};

std::optional<std::vector<GemClause>> parse_requirement(std::string_view text) {
  std::vector<GemClause> clauses;
  for (std::string_view piece : base::split(text, ',')) {
    piece = base::trim(piece);
    GemClause clause;
    if (piece.starts_with("~>")) {
      clause.is_compatible = true;
      piece.remove_prefix(2);
    } else if (!piece.starts_with("==")) {
      clause.relation = take_relation(piece).value_or(Relation::equal);
    }
    clause.version = base::trim(piece);
    if (!is_gem_version(clause.version)) return std::nullopt;
    clauses.push_back(std::move(clause));
  }
  if (clauses.empty()) return std::nullopt;
  return clauses;
}

}  // namespace

bool is_gem_version(std::string_view text) {
  if (text.empty() || !is_digit(text.front())) return false;
  const std::size_t dash = text.find('-');
  for (const std::string_view half :
       {text.substr(0, dash), dash == text.npos ? "0" : text.substr(dash + 1)}) {
    if (half.empty() || half.front() == '.' || half.back() == '.') return false;
    if (half.find("..") != half.npos) return false;
    if (!std::ranges::all_of(half, [](char c) { return is_digit(c) || is_letter(c) || c == '.'; }))
      return false;
  }
  return true;
}

int compare_gem_versions(std::string_view a, std::string_view b) {
  return compare_segments(canonical(a), canonical(b));
}

bool is_gem_requirement(std::string_view text) {
  return parse_requirement(text).has_value();
}

bool matches_gem_requirement(std::string_view version, std::string_view requirement) {
  const auto clauses = parse_requirement(requirement);
  return clauses && std::ranges::all_of(*clauses, [&](const GemClause& clause) {
           if (clause.is_compatible) return is_compatible(version, clause.version);
           return holds(clause.relation, compare_gem_versions(version, clause.version));
         });
}

}  // namespace states::versions
