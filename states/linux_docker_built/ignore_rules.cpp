#include "states/linux_docker_built/ignore_rules.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <span>

#include "base/text.hpp"

namespace states::linux_docker_built {

namespace {

constexpr std::size_t kMostRules = 1000;
constexpr std::size_t kMostParts = 64;

using Parts = std::span<const std::string>;

// Row by row, so that no text of patterns takes longer than their lengths multiplied.
bool fits(Parts pattern, Parts path) {
  std::vector<char> before(path.size() + 1, 0), now(path.size() + 1, 0);
  before[0] = 1;
  for (const std::string& part : pattern) {
    const bool is_any = part == "**";
    now[0] = static_cast<char>(is_any && before[0]);
    for (std::size_t i = 1; i <= path.size(); ++i)
      now[i] =
          static_cast<char>(is_any ? before[i] || now[i - 1]
                                   : before[i - 1] && ::fnmatch(part.c_str(), path[i - 1].c_str(), 0) == 0);
    std::swap(before, now);
  }
  return before[path.size()] != 0;
}

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  for (const std::string_view part : base::split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else {
      parts.emplace_back(part);
    }
  }
  return parts;
}

}  // namespace

IgnoreRules IgnoreRules::parse(std::string_view text) {
  IgnoreRules rules;
  for (const std::string_view line : base::split(text, '\n')) {
    if (line.starts_with('#')) continue;
    std::string_view pattern = base::trim(line);
    Rule rule;
    if (pattern.starts_with('!')) {
      rule.takes_back = true;
      pattern = base::trim(pattern.substr(1));
    }
    rule.parts = parts_of(pattern);
    if (rule.parts.empty() || rule.parts.size() > kMostParts || rules.rules_.size() == kMostRules) continue;
    rules.takes_back_ = rules.takes_back_ || rule.takes_back;
    rules.rules_.push_back(std::move(rule));
  }
  return rules;
}

bool IgnoreRules::ignores(std::string_view path) const {
  if (path == "Dockerfile" || path == ".dockerignore") return false;
  const std::vector<std::string> parts = parts_of(path);
  bool ignored = false;
  for (const Rule& rule : rules_) {
    if (rule.takes_back != ignored) continue;
    for (std::size_t count = 1; count <= parts.size(); ++count)
      if (fits(rule.parts, Parts(parts).first(count))) {
        ignored = !rule.takes_back;
        break;
      }
  }
  return ignored;
}

}  // namespace states::linux_docker_built
