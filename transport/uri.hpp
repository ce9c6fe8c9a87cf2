// Addresses of servers: ws://, wss://, http://, https://.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace transport {

struct Uri {
  std::string scheme;  // in lower case
  std::string host;    // in lower case; an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string target = "/";  // path and query

  // Asks for TLS.
  bool secure() const { return scheme == "wss" || scheme == "https"; }
  // Leads to nobody but this machine.
  bool is_local() const;
  // "host:port", as people write it and CONNECT wants it.
  std::string authority() const;
  // The same without the scheme's own port, for the Host header.
  std::string host_header() const;
  std::string text() const;
};

inline constexpr std::size_t kMaxUriLength = 2048;

// Whether the host, as Uri and HostPort have it, is an IP address; and one of this machine alone: exactly
// "localhost", or an address of 127.0.0.0/8 or ::1. The text is parsed and never compared by how it begins:
// 127.example.com is anybody's. What resolvers make of "127.1" or "0x7f.1" is no address here.
bool is_ip_address(std::string_view host);
bool is_loopback(std::string_view host);

// Whether an address, or a host that needs no name server, leads to this machine or to what is on its own
// wire only: loopback, 0.0.0.0 and ::, link-local (where clouds have their metadata service), the metadata
// service of EC2 by IPv6, and any of these in the other forms of IPv6. Errs towards true: "127.1" and
// "x.localhost" are taken for what resolvers make of them.
bool is_near(std::string_view host);

// Names and passwords in the address are refused: they would end up in logs and process lists.
base::Result<Uri> parse_uri(std::string_view text);

// "host:port", with brackets around an IPv6 address.
std::string join_host_port(std::string_view host, std::uint16_t port);

struct HostPort {
  std::string host;  // without brackets
  std::uint16_t port = 0;
};
// The reverse. Without a port: `default_port`, or an error where that is 0.
base::Result<HostPort> split_host_port(std::string_view text, std::uint16_t default_port);

}  // namespace transport
