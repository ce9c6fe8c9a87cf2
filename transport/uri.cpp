#include "transport/uri.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>

#include "base/text.hpp"

namespace transport {
namespace {

constexpr std::size_t kMaxHostLength = 253;  // RFC 1035

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

base::Error invalid(std::string message) {
  return {base::ErrorCode::invalid, std::move(message)};
}

std::uint16_t default_port(std::string_view scheme) {
  if (scheme == "ws" || scheme == "http") return 80;
  if (scheme == "wss" || scheme == "https") return 443;
  return 0;
}

// inet_pton() reads up to a NUL: what has one in it is no address.
template <class Address>
std::optional<Address> parse_address(int family, std::string_view host) {
  const std::string text(host);
  Address address{};
  if (text.find('\0') != std::string::npos || ::inet_pton(family, text.c_str(), &address) != 1)
    return std::nullopt;
  return address;
}

bool is_ipv6(std::string_view host) {
  return parse_address<in6_addr>(AF_INET6, host).has_value();
}

bool is_name(std::string_view host) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  };
  return !host.empty() && host.size() <= kMaxHostLength && std::ranges::all_of(host, allowed);
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto number = base::parse_integer(text);
  if (!number || *number > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

bool is_near_ipv4(const in_addr& address) {
  const std::uint32_t number = ntohl(address.s_addr);
  constexpr std::uint32_t kThisNetwork = 0, kLoopback = 127, kLinkLocal = 169U << 8 | 254U;
  return number >> 24 == kThisNetwork || number >> 24 == kLoopback || number >> 16 == kLinkLocal;
}

bool is_near_ipv6(const in6_addr& address) {
  // fd00:ec2::/32
  constexpr std::array<std::uint8_t, 4> kEc2{0xfd, 0x00, 0x0e, 0xc2};
  // ::/96 and ::ffff:0:0/96, an IPv4 address in the last bytes; 64:ff9b::/96, one behind a translator.
  constexpr std::array<std::uint8_t, 12> kCompatible{};
  constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  constexpr std::array<std::uint8_t, 12> kTranslated{0x00, 0x64, 0xff, 0x9b};
  const std::span<const std::uint8_t> bytes(address.s6_addr);
  const auto begins = [&](const auto& prefix) {
    return std::ranges::equal(bytes.first(prefix.size()), prefix);
  };
  if (IN6_IS_ADDR_LOOPBACK(&address) || IN6_IS_ADDR_LINKLOCAL(&address) || begins(kEc2)) return true;
  if (!begins(kCompatible) && !begins(kMapped) && !begins(kTranslated)) return false;
  in_addr inner{};
  std::memcpy(&inner, bytes.data() + kMapped.size(), sizeof inner);
  return is_near_ipv4(inner);
}

}  // namespace

bool is_ip_address(std::string_view host) {
  return is_ipv6(host) || parse_address<in_addr>(AF_INET, host);
}

bool is_loopback(std::string_view host) {
  constexpr std::uint32_t kNetwork = 127;
  if (host == "localhost") return true;
  if (const auto address = parse_address<in_addr>(AF_INET, host))
    return ntohl(address->s_addr) >> 24 == kNetwork;
  const auto address = parse_address<in6_addr>(AF_INET6, host);
  return address && IN6_IS_ADDR_LOOPBACK(&*address);
}

bool is_near(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host == "localhost" || host.ends_with(".localhost")) return true;
  // As resolvers read numbers: "127.1", "0x7f000001", "2130706433".
  if (in_addr address{}; ::inet_aton(std::string(host).c_str(), &address) != 0) return is_near_ipv4(address);
  const auto address = parse_address<in6_addr>(AF_INET6, host.substr(0, host.find('%')));
  return address && is_near_ipv6(*address);
}

std::string join_host_port(std::string_view host, std::uint16_t port) {
  const bool brackets = host.find(':') != std::string_view::npos;
  std::string text;
  text.append(brackets ? "[" : "").append(host).append(brackets ? "]:" : ":").append(std::to_string(port));
  return text;
}

base::Result<HostPort> split_host_port(std::string_view text, std::uint16_t default_port) {
  HostPort result;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return invalid("the bracket before an IPv6 address is not closed");
    result.host = lower(text.substr(1, end - 1));
    if (!is_ipv6(result.host)) return invalid("\"" + result.host + "\" is not an IPv6 address");
    port = text.substr(end + 1);
    if (!port.empty() && port.front() != ':') return invalid("after the IPv6 address comes :port or nothing");
  } else {
    const std::size_t colon = text.find(':');
    result.host = lower(text.substr(0, colon));
    if (colon != std::string_view::npos) port = text.substr(colon);
    if (port.find(':', 1) != std::string_view::npos)
      return invalid("an IPv6 address is written in brackets: [::1]");
    if (!is_name(result.host)) return invalid("\"" + result.host + "\" is not a host name");
  }
  if (port.empty()) {
    if (default_port == 0) return invalid("the port is missing: \"" + std::string(text) + ":8963\"");
    result.port = default_port;
    return result;
  }
  const auto number = parse_port(port.substr(1));
  if (!number) return invalid("\"" + std::string(port.substr(1)) + "\" is not a port");
  result.port = *number;
  return result;
}

base::Result<Uri> parse_uri(std::string_view text) {
  if (text.size() > kMaxUriLength)
    return base::Error(base::ErrorCode::limit,
                       "an address has at most " + std::to_string(kMaxUriLength) + " characters");
  if (!std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; }))
    return invalid("an address has no blanks, and other characters than ASCII are written as %xx");
  const std::size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos)
    return invalid("\"" + std::string(text) + "\" is not an address like wss://host:port/path");

  Uri uri;
  uri.scheme = lower(text.substr(0, scheme_end));
  const std::uint16_t scheme_port = default_port(uri.scheme);
  if (scheme_port == 0) return invalid("\"" + uri.scheme + "://\" is not ws, wss, http or https");
  text.remove_prefix(scheme_end + 3);

  const std::size_t authority_end = text.find_first_of("/?#");
  const std::string_view authority = text.substr(0, authority_end);
  if (authority.find('@') != std::string_view::npos)
    return invalid("an address holds no names or passwords (before the \"@\"): they would show up in logs");
  auto host = split_host_port(authority, scheme_port);
  if (!host) return std::move(host).error();
  if (host->port == 0) return invalid("0 is not a port that one can connect to");
  uri.host = std::move(host->host);
  uri.port = host->port;

  if (authority_end == std::string_view::npos) return uri;
  const std::string_view target = text.substr(authority_end);
  if (target.find('#') != std::string_view::npos)
    return invalid("a \"#\" has no place in a server's address");
  uri.target = target.starts_with('?') ? "/" + std::string(target) : std::string(target);
  return uri;
}

bool Uri::is_local() const {
  return is_loopback(host);
}

std::string Uri::authority() const {
  return join_host_port(host, port);
}

std::string Uri::host_header() const {
  std::string text = authority();
  if (port == default_port(scheme)) text.resize(text.rfind(':'));
  return text;
}

std::string Uri::text() const {
  return scheme + "://" + host_header() + target;
}

}  // namespace transport
