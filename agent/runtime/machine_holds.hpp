// MachineHolds: who holds this machine, and what follows from it. The one owner of the holds: the control
// socket and the connection ask it; it tells the worker, and whoever wants to hear. Belongs to the loop's
// thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/log_line.hpp"
#include "agent/runtime/hold_store.hpp"
#include "agent/runtime/worker_port.hpp"
#include "transport/async.hpp"

namespace agent::runtime {

class MachineHolds {
 public:
  MachineHolds(transport::asio::any_io_executor executor, const std::string& state_dir, LogLine log)
      : store_(hold_path(state_dir)), log_(std::move(log)), timer_(executor) {}

  // Before the worker has anything to run.
  void start(WorkerPort& worker);
  // Called after each change.
  void on_change(std::function<void()> changed) { changed_ = std::move(changed); }

  // Why it must not be set as asked; "" when nothing speaks against it. What is said comes from outside.
  static std::string problem_of(const std::string& by, const std::string& reason, std::int64_t seconds);

  // As HoldStore has it. `now`: the round under way ends, too. What is so already is not written again.
  base::Result<void> set(Hold hold, bool now);
  base::Result<bool> release(HoldOrigin origin);
  // Begins a round, as soon as the one under way is over. The error: the machine is held.
  base::Result<void> begin_round();

  std::vector<Hold> holds() const { return store_.holds(); }
  HoldClock now() const { return store_.now(); }
  // Why something is not done now; "" when the machine is not held.
  std::string refusal() const { return refusal_text(store_.holds(), store_.now()); }
  std::vector<protocol::MachineHold> to_tell() const { return to_protocol(store_.holds(), store_.now()); }

 private:
  bool has(const Hold& hold) const;
  void apply(bool now);
  void look_again();

  HoldStore store_;
  const LogLine log_;
  transport::asio::steady_timer timer_;
  WorkerPort* worker_ = nullptr;
  std::function<void()> changed_;
  bool was_held_ = false;  // as the worker was told
};

}  // namespace agent::runtime
