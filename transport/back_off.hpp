// BackOff: when to connect again, and to which of several servers. Pure: it neither waits nor reads a clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>

namespace transport {

class BackOff {
 public:
  using Milliseconds = std::chrono::milliseconds;

  static constexpr Milliseconds kFirst = std::chrono::seconds(1);
  static constexpr Milliseconds kLongest = std::chrono::seconds(300);
  // A connection that lasted so long shows that all is well: start anew.
  static constexpr Milliseconds kStable = std::chrono::seconds(60);
  // A server's wish is followed up to here.
  static constexpr Milliseconds kLongestWish = std::chrono::hours(24);

  // `random` answers from [0, 1); `servers` is how many addresses are tried in turn.
  BackOff(std::size_t servers, std::function<double()> random);

  // With a generator of its own, seeded by the system.
  explicit BackOff(std::size_t servers);

  // Index of the server to try now.
  std::size_t server() const { return server_; }

  // How long to wait after an attempt that did not connect. Full jitter: anything from nothing to the
  // ceiling, so that a fleet that lost its backend comes back spread out. The next server is tried next; the
  // ceiling doubles when all of them have failed.
  Milliseconds after_failure(std::optional<Milliseconds> retry_after = {});

  // How long to wait after a connection that lasted so long. A stable one resets the ceiling, and its server
  // is tried first.
  Milliseconds after_connection(Milliseconds lasted, std::optional<Milliseconds> retry_after = {});

 private:
  Milliseconds wait(std::optional<Milliseconds> retry_after);

  const std::size_t servers_;
  const std::function<double()> random_;
  std::size_t server_ = 0;
  std::size_t failures_ = 0;  // since the last reset
};

}  // namespace transport
