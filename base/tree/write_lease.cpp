#include "base/tree/write_lease.hpp"

#include <fcntl.h>
#include <signal.h>

#include <cerrno>
#include <string>

namespace base {

Result<WriteLease> WriteLease::open(int fd) {
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(fd);
  UniqueFd file(::open(by_descriptor.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file) return os_error(errno, "cannot open it");
  // Who opens the file while we have the lease makes the kernel send us a signal. The usual one, SIGIO, would
  // end us; this one is ignored by whoever does not ask for it.
  if (::fcntl(file.get(), F_SETSIG, SIGURG) != 0) return os_error(errno, "F_SETSIG");
  return WriteLease(std::move(file));
}

int WriteLease::take() {
  return ::fcntl(file_.get(), F_SETLEASE, F_RDLCK) == 0 ? 0 : errno;
}

bool WriteLease::is_undisturbed() {
  // The second sees those, too, whom the kernel has let in and not yet made wait.
  if (::fcntl(file_.get(), F_GETLEASE) != F_RDLCK) return false;
  const int again = take();
  return again == 0 || again == EACCES;  // no longer ours
}

}  // namespace base
