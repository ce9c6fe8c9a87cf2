#include "update/launcher/agent_watchdog.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace update::launcher {

namespace {

constexpr std::string_view kAlive = "WATCHDOG=1";
constexpr int kMostWords = 64;  // at a time: there is other work

// For its owner only. What a launcher before us has left is replaced.
bool bind_privately(int fd, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  path.copy(address.sun_path, path.size());
  const int on = 1;
  ::unlink(path.c_str());
  const mode_t before = ::umask(0177);
  const bool is_bound = ::setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
                        ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::umask(before);
  return is_bound;
}

// One datagram: who sent it, and whether it says that somebody lives. Nothing: there is none.
struct Word {
  pid_t sender = -1;
  bool is_alive = false;
};
std::optional<Word> receive(int fd) {
  std::array<char, 2048> text;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control;
  iovec part{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0) return std::nullopt;
  Word word;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS) {
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
    word.sender = sender.pid;
  }
  word.is_alive = std::string_view(text.data(), static_cast<std::size_t>(size)).starts_with(kAlive);
  return word;
}

}  // namespace

void AgentWatchdog::listen(const std::string& path, std::chrono::seconds limit) {
  path_ = path;
  limit_ = limit;
  socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket_ && !bind_privately(socket_.get(), path_)) socket_.reset();
}

AgentWatchdog::~AgentWatchdog() {
  if (socket_) ::unlink(path_.c_str());
}

void AgentWatchdog::set_environment() const {
  if (!socket_) return;
  ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  ::setenv("WATCHDOG_USEC", std::to_string(std::chrono::microseconds(limit_).count()).c_str(), 1);
}

void AgentWatchdog::begin(pid_t agent) {
  hear();  // what the one before has said last
  agent_ = agent;
  due_.reset();
  is_late_ = false;
}

void AgentWatchdog::hear() {
  for (int i = 0; i < kMostWords && socket_; ++i) {
    const auto word = receive(socket_.get());
    if (!word) return;
    if (!word->is_alive || word->sender != agent_) continue;
    due_ = Clock::now() + limit_;
    is_late_ = false;
  }
}

bool AgentWatchdog::is_gone(Clock::time_point now) {
  if (!due_ || now < *due_) return false;
  if (!is_late_) {
    is_late_ = true;
    due_ = now + kGrace;
    return false;
  }
  due_.reset();
  return true;
}

}  // namespace update::launcher
