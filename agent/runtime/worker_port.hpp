// WorkerPort: commands for the worker, from a loop that must not wait.
#pragma once

#include <deque>
#include <memory>

#include "agent/engine/worker/worker.hpp"
#include "transport/async.hpp"

namespace agent::runtime {

class WorkerPort {
 public:
  WorkerPort(engine::Worker& worker, transport::asio::any_io_executor executor)
      : worker_(worker), retry_(executor) {}

  // Reaches the worker now, or, when its channel is full, as soon as there is room; in order. False when so
  // many wait that somebody must be flooding us.
  bool send(engine::Command command);
  // A plan or a single state, which may have to wait for as long as the running state takes, and is as large
  // as a recipe. False when several wait already; whoever asked is told.
  bool send_ad_hoc(engine::Command command);
  // What the worker says: an answer makes room for the next question.
  void on_worker_event(const engine::Event& event);

 private:
  void pass_on();

  static constexpr std::size_t kMostWaiting = 1024;
  static constexpr std::size_t kMostAdHoc = 8;  // fewer than the worker keeps, so that it drops none
  static constexpr std::chrono::milliseconds kRetry{200};

  engine::Worker& worker_;
  std::deque<engine::Command> waiting_;
  std::size_t ad_hoc_ = 0;  // not answered yet
  transport::asio::steady_timer retry_;
};

}  // namespace agent::runtime
