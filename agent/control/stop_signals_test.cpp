#include "agent/control/stop_signals.hpp"

#include <doctest/doctest.h>

using namespace agent;
using agent::control::kStopGrace;
using agent::control::StopRequests;

TEST_CASE("the first request to stop waits for the state, the second does not") {
  StopRequests stops;
  const auto now = StopRequests::Clock::now();
  CHECK_FALSE(stops.expired(now));
  CHECK(stops.signalled(now)->when == engine::Stop::When::wait);
  CHECK(stops.deadline() == now + kStopGrace);
  CHECK(stops.signalled(now)->when == engine::Stop::When::now);
  CHECK_FALSE(stops.deadline());
  CHECK_FALSE(stops.signalled(now));
}

TEST_CASE("a state that does not finish in time after a request to stop is ended") {
  StopRequests stops;
  const auto now = StopRequests::Clock::now();
  (void)stops.signalled(now);
  CHECK_FALSE(stops.expired(now + kStopGrace - std::chrono::milliseconds(1)));
  CHECK(stops.expired(now + kStopGrace)->when == engine::Stop::When::now);
  CHECK_FALSE(stops.expired(now + 2 * kStopGrace));
}
