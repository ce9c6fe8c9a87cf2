// One thread's sockets and timers, with as little between the load and the kernel as possible.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace fleet {

std::int64_t now_ns();  // CLOCK_MONOTONIC, which all processes of a machine share

// What is told about a descriptor. It must live as long as the descriptor is watched.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void ready(std::uint32_t events) = 0;
};

class Poller {
 public:
  Poller();
  void add(int fd, std::uint32_t events, Watcher& watcher);
  void change(int fd, std::uint32_t events, Watcher& watcher);
  void at(std::int64_t time_ns, std::function<void()> action);
  // Until stop().
  void run();
  void stop() { stopped_ = true; }

 private:
  struct Timer {
    std::int64_t time;
    std::function<void()> action;
    bool operator<(const Timer& other) const { return time > other.time; }
  };
  base::UniqueFd epoll_;
  std::priority_queue<Timer> timers_;
  bool stopped_ = false;
};

// A connection that is under way when this returns; an empty one when not even that worked.
base::UniqueFd start_connecting(const std::string& host, std::uint16_t port);

// The value at `share` (0 to 1) of sorted ones.
std::int64_t percentile(const std::vector<std::int64_t>& sorted, double share);

}  // namespace fleet
