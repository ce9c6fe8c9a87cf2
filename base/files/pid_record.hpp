// The number of a process in a file that the process has locked, for people. The lock is what counts: who has
// it works on where the number cannot be written.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace base {

// Ours, in the place of what was there. Always as long, and written over the old one: on a full disk a file
// that has held a number before can hold another.
void write_own_pid(int file);
// Nothing for half a number: nobody knows which one it was.
std::optional<pid_t> read_pid(const std::string& path);

}  // namespace base
