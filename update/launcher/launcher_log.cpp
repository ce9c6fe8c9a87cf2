#include "update/launcher/launcher_log.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/unique_fd.hpp"

namespace update::launcher {

namespace {

constexpr const char* kSystemLog = "/dev/log";
constexpr int kDaemon = 3 << 3;  // syslog's facility
constexpr std::size_t kLongestLine = 2000;

void send_to_system_log(const std::string& line) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, kSystemLog);
  const base::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return;
  [[maybe_unused]] const ssize_t sent = ::sendto(fd.get(), line.data(), line.size(), MSG_NOSIGNAL,
                                                 reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace

LaunchLog::LaunchLog() {
  const char* stream = std::getenv("JOURNAL_STREAM");
  struct stat st {};
  is_journal_ = stream && ::fstat(STDERR_FILENO, &st) == 0 &&
                stream == std::to_string(st.st_dev) + ":" + std::to_string(st.st_ino);
}

void LaunchLog::write(int priority, std::string_view text) {
  std::string line(text.substr(0, kLongestLine));
  std::ranges::replace(line, '\n', ' ');
  const std::string shown = (is_journal_ ? "<" + std::to_string(priority) + ">" : std::string()) +
                            "opsagent-launch: " + line + "\n";
  // A line is shorter than what a pipe takes at once: if it takes any, it takes this.
  pollfd room{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&room, 1, 0) == 1) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, shown.data(), shown.size());
  }
  if (!is_journal_)
    send_to_system_log("<" + std::to_string(kDaemon | priority) + ">opsagent-launch[" +
                       std::to_string(::getpid()) + "]: " + line);
}

}  // namespace update::launcher
