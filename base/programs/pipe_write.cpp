#include "base/programs/pipe_write.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace base {

ssize_t write_to_pipe(int fd, std::string_view bytes) {
  sigset_t pipe_signal;
  sigset_t before;
  ::sigemptyset(&pipe_signal);
  ::sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  const int write_errno = errno;
  if (written < 0 && write_errno == EPIPE) {
    // The signal was sent to this thread and is pending: take it away before it is let through.
    const timespec at_once{};
    while (::sigtimedwait(&pipe_signal, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = write_errno;
  return written;
}

bool ignores_pipe_signal() {
  struct sigaction now {};
  return ::sigaction(SIGPIPE, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 &&
         now.sa_handler == SIG_IGN;
}

}  // namespace base
