// Notify: tells the service manager how a daemon is doing (sd_notify(3), without its library).
//
// A datagram to the socket that NOTIFY_SOCKET names; without one nothing happens, so the daemon runs in the
// foreground of a terminal as well. Any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace base {

class Notify {
 public:
  // From the environment. The variables are left for a re-exec; programs that states start get a clean
  // environment of their own and never see them.
  static Notify from_environment();
  explicit Notify(std::string socket, std::optional<std::chrono::microseconds> watchdog = {});

  void ready() const { send("READY=1"); }
  // One line. What stands in it may be a peer's words: line breaks, which would begin another assignment,
  // become spaces, and it is cut to kLongestStatus.
  void status(std::string_view text) const;
  void stopping() const { send("STOPPING=1"); }
  // The end, or the start, takes longer than the service manager waits: this much from now.
  void extend_timeout(std::chrono::seconds time) const;
  void reloading() const;
  void alive() const { send("WATCHDOG=1"); }

  // How often alive() is wanted: half of what the service manager waits for. Nothing: not at all.
  std::optional<std::chrono::milliseconds> watchdog_period() const;

 private:
  void send(const std::string& text) const;

  static constexpr std::size_t kLongestStatus = 1000;

  std::string socket_;  // a path, or "@name" in the abstract namespace; empty: nobody listens
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace base
