#include "transport/back_off.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using transport::BackOff;

TEST_CASE("the pause between attempts doubles from one second to five minutes") {
  BackOff back_off(1, [] { return 0.999999; });
  const auto seconds = [&] { return std::chrono::round<std::chrono::seconds>(back_off.after_failure()); };
  for (const auto expected : {1s, 2s, 4s, 8s, 16s, 32s, 64s, 128s, 256s, 300s, 300s})
    CHECK(seconds() == expected);
  for (int i = 0; i < 1000; ++i)
    CHECK(back_off.after_failure() <= 300s);
}

TEST_CASE("the pause is anything from nothing to the ceiling") {
  double random = 0;
  BackOff back_off(1, [&] { return random; });
  CHECK(back_off.after_failure() == 0ms);
  random = 0.5;
  CHECK(back_off.after_failure() == 1000ms);
  random = 0.25;
  CHECK(back_off.after_failure() == 1000ms);
}

TEST_CASE("a connection that lasted a minute starts the pauses anew") {
  BackOff back_off(1, [] { return 0.5; });
  for (int i = 0; i < 6; ++i)
    (void)back_off.after_failure();
  SUBCASE("a minute") {
    CHECK(back_off.after_connection(60s) == 500ms);
    CHECK(back_off.after_failure() == 500ms);
  }
  SUBCASE("less") {
    CHECK(back_off.after_connection(59s) == 32s);
  }
}

TEST_CASE("the time that a server asks for wins, within a day") {
  BackOff back_off(1, [] { return 0.5; });
  CHECK(back_off.after_failure(7ms) == 7ms);
  CHECK(back_off.after_connection(1h, 90s) == 90s);
  CHECK(back_off.after_failure(-5ms) == 0ms);
  CHECK(back_off.after_failure(1000h) == 24h);
}

TEST_CASE("several servers are tried in turn, and the pause grows when all have failed") {
  BackOff back_off(3, [] { return 0.5; });
  for (const auto pause : {500ms, 1000ms, 2000ms}) {
    for (std::size_t server = 0; server < 3; ++server) {
      CHECK(back_off.server() == server);
      CHECK(back_off.after_failure() == pause);
    }
  }
  SUBCASE("one that worked is tried first") {
    (void)back_off.after_failure();
    CHECK(back_off.server() == 1);
    (void)back_off.after_connection(2min);
    CHECK(back_off.server() == 1);
  }
  SUBCASE("one that ended the connection soon is not") {
    (void)back_off.after_connection(2s);
    CHECK(back_off.server() == 1);
  }
}

TEST_CASE("two agents do not come back at the same moment") {
  BackOff one(1);
  BackOff other(1);
  bool differ = false;
  for (int i = 0; i < 10; ++i)
    differ |= one.after_failure() != other.after_failure();
  CHECK(differ);
}
