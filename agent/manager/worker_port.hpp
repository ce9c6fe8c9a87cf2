// WorkerPort: commands for the worker, from a loop that must not wait.
#pragma once

#include <deque>
#include <memory>

#include "agent/worker.hpp"
#include "transport/async.hpp"

namespace agent::manager {

class WorkerPort {
 public:
  WorkerPort(Worker& worker, transport::asio::any_io_executor executor) : worker_(worker), retry_(executor) {}

  // Reaches the worker now, or, when its channel is full, as soon as there is room; in order. False when so
  // many wait that somebody must be flooding us.
  bool send(Command command);

 private:
  void pass_on();

  static constexpr std::size_t kMostWaiting = 1024;
  static constexpr std::chrono::milliseconds kRetry{200};

  Worker& worker_;
  std::deque<Command> waiting_;
  transport::asio::steady_timer retry_;
};

}  // namespace agent::manager
