// Unpacking a release: tar (POSIX ustar), gzip. Only regular files and folders; names that are relative and
// stay below; nothing is followed, nothing is overwritten; modes are 0755 or 0644. Blocks; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace release {

struct ArchiveLimits {
  std::uint64_t bytes = 512ULL * 1024 * 1024;  // unpacked, all files together
  std::uint32_t entries = 4096;
};

// `folder` must not be there; it is made, 0755. After an error it may be there in part: the caller removes
// it. What was written is synced, files and folders, when it returns.
base::Result<void> unpack(const std::string& archive, const std::string& folder, ArchiveLimits limits = {});

// One file of the archive, `limit` bytes at most; nothing is written. All of the archive is read, and must be
// in order.
base::Result<std::string> read_archived(const std::string& archive, std::string_view path, std::size_t limit,
                                        ArchiveLimits limits = {});

}  // namespace release
