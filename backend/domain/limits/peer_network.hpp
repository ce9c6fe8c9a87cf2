// Where a peer is, as far as limits are concerned: its address, or of IPv6 the /64, of which anybody has all
// addresses to choose from. Pure.
#pragma once

#include <string>
#include <string_view>

namespace backend::domain {

// Of "192.0.2.7:5000", "[2001:db8::7]:5000" and the same without a port: "192.0.2.7", "2001:db8::/64". What
// is no address is itself.
std::string network_of(std::string_view peer);

}  // namespace backend::domain
