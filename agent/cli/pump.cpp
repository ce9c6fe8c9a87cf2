#include "agent/cli/pump.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace agent::cli {

namespace {

using Clock = control::StopRequests::Clock;

int wait_time(const control::StopRequests& stops, const EventView& view) {
  std::optional<std::chrono::milliseconds> wait = view.patience();
  if (const auto deadline = stops.deadline()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
    wait = std::min(wait.value_or(left), left);
  }
  return wait ? static_cast<int>(std::max<std::int64_t>(wait->count(), 0)) : -1;
}

// False once the worker has stopped.
bool show_events(engine::Worker& worker, EventView& view) {
  const std::vector<engine::Event> batch = worker.events().pop_all();
  for (const engine::Event& event : batch)
    view.show(event);
  return !batch.empty() && !std::holds_alternative<engine::Stopped>(batch.back());
}

}  // namespace

void pump(engine::Worker& worker, control::SignalFd& signals, EventView& view) {
  control::StopRequests stops;
  const auto pass_on = [&](std::optional<engine::Stop> stop) {
    if (!stop) return;
    worker.commands().push(*stop);
    view.stopping(stop->when);
  };
  bool running = true;
  while (running) {
    std::array<pollfd, 2> fds{{{.fd = worker.events().readable_fd(), .events = POLLIN, .revents = 0},
                               {.fd = signals.fd(), .events = POLLIN, .revents = 0}}};
    ::poll(fds.data(), fds.size(), wait_time(stops, view));
    if (fds[0].revents != 0) running = show_events(worker, view);
    while (const auto signal = signals.take()) {
      if (*signal == SIGHUP)
        view.hang_up();
      else
        pass_on(stops.signalled(Clock::now()));
    }
    pass_on(stops.expired(Clock::now()));
    view.settle();
  }
}

}  // namespace agent::cli
