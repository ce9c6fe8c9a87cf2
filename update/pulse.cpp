#include "update/pulse.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace update {

namespace {

constexpr std::string_view kAlive = "WATCHDOG=1";

// A name that the kernel chooses, in the abstract namespace: it needs no disk, and goes with the process.
std::string bind_anywhere(int fd) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t length = sizeof address.sun_family;
  const int on = 1;
  if (::setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      ::bind(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0)
    return "";
  length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  const std::size_t size = length - offsetof(sockaddr_un, sun_path);
  return size > 1 ? "@" + std::string(address.sun_path + 1, size - 1) : "";
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

Pulse::Pulse(std::optional<std::chrono::seconds> limit) {
  if (!limit) return;
  limit_ = *limit;
  socket_.reset(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket_) address_ = bind_anywhere(socket_.get());
  if (address_.empty()) socket_.reset();
}

void Pulse::set_environment() const {
  if (!socket_) return;
  ::setenv("NOTIFY_SOCKET", address_.c_str(), 1);
  ::setenv("WATCHDOG_USEC", std::to_string(std::chrono::microseconds(limit_).count()).c_str(), 1);
}

void Pulse::begin(pid_t agent) {
  hear();  // what the one before has said last
  agent_ = agent;
  due_.reset();
  is_late_ = false;
}

void Pulse::hear() {
  while (socket_) {
    const auto word = receive(socket_.get());
    if (!word) return;
    if (!word->is_alive || word->sender != agent_) continue;
    due_ = Clock::now() + limit_;
    is_late_ = false;
  }
}

bool Pulse::is_gone(Clock::time_point now) {
  if (!due_ || now < *due_) return false;
  if (!is_late_) {
    is_late_ = true;
    due_ = now + kGrace;
    return false;
  }
  due_.reset();
  return true;
}

}  // namespace update
