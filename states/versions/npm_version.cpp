#include "states/versions/npm_version.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "states/versions/digits.hpp"
#include "states/versions/relation.hpp"

namespace states::versions {

namespace {

constexpr std::size_t kLongestRange = 1024;
constexpr std::size_t kParts = 3;  // major, minor, patch

struct NpmVersion {
  std::array<std::string, kParts> numbers{"0", "0", "0"};
  std::vector<std::string> pre;
  std::size_t given = 0;  // how many numbers there were; fewer than three in a range: "1.x", "1"
};

bool is_wildcard(std::string_view word) {
  return word == "x" || word == "X" || word == "*";
}

bool is_identifier(char c) {
  return is_digit(c) || is_letter(c) || c == '-';
}

// "-beta.1" and "+build" at the end; the latter says nothing.
bool take_suffixes(std::string_view rest, NpmVersion& version) {
  const std::size_t plus = rest.find('+');
  const std::string_view pre = rest.substr(0, plus);
  const auto is_dotted = [](std::string_view text) {
    return !text.empty() && !text.starts_with('.') && !text.ends_with('.') &&
           text.find("..") == std::string_view::npos &&
           std::ranges::all_of(text, [](char c) { return is_identifier(c) || c == '.'; });
  };
  if (plus != std::string_view::npos && !is_dotted(rest.substr(plus + 1))) return false;
  if (pre.empty()) return true;
  if (pre.front() != '-' || !is_dotted(pre.substr(1))) return false;
  for (const std::string_view piece : base::split(pre.substr(1), '.'))
    version.pre.emplace_back(piece);
  return true;
}

// Of a range, numbers may be missing, or be a wildcard.
std::optional<NpmVersion> parse_npm(std::string_view text, bool is_partial) {
  text = base::trim(text);
  while (text.starts_with('v') || text.starts_with('='))
    text.remove_prefix(1);
  NpmVersion version;
  bool is_open = false;
  for (std::size_t i = 0; i < kParts; ++i) {
    if (i > 0) {
      if (!text.starts_with('.')) break;
      text.remove_prefix(1);
    }
    if (is_partial && !text.empty() && is_wildcard(text.substr(0, 1))) {
      text.remove_prefix(1);
      is_open = true;
      continue;
    }
    const std::string_view number = take_while(text, is_digit);
    if (number.empty()) return std::nullopt;
    if (is_open) continue;  // "1.x.3" is "1.x"
    version.numbers[i] = number;
    version.given = i + 1;
  }
  if (version.given < kParts && !is_partial) return std::nullopt;
  if (version.given < kParts) {
    if (!text.empty() && text.front() != '-' && text.front() != '+') return std::nullopt;
    return version;
  }
  if (!take_suffixes(text, version)) return std::nullopt;
  return version;
}

int compare_identifiers(const std::string& a, const std::string& b) {
  const bool left = std::ranges::all_of(a, is_digit), right = std::ranges::all_of(b, is_digit);
  if (left != right) return left ? -1 : 1;
  return left ? compare_digits(a, b) : a.compare(b);
}

int compare_triples(const NpmVersion& a, const NpmVersion& b) {
  for (std::size_t i = 0; i < kParts; ++i)
    if (const int order = compare_digits(a.numbers[i], b.numbers[i]); order != 0) return order;
  return 0;
}

int compare_whole(const NpmVersion& a, const NpmVersion& b) {
  if (const int order = compare_triples(a, b); order != 0) return order;
  if (a.pre.empty() != b.pre.empty()) return a.pre.empty() ? 1 : -1;
  for (std::size_t i = 0; i < std::min(a.pre.size(), b.pre.size()); ++i)
    if (const int order = compare_identifiers(a.pre[i], b.pre[i]); order != 0) return order;
  return a.pre.size() < b.pre.size() ? -1 : a.pre.size() > b.pre.size() ? 1 : 0;
}

struct Comparator {
  Relation relation = Relation::greater_equal;
  NpmVersion version;
};
using Comparators = std::vector<Comparator>;  // all of them hold

// The number after it, in digits.
void increment(std::string& digits) {
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    if (*digit != '9') {
      ++*digit;
      return;
    }
    *digit = '0';
  }
  digits.insert(digits.begin(), '1');
}

// The first version, prereleases included, behind all that have the same numbers up to `part`.
NpmVersion next_of(const NpmVersion& version, std::size_t part) {
  NpmVersion next;
  for (std::size_t i = 0; i <= part; ++i)
    next.numbers[i] = version.numbers[i];
  increment(next.numbers[part]);
  next.pre = {"0"};
  return next;
}

bool is_zero(const std::string& digits) {
  return compare_digits(digits, "") == 0;
}

// What "^1.2.3" leaves open: all behind the first number that is not 0.
std::size_t caret_part(const NpmVersion& version) {
  for (std::size_t i = 0; i + 1 < version.given; ++i)
    if (!is_zero(version.numbers[i])) return i;
  return version.given - 1;
}

void add_up_to(const NpmVersion& version, std::size_t part, Comparators& comparators) {
  comparators.push_back({Relation::greater_equal, version});
  comparators.push_back({Relation::less, next_of(version, part)});
}

// "1.x", "<1", ">=1.2": fewer than three numbers.
void add_partial(std::optional<Relation> relation, const NpmVersion& version, Comparators& comparators) {
  const std::size_t last = version.given - 1;
  switch (relation.value_or(Relation::equal)) {
    case Relation::greater:
      comparators.push_back({Relation::greater_equal, next_of(version, last)});
      comparators.back().version.pre.clear();
      return;
    case Relation::less_equal:
      comparators.push_back({Relation::less, next_of(version, last)});
      return;
    case Relation::greater_equal:
      comparators.push_back({Relation::greater_equal, version});
      return;
    case Relation::less:
      comparators.push_back({Relation::less, version});
      comparators.back().version.pre = {"0"};
      return;
    default:
      add_up_to(version, last, comparators);
  }
}

// One word of a set: "^1.2", ">=1", "1.x".
bool add_word(std::string_view word, Comparators& comparators) {
  const bool is_caret = word.starts_with('^'), is_tilde = word.starts_with('~');
  std::optional<Relation> relation;
  if (is_caret || is_tilde) {
    word.remove_prefix(word.starts_with("~>") ? 2 : 1);
  } else {
    if (word.starts_with("!=") || word.starts_with("==")) return false;
    relation = take_relation(word);
  }
  if (base::trim(word).empty()) return false;
  const auto version = parse_npm(word, true);
  if (!version) return false;
  if (version->given == 0) {
    // "*" is everything, and nothing is behind it.
    if (relation == Relation::less || relation == Relation::greater)
      comparators.push_back({Relation::less, NpmVersion{.pre = {"0"}}});
    return true;
  }
  if (is_caret)
    add_up_to(*version, caret_part(*version), comparators);
  else if (is_tilde)
    add_up_to(*version, std::min<std::size_t>(version->given - 1, 1), comparators);
  else if (version->given < kParts)
    add_partial(relation, *version, comparators);
  else
    comparators.push_back({relation.value_or(Relation::equal), *version});
  return true;
}

// "1.2 - 1.4"
std::optional<bool> add_hyphen(std::string_view text, Comparators& comparators) {
  const std::size_t hyphen = text.find(" - ");
  if (hyphen == std::string_view::npos) return std::nullopt;
  const auto from = parse_npm(text.substr(0, hyphen), true), to = parse_npm(text.substr(hyphen + 3), true);
  if (!from || !to) return false;
  if (from->given > 0) comparators.push_back({Relation::greater_equal, *from});
  if (to->given == kParts)
    comparators.push_back({Relation::less_equal, *to});
  else if (to->given > 0)
    comparators.push_back({Relation::less, next_of(*to, to->given - 1)});
  return true;
}

std::optional<Comparators> parse_set(std::string_view text) {
  Comparators comparators;
  if (const auto done = add_hyphen(text, comparators))
    return *done ? std::optional(std::move(comparators)) : std::nullopt;
  // Blanks between an operator and its version do not count.
  std::string held;
  for (const std::string_view word : base::split_words(text)) {
    held += word;
    if (word.find_first_not_of("<>=^~") == std::string_view::npos) continue;
    if (!add_word(held, comparators)) return std::nullopt;
    held.clear();
  }
  if (!held.empty()) return std::nullopt;
  return comparators;
}

std::optional<std::vector<Comparators>> parse_range(std::string_view text) {
  if (text.size() > kLongestRange) return std::nullopt;
  std::vector<Comparators> sets;
  while (true) {
    const std::size_t bar = text.find("||");
    auto set = parse_set(text.substr(0, bar));
    if (!set) return std::nullopt;
    sets.push_back(std::move(*set));
    if (bar == std::string_view::npos) return sets;
    text.remove_prefix(bar + 2);
  }
}

// A prerelease is meant only by a range that names one of the same version.
bool matches_set(const NpmVersion& version, const Comparators& set) {
  for (const Comparator& wanted : set)
    if (!holds(wanted.relation, compare_whole(version, wanted.version))) return false;
  return version.pre.empty() || std::ranges::any_of(set, [&](const Comparator& wanted) {
           return !wanted.version.pre.empty() && wanted.version.given == kParts &&
                  compare_triples(version, wanted.version) == 0;
         });
}

}  // namespace

bool is_npm_version(std::string_view text) {
  return parse_npm(text, false).has_value();
}

int compare_npm_versions(std::string_view a, std::string_view b) {
  const auto left = parse_npm(a, false), right = parse_npm(b, false);
  if (!left || !right) return left ? 1 : right ? -1 : a.compare(b);
  return compare_whole(*left, *right);
}

bool is_npm_range(std::string_view text) {
  return !base::trim(text).empty() && parse_range(text).has_value();
}

bool matches_npm_range(std::string_view version, std::string_view range) {
  const auto found = parse_npm(version, false);
  const auto sets = parse_range(range);
  return found && sets &&
         std::ranges::any_of(*sets, [&](const Comparators& set) { return matches_set(*found, set); });
}

}  // namespace states::versions
