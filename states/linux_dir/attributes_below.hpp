// What the entries below a recursive directory should get.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "base/tree/tree_writer.hpp"

namespace states::linux_dir {

// The attributes to set on an entry when `given` holds for the directory above; nothing when it is right as
// it is. Owner: every entry. Mode: directories; regular files get its r and w bits, and its x bits if they
// have an x bit already. Symlinks: nothing.
std::optional<base::Attributes> wanted_below(const struct stat& found, const base::Attributes& given);

// "1 entry", "12 entries"
std::string entries_text(std::size_t count);

}  // namespace states::linux_dir
