// compat.txt: which versions of the agent a repository of modules is for. Pure; any thread.
//
// Each line is an operator (<, <=, >, >=, ==, !=) and a version, with or without blanks between them; all
// must hold. Empty lines and those that begin with # do not count. Versions are compared number by number:
// 0.10 is later than 0.9, and 1.0 is 1.0.0.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace modules {

inline constexpr std::size_t kLargestCompat = 4096;  // bytes; a page of conditions

// Of "1.2.3" and of "1.2.3-rc.1", whose ending does not count.
bool is_version(std::string_view text);
std::strong_ordering compare_versions(std::string_view a, std::string_view b);

struct Condition {
  enum class Is { less, at_most, more, at_least, equal, other };
  Is is = Is::equal;
  std::string version;
};

class Compat {
 public:
  // `file` is for messages.
  static base::Result<Compat> read(std::string_view text, std::string_view file);

  // "modules are not compatible with agent 0.1.0: needs >= 2.0, < 3"; nothing when all conditions hold.
  std::optional<std::string> refusal(std::string_view agent_version) const;

 private:
  std::vector<Condition> conditions_;
};

}  // namespace modules
