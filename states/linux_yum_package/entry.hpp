// What a recipe wants of one rpm package, read from the pairs of the parameter `name`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/downloads/checksum.hpp"
#include "states/param.hpp"
#include "states/versions/relation.hpp"

namespace states::linux_yum_package {

enum class Want { installed, latest, removed, version, file };

struct Entry {
  std::string name;          // "nginx"; of a file the label that the recipe gives it
  std::string architecture;  // "x86_64"; "" if none is given
  Want want = Want::installed;
  // Of Want::version; without a relation: equal, or the beginning of it up to a separator.
  std::optional<versions::Relation> relation;
  std::string version;
  std::string file;                               // a clean_path
  std::optional<downloads::Checksum> checksum{};  // that the file must have

  // "nginx.x86_64"
  std::string whole_name() const { return architecture.empty() ? name : name + "." + architecture; }
};

struct Request {
  std::vector<Entry> entries;
  std::vector<std::string> skipped;  // names that do not count because package files are given
};

// Errors: a value or name that cannot be meant, a package with two different values.
base::Result<Request> read_request(Pairs pairs);

// Whether a version is what the entry (Want::version, Want::file) asks for.
bool is_satisfied(const Entry& entry, std::string_view version);

// "1.2", ">= 2.0", for people.
std::string version_text(const Entry& entry);

}  // namespace states::linux_yum_package
