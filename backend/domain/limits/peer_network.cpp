#include "backend/domain/limits/peer_network.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

namespace backend::domain {

namespace {

std::string_view without_port(std::string_view peer) {
  if (peer.starts_with('[')) return peer.substr(1, peer.find(']') - 1);
  return std::ranges::count(peer, ':') == 1 ? peer.substr(0, peer.find(':')) : peer;
}

}  // namespace

std::string network_of(std::string_view peer) {
  std::string address(without_port(peer));
  in6_addr v6{};
  if (::inet_pton(AF_INET6, address.c_str(), &v6) != 1) return address;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    const bool is_text = ::inet_ntop(AF_INET, &v6.s6_addr[12], text.data(), text.size()) != nullptr;
    return is_text ? text.data() : address;
  }
  std::fill(std::begin(v6.s6_addr) + 8, std::end(v6.s6_addr), std::uint8_t{0});
  if (::inet_ntop(AF_INET6, &v6, text.data(), text.size()) == nullptr) return address;
  return std::string(text.data()) + "/64";
}

}  // namespace backend::domain
