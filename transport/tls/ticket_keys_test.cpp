#include "transport/tls/ticket_keys.hpp"

#include <doctest/doctest.h>

using namespace std::chrono_literals;
using transport::TicketKeys;

TEST_CASE("a key for tickets is used for one period, known for one more, and then gone") {
  TicketKeys keys(2h);
  TicketKeys::TimePoint now;
  const auto first = keys.current(now);
  REQUIRE(first);
  CHECK(keys.current(now + 119min)->name == first->name);
  REQUIRE(keys.find(first->name.data(), now + 119min));
  CHECK_FALSE(keys.find(first->name.data(), now + 119min)->is_old);

  const auto second = keys.current(now += 2h);
  REQUIRE(second);
  CHECK(second->name != first->name);
  CHECK(second->cipher != first->cipher);
  CHECK(second->mac != first->mac);
  const auto old = keys.find(first->name.data(), now + 119min);
  REQUIRE(old);
  CHECK(old->is_old);
  CHECK(old->key.cipher == first->cipher);

  CHECK_FALSE(keys.find(first->name.data(), now + 2h));
  REQUIRE(keys.find(second->name.data(), now + 2h));
  CHECK(keys.find(second->name.data(), now + 2h)->is_old);
  // Nobody came for long.
  CHECK(keys.current(now + 100h)->name != second->name);
  CHECK_FALSE(keys.find(second->name.data(), now + 100h));
  CHECK_FALSE(keys.find(std::array<unsigned char, 16>{}.data(), now + 100h));
}
