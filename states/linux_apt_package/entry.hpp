// What a recipe wants of one package, read from the pairs of the parameter `name`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/downloads/checksum.hpp"
#include "states/param.hpp"

namespace states::linux_apt_package {

enum class Want {
  installed,  // in any version
  latest,
  removed,  // configuration files may stay
  purged,
  version,  // that satisfies `relation` and `version`
  file,     // from the package file `file`
};

// matching: equal, or the beginning of it up to a separator ("10.18" for "10.18.2-1").
enum class Relation { matching, equal, less, less_equal, greater, greater_equal };

struct Entry {
  std::string name;  // "nginx", "libc6:i386"; of a file the label that the recipe gives it
  Want want = Want::installed;
  Relation relation = Relation::matching;
  std::string version;
  std::string file;  // an absolute path, or an address that begins with http: or https:
  std::optional<downloads::Checksum> checksum{};  // that the file must have

  // The parts of `name`.
  std::string_view package() const { return std::string_view(name).substr(0, name.find(':')); }
  std::string_view architecture() const {
    const std::size_t colon = name.find(':');
    return colon == std::string::npos ? std::string_view() : std::string_view(name).substr(colon + 1);
  }
};

struct Request {
  std::vector<Entry> entries;
  std::vector<std::string> skipped;  // names that do not count because package files are given
};

// Errors: a value or name that cannot be meant, a package with two different values.
base::Result<Request> read_request(Pairs pairs);
base::Result<Entry> read_entry(const Pair& pair);

// Whether an installed or available version is what the entry (Want::version) asks for.
bool is_satisfied(const Entry& entry, std::string_view version);

// "10.18", ">= 2.0", for people.
std::string version_text(const Entry& entry);

}  // namespace states::linux_apt_package
