#include "agent/engine/records/run_lock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>

#include <cerrno>

#include "base/files/pid_record.hpp"

namespace agent::engine {

base::Result<void> RunLock::acquire(base::Interrupt& interrupt, const OnWait& on_wait,
                                    std::chrono::milliseconds long_wait) {
  using Clock = std::chrono::steady_clock;
  constexpr int kPollMs = 100;
  base::UniqueFd fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return base::os_error(errno, "cannot open " + path_);
  const Clock::time_point start = Clock::now();
  bool is_long = false;
  for (int tries = 0; ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) return base::os_error(errno, "cannot lock " + path_);
    if (interrupt.requested())
      return base::Error(base::ErrorCode::cancelled, "cancelled while waiting for " + path_);
    const bool becomes_long = !is_long && Clock::now() - start >= long_wait;
    is_long = is_long || becomes_long;
    if (on_wait && (tries == 1 || becomes_long)) on_wait(base::read_pid(path_), is_long);
    pollfd wake{interrupt.wait_fd(), POLLIN, 0};
    ::poll(&wake, wake.fd >= 0 ? 1 : 0, kPollMs);
  }
  take(std::move(fd));
  return {};
}

bool RunLock::try_acquire() {
  base::UniqueFd fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return false;
  take(std::move(fd));
  return true;
}

void RunLock::take(base::UniqueFd fd) {
  base::write_own_pid(fd.get());
  fd_ = std::move(fd);
}

}  // namespace agent::engine
