// Compiled alone: its names are those of other tests.
#include "transport/client/http_client.hpp"

#include <thread>

#include <doctest/doctest.h>

#include "tests/support/loopback.hpp"
#include "transport/server/http_server.hpp"

using namespace std::chrono_literals;
using namespace transport;

namespace {

HttpClientOptions options_for(std::uint16_t port) {
  HttpClientOptions options;
  options.server = {.scheme = "http", .host = "127.0.0.1", .port = port};
  options.headers = {{"Authorization", "Bearer t0"}};
  return options;
}

// A server whose connections are served one after the other by `serve`, with whatever bytes it likes.
class RawServer {
 public:
  explicit RawServer(std::function<void(const tests::RawPeer&)> serve, int connections = 1)
      : thread_([this, serve = std::move(serve), connections] {
          for (int i = 0; i < connections; ++i) {
            const tests::RawPeer peer = listener_.accept();
            if (peer.fd() < 0) return;
            (void)peer.read_until("\r\n\r\n");
            serve(peer);
          }
        }) {}
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer() {
    listener_.shutdown();
    thread_.join();
  }
  std::uint16_t port() const { return listener_.port(); }

 private:
  tests::RawListener listener_;
  std::thread thread_;
};

class Server {
 public:
  explicit Server(HttpHandler handler) {
    thread_.call([&] {
      auto listening = HttpServer::listen(thread_.loop(), {}, std::move(handler));
      REQUIRE(listening);
      server_ = std::move(*listening);
      server_->start();
    });
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    thread_.call([&] { server_.reset(); });
  }
  std::uint16_t port() const { return server_->port(); }

