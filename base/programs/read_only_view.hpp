// A view of the machine for programs that are to look and to change nothing: every file system read-only, in
// mounts of its own, and, if wanted, no network.
//
// It keeps programs from mistakes. It does not keep root's program from all that root can do: it may still
// send signals to root's processes, talk to whoever listens on a socket in the file system, and write to a
// device.
//
// Between fork and exec, in a process with one thread. Async-signal-safe, allocates nothing.
#pragma once

namespace base {

// Before a change of identity. Whoever is not root gets it in a user namespace, in which the user stays the
// same. False, with errno, where that cannot be had: the kernel is older than Linux 5.12, or a container's
// rules allow no mounts.
bool enter_read_only_view(bool offline);

// After a change of identity: gives up every privilege but that of reading what permissions would hide, for
// this process and all that it starts, so that nobody makes the file systems writable again.
bool drop_privileges();

}  // namespace base
