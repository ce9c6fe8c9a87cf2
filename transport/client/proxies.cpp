#include "transport/client/proxies.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.hpp"
#include "transport/http.hpp"
#include "transport/http_text.hpp"

namespace transport {
namespace {

base::Error invalid(std::string message) {
  return {base::ErrorCode::invalid, std::move(message)};
}

// An address of either family as 16 bytes, an IPv4 one in its IPv6 form.
using AddressBytes = std::array<unsigned char, 16>;
std::optional<AddressBytes> parse_address(const std::string& host) {
  AddressBytes bytes{};
  if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) return bytes;
  bytes[10] = bytes[11] = 0xff;
  if (::inet_pton(AF_INET, host.c_str(), bytes.data() + 12) == 1) return bytes;
  return std::nullopt;
}

bool same_prefix(const AddressBytes& a, const AddressBytes& b, int bits) {
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (std::memcmp(a.data(), b.data(), whole) != 0) return false;
  return bits % 8 == 0 || (a[whole] ^ b[whole]) >> (8 - bits % 8) == 0;
}

// Never reached through a proxy of the environment. More than is_loopback(): it only decides on the way.
bool needs_no_proxy(const std::string& host) {
  if (is_loopback(host) || host.ends_with(".localhost")) return true;
  const auto address = parse_address(host);
  return address && same_prefix(*address, *parse_address("127.0.0.0"), 104);
}

base::Result<std::optional<Proxy>> parse_setting(std::string_view name, std::string_view value) {
  if (base::trim(value).empty()) return std::optional<Proxy>();
  auto proxy = parse_proxy(base::trim(value));
  if (!proxy) return std::move(proxy).error().with_context(name);
  return std::optional<Proxy>(std::move(*proxy));
}

}  // namespace

// Passwords are common here; the errors do not repeat the text.
base::Result<Proxy> parse_proxy(std::string_view text) {
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    if (!base::equal_ignoring_case(text.substr(0, scheme), "http"))
      return invalid("only proxies that are reached with http:// are supported");
    text.remove_prefix(scheme + 3);
  }
  if (text.ends_with('/')) text.remove_suffix(1);
  Proxy proxy;
  if (const std::size_t at = text.rfind('@'); at != std::string_view::npos) {
    auto user = percent_decode(text.substr(0, at), false);
    if (!user) return invalid("the name or password has a malformed %xx");
    proxy.authorization = basic_authorization(*user);
    text.remove_prefix(at + 1);
  }
  auto host = split_host_port(text, 3128);
  if (!host) return std::move(host).error();
  if (host->port == 0) return invalid("0 is not a port that one can connect to");
  proxy.host = std::move(host->host);
  proxy.port = host->port;
  return proxy;
}

base::Result<Proxies> Proxies::parse(const ProxySettings& settings) {
  Proxies proxies;
  auto configured = parse_setting("proxy", settings.proxy);
  if (!configured) return std::move(configured).error();
  auto plain = parse_setting("http_proxy", settings.http_proxy);
  if (!plain) return std::move(plain).error();
  auto secure = parse_setting("https_proxy", settings.https_proxy);
  if (!secure) return std::move(secure).error();
  proxies.configured_ = std::move(*configured);
  proxies.plain_ = std::move(*plain);
  proxies.secure_ = std::move(*secure);

  std::string list = settings.no_proxy;
  std::ranges::replace(list, ',', ' ');
  for (std::string_view entry : base::split_words(list)) {
    Exception exception;
    if (const std::size_t slash = entry.find('/'); slash != std::string_view::npos) {
      const bool v6 = entry.find(':') != std::string_view::npos;
      const auto bits = base::parse_integer(entry.substr(slash + 1));
      if (!bits || *bits < 0 || *bits > (v6 ? 128 : 32) ||
          !parse_address(std::string(entry.substr(0, slash))))
        return invalid("no_proxy: \"" + std::string(entry) + "\" is not a network like 10.0.0.0/8");
      exception.prefix_bits = static_cast<int>(*bits) + (v6 ? 0 : 96);
      entry = entry.substr(0, slash);
    } else if (!parse_address(std::string(entry))) {
      const std::size_t colon = entry.rfind(':');
      if (const auto port = base::parse_integer(entry.substr(std::min(colon, entry.size() - 1) + 1));
          colon != std::string_view::npos && port && *port > 0 && *port < 65536) {
        exception.port = static_cast<std::uint16_t>(*port);
        entry = entry.substr(0, colon);
      }
      if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
      if (entry.starts_with("*.")) entry.remove_prefix(1);
      if (entry.starts_with('.')) entry.remove_prefix(1);
    }
    exception.host = entry;
    for (char& c : exception.host)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    proxies.exceptions_.push_back(std::move(exception));
  }
  return proxies;
}

bool Proxies::excepted(const Uri& uri) const {
  const auto address = parse_address(uri.host);
  return std::ranges::any_of(exceptions_, [&](const Exception& exception) {
    if (exception.port != 0 && exception.port != uri.port) return false;
    if (exception.host == "*") return true;
    if (address) {
      const auto other = parse_address(exception.host);
      return other && same_prefix(*address, *other, exception.prefix_bits < 0 ? 128 : exception.prefix_bits);
    }
    return exception.prefix_bits < 0 &&
           (uri.host == exception.host ||
            (!exception.host.empty() && uri.host.ends_with("." + exception.host)));
  });
}

std::optional<Proxy> Proxies::proxy_for(const Uri& uri) const {
  if (excepted(uri)) return std::nullopt;
  if (configured_) return configured_;
  if (needs_no_proxy(uri.host)) return std::nullopt;
  return uri.secure() ? secure_ : plain_;
}

}  // namespace transport