 private:
  tests::LoopThread thread_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace

TEST_CASE("any answer of the server is a reply, and calls share a connection") {
  const auto handler = [](HttpRequest request) -> Task<HttpResponse> {
    HttpResponse response;
    response.status = request.path == "/none" ? 404 : 200;
    response.headers = {{"ETag", "\"1\""}};
    response.body = request.peer + " " + request.method + " " + request.body + " " +
                    std::string(request.header("authorization"));
    co_return response;
  };
  const Server server(handler);
  HttpClient client(options_for(server.port()));
  const auto first = client.request({.method = "PUT", .target = "/a?b=c", .body = "text"});
  REQUIRE(first);
  CHECK(first->status == 200);
  CHECK(first->header("etag") == "\"1\"");
  CHECK(first->body.find(" PUT text Bearer t0") != std::string::npos);
  const auto second = client.request({.target = "/none"});
  REQUIRE(second);
  CHECK(second->status == 404);
  const auto peer = [](const HttpReply& reply) { return reply.body.substr(0, reply.body.find(' ')); };
  CHECK(peer(*first) == peer(*second));
  const auto head = client.request({.method = "HEAD"});
  REQUIRE(head);
  CHECK(head->body.empty());
  CHECK(client.request({})->body.starts_with(peer(*first)));
}

TEST_CASE("a connection that the server has closed meanwhile is opened anew") {
  const RawServer server(
      [](const tests::RawPeer& peer) { peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); }, 2);
  HttpClient client(options_for(server.port()));
  CHECK(client.request({.method = "POST"})->body == "ok");
  std::this_thread::sleep_for(50ms);
  CHECK(client.request({.method = "POST"})->body == "ok");
}

TEST_CASE("a server that cannot be reached is told from one that answers badly") {
  SUBCASE("nobody listens") {
    const std::uint16_t port = tests::RawListener().port();
    const auto reply = HttpClient(options_for(port)).request({});
    REQUIRE_FALSE(reply);
    CHECK(unreachable(reply.error()));
    CHECK(reply.error().message() ==
          "connection refused by 127.0.0.1:" + std::to_string(port) + ": is the backend running?");
  }
  SUBCASE("it does not answer") {
    const tests::RawListener silent;
    HttpClientOptions options = options_for(silent.port());
    options.answer_timeout = 200ms;
    const auto reply = HttpClient(options).request({});
    REQUIRE_FALSE(reply);
    CHECK(unreachable(reply.error()));
    CHECK(reply.error().message().find("did not answer in time") != std::string::npos);
  }
  SUBCASE("it hangs up in the middle") {
    const RawServer server(
        [](const tests::RawPeer& peer) { peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"); });
    const auto reply = HttpClient(options_for(server.port())).request({});
    REQUIRE_FALSE(reply);
    CHECK(unreachable(reply.error()));
  }
  SUBCASE("it is something else") {
    const RawServer server([](const tests::RawPeer& peer) { peer.send("220 mail ESMTP\r\n\r\n"); });
    const auto reply = HttpClient(options_for(server.port())).request({});
    REQUIRE_FALSE(reply);
    CHECK_FALSE(unreachable(reply.error()));
    CHECK(reply.error().message().find("does not speak HTTP") != std::string::npos);
  }
  SUBCASE("its reply is too large") {
    const RawServer server([](const tests::RawPeer& peer) {
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + std::string(1001, 'x'));
    });
    HttpClientOptions options = options_for(server.port());
    options.max_body = 1000;
    const auto reply = HttpClient(options).request({});
    REQUIRE_FALSE(reply);
    CHECK(reply.error().code() == base::ErrorCode::limit);
  }
  SUBCASE("TLS with nobody to trust") {
    HttpClientOptions options = options_for(1);
    options.server.scheme = "https";
    const auto reply = HttpClient(options).request({});
    REQUIRE_FALSE(reply);
    CHECK(reply.error().code() == base::ErrorCode::invalid);
  }
}

TEST_CASE("what could smuggle a header is not sent") {
  HttpClient client(options_for(1));
  CHECK(client.request({.target = "/ HTTP/1.1\r\nX: y"}).error().code() == base::ErrorCode::invalid);
  CHECK(client.request({.headers = {{"X", "a\r\nY: b"}}}).error().code() == base::ErrorCode::invalid);
}

TEST_CASE("events are streamed from the last one that was seen") {
  const auto handler = [](HttpRequest request) -> Task<HttpResponse> {
    HttpResponse response;
    if (request.path != "/events") {
      response.status = 403;
      response.body = "no";
      co_return response;
    }
    const int first = std::atoi(std::string(request.header("Last-Event-ID")).c_str()) + 1;
    response.headers = {{"Content-Type", "text/event-stream"}};
    response.stream = [first](EventSink& sink) -> Task<> {
      const int from = first;
      for (int i = from; i < from + 3; ++i) {
        std::string event = ": comment\n\n" + format_event(std::to_string(i), "tick", "line\nother");
        auto sent = co_await sink.send(std::move(event));
        if (!sent) co_return;
      }
    };
    co_return response;
  };
  const Server server(handler);
  HttpClient client(options_for(server.port()));
  std::string seen;
  const auto keep = [&](const ServerEvent& event) {
    seen += event.id + event.event + event.data + ";";
    return true;
  };
  const auto all = client.stream({.target = "/events"}, "41", keep);
  REQUIRE(all);
  CHECK(all->status == 200);
  CHECK(seen == "42tickline\nother;43tickline\nother;44tickline\nother;");

  int count = 0;
  const auto some = client.stream({.target = "/events"}, "", [&](const ServerEvent&) { return ++count < 2; });
  CHECK(some);
  CHECK(count == 2);

  seen.clear();
  const auto refused = client.stream({.target = "/other"}, "", keep);
  REQUIRE(refused);
  CHECK(refused->status == 403);
  CHECK(refused->body == "no");
  CHECK(seen.empty());
  CHECK(client.request({.target = "/other"})->status == 403);
}

TEST_CASE("a stream that goes silent or breaks off is an error") {
  const auto head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n";
  int count = 0;
  const auto counter = [&](const ServerEvent&) {
    ++count;
    return true;
  };
  SUBCASE("silent") {
    const RawServer server([&](const tests::RawPeer& peer) {
      peer.send(head);
      (void)peer.read_all();
    });
    HttpClientOptions options = options_for(server.port());
    options.stream_idle_timeout = 200ms;
    const auto reply = HttpClient(options).stream({}, "", counter);
    REQUIRE_FALSE(reply);
    CHECK(reply.error().code() == base::ErrorCode::timed_out);
  }
  SUBCASE("broken off") {
    const RawServer server([&](const tests::RawPeer& peer) { peer.send(head); });
    const auto reply = HttpClient(options_for(server.port())).stream({}, "", counter);
    REQUIRE_FALSE(reply);
    CHECK(unreachable(reply.error()));
  }
  CHECK(count == 1);
}
