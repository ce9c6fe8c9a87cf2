#include "backend/domain/limits/rate_limit.hpp"

#include <doctest/doctest.h>

using backend::domain::RateLimit;

TEST_CASE("a key has its number at once, then one at a time, and what it missed is counted") {
  RateLimit limit({.at_once = 3, .per_second = 2, .keys = 10});
  for (int i = 0; i < 3; ++i)
    CHECK(limit.take("a", 1000));
  CHECK_FALSE(limit.take("a", 1000));
  CHECK_FALSE(limit.take("a", 1400));
  CHECK(limit.take("b", 1400));  // its own
  CHECK(limit.wait("a", 1400) == 100);
  CHECK(limit.take("a", 1500));
  CHECK(limit.take_missed("a") == 2);
  CHECK(limit.take_missed("a") == 0);
  CHECK(limit.wait("never seen", 1500) == 0);
  for (int i = 0; i < 3; ++i)
    CHECK(limit.take("a", 60'000));
  CHECK_FALSE(limit.take("a", 60'000));  // it never has more than its number
}

TEST_CASE("any number of keys takes bounded memory, and those beyond it share one") {
  RateLimit limit({.at_once = 1, .per_second = 1, .keys = 100});
  int taken = 0;
  for (int i = 0; i < 100'000; ++i)
    taken += limit.take("address " + std::to_string(i), 1000) ? 1 : 0;
  CHECK(limit.size() <= 101);
  CHECK(taken == 101);
  CHECK(limit.take("later", 3000));  // those that were quiet have made room
  CHECK(limit.size() <= 101);
}
