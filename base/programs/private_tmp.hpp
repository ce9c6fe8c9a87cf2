// A /tmp that only one program sees: an empty file system in memory, in mounts of its own. It goes away with
// the program's last process.
//
// For programs that a plan starts and that want temporary files although they only read: nothing of theirs
// reaches the disk or is seen by others, and they work where every file system is read-only.
#pragma once

#include <sys/types.h>

namespace base {

// Between fork and exec, before a change of identity: gives the calling process, which must have one thread,
// its own /tmp. Async-signal-safe, allocates nothing. Whoever is not root gets it in a user namespace, in
// which the user stays the same. False where the kernel or a container's rules allow neither; /tmp is then
// the machine's.
bool enter_private_tmp();

// In the same place: a user namespace in which the user stays the same, with other namespaces besides
// (CLONE_NEWNS …). False where that cannot be had.
bool enter_user_namespace(int besides);

}  // namespace base
