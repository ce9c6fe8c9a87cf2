// What the kernel's /proc says about our own descendants and descriptors.
//
// Everything here but living_descendants() may be called between fork and exec of a program with threads:
// only async-signal-safe calls, no memory allocation.
#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <vector>

namespace base {

// Sends the signals, in the order given, to every process that descends from the calling one and can be found
// in one walk through /proc. Processes that appear during the walk may be missed: to be rid of all, repeat it
// until wait() says that no child is left. False if there is no /proc to walk.
bool signal_descendants(std::initializer_list<int> signals);

// The processes below `ancestor` that are alive, as one walk through /proc finds them; empty if there is no
// /proc.
std::vector<pid_t> living_descendants(pid_t ancestor);

// Closes every descriptor but 0, 1, 2 and those in `keep`, which is in ascending order.
bool close_other_descriptors(const int* keep, int count);

// The same, for kernels without close_range() (before 5.9).
bool close_listed_descriptors(const int* keep, int count);

}  // namespace base
