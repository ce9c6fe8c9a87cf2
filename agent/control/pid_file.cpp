#include "agent/control/pid_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files/pid_record.hpp"

namespace agent::control {

namespace {

constexpr mode_t kPrivate = 0600;

}  // namespace

base::Result<PidFile> PidFile::acquire(const std::string& path) {
  base::UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kPrivate));
  // Whoever can open it can lock it, and would keep every agent from starting: whatever made it, and under
  // which umask.
  if (!fd || ::fchmod(fd.get(), kPrivate) != 0) return base::os_error(errno, "cannot open " + path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return base::os_error(errno, "cannot lock " + path);
    const auto pid = base::read_pid(path);
    return base::Error(base::ErrorCode::exists, "a daemon runs on this state folder already" +
                                                    (pid ? " (process " + std::to_string(*pid) + ")" : "") +
                                                    "; see 'opsagent status'");
  }
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
