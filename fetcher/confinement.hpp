// Confinement: what the fetcher may not do from here on, because it works on what strangers send.
//
// It can write to one folder. As root it first gets mounts of its own, in which that folder lies at a mount
// point and everything else is read-only (so it needs no way through folders that are closed to it), and
// processes of its own, which the kernel ends when the first of them ends; then it becomes somebody else.
// Where the kernel has Landlock, writing elsewhere is refused by that too, which is all there is without
// root. It gets no new privileges, cannot make namespaces, trace, mount, or use sockets other than local and
// internet ones (a seccomp filter, on x86-64 and arm64), and has limits on memory, files, processes and
// processor time. Its network is the machine's.
//
// What the kernel does not have is left out, except for the mounts: as root there is no fetch without them.
#pragma once

#include <cstdint>
#include <string>

namespace fetcher {

struct Confinement {
  std::string folder;       // the one that can be written to
  std::string mount_point;  // where it will be seen: an existing folder; "": at its own path (not root)
  std::uint32_t uid = 0;    // whom to become, user and group; 0: nobody else
  // Of each process.
  std::uint64_t memory = 1ULL << 30;
  std::uint64_t file_size = 1ULL << 30;  // bytes of each file that it writes
  std::uint64_t processes = 16;          // of its user
  std::uint64_t descriptors = 256;
  std::uint64_t cpu_seconds = 600;
};

// Confines this process, which then executes `argv` in the writable folder with this environment. Does not
// return; what goes wrong is said on standard error ("error confine …").
[[noreturn]] void run_confined(const Confinement& confinement, char* const* argv, char* const* environment);

}  // namespace fetcher
