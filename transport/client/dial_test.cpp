#include "transport/client/dial.hpp"

#include <thread>

#include <doctest/doctest.h>

#include "tests/support/certificates.hpp"
#include "tests/support/loopback.hpp"
#include "transport/server/http_server.hpp"

using namespace std::chrono_literals;
using namespace transport;
using tests::RawListener;
using tests::RawPeer;

namespace {

struct Outcome {
  std::string error = "connected";
  base::ErrorCode code = base::ErrorCode::internal;
};

Outcome try_dial(DialOptions options) {
  Loop loop;
  Outcome outcome;
  tests::run_on(loop, [&]() -> Task<> {
    auto socket = co_await dial(options);
    if (!socket) outcome = {socket.error().message(), socket.error().code()};
  });
  return outcome;
}

DialOptions at(std::uint16_t port, std::string_view path = "/agent/") {
  DialOptions options;
  options.uri = *parse_uri("ws://127.0.0.1:" + std::to_string(port) + std::string(path));
  return options;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Passes bytes both ways until one side closes.
void pump(const RawPeer& a, const RawPeer& b) {
  std::array<pollfd, 2> wait{{{a.fd(), POLLIN, 0}, {b.fd(), POLLIN, 0}}};
  std::array<char, 4096> bytes;
  while (::poll(wait.data(), wait.size(), 10'000) > 0) {
    for (std::size_t i = 0; i < wait.size(); ++i) {
      if (wait[i].revents == 0) continue;
      const ssize_t got = ::recv(wait[i].fd, bytes.data(), bytes.size(), 0);
      if (got <= 0) return;
      (i == 0 ? b : a).send({bytes.data(), static_cast<std::size_t>(got)});
    }
  }
}

// A proxy for one connection: answers with `status`, and for 200 leads to the port that was asked for.
class OneTimeProxy {
 public:
  explicit OneTimeProxy(std::string answer)
      : thread_([this, answer = std::move(answer)] {
          const RawPeer client = listener_.accept();
          if (client.fd() < 0) return;
          request_ = client.read_until("\r\n\r\n");
          if (answer.empty()) {
            (void)client.read_all();
            return;
          }
          client.send(answer);
          if (!answer.starts_with("HTTP/1.1 200") || !answer.ends_with("\r\n\r\n")) return;
          const std::size_t colon = request_.find(':');
          const RawPeer server =
              RawPeer::connect(static_cast<std::uint16_t>(std::atoi(request_.c_str() + colon + 1)));
          pump(client, server);
        }) {}
  OneTimeProxy(const OneTimeProxy&) = delete;
  OneTimeProxy& operator=(const OneTimeProxy&) = delete;
  ~OneTimeProxy() { (void)finish(); }

  std::uint16_t port() const { return listener_.port(); }
  // The request that it got.
  std::string finish() {
    listener_.shutdown();
    if (thread_.joinable()) thread_.join();
    return request_;
  }

 private:
  RawListener listener_;
  std::string request_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("an error of dialling says which step failed and what to look at") {
  SUBCASE("refused") {
    const std::uint16_t port = RawListener().port();
    const Outcome outcome = try_dial(at(port));
    CHECK(outcome.error ==
          "connection refused by 127.0.0.1:" + std::to_string(port) + ": is the backend running?");
    CHECK(outcome.code == base::ErrorCode::io);
  }
  SUBCASE("a name that does not exist") {
    DialOptions options;
    options.uri = *parse_uri("ws://backend.invalid/agent/");
    const Outcome outcome = try_dial(options);
    CHECK(has(outcome.error, "backend.invalid"));
    CHECK((outcome.code == base::ErrorCode::not_found || outcome.code == base::ErrorCode::timed_out));
  }
  SUBCASE("a name lookup that takes too long is given up") {
    DialOptions options;
    options.uri = *parse_uri("ws://backend.invalid/agent/");
    options.resolve_timeout = 0ms;
    CHECK(has(try_dial(options).error, "takes too long"));
  }
  SUBCASE("TLS with nobody to trust") {
    DialOptions options;
    options.uri = *parse_uri("wss://127.0.0.1:1/agent/");
    const Outcome outcome = try_dial(options);
    CHECK(has(outcome.error, "wss://127.0.0.1:1/agent/: which authority signs its certificate?"));
    CHECK(outcome.code == base::ErrorCode::invalid);
  }
  SUBCASE("a server that does not answer") {
    const RawListener silent;
    DialOptions options = at(silent.port());
    options.answer_timeout = 200ms;
    const Outcome outcome = try_dial(options);
    CHECK(has(outcome.error, "did not answer in time"));
    CHECK(outcome.code == base::ErrorCode::timed_out);
  }
  SUBCASE("a server of something else") {
    const RawListener listener;
    std::thread mail([&] { listener.accept().send("220 mail ESMTP\r\n\r\n"); });
    CHECK(has(try_dial(at(listener.port())).error, "did not answer as a websocket server"));
    mail.join();
  }
  SUBCASE("a path that is not the agents'") {
    const RawListener listener;
    std::thread server([&] {
      const RawPeer peer = listener.accept();
      (void)peer.read_until("\r\n\r\n");
      peer.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    });
    const Outcome outcome = try_dial(at(listener.port(), "/wrong"));
    CHECK(has(outcome.error,
              "/wrong answered 404 Not Found instead of opening a websocket: is the path right?"));
    server.join();
  }
}

TEST_CASE("all addresses of a name are tried") {
  // localhost is ::1 too on most machines, where nobody listens on this port.
  Loop loop;
  const auto refuse = [](HttpRequest) -> Task<HttpResponse> { co_return HttpResponse{.status = 404}; };
  const auto hold = [](HttpRequest, std::shared_ptr<WebSocket> socket) -> Task<> {
    auto message = co_await socket->read();
  };
  auto server = HttpServer::listen(loop, {}, refuse, {{"/agent/", hold}});
  REQUIRE(server);
  (*server)->start();
  tests::run_on(loop, [&]() -> Task<> {
    DialOptions options;
    options.uri = *parse_uri("ws://localhost:" + std::to_string((*server)->port()) + "/agent/");
    auto socket = co_await dial(std::move(options));
    CHECK(socket);
  });
}

TEST_CASE("a connection through a proxy is a tunnel, with the name and password if there is one") {
  Loop loop;
  std::string authorization;
  std::string agent;
  const auto refuse = [](HttpRequest) -> Task<HttpResponse> { co_return HttpResponse{.status = 404}; };
  const auto greet = [&](HttpRequest request, std::shared_ptr<WebSocket> socket) -> Task<> {
    authorization = request.header("Authorization");
    agent = request.header("User-Agent");
    Text text = make_text("through the tunnel");
    auto written = co_await socket->write(text);
    auto message = co_await socket->read();
  };
  auto server = HttpServer::listen(loop, {}, refuse, {{"/agent/", greet}});
  REQUIRE(server);
  (*server)->start();
  OneTimeProxy proxy("HTTP/1.1 200 Connection established\r\n\r\n");
  tests::run_on(loop, [&]() -> Task<> {
    DialOptions options = at((*server)->port());
    options.proxy = *parse_proxy("http://anna:p%40ss@127.0.0.1:" + std::to_string(proxy.port()));
    options.headers = {{"Authorization", "Bearer token"}};
    options.user_agent = "opsagent/0.1";
    auto socket = co_await dial(std::move(options));
    REQUIRE(socket);
    auto message = co_await (*socket)->read();
    REQUIRE(message);
    CHECK(*message == "through the tunnel");
    co_await (*socket)->close(close_code::kNormal, "");
  });
  const std::string request = proxy.finish();
  const std::string target = "127.0.0.1:" + std::to_string((*server)->port());
  CHECK(request.starts_with("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n"));
  CHECK(has(request, "Proxy-Authorization: Basic YW5uYTpwQHNz\r\n"));
  CHECK(authorization == "Bearer token");
  CHECK(agent == "opsagent/0.1");
}

TEST_CASE("behind a proxy the server's certificate is checked, for the name of the server") {
  const tests::TestAuthority authority;
  const tests::Signed own = authority.issue({.names = "DNS:localhost"});
  HttpServerOptions server_options;
  server_options.tls = *TlsServer::make({.chain = own.chain, .key = own.key}, "");
  const auto tls = *TlsClient::make({.ca = authority.pem(), .ca_hash = {}});
  Loop loop;
  const auto refuse = [](HttpRequest) -> Task<HttpResponse> { co_return HttpResponse{.status = 404}; };
  const auto idle = [](HttpRequest, std::shared_ptr<WebSocket> socket) -> Task<> {
    auto message = co_await socket->read();
  };
  auto server = HttpServer::listen(loop, server_options, refuse, {{"/agent/", idle}});
  REQUIRE(server);
  (*server)->start();
  const auto through_proxy = [&](std::string host) {
    const OneTimeProxy proxy("HTTP/1.1 200 Connection established\r\n\r\n");
    std::string outcome;
    tests::run_on(loop, [&]() -> Task<> {
      DialOptions options;
      options.uri = *parse_uri("wss://" + host + ":" + std::to_string((*server)->port()) + "/agent/");
      options.proxy = *parse_proxy("127.0.0.1:" + std::to_string(proxy.port()));
      options.tls = tls;
      auto socket = co_await dial(std::move(options));
      outcome = socket ? "connected" : socket.error().message();
      if (socket) co_await (*socket)->close(close_code::kNormal, "");
    });
    return outcome;
  };
  CHECK(through_proxy("localhost") == "connected");
  CHECK(has(through_proxy("127.0.0.1"), "is for localhost and not for 127.0.0.1"));
}

TEST_CASE("a proxy that does not open the tunnel is named") {
  const auto through = [](std::string answer) {
    const OneTimeProxy proxy(std::move(answer));
    DialOptions options = at(1);
    options.proxy = *parse_proxy("127.0.0.1:" + std::to_string(proxy.port()));
    options.answer_timeout = 300ms;
    return try_dial(options).error;
  };
  CHECK(has(through("HTTP/1.1 407 Authenticate\r\n\r\n"), "wants a name and password (407)"));
  CHECK(has(through("HTTP/1.1 502 Bad Gateway\r\n\r\n"), "refused the tunnel to 127.0.0.1:1 (502)"));
  CHECK(has(through("220 mail\r\n\r\n"), "does not speak HTTP"));
  CHECK(has(through(""), "did not answer in time"));
  CHECK(has(through("HTTP/1.1 200 OK\r\n" + std::string(9000, 'x')), "did not open a tunnel"));
  DialOptions options = at(1);
  options.proxy = *parse_proxy("127.0.0.1:" + std::to_string(RawListener().port()));
  CHECK(has(try_dial(options).error, "reaching the proxy: connection refused by 127.0.0.1:"));
  CHECK(has(try_dial(options).error, "is the proxy running?"));
}
