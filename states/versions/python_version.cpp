#include "states/versions/python_version.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "states/versions/digits.hpp"
#include "states/versions/relation.hpp"

namespace states::versions {

namespace {

// A part that a version may have or not, such as "rc1": which kind, and its number.
struct Mark {
  char kind = 0;  // 0: it is not there
  std::string number;
};

struct PythonVersion {
  std::string epoch;
  std::vector<std::string> release;
  Mark pre;   // 'a', 'b' or 'c'
  Mark post;  // 'p'
  Mark dev;   // 'd'
  std::vector<std::string> local;
  bool is_prefix = false;  // "1.2.*"

  bool is_prerelease() const { return pre.kind != 0 || dev.kind != 0; }
};

struct Word {
  std::string_view text;
  char kind;
};
constexpr Word kPreWords[] = {{"alpha", 'a'}, {"a", 'a'},       {"beta", 'b'}, {"b", 'b'},
                              {"rc", 'c'},    {"preview", 'c'}, {"pre", 'c'},  {"c", 'c'}};
constexpr Word kPostWords[] = {{"post", 'p'}, {"rev", 'p'}, {"r", 'p'}};
constexpr Word kDevWords[] = {{"dev", 'd'}};

bool is_separator(char c) {
  return c == '.' || c == '-' || c == '_';
}

// "[._-]word[._-]number", each of the three but the word optional.
template <std::size_t Count>
Mark take_mark(std::string_view& rest, const Word (&words)[Count]) {
  std::string_view inner = rest;
  if (!inner.empty() && is_separator(inner.front())) inner.remove_prefix(1);
  const auto* word = std::ranges::find_if(words, [&](const Word& known) {
    return inner.starts_with(known.text) &&
           (inner.size() == known.text.size() || !is_letter(inner[known.text.size()]));
  });
  if (word == std::end(words)) return {};
  inner.remove_prefix(word->text.size());
  std::string_view behind = inner;
  if (!behind.empty() && is_separator(behind.front())) behind.remove_prefix(1);
  const std::string_view number = take_while(behind, is_digit);
  rest = number.empty() ? inner : behind;
  return {word->kind, std::string(number)};
}

// "+abc.5", of which nothing may be left.
bool take_local(std::string_view rest, PythonVersion& version) {
  while (!rest.empty()) {
    rest.remove_prefix(1);  // "+" or a separator
    const std::string_view piece = take_while(rest, [](char c) { return is_digit(c) || is_letter(c); });
    if (piece.empty() || (!rest.empty() && !is_separator(rest.front()))) return false;
    version.local.emplace_back(piece);
  }
  return true;
}

// What comes behind the numbers of the release.
bool take_marks(std::string_view rest, PythonVersion& version) {
  version.pre = take_mark(rest, kPreWords);
  if (rest.size() > 1 && rest.front() == '-' && is_digit(rest[1])) {
    rest.remove_prefix(1);
    version.post = {'p', std::string(take_while(rest, is_digit))};
  } else {
    version.post = take_mark(rest, kPostWords);
  }
  version.dev = take_mark(rest, kDevWords);
  return rest.empty() || (rest.front() == '+' && take_local(rest, version));
}

std::optional<PythonVersion> parse_python(std::string_view text) {
  std::string lower(base::trim(text));
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  std::string_view rest = lower;
  if (rest.starts_with('v')) rest.remove_prefix(1);
  PythonVersion version;
  std::string_view behind = rest;
  if (const std::string_view epoch = take_while(behind, is_digit);
      !epoch.empty() && behind.starts_with('!')) {
    version.epoch = epoch;
    rest = behind.substr(1);
  }
  while (true) {
    const std::string_view number = take_while(rest, is_digit);
    if (number.empty()) return std::nullopt;
    version.release.emplace_back(number);
    if (rest == ".*") {
      version.is_prefix = true;
      return version;
    }
    if (rest.size() < 2 || rest.front() != '.' || !is_digit(rest[1])) break;
    rest.remove_prefix(1);
  }
  if (!take_marks(rest, version)) return std::nullopt;
  return version;
}

std::string_view release_at(const PythonVersion& version, std::size_t at) {
  return at < version.release.size() ? std::string_view(version.release[at]) : std::string_view();
}

int compare_release(const PythonVersion& a, const PythonVersion& b) {
  if (const int epochs = compare_digits(a.epoch, b.epoch); epochs != 0) return epochs;
  for (std::size_t i = 0; i < std::max(a.release.size(), b.release.size()); ++i)
    if (const int order = compare_digits(release_at(a, i), release_at(b, i)); order != 0) return order;
  return 0;
}

// Where the part before a release stands: a development release alone comes first, none at all last.
int pre_rank(const PythonVersion& version) {
  if (version.pre.kind != 0) return version.pre.kind;
  constexpr int kLast = 1000;
  return version.post.kind == 0 && version.dev.kind != 0 ? -1 : kLast;
}

int compare_marks(const Mark& a, const Mark& b, int rank_of_none) {
  const int left = a.kind != 0 ? 0 : rank_of_none, right = b.kind != 0 ? 0 : rank_of_none;
  return left != right ? left - right : compare_digits(a.number, b.number);
}

int compare_public(const PythonVersion& a, const PythonVersion& b) {
  if (const int order = compare_release(a, b); order != 0) return order;
  if (const int order = pre_rank(a) - pre_rank(b); order != 0) return order;
  if (const int order = compare_digits(a.pre.number, b.pre.number); order != 0) return order;
  if (const int order = compare_marks(a.post, b.post, -1); order != 0) return order;
  return compare_marks(a.dev, b.dev, 1);
}

// Numbers come behind words, and what goes on behind what has ended.
int compare_local(const PythonVersion& a, const PythonVersion& b) {
  for (std::size_t i = 0; i < std::max(a.local.size(), b.local.size()); ++i) {
    if (i >= a.local.size() || i >= b.local.size()) return i >= a.local.size() ? -1 : 1;
    const bool left = std::ranges::all_of(a.local[i], is_digit);
    const bool right = std::ranges::all_of(b.local[i], is_digit);
    if (left != right) return left ? 1 : -1;
    if (const int order = left ? compare_digits(a.local[i], b.local[i]) : a.local[i].compare(b.local[i]);
        order != 0)
      return order;
  }
  return 0;
}

bool begins_with(const PythonVersion& version, const std::string& epoch, std::size_t count,
                 const std::vector<std::string>& release) {
  if (compare_digits(version.epoch, epoch) != 0) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (compare_digits(release_at(version, i), release[i]) != 0) return false;
  return true;
}

bool is_equal(const PythonVersion& version, const PythonVersion& wanted) {
  if (wanted.is_prefix) return begins_with(version, wanted.epoch, wanted.release.size(), wanted.release);
  return compare_public(version, wanted) == 0 &&
         (wanted.local.empty() || compare_local(version, wanted) == 0);
}

bool is_related(const PythonVersion& version, Relation relation, const PythonVersion& wanted) {
  const bool same_release = compare_release(version, wanted) == 0;
  switch (relation) {
    case Relation::equal:
      return is_equal(version, wanted);
    case Relation::unequal:
      return !is_equal(version, wanted);
    case Relation::less:  // "<2" does not mean the betas of 2
      if (!wanted.is_prerelease() && version.is_prerelease() && same_release) return false;
      break;
    case Relation::greater:  // nor ">2" what was added to 2 later
      if (wanted.post.kind == 0 && version.post.kind != 0 && same_release) return false;
      break;
    default:
      break;
  }
  return holds(relation, compare_public(version, wanted));
}

// One of the clauses between commas.
struct PythonClause {
  enum class Kind { relation, compatible, literal } kind = Kind::relation;
  Relation relation = Relation::equal;
  PythonVersion version;
  std::string literal;
};

std::optional<PythonClause> parse_clause(std::string_view text) {
  PythonClause clause;
  text = base::trim(text);
  if (text.starts_with("===")) {
    clause.kind = PythonClause::Kind::literal;
    clause.literal = base::trim(text.substr(3));
    if (clause.literal.empty() || clause.literal.find_first_of(" ;)") != std::string::npos)
      return std::nullopt;
    return clause;
  }
  if (text.starts_with("~=")) {
    clause.kind = PythonClause::Kind::compatible;
    text.remove_prefix(2);
  } else {
    // A single "=" is none of Python's.
    if (text.starts_with('=') && !text.starts_with("==")) return std::nullopt;
    const auto relation = take_relation(text);
    if (!relation) return std::nullopt;
    clause.relation = *relation;
  }
  auto version = parse_python(text);
  if (!version) return std::nullopt;
  const bool takes_prefix = clause.kind == PythonClause::Kind::relation &&
                            (clause.relation == Relation::equal || clause.relation == Relation::unequal);
  if (version->is_prefix && !takes_prefix) return std::nullopt;
  if (clause.kind == PythonClause::Kind::compatible && version->release.size() < 2) return std::nullopt;
  clause.version = std::move(*version);
  return clause;
}

std::optional<std::vector<PythonClause>> parse_specifier(std::string_view text) {
  std::vector<PythonClause> clauses;
  for (const std::string_view piece : base::split(text, ',')) {
    auto clause = parse_clause(piece);
    if (!clause) return std::nullopt;
    clauses.push_back(std::move(*clause));
  }
  if (clauses.empty()) return std::nullopt;
  return clauses;
}

bool matches_clause(const PythonVersion& version, std::string_view text, const PythonClause& clause) {
  switch (clause.kind) {
    case PythonClause::Kind::literal:
      return base::equal_ignoring_case(text, clause.literal);
    case PythonClause::Kind::compatible:
      return compare_public(version, clause.version) >= 0 &&
             begins_with(version, clause.version.epoch, clause.version.release.size() - 1,
                         clause.version.release);
    case PythonClause::Kind::relation:
      return is_related(version, clause.relation, clause.version);
  }
  return false;
}

}  // namespace

bool is_python_version(std::string_view text) {
  const auto version = parse_python(text);
  return version && !version->is_prefix;
}

int compare_python_versions(std::string_view a, std::string_view b) {
  const auto left = parse_python(a), right = parse_python(b);
  if (!left || !right) return left ? 1 : right ? -1 : a.compare(b);
  const int order = compare_public(*left, *right);
  return order != 0 ? order : compare_local(*left, *right);
}

bool is_python_specifier(std::string_view text) {
  return parse_specifier(text).has_value();
}

bool matches_python_specifier(std::string_view version, std::string_view wanted) {
  const auto found = parse_python(version);
  if (!found) return version == base::trim(wanted);
  if (const auto exact = parse_python(wanted)) return is_equal(*found, *exact);
  const auto clauses = parse_specifier(wanted);
  return clauses && std::ranges::all_of(*clauses, [&](const PythonClause& clause) {
           return matches_clause(*found, version, clause);
         });
}

}  // namespace states::versions
