// Small files that must last: replaced whole, on disk when the call returns. In folders that only their owner
// writes to; where users may interfere, see tree_writer.hpp.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace base {

inline constexpr mode_t kPrivate = 0600;

// The content is on disk under this name when it returns, or the old file is untouched (after an error at the
// very last step, the folder's sync, it may be either).
Result<void> write_durable_file(const std::string& path, std::string_view content, mode_t mode = kPrivate);

// Gone, and on disk that it is gone. Nothing there: fine.
Result<void> remove_lasting_file(const std::string& path);

// The names in the folder of `path` are on disk: after a rename or a symlink of one's own.
Result<void> sync_folder_of(const std::string& path);

}  // namespace base
