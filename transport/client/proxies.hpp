// Which proxy leads to a server: the configured one, or the environment's http_proxy, https_proxy, no_proxy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "transport/uri.hpp"

namespace transport {

struct Proxy {
  std::string host;
  std::uint16_t port = 0;
  std::string authorization;  // value of Proxy-Authorization; empty: none
};

// Values as they stand in the configuration and the environment; empty: not set.
struct ProxySettings {
  std::string proxy;  // the configuration's; wins over the environment's
  std::string http_proxy;
  std::string https_proxy;
  std::string no_proxy;
};

// "http://[name:password@]host[:port]" or "host:port".
base::Result<Proxy> parse_proxy(std::string_view text);

class Proxies {
 public:
  Proxies() = default;
  static base::Result<Proxies> parse(const ProxySettings& settings);

  // Nothing: connect directly. What no_proxy names is never reached through a proxy, and loopback only
  // through a configured one.
  std::optional<Proxy> proxy_for(const Uri& uri) const;

 private:
  // One entry of no_proxy: "*", a name with all below it, an address, or a network; optionally with a port.
  struct Exception {
    std::string host;
    int prefix_bits = -1;  // -1: not a network
    std::uint16_t port = 0;
  };
  bool excepted(const Uri& uri) const;

  std::optional<Proxy> configured_;
  std::optional<Proxy> plain_;
  std::optional<Proxy> secure_;
  std::vector<Exception> exceptions_;
};

}  // namespace transport
