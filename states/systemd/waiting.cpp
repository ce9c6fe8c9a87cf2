#include "states/systemd/waiting.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

namespace states::systemd {

base::Result<void> wait_for(int fd, short events, std::chrono::milliseconds longest, std::string_view what,
                            Context& context) {
  const Clock::time_point end = Clock::now() + longest;
  while (true) {
    if (context.interrupt.requested())
      return base::Error(base::ErrorCode::cancelled, "Cancelled while waiting for " + std::string(what));
    const auto left_of_state = context.commands.time_left();
    if (left_of_state.count() == 0)
      return base::Error(base::ErrorCode::timed_out,
                         "The state's time was over while waiting for " + std::string(what));
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return {};
    std::array<pollfd, 2> waited{
        {{.fd = fd, .events = events}, {.fd = context.interrupt.wait_fd(), .events = POLLIN}}};
    const int ready =
        ::poll(waited.data(), waited.size(), static_cast<int>(std::min(left, left_of_state).count()));
    if (ready < 0 && errno != EINTR) return base::os_error(errno, "poll");
    if (ready > 0 && waited[0].revents != 0) return {};
  }
}

}  // namespace states::systemd
