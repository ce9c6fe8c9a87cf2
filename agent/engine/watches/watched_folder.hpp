// A watched folder: everything below it as one digest, within limits.
//
// What counts is what is there by which name: the content of regular files, where symlinks point and, if that
// is a file, its content too (folders such as sites-enabled consist of links), as far as the agent follows
// links. Folders below are entered, mounts and folders behind links are not. Owners and modes do not count.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <string_view>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "base/tree/tree.hpp"
#include "base/unique_fd.hpp"

namespace agent::engine {

// What a watched path leads to.
struct WatchedPath {
  base::UniqueFd end;  // O_PATH
  struct stat st {};
};

// Beyond them a folder is refused: it would be gone through in every round.
struct FolderLimits {
  std::size_t entries = 5'000;
  std::size_t depth = 20;
  off_t bytes = off_t{1024} * 1024 * 1024;
};

// The digest of a regular file; `path` is as the tree sees it. "" when it cannot be read.
using DigestOfFile =
    std::function<base::Result<std::string>(const WatchedPath& file, const std::string& path)>;

// ErrorCode::limit with words for people, ErrorCode::cancelled, or what the disk says.
base::Result<std::string> folder_digest(const WatchedPath& folder, std::string_view path, base::Tree& tree,
                                        const FolderLimits& limits, base::Interrupt& interrupt,
                                        const DigestOfFile& digest_of);

}  // namespace agent::engine
