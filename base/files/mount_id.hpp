// Which mount something is on, as the kernel counts them: bind mounts have a number of their own.
#pragma once

#include <cstdint>
#include <optional>

namespace base {

// Of an open descriptor (O_PATH will do); nothing when it cannot be told.
std::optional<std::int64_t> mount_id(int fd);

}  // namespace base
