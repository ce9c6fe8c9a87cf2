// Waiting within a state: never longer than the state may take, and over at once when it is cancelled.
#pragma once

#include <chrono>
#include <string_view>

#include "base/result.hpp"
#include "states/context.hpp"

namespace states::systemd {

using Clock = std::chrono::steady_clock;

// Waits until the descriptor has one of the events (poll's) or the time is over; -1 only lets time pass.
// ErrorCode::cancelled and ErrorCode::timed_out (the state's own time is over) name what was waited for.
base::Result<void> wait_for(int fd, short events, std::chrono::milliseconds longest, std::string_view what,
                            Context& context);

inline base::Result<void> pause_for(std::chrono::milliseconds time, std::string_view what, Context& context) {
  return wait_for(-1, 0, time, what, context);
}

}  // namespace states::systemd
