// Signals as values: blocked for the whole process and read from a descriptor.
//
// Make it before any thread is started: threads inherit what is blocked. Programs that states start get
// default signal handling all the same (base/programs/process.hpp).
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>

#include "agent/engine/messages.hpp"
#include "base/unique_fd.hpp"

namespace agent::control {

class SignalFd {
 public:
  explicit SignalFd(std::initializer_list<int> signals);

  int fd() const { return fd_.get(); }
  // The next one that has arrived.
  std::optional<int> take();

 private:
  base::UniqueFd fd_;
};

// How long a state may go on after the first request to stop.
inline constexpr std::chrono::seconds kStopGrace{30};

// What requests to stop mean: the first lets the running state finish, but not for ever; the second ends it.
// Pure.
class StopRequests {
 public:
  using Clock = std::chrono::steady_clock;

  // The command for a signal that arrived `now`; nothing when all has been said.
  std::optional<engine::Stop> signalled(Clock::time_point now);
  // The command for when the grace is over.
  std::optional<engine::Stop> expired(Clock::time_point now);
  // When to ask expired().
  std::optional<Clock::time_point> deadline() const { return deadline_; }

 private:
  int seen_ = 0;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace agent::control
