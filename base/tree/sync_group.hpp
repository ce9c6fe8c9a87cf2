// SyncGroup: one flush for everything that has been created since the last one.
//
// A sync per created file costs more than the rest of its creation; one for all of them costs little more
// than one. The worker notes where it wrote; before a result is told to anybody, flush() makes sure that it
// is on disk. note() and flush() may be called from different threads.
#pragma once

#include <sys/types.h>

#include <mutex>
#include <vector>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace base {

class SyncGroup {
 public:
  // Something was changed in the file system that this folder or file descriptor (O_PATH will do) is on.
  Result<void> note(int fd);
  // The same for who knows the device already.
  Result<void> note(int fd, dev_t device);

  // True when something is waiting to be flushed.
  bool pending() const;

  // On success, all that was noted before the call is on disk. What could not be synced stays noted.
  Result<void> flush();

 private:
  struct Target {
    dev_t device;
    UniqueFd fd;  // open for syncfs
  };
  mutable std::mutex mutex_;
  std::vector<Target> targets_;  // guarded by mutex_
};

}  // namespace base
