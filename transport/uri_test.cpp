#include "transport/uri.hpp"

#include <doctest/doctest.h>

using transport::parse_uri;

TEST_CASE("an address has a scheme, a host, a port and a path") {
  const auto uri = parse_uri("WSS://Backend.Example.com:8963/agent/?a=b");
  REQUIRE(uri);
  CHECK(uri->scheme == "wss");
  CHECK(uri->secure());
  CHECK(uri->host == "backend.example.com");
  CHECK(uri->port == 8963);
  CHECK(uri->target == "/agent/?a=b");
  CHECK(uri->text() == "wss://backend.example.com:8963/agent/?a=b");
}

TEST_CASE("port and path have defaults") {
  CHECK(parse_uri("ws://h")->port == 80);
  CHECK(parse_uri("http://h")->port == 80);
  CHECK(parse_uri("wss://h")->port == 443);
  CHECK(parse_uri("https://h")->port == 443);
  CHECK(parse_uri("https://h")->target == "/");
  CHECK(parse_uri("https://h?x=1")->target == "/?x=1");
  CHECK(parse_uri("https://h:443")->host_header() == "h");
  CHECK(parse_uri("https://h:80")->host_header() == "h:80");
}

TEST_CASE("an IPv6 address stands in brackets") {
  const auto uri = parse_uri("ws://[2001:DB8::1]:99/x");
  REQUIRE(uri);
  CHECK(uri->host == "2001:db8::1");
  CHECK(uri->authority() == "[2001:db8::1]:99");
  CHECK(parse_uri("ws://[::1]")->host_header() == "[::1]");
}

TEST_CASE("what is not an address is refused with the reason") {
  const auto reason = [](std::string_view text) {
    const auto uri = parse_uri(text);
    CHECK_FALSE(uri);
    return uri ? std::string("accepted") : uri.error().message();
  };
  CHECK(reason("backend:8963").find("wss://host:port/path") != std::string::npos);
  CHECK(reason("ftp://h").find("not ws, wss, http or https") != std::string::npos);
  CHECK(reason("ws://name:password@h").find("no names or passwords") != std::string::npos);
  CHECK(reason("ws://name:secret@h").find("secret") == std::string::npos);
  CHECK(reason("ws://::1:80/").find("brackets") != std::string::npos);
  CHECK(reason("ws://[::1").find("not closed") != std::string::npos);
  CHECK(reason("ws://[::g]/").find("not an IPv6 address") != std::string::npos);
  CHECK(reason("ws://[::1]80/").find("comes :port") != std::string::npos);
  CHECK(reason("ws://h:0/").find("not a port") != std::string::npos);
  CHECK(reason("ws://h:65536/").find("not a port") != std::string::npos);
  CHECK(reason("ws://h:-1/").find("not a port") != std::string::npos);
  CHECK(reason("ws://h:/").find("not a port") != std::string::npos);
  CHECK(reason("ws:///agent/").find("not a host name") != std::string::npos);
  CHECK(reason("ws://h/a#b").find("\"#\"") != std::string::npos);
  CHECK(reason("ws://h/a b").find("blanks") != std::string::npos);
  CHECK(reason("ws://h/a\r\nX: y").find("blanks") != std::string::npos);
  CHECK(reason("ws://" + std::string(254, 'a')).find("not a host name") != std::string::npos);
  CHECK(reason("ws://h/" + std::string(3000, 'a')).find("at most 2048") != std::string::npos);
}
