// What a recipe wants of one package of a language, read from the pairs of the parameter `name`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/param.hpp"

namespace states::language_packages {

enum class Want {
  installed,  // in any version
  latest,     // what the registry calls by `tag`
  removed,
  version,  // one that `version` means
};

struct Entry {
  std::string name;     // as the recipe has it: "Flask", "requests[socks]", "@scope/name"
  std::string package;  // as the tool's metadata has it: "flask", "requests", "@scope/name"
  Want want = Want::installed;
  std::string version;  // "1.2", ">=2, <3"
  std::string tag;      // of Want::latest, where the registry has more than one: "next"
};

// How a tool writes names and versions.
class Grammar {
 public:
  virtual ~Grammar() = default;
  // Errors: "Illegal value for 'name': '…'".
  virtual base::Result<Entry> read_entry(const Pair& pair) const = 0;
  // Whether an installed version is one of those that `wanted` means.
  virtual bool matches(std::string_view version, std::string_view wanted) const = 0;
  virtual int compare(std::string_view a, std::string_view b) const = 0;
};

// All pairs. Errors: those of read_entry(); a package with two different values.
base::Result<std::vector<Entry>> read_entries(Pairs pairs, const Grammar& grammar);

base::Error illegal_name(std::string_view value);

// Of "", "installed", "latest" and "removed" what is wanted; of all else Want::version with the text.
void set_wanted(Entry& entry, std::string_view value);

// Whether all characters are letters, digits, or one of these.
bool consists_of(std::string_view text, std::string_view others);

}  // namespace states::language_packages
