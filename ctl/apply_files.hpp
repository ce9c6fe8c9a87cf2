// What `opsctl apply` is given: files that describe recipes, assignments and apps, made into the items of the
// API's call. docs/opsctl.md has the format. Blocks on the disk; talks to nobody.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace ctl {

// As the backend has them; what is larger is said before anything is sent.
inline constexpr std::size_t kMostApplyItems = 1000;
inline constexpr std::size_t kMostApplyBytes = 8 * 1024 * 1024;
inline constexpr std::size_t kMostApplyFiles = 1000;

struct ApplyItems {
  std::string json;       // a list
  std::size_t count = 0;  // of items
};

// `paths`: files, folders with all *.yaml, *.yml and *.json below them, "-" for standard input. The error has
// all problems, a line each, with file, line and column.
base::Result<ApplyItems> read_apply_items(std::span<const std::string> paths);

// What a set is called that nobody has named: as the folder is, or the one that the first file is in.
// `unsupported`: that is no name.
base::Result<std::string> set_name_of(const std::string& path);

}  // namespace ctl
