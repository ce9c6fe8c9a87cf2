// Files that a failed sync has left in doubt.
//
// What the kernel could not write to disk it takes for clean from then on, and says so once (fsync(2)): the
// next sync succeeds and has written nothing. Until the machine starts again a reader finds the new bytes, so
// nobody notices. Only writing them once more brings them to disk.
#pragma once

#include "base/result.hpp"

namespace base {

// Puts the bytes of a regular file, open for reading and writing, in their own place: to be synced by the
// caller. A file that others write to meanwhile may lose what they write in that moment.
Result<void> write_again(int file);

}  // namespace base
