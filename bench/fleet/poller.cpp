#include "bench/fleet/poller.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace fleet {

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

Poller::Poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}

void Poller::add(int fd, std::uint32_t events, Watcher& watcher) {
  epoll_event event{.events = events, .data = {.ptr = &watcher}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Poller::change(int fd, std::uint32_t events, Watcher& watcher) {
  epoll_event event{.events = events, .data = {.ptr = &watcher}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Poller::at(std::int64_t time_ns, std::function<void()> action) {
  timers_.push({time_ns, std::move(action)});
}

void Poller::run() {
  std::vector<epoll_event> events(512);
  while (!stopped_) {
    int timeout = -1;
    if (!timers_.empty())
      timeout = static_cast<int>(
          std::clamp<std::int64_t>((timers_.top().time - now_ns() + 999'999) / 1'000'000, 0, 60'000));
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout);
    for (int i = 0; i < count; ++i)
      static_cast<Watcher*>(events[static_cast<std::size_t>(i)].data.ptr)
          ->ready(events[static_cast<std::size_t>(i)].events);
    while (!timers_.empty() && timers_.top().time <= now_ns()) {
      const std::function<void()> action = timers_.top().action;
      timers_.pop();
      action();
    }
  }
}

base::UniqueFd start_connecting(const std::string& host, std::uint16_t port) {
  base::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (!fd || ::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) return {};
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS)
    return {};
  return fd;
}

std::int64_t percentile(const std::vector<std::int64_t>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto index = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
  return sorted[index];
}

}  // namespace fleet
