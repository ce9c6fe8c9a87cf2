#include "transport/client/proxies.hpp"

#include <doctest/doctest.h>

using namespace transport;

namespace {

// "host:port" of the proxy, or "direct".
std::string way(const ProxySettings& settings, std::string_view uri) {
  const auto proxies = Proxies::parse(settings);
  REQUIRE(proxies);
  const auto proxy = proxies->proxy_for(*parse_uri(uri));
  return proxy ? join_host_port(proxy->host, proxy->port) : "direct";
}

}  // namespace

TEST_CASE("a proxy is an address with an optional name and password") {
  CHECK(parse_proxy("http://Proxy.lan:8080/")->host == "proxy.lan");
  CHECK(parse_proxy("proxy.lan:8080")->port == 8080);
  CHECK(parse_proxy("http://proxy.lan")->port == 3128);
  CHECK(parse_proxy("http://[::1]:8080")->host == "::1");
  CHECK(parse_proxy("proxy:1")->authorization.empty());
  // printf 'anna:p@ss' | base64
  CHECK(parse_proxy("http://anna:p%40ss@proxy:1")->authorization == "Basic YW5uYTpwQHNz");
  CHECK(parse_proxy("http://anna@proxy:1")->authorization == "Basic YW5uYTo=");
  CHECK(parse_proxy("http://anna:pa@proxy:1")->authorization == "Basic YW5uYTpwYQ==");
}

TEST_CASE("a malformed proxy is refused without repeating its password") {
  for (const char* text : {"https://anna:secret@p", "socks5://anna:secret@p", "http://anna:secret@",
                           "http://anna:secret@p:0", "http://anna:secret@p:x1", "http://anna:secret%4@p"}) {
    const auto proxies = Proxies::parse({.https_proxy = text});
    REQUIRE_FALSE(proxies);
    CHECK(proxies.error().message().find("https_proxy: ") == 0);
    CHECK(proxies.error().message().find("secret") == std::string::npos);
  }
}

TEST_CASE("the configured proxy wins over the environment's, which depend on the scheme") {
  ProxySettings settings = {.http_proxy = "plain:1", .https_proxy = "secure:2"};
  CHECK(way(settings, "ws://h/") == "plain:1");
  CHECK(way(settings, "http://h/") == "plain:1");
  CHECK(way(settings, "wss://h/") == "secure:2");
  CHECK(way(settings, "https://h/") == "secure:2");
  settings.proxy = "config:3";
  CHECK(way(settings, "ws://h/") == "config:3");
  CHECK(way(settings, "wss://h/") == "config:3");
  CHECK(way({}, "wss://h/") == "direct");
  CHECK(way({.https_proxy = "secure:2"}, "ws://h/") == "direct");
}

TEST_CASE("loopback goes through a configured proxy only") {
  for (const char* uri : {"ws://localhost/", "ws://127.0.0.1/", "ws://127.9.9.9/", "ws://[::1]/"}) {
    CHECK(way({.http_proxy = "plain:1"}, uri) == "direct");
    CHECK(way({.proxy = "config:3"}, uri) == "config:3");
  }
  CHECK(way({.http_proxy = "plain:1"}, "ws://128.0.0.1/") == "plain:1");
}

TEST_CASE("no_proxy names hosts, domains, addresses, networks and ports") {
  const ProxySettings settings = {.proxy = "p:1",
                                  .no_proxy =
                                      "Example.com, .lan,*.corp 10.0.0.0/8,192.168.7.9 "
                                      "fd00::/8 ::5 special:99,172.16.0.0/12"};
  for (const char* direct :
       {"ws://example.com", "ws://a.example.com", "ws://x.lan", "ws://y.corp", "ws://10.255.0.1",
        "ws://192.168.7.9", "ws://[fd12::1]", "ws://[::5]", "ws://special:99", "ws://172.31.255.255"})
    CHECK_MESSAGE(way(settings, direct) == "direct", direct);
  for (const char* proxied : {"ws://badexample.com", "ws://example.com.evil", "ws://11.0.0.1",
                              "ws://192.168.7.10", "ws://[fe80::1]", "ws://special:98", "ws://172.32.0.0"})
    CHECK_MESSAGE(way(settings, proxied) == "p:1", proxied);
  CHECK(way({.proxy = "p:1", .no_proxy = "*"}, "ws://any") == "direct");
}

TEST_CASE("a malformed network in no_proxy is refused") {
  for (const char* text : {"10.0.0.0/33", "10.0.0.0/x", "ten/8", "fd00::/129"})
    CHECK_FALSE(Proxies::parse({.no_proxy = text}));
}
