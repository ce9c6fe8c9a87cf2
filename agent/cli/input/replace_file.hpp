// Replacing a file of somebody's with another text: at once or not at all, and it stays whose it was.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace agent::cli {

// Owner, group, mode, access list and extended attributes stay; where they cannot, and where the file is not
// what `before` says any more, or is no regular file of one name, it stays as it is. A link stays, and what
// it leads to is replaced. On disk when it returns.
base::Result<void> replace_file(const std::string& path, std::string_view before, std::string_view after);

}  // namespace agent::cli
