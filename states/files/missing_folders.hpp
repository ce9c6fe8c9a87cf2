// Which folders have to be created before something can be put at a path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::files {

// Folders that are missing on the way to `path` (a clean_path), outermost first, without `path` itself. Those
// that earlier states would create are not missing.
base::Result<std::vector<std::string>> missing_folders(std::string_view path, Context& context);

}  // namespace states::files
