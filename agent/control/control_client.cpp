#include "agent/control/control_client.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "agent/control/control_address.hpp"

namespace agent::control {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kLongestAnswer = 1024 * 1024;

// Readable, or hung up, before the deadline.
bool wait_readable(int fd, Clock::time_point deadline) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
    constexpr std::int64_t kLongestPoll = 1'000'000;
    const int ready = ::poll(&wait, 1, static_cast<int>(std::min<std::int64_t>(left, kLongestPoll)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

}  // namespace

base::Result<ControlClient> ControlClient::connect(const std::string& state_dir) {
  const std::string path = socket_path(state_dir);
  auto address = control_address(path);
  if (!address) return std::move(address).error();
  base::UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return base::os_error(errno, "control socket");
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0)
    return ControlClient(std::move(fd));
  if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR)
    return base::Error(base::ErrorCode::not_found,
                       "no daemon is running on " + state_dir +
                           ": start it with 'systemctl start opsagent' or 'opsagent "
                           "run', or name its folder with --state-dir");
  if (errno == EACCES)
    return base::Error(base::ErrorCode::permission,
                       "only the user that runs the daemon may talk to it (" + path + ")");
  return base::os_error(errno, path);
}

base::Result<std::string> ControlClient::ask(std::string_view request, std::chrono::milliseconds patience) {
  const std::string line = std::string(request) + "\n";
  if (::send(fd_.get(), line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    return base::os_error(errno, "asking the daemon");
  const Clock::time_point deadline = Clock::now() + patience;
  std::string answer;
  while (answer.find('\n') == std::string::npos) {
    if (!wait_readable(fd_.get(), deadline))
      return base::Error(base::ErrorCode::timed_out, "the daemon does not answer");
    std::array<char, 16 * 1024> buffer;
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got == 0) return base::Error(base::ErrorCode::io, "the daemon has closed the connection");
    if (got < 0) return base::os_error(errno, "hearing from the daemon");
    answer.append(buffer.data(), static_cast<std::size_t>(got));
    if (answer.size() > kLongestAnswer) return base::Error(base::ErrorCode::limit, "the answer is too long");
  }
  answer.resize(answer.find('\n'));
  return answer;
}

bool ControlClient::wait_for_end(std::chrono::milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  while (wait_readable(fd_.get(), deadline)) {
    std::array<char, 256> buffer;
    const ssize_t got = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (got == 0 || (got < 0 && errno != EINTR)) return true;
  }
  return false;
}

}  // namespace agent::control
