// pump: stands between a worker and whoever watches it, until the worker has stopped.
#pragma once

#include <chrono>
#include <optional>

#include "agent/control/stop_signals.hpp"
#include "agent/engine/worker/worker.hpp"

namespace agent::cli {

// What is told about a worker. All calls come from the thread that pumps.
class EventView {
 public:
  virtual ~EventView() = default;
  virtual void show(const engine::Event& event) = 0;
  // All that had arrived has been shown.
  virtual void settle() {}
  // A request to stop was passed on: `wait` first, `now` for the second or when the grace is over.
  virtual void stopping(engine::Stop::When when) = 0;
  virtual void hang_up() {}  // SIGHUP
  // How soon to settle() again though nothing arrives.
  virtual std::optional<std::chrono::milliseconds> patience() const { return std::nullopt; }
};

void pump(engine::Worker& worker, control::SignalFd& signals, EventView& view);

}  // namespace agent::cli
