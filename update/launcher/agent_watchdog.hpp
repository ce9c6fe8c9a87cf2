// AgentWatchdog: whether the agent lives, on machines where no service manager asks. A socket for sd_notify's
// words, of which only "WATCHDOG=1" counts, and only from the agent itself. One thread.
//
// An agent that never says it is not judged: it may be older than this. What cannot be made is done without.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "base/unique_fd.hpp"

namespace update::launcher {

class AgentWatchdog {
 public:
  using Clock = std::chrono::steady_clock;  // stands still while the machine sleeps, as the agent does
  // After the limit. A machine that was frozen as a whole (a paused container) thaws within this.
  static constexpr std::chrono::seconds kGrace{5};

  AgentWatchdog() = default;
  ~AgentWatchdog();
  AgentWatchdog(const AgentWatchdog&) = delete;
  AgentWatchdog& operator=(const AgentWatchdog&) = delete;

  // From now on an agent that is silent for longer than `limit` is gone; without it nobody listens. Whoever
  // calls it is the only launcher: a socket of another is replaced. The socket is root's alone: whoever could
  // fill it could make the agent's words go unheard.
  void listen(const std::string& path, std::chrono::seconds limit);

  // In the child, before it becomes the agent: where to say it, and how often.
  void set_environment() const;
  // Another agent is there: nothing was heard of it yet.
  void begin(pid_t agent);
  // Takes what has come. The descriptor is readable then; -1: nobody listens.
  void hear();
  int descriptor() const { return socket_.get(); }

  // When to look again. Nothing: there is nothing to be late.
  std::optional<Clock::time_point> next() const { return due_; }
  // It was heard before, and has been silent for too long. True once.
  bool is_gone(Clock::time_point now);

 private:
  std::chrono::seconds limit_{};
  base::UniqueFd socket_;
  std::string path_;
  pid_t agent_ = -1;
  std::optional<Clock::time_point> due_;
  bool is_late_ = false;
};

}  // namespace update::launcher
