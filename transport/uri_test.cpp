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

TEST_CASE("near is what leads to this machine or its own link, in every form that a resolver reads") {
  using transport::is_near;
  for (const char* host : {"127.0.0.1",
                           "127.9.9.9",
                           "localhost",
                           "a.localhost",
                           "localhost.",
                           "0.0.0.0",
                           "0",
                           "127.1",
                           "0177.0.0.1",
                           "0x7f000001",
                           "2130706433",
                           "169.254.169.254",
                           "169.254.0.1",
                           "::",
                           "::1",
                           "::127.0.0.1",
                           "::ffff:169.254.169.254",
                           "64:ff9b::7f00:1",
                           "fe80::1",
                           "fe80::1%eth0",
                           "fd00:ec2::254"}) {
    CAPTURE(host);
    CHECK(is_near(host));
  }
  for (const char* host :
       {"10.0.0.1", "192.168.1.1", "169.253.1.1", "128.0.0.1", "2001:db8::1", "fd00::1", "::ffff:10.0.0.1",
        "64:ff9b::a00:1", "example.com", "localhost.example.com", "127.0.0.1.example.com", ""}) {
    CAPTURE(host);
    CHECK_FALSE(is_near(host));
  }
}

TEST_CASE("loopback is what parses as an address of it, or exactly localhost") {
  using transport::is_loopback;
  for (const char* host :
       {"localhost", "127.0.0.1", "127.0.0.2", "127.255.255.254", "::1", "0:0:0:0:0:0:0:1"}) {
    CAPTURE(host);
    CHECK(is_loopback(host));
  }
  for (const char* host : {"127.evil.example",
                           "127.0.0.1.evil.example",
                           "127.",
                           "127",
                           "127.1",
                           "127.0.1",
                           "0127.0.0.1",
                           "0x7f.0.0.1",
                           "2130706433",
                           "017700000001",
                           "127.0.0.1.",
                           "127.0.0.256",
                           "128.0.0.1",
                           "0.0.0.0",
                           "::",
                           "::ffff:127.0.0.1",
                           "::127.0.0.1",
                           "fe80::1",
                           "::1%lo",
                           "localhost.",
                           "localhost.evil.example",
                           "evil.localhost",
                           "xlocalhost",
                           "LOCALHOST",
                           "",
                           "10.127.0.1",
                           "1.127.0.0"}) {
    CAPTURE(host);
    CHECK_FALSE(is_loopback(host));
  }
  CHECK(parse_uri("ws://LocalHost/")->is_local());
  CHECK(parse_uri("ws://[::1]:80/")->is_local());
  CHECK_FALSE(parse_uri("ws://127.evil.example/")->is_local());
  CHECK(transport::is_ip_address("10.0.0.1"));
  CHECK(transport::is_ip_address("2001:db8::1"));
  CHECK_FALSE(transport::is_ip_address("10.0.0"));
  CHECK_FALSE(transport::is_ip_address("10.0.0.1.example"));
}
