#include "transport/web_socket/web_socket.hpp"

#include <atomic>

#include <doctest/doctest.h>

#include "tests/support/loopback.hpp"
#include "transport/client/dial.hpp"
#include "transport/server/http_server.hpp"
#include "transport/web_socket/send_queue.hpp"

using namespace std::chrono_literals;
using namespace transport;
using base::ErrorCode;
using tests::RawPeer;

namespace {

using Handler = std::function<Task<>(HttpRequest, std::shared_ptr<WebSocket>)>;

Task<> echo(HttpRequest, std::shared_ptr<WebSocket> socket) {
  while (true) {
    auto message = co_await socket->read();
    if (!message) co_return;
    Text text = make_text(std::move(*message));
    auto written = co_await socket->write(std::move(text));
    if (!written) co_return;
  }
}

Task<HttpResponse> not_found(HttpRequest) {
  co_return HttpResponse{.status = 404};
}

std::unique_ptr<HttpServer> serve(Loop& loop, Handler handler, WebSocketOptions options = {},
                                  std::string listen = "127.0.0.1:0") {
  HttpServerOptions server_options;
  server_options.listen = std::move(listen);
  server_options.web_socket = options;
  auto server = HttpServer::listen(loop, server_options, not_found, {{"/agent/", std::move(handler)}});
  REQUIRE(server);
  (*server)->start();
  return std::move(*server);
}

DialOptions to(const HttpServer& server) {
  DialOptions options;
  options.uri = *parse_uri("ws://" + server.address() + "/agent/");
  options.web_socket.max_message = 4'000'000;
  return options;
}

// How the server's read() ended, told to the test.
struct Ended {
  explicit Ended(Loop& loop) : wake(loop.get_executor()) {}
  Task<base::Error> wait() {
    while (!error)
      co_await wake.wait();
    co_return *error;
  }
  Handler reader() {
    return [this](HttpRequest, std::shared_ptr<WebSocket> socket) -> Task<> {
      while (true) {
        auto message = co_await socket->read();
        if (message) continue;
        error = message.error();
        wake.notify();
        co_return;
      }
    };
  }

  Wake wake;
  std::optional<base::Error> error;
};

// A websocket client by hand: the upgrade, then whatever bytes the test likes. The loop must run meanwhile.
RawPeer raw_client(std::uint16_t port, int receive_buffer = 0) {
  RawPeer peer = RawPeer::connect(port, receive_buffer);
  peer.send(
      "GET /agent/ HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n");
  return peer;
}

// The code of the close frame that ends `text`; 0 if there is none.
unsigned close_code_in(const std::string& text) {
  const std::size_t at = text.find('\x88', text.find("\r\n\r\n"));
  if (at == std::string::npos || text.size() < at + 4) return 0;
  return static_cast<unsigned>(static_cast<unsigned char>(text[at + 2]) << 8 |
                               static_cast<unsigned char>(text[at + 3]));
}

}  // namespace

TEST_CASE("messages of all sizes come back from an echo") {
  Loop loop;
  WebSocketOptions options;
  options.max_message = 4'000'000;
  const auto server = serve(loop, echo, options);
  tests::run_on(loop, [&]() -> Task<> {
    auto dialled = co_await dial(to(*server));
    REQUIRE(dialled);
    const auto socket = *dialled;
    CHECK(socket->peer() == server->address());
    for (const std::size_t size : {0u, 1u, 125u, 126u, 127u, 128u, 129u, 4096u, 65535u, 65536u, 3'000'000u}) {
      Text text = make_text(std::string(size, 'x') + "\xc3\xa4");
      auto written = co_await socket->write(text);
      REQUIRE(written);
      auto answer = co_await socket->read();
      REQUIRE(answer);
      CHECK(*answer == *text);
    }
    co_await socket->close(close_code::kNormal, "done");
    auto after = co_await socket->read();
    CHECK(after.error().code() == ErrorCode::cancelled);
  });
}

TEST_CASE("a goodbye arrives with its code and reason") {
  Loop loop;
  const auto server = serve(loop, [](HttpRequest, std::shared_ptr<WebSocket> socket) -> Task<> {
    co_await socket->close(close_code::kGoingAway, "restarting\n" + std::string(200, 'x'));
  });
  tests::run_on(loop, [&]() -> Task<> {
    auto socket = co_await dial(to(*server));
    REQUIRE(socket);
    auto message = co_await (*socket)->read();
    REQUIRE_FALSE(message);
    CHECK(message.error().code() == ErrorCode::io);
    CHECK(message.error().message().starts_with("closed by the peer: 1001 restarting?xxx"));
    CHECK((*socket)->peer_close_code() == 1001);
    Text text = make_text("too late");
    auto written = co_await (*socket)->write(text);
    CHECK_FALSE(written);
  });
}

