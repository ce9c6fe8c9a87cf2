#include "agent/control/pid_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files/pid_record.hpp"

namespace agent::control {

namespace {

constexpr mode_t kPrivate = 0600;

// What a daemon has started has its descriptors for some milliseconds, and longer on a busy machine: so a
// killed daemon's lock can outlive it.
base::Result<void> lock_pid_file(const base::UniqueFd& fd, const std::string& path) {
  constexpr int kTries = 50;
  constexpr int kPauseMs = 100;
  for (int tries = 1; ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return base::os_error(errno, "cannot lock " + path);
    const auto pid = base::read_pid(path);
    const bool is_gone = pid && ::kill(*pid, 0) != 0 && errno == ESRCH;
    if (!is_gone || tries == kTries)
      return base::Error(base::ErrorCode::exists, "a daemon runs on this state folder already" +
                                                      (pid ? " (process " + std::to_string(*pid) + ")" : "") +
                                                      "; see 'opsagent status'");
    ::poll(nullptr, 0, kPauseMs);
  }
  return {};
}

}  // namespace

base::Result<PidFile> PidFile::acquire(const std::string& path) {
  base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kPrivate));
  // Whoever can open it can lock it, and would keep every agent from starting: whatever made it, and under
  // which umask.
  if (!fd || ::fchmod(fd.get(), kPrivate) != 0) return base::os_error(errno, "cannot open " + path);
  if (auto locked = lock_pid_file(fd, path); !locked) return std::move(locked).error();
  base::write_own_pid(fd.get());
  return PidFile(std::move(fd));
}

std::optional<pid_t> PidFile::holder(const std::string& path) {
  const base::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return std::nullopt;
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK) return std::nullopt;
  return base::read_pid(path);
}

}  // namespace agent::control
