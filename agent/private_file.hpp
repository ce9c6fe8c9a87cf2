// Small files of the agent's own that must last: replaced whole, readable by nobody else.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace agent {

// The content is on disk under this name when it returns, or the old file is untouched. 0600.
base::Result<void> write_private_file(const std::string& path, std::string_view content);

// Gone, and on disk that it is gone. Nothing there: fine.
base::Result<void> remove_private_file(const std::string& path);

}  // namespace agent
