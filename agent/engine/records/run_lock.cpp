#include "agent/engine/records/run_lock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/files/file_read.hpp"
#include "base/text.hpp"

namespace agent::engine {

base::Result<void> RunLock::acquire(base::Interrupt& interrupt,
                                    const std::function<void(const std::string& pid)>& on_wait) {
  constexpr int kPollMs = 100;
  constexpr std::size_t kLongestPid = 64;
  base::UniqueFd fd(::open(path_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return base::os_error(errno, "cannot open " + path_);
  for (int tries = 0; ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) return base::os_error(errno, "cannot lock " + path_);
    if (interrupt.requested())
      return base::Error(base::ErrorCode::cancelled, "cancelled while waiting for " + path_);
    if (tries == 1 && on_wait) {
      const auto holder = base::read_file(path_, kLongestPid);
      on_wait(holder ? std::string(base::trim(*holder)) : "unknown");
    }
    pollfd wake{interrupt.wait_fd(), POLLIN, 0};
    ::poll(&wake, wake.fd >= 0 ? 1 : 0, kPollMs);
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd.get(), 0) != 0 || ::pwrite(fd.get(), pid.data(), pid.size(), 0) < 0)
    return base::os_error(errno, "cannot write " + path_);
  fd_ = std::move(fd);
  return {};
}

}  // namespace agent::engine
