// Reading whole files, up to a limit.
#pragma once

#include <string>

#include "base/result.hpp"

namespace base {

// The bytes of a file, following symlinks. ErrorCode::limit when it is larger than `limit`, which also guards
// against files without end (/dev/zero). Not for files that users may swap under a privileged reader: see
// tree.hpp.
Result<std::string> read_file(const std::string& path, std::size_t limit);

// The bytes that an open descriptor still has to give.
Result<std::string> read_all(int fd, std::size_t limit, const std::string& name);

}  // namespace base
