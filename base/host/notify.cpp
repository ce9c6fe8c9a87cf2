#include "base/host/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace base {

Notify::Notify(std::string socket, std::optional<std::chrono::microseconds> watchdog)
    : socket_(std::move(socket)), watchdog_(watchdog) {}

Notify Notify::from_environment() {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  const char* usec = std::getenv("WATCHDOG_USEC");
  const char* pid = std::getenv("WATCHDOG_PID");
  std::optional<std::chrono::microseconds> watchdog;
  const bool is_for_us = !pid || parse_integer(pid) == ::getpid();
  if (usec && is_for_us)
    if (const auto number = parse_integer(usec); number && *number > 0)
      watchdog = std::chrono::microseconds(*number);
  return Notify(socket ? socket : "", watchdog);
}

void Notify::status(std::string_view text) const {
  std::string line = "STATUS=" + std::string(text.substr(0, kLongestStatus));
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  send(line);
}

void Notify::extend_timeout(std::chrono::seconds time) const {
  send("EXTEND_TIMEOUT_USEC=" + std::to_string(std::chrono::microseconds(time).count()));
}

void Notify::reloading() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t usec = static_cast<std::int64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
  send("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(usec));
}

std::optional<std::chrono::milliseconds> Notify::watchdog_period() const {
  if (!watchdog_) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::milliseconds>(*watchdog_ / 2);
}

void Notify::send(const std::string& text) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return;
  // Whoever does not listen does not want to know.
  [[maybe_unused]] const ssize_t sent = ::sendto(fd.get(), text.data(), text.size(), MSG_NOSIGNAL,
                                                 reinterpret_cast<const sockaddr*>(&address), length);
}

}  // namespace base