TEST_CASE("a reason that is too long is cut between characters, so that the peer hears the code") {
  Loop loop;
  const auto server = serve(loop, [](HttpRequest, std::shared_ptr<WebSocket> socket) -> Task<> {
    co_await socket->close(close_code::kGoingAway, std::string(121, 'x') + "\xe2\x80\xa6 and more");
  });
  tests::run_on(loop, [&]() -> Task<> {
    auto socket = co_await dial(to(*server));
    REQUIRE(socket);
    auto message = co_await (*socket)->read();
    REQUIRE_FALSE(message);
    CHECK(message.error().message() == "closed by the peer: 1001 " + std::string(121, 'x'));
    CHECK((*socket)->peer_close_code() == 1001);
  });
}

TEST_CASE("a message larger than allowed is answered with 1009") {
  Loop loop;
  Ended ended(loop);
  WebSocketOptions options;
  options.max_message = 1000;
  const auto server = serve(loop, ended.reader(), options);
  tests::run_on(loop, [&]() -> Task<> {
    auto socket = co_await dial(to(*server));
    REQUIRE(socket);
    Text allowed = make_text(std::string(1000, 'x'));
    auto written = co_await (*socket)->write(allowed);
    Text large = make_text(std::string(1001, 'x'));
    written = co_await (*socket)->write(large);
    auto message = co_await (*socket)->read();
    CHECK_FALSE(message);
    CHECK((*socket)->peer_close_code() == close_code::kTooBig);
    const base::Error error = co_await ended.wait();
    CHECK(error.code() == ErrorCode::limit);
  });
}

TEST_CASE("the limit of a message can be raised later") {
  Loop loop;
  WebSocketOptions options;
  options.max_message = 10;
  const auto server = serve(
      loop,
      [](HttpRequest request, std::shared_ptr<WebSocket> socket) -> Task<> {
        socket->set_max_message(2000);
        co_await echo(std::move(request), socket);
      },
      options);
  tests::run_on(loop, [&]() -> Task<> {
    auto socket = co_await dial(to(*server));
    REQUIRE(socket);
    Text text = make_text(std::string(2000, 'x'));
    auto written = co_await (*socket)->write(text);
    auto answer = co_await (*socket)->read();
    CHECK(answer);
  });
}

TEST_CASE("what is not text, not UTF-8 or not a websocket closes the connection with the code that says so") {
  tests::LoopThread thread;
  std::unique_ptr<HttpServer> server;
  std::atomic<int> ended_with = -1;
  thread.call([&] {
    server = serve(thread.loop(), [&](HttpRequest, std::shared_ptr<WebSocket> socket) -> Task<> {
      auto message = co_await socket->read();
      ended_with = message ? -2 : static_cast<int>(message.error().code());
    });
  });
  const RawPeer peer = raw_client(server->port());
  REQUIRE(peer.read_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
  using namespace std::string_literals;
  unsigned expected = 0;
  SUBCASE("binary") {
    peer.send("\x82\x81\0\0\0\0x"s);
    expected = close_code::kNotText;
  }
  SUBCASE("not UTF-8") {
    peer.send("\x81\x81\0\0\0\0\xff"s);
    expected = close_code::kBadPayload;
  }
  SUBCASE("not masked") {
    peer.send("\x81\x01x"s);
    expected = close_code::kProtocolError;
  }
  SUBCASE("a reserved opcode") {
    peer.send("\x83\x81\0\0\0\0x"s);
    expected = close_code::kProtocolError;
  }
  const std::string frame = peer.read_until("\x03", 5s) + peer.read_until({}, 100ms);
  CHECK(close_code_in("\r\n\r\n" + frame) == expected);
  ::shutdown(peer.fd(), SHUT_WR);
  for (int i = 0; i < 500 && ended_with == -1; ++i)
    std::this_thread::sleep_for(10ms);
  CHECK(ended_with == static_cast<int>(ErrorCode::invalid));
  thread.call([&] { server.reset(); });
}

TEST_CASE("a peer that does not answer heartbeats is dead after two, and a silent one that does lives") {
  Loop loop;
  Ended ended(loop);
  WebSocketOptions options;
  SUBCASE("half open") {
    options.heartbeat = 1s;
    const auto server = serve(loop, ended.reader(), options);
    const auto start = std::chrono::steady_clock::now();
    const RawPeer peer = raw_client(server->port());
    tests::run_on(loop, [&]() -> Task<> {
      const base::Error error = co_await ended.wait();
      CHECK(error.code() == ErrorCode::timed_out);
      CHECK(error.message().find("heartbeats") != std::string::npos);
    });
    const auto took = std::chrono::steady_clock::now() - start;
    CHECK(took > 2500ms);
    CHECK(took < 4500ms);
    CHECK(peer.sees_close(1s));
  }
  SUBCASE("alive") {
    options.heartbeat = 300ms;
    const auto server = serve(loop, ended.reader(), options);
    tests::run_on(loop, [&]() -> Task<> {
      DialOptions how = to(*server);
      how.web_socket.heartbeat = 0ms;
      auto socket = co_await dial(std::move(how));
      REQUIRE(socket);
      const auto reader = [](std::shared_ptr<WebSocket> own) -> Task<> {
        auto message = co_await own->read();
      };
      spawn(loop.get_executor(), reader(*socket));
      co_await sleep_for(1500ms);
      CHECK_FALSE(ended.error);
      (*socket)->abort();
      const base::Error error = co_await ended.wait();
      CHECK(error.code() == ErrorCode::io);
    });
  }
}

TEST_CASE("the heartbeat can be changed later") {
  Loop loop;
  std::optional<base::Error> error;
  const auto server = serve(loop, [&](HttpRequest, std::shared_ptr<WebSocket> socket) -> Task<> {
    socket->set_heartbeat(100ms);
    auto message = co_await socket->read();
    if (!message) error = message.error();
  });
  const RawPeer peer = raw_client(server->port());
  tests::run_on(loop, [&]() -> Task<> {
    for (int i = 0; i < 200 && !error; ++i)
      co_await sleep_for(10ms);
  });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::timed_out);
}

