#include "base/tree/sync_group.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace base {

Result<void> SyncGroup::note(int fd) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) return os_error(errno, "fstat");
  return note(fd, st.st_dev);
}

Result<void> SyncGroup::note(int fd, dev_t device) {
  const std::lock_guard lock(mutex_);
  for (const Target& target : targets_)
    if (target.device == device) return {};
  // syncfs() wants a descriptor that is open for real.
  UniqueFd open_fd(::openat(fd, ".", O_RDONLY | O_CLOEXEC));
  if (!open_fd) open_fd.reset(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC));
  if (!open_fd) return os_error(errno, "cannot open for sync");
  targets_.push_back({device, std::move(open_fd)});
  return {};
}

bool SyncGroup::pending() const {
  const std::lock_guard lock(mutex_);
  return !targets_.empty();
}

Result<void> SyncGroup::flush() {
  std::vector<Target> targets;
  {
    const std::lock_guard lock(mutex_);
    targets.swap(targets_);
  }
  Result<void> synced;
  for (Target& target : targets) {
    if (::syncfs(target.fd.get()) == 0) continue;
    synced = os_error(errno, "cannot write to disk");
    const std::lock_guard lock(mutex_);
    targets_.push_back(std::move(target));  // not on disk, so not done with
  }
  return synced;
}

}  // namespace base
