// Emptying a folder with all that is below it: for TreeWriter. By descriptor, never through a symlink, never
// into another mount.
#pragma once

#include <string>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace base {

// Removes all that is in a folder (open for reading), however deeply it is nested. `path` is for messages.
// ErrorCode::exists at a mount point, ErrorCode::cancelled when interrupted.
Result<void> empty_folder(UniqueFd folder, const std::string& path, Interrupt& interrupt);

}  // namespace base