TEST_CASE("a slow reader costs a bounded queue, and its connection when the deadline passes") {
  Loop loop;
  WebSocketOptions options;
  options.write_deadline = 500ms;
  const SendLimits limits{.messages = 50, .bytes = 1'000'000};
  std::optional<base::Error> ended;
  std::size_t refused = 0;
  std::size_t most = 0;
  const auto server = serve(
      loop,
      [&](HttpRequest, std::shared_ptr<WebSocket> socket) -> Task<> {
        SendQueue queue(socket->executor(), limits);
        const auto pushing = [&]() -> Task<> {
          const Text text = make_text(std::string(100'000, 'x'));
          while (co_await queue.room()) {
            while (queue.push(text)) {
            }
            ++refused;
            most = std::max(most, queue.bytes());
          }
        };
        const auto push = pushing;
        spawn(socket->executor(), push());
        auto written = co_await queue.run(socket);
        if (!written) ended = written.error();
        co_await sleep_for(50ms);  // the pusher leaves first
      },
      options);
  const RawPeer peer = raw_client(server->port(), 4096);
  tests::run_on(loop, [&]() -> Task<> {
    while (!ended)
      co_await sleep_for(10ms);
    co_await sleep_for(100ms);
  });
  CHECK(ended->code() == ErrorCode::timed_out);
  CHECK(refused > 0);
  CHECK(most <= limits.bytes);
  CHECK(peer.sees_close(5s));
}

TEST_CASE("an abort ends reading and writing at once") {
  Loop loop;
  std::shared_ptr<WebSocket> held;
  std::optional<base::Error> read_error;
  std::optional<base::Error> write_error;
  const auto server = serve(loop, [&](HttpRequest, std::shared_ptr<WebSocket> socket) -> Task<> {
    held = socket;
    const auto writing = [&]() -> Task<> {
      const Text text = make_text(std::string(1'000'000, 'x'));
      while (!write_error) {
        auto written = co_await held->write(text);
        if (!written) write_error = written.error();
      }
    };
    const auto write = writing;
    spawn(socket->executor(), write());
    auto message = co_await socket->read();
    if (!message) read_error = message.error();
    co_await sleep_for(50ms);
  });
  const RawPeer peer = raw_client(server->port(), 4096);
  tests::run_on(loop, [&]() -> Task<> {
    while (!held)
      co_await sleep_for(10ms);
    co_await sleep_for(200ms);
    CHECK_FALSE(read_error);
    CHECK_FALSE(write_error);
    held->abort();
    co_await sleep_for(30ms);
  });
  REQUIRE(read_error);
  REQUIRE(write_error);
  CHECK(read_error->code() == ErrorCode::cancelled);
  CHECK(write_error->code() == ErrorCode::cancelled);
  held.reset();
}

TEST_CASE("a peer that does not return the goodbye is left after the deadline") {
  Loop loop;
  WebSocketOptions options;
  options.close_deadline = 300ms;
  std::optional<std::chrono::steady_clock::duration> took;
  const auto server = serve(
      loop,
      [&](HttpRequest, std::shared_ptr<WebSocket> socket) -> Task<> {
        const auto start = std::chrono::steady_clock::now();
        co_await socket->close(close_code::kNormal, "");
        took = std::chrono::steady_clock::now() - start;
      },
      options);
  const RawPeer peer = raw_client(server->port());
  tests::run_on(loop, [&]() -> Task<> {
    while (!took)
      co_await sleep_for(10ms);
  });
  CHECK(*took > 200ms);
  CHECK(*took < 2s);
  const std::string bytes = peer.read_all();
  CHECK(close_code_in(bytes) == close_code::kNormal);
}

TEST_CASE("the newest message of a slot takes the unsent older one's place") {
  Loop loop;
  bool full = false;
  bool after_close = true;
  const auto server = serve(loop, [&](HttpRequest, std::shared_ptr<WebSocket> socket) -> Task<> {
    const SendLimits limits{.messages = 3, .bytes = 100};
    SendQueue queue(socket->executor(), limits);
    CHECK(queue.push(make_text("first")));
    CHECK(queue.replace("recipe", make_text("recipe 1")));
    CHECK(queue.push(make_text("last")));
    full = !queue.push(make_text("one too many")) && !queue.replace("other", make_text("x"));
    CHECK(queue.replace("recipe", make_text("recipe 2")));
    CHECK_FALSE(queue.replace("recipe", make_text(std::string(100, 'x'))));
    CHECK(queue.messages() == 3);
    CHECK(queue.bytes() == 17);
    queue.close();
    after_close = queue.push(make_text("x"));
    auto written = co_await queue.run(socket);
    CHECK(written);
    co_await socket->close(close_code::kNormal, "");
  });
  tests::run_on(loop, [&]() -> Task<> {
    auto socket = co_await dial(to(*server));
    REQUIRE(socket);
    for (const char* expected : {"first", "recipe 2", "last"}) {
      auto message = co_await (*socket)->read();
      REQUIRE(message);
      CHECK(*message == expected);
    }
    auto message = co_await (*socket)->read();
    CHECK_FALSE(message);
  });
  CHECK(full);
  CHECK_FALSE(after_close);
}

TEST_CASE("HTTP and websockets share a port, and an upgrade can be refused") {
  tests::LoopThread thread;
  std::unique_ptr<HttpServer> server;
  thread.call([&] {
    const auto refuse = [](const HttpRequest& request) -> std::optional<HttpResponse> {
      if (request.header("Authorization").empty()) return HttpResponse{.status = 401, .body = "who?"};
      return std::nullopt;
    };
    auto listening =
        HttpServer::listen(thread.loop(), {}, not_found, {{"/agent/", echo}, {"/private/", echo, refuse}});
    REQUIRE(listening);
    server = std::move(*listening);
    server->start();
  });
  const auto ask = [&](std::string path, std::string headers) {
    const RawPeer peer = RawPeer::connect(server->port());
    peer.send("GET " + path + " HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n");
    return peer.read_until("\r\n");
  };
  const std::string upgrade =
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
      "Sec-WebSocket-Version: 13\r\n";
  CHECK(ask("/agent/", upgrade).starts_with("HTTP/1.1 101 "));
  CHECK(ask("/agent/", "").starts_with("HTTP/1.1 404 "));
  CHECK(ask("/other/", upgrade).starts_with("HTTP/1.1 404 "));
  CHECK(ask("/private/", upgrade).starts_with("HTTP/1.1 401 "));
  CHECK(ask("/private/", upgrade + "Authorization: x\r\n").starts_with("HTTP/1.1 101 "));
  CHECK(ask("/agent/", "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 12\r\n")
            .starts_with("HTTP/1.1 4"));
  thread.call([&] { server.reset(); });
}

TEST_CASE("an IPv6 address works like any other") {
  Loop loop;
  HttpServerOptions probe;
  probe.listen = "[::1]:0";
  if (!HttpServer::listen(loop, probe, not_found)) return;  // this machine has no IPv6
  const auto server = serve(loop, echo, {}, "[::1]:0");
  tests::run_on(loop, [&]() -> Task<> {
    auto socket = co_await dial(to(*server));
    REQUIRE(socket);
    CHECK((*socket)->peer().starts_with("[::1]:"));
    Text text = make_text("six");
    auto written = co_await (*socket)->write(text);
    auto answer = co_await (*socket)->read();
    REQUIRE(answer);
    CHECK(*answer == "six");
  });
}
