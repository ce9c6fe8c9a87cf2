#include "backend/domain/limits/peer_network.hpp"

#include <doctest/doctest.h>

using backend::domain::network_of;

TEST_CASE("a peer's network is its address, and of IPv6 the /64") {
  CHECK(network_of("192.0.2.7:5000") == "192.0.2.7");
  CHECK(network_of("192.0.2.7") == "192.0.2.7");
  CHECK(network_of("[2001:db8:1:2:3:4:5:6]:5000") == "2001:db8:1:2::/64");
  CHECK(network_of("[2001:db8:1:2:ffff::1]") == "2001:db8:1:2::/64");
  CHECK(network_of("2001:db8:1:2::9") == "2001:db8:1:2::/64");
  CHECK(network_of("[2001:db8:1:3::9]:1") != network_of("[2001:db8:1:2::9]:1"));
  CHECK(network_of("[::ffff:192.0.2.7]:5000") == "192.0.2.7");
  CHECK(network_of("") == "");
  CHECK(network_of("somewhere") == "somewhere");
  CHECK(network_of("[") == "");
}
