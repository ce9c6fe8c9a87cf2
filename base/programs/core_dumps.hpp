// Core dumps: a program that holds secrets leaves none behind when it crashes, or when a watchdog ends it.
#pragma once

namespace base {

// From now on the kernel writes no core of this process, whatever its limits and the machine's core_pattern
// say, and only root can look into it. Programs that it starts are as they would be without. Root may still
// take a core of a process that runs (gcore). Best effort: where it is not allowed, all stays as it was.
// Only root's process: another user has no secrets but his own, and could make no user namespaces then.
void forbid_core_dumps();

}  // namespace base
