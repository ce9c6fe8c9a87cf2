// Websockets over TLS: both ways at once, in small pieces, and how they end.
#include <algorithm>
#include <boost/asio/write.hpp>

#include <doctest/doctest.h>
#include <openssl/ssl.h>

#include "tests/support/tls_bench.hpp"
#include "transport/client/connect.hpp"
#include "transport/web_socket/send_queue.hpp"

using namespace std::chrono_literals;
using namespace transport;

namespace {

ConnectOptions way_to(const TlsBench& bench) {
  return {.uri = *parse_uri("https://" + bench.where()),
          .proxy = std::nullopt,
          .resolve_timeout = 5s,
          .connect_timeout = 5s,
          .answer_timeout = 5s,
          .tls_timeout = 5s,
          .tls = bench.client()};
}

std::string pattern(std::size_t size, unsigned seed) {
  std::string text(size, '\0');
  for (char& c : text) {
    seed = seed * 1664525 + 1013904223;
    c = static_cast<char>('a' + (seed >> 24U) % 26);
  }
  return text;
}

Task<std::string> read_answer(Stream& stream) {
  std::string answer;
  std::array<char, 4096> piece;
  while (true) {
    auto [error, count] = co_await stream.async_read_some(asio::buffer(piece), kAsTuple);
    answer.append(piece.data(), count);
    if (error) co_return answer + "[" + (error == asio::error::eof ? "end" : error.message()) + "]";
  }
}

}  // namespace

TEST_CASE("large messages go both ways at once over one secure websocket") {
  TlsBench bench;
  Loop loop;
  constexpr int kMessages = 12;
  int received = 0;
  bool same = true;
  tests::run_on(
      loop,
      [&]() -> Task<> {
        auto way = bench.socket_to(bench.client());
        auto dialled = co_await dial(std::move(way));
        REQUIRE(dialled);
        const auto socket = *dialled;
        auto hello = co_await socket->read();
        REQUIRE(hello);
        const auto writing = [&]() -> Task<> {
          for (unsigned i = 0; i < kMessages; ++i) {
            Text text = make_text(pattern(3'000'000 + i, i));
            auto written = co_await socket->write(std::move(text));
            REQUIRE(written);
          }
        };
        spawn(socket->executor(), writing());
        for (unsigned i = 0; i < kMessages; ++i) {
          auto message = co_await socket->read();
          REQUIRE(message);
          same = same && *message == pattern(3'000'000 + i, i);
          ++received;
        }
        co_await socket->close(close_code::kNormal, "");
      },
      60s);
  CHECK(received == kMessages);
  CHECK(same);
  CHECK(bench.reaches(0));
}

TEST_CASE("both sides write without waiting for the other, and neither starves") {
  const tests::TestAuthority authority;
  auto tls = TlsServer::make(identity(authority.issue({.names = "IP:127.0.0.1"})), authority.pem());
  REQUIRE(tls);
  const auto chat = [](std::shared_ptr<WebSocket> socket, int& count) -> Task<> {
    const auto queue =
        std::make_shared<SendQueue>(socket->executor(), SendLimits{.messages = 64, .bytes = 64'000'000});
    const auto writing = [](std::shared_ptr<SendQueue> from, std::shared_ptr<WebSocket> to) -> Task<> {
      auto written = co_await from->run(std::move(to));
    };
    for (unsigned i = 0; i < 20; ++i)
      queue->push(make_text(pattern(1'000'000, i)));
    spawn(socket->executor(), writing(queue, socket));
    while (count < 20) {
      auto message = co_await socket->read();
      if (!message) break;
      if (*message == pattern(1'000'000, static_cast<unsigned>(count))) ++count;
    }
    queue->close();
  };
  int at_server = 0;
  int at_client = 0;
  HttpServerOptions options;
  options.tls = *tls;
  options.web_socket.max_message = 2'000'000;
  Loop loop;
  auto server = HttpServer::listen(
      loop, options, answer_tls,
      {{"/agent/", [&](HttpRequest, std::shared_ptr<WebSocket> socket) { return chat(socket, at_server); }}});
  REQUIRE(server);
  (*server)->start();
  tests::run_on(
      loop,
      [&]() -> Task<> {
        DialOptions to;
        to.uri = *parse_uri("wss://" + (*server)->address() + "/agent/");
        to.tls = TlsBench::make_client({.ca = authority.pem(), .ca_hash = {}});
        to.web_socket.max_message = 2'000'000;
        auto socket = co_await dial(to);
        REQUIRE(socket);
        co_await chat(*socket, at_client);
        while (at_server < 20)
          co_await sleep_for(10ms);
      },
      60s);
  CHECK(at_server == 20);
  CHECK(at_client == 20);
}

TEST_CASE("a request that comes byte by byte, each in a record of its own, is understood") {
  TlsBench bench;
  Loop loop;
  std::string answer;
  tests::run_on(loop, [&]() -> Task<> {
    auto way = way_to(bench);
    auto stream = co_await connect(std::move(way));
    REQUIRE(stream);
    const std::string request = "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    for (const char c : request) {
      auto [error, count] = co_await stream->async_write_some(asio::buffer(&c, 1), kAsTuple);
      REQUIRE(count == 1);
    }
    answer = co_await read_answer(*stream);
  });
  CHECK(answer.starts_with("HTTP/1.1 200 OK"));
  CHECK(answer.ends_with("nobody[end]"));  // TLS's goodbye, not a cut
}

TEST_CASE("many small buffers of one write become one record") {
  TlsBench bench;
  Loop loop;
  std::string answer;
  std::size_t taken = 0;
  tests::run_on(loop, [&]() -> Task<> {
    auto way = way_to(bench);
    auto stream = co_await connect(std::move(way));
    REQUIRE(stream);
    const std::vector<std::string> pieces = {"GET",          " /",    "",        " HTTP/1.1\r\nHost: h\r\n",
                                             "Connection: ", "close", "\r\n\r\n"};
    std::vector<asio::const_buffer> buffers;
    for (const std::string& piece : pieces)
      buffers.push_back(asio::buffer(piece));
    const auto before = ::BIO_number_written(::SSL_get_wbio(stream->ssl()));
    auto [error, count] = co_await stream->async_write_some(buffers, kAsTuple);
    taken = count;
    // A record costs 5 bytes of header, 16 of tag, and one for its kind.
    CHECK(::BIO_number_written(::SSL_get_wbio(stream->ssl())) - before == count + 22);
    answer = co_await read_answer(*stream);
  });
  CHECK(taken == 46);
  CHECK(has(answer, "200 OK"));
}

TEST_CASE("keys are changed in the middle, from either side, and nothing is lost") {
  TlsBench bench;
  Loop loop;
  std::string answer;
  tests::run_on(loop, [&]() -> Task<> {
    auto way = way_to(bench);
    auto stream = co_await connect(std::move(way));
    REQUIRE(stream);
    const std::string body = pattern(500'000, 1);
    const std::string request = "POST /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: " +
                                std::to_string(body.size()) + "\r\n\r\n" + body;
    for (std::size_t at = 0; at < request.size(); at += 50'000) {
      REQUIRE(::SSL_key_update(stream->ssl(), SSL_KEY_UPDATE_REQUESTED) == 1);
      const std::string piece = request.substr(at, 50'000);
      auto [error, count] = co_await asio::async_write(*stream, asio::buffer(piece), kAsTuple);
      REQUIRE_FALSE(error);
    }
    answer = co_await read_answer(*stream);
  });
  CHECK(answer.ends_with(pattern(500'000, 1) + "[end]"));
}

TEST_CASE("a connection that is cut is told from one that has ended") {
  TlsBench bench;
  Loop loop;
  std::string cut;
  tests::run_on(loop, [&]() -> Task<> {
    auto way = bench.socket_to(bench.client());
    auto polite = co_await dial(std::move(way));
    REQUIRE(polite);
    auto hello = co_await (*polite)->read();
    co_await (*polite)->close(close_code::kNormal, "enough");

    auto again = way_to(bench);
    auto stream = co_await connect(std::move(again));
    REQUIRE(stream);
    // One request is answered, so that the server is known to wait for the next.
    const std::string request = "GET /who HTTP/1.1\r\nHost: x\r\n\r\n";
    std::array<char, 4096> piece;
    (void)co_await asio::async_write(*stream, asio::buffer(request), kAsTuple);
    (void)co_await stream->async_read_some(asio::buffer(piece), kAsTuple);
    bench.thread.call([&] {
      spawn(bench.thread.loop().get_executor(), [](HttpServer& server) -> Task<> {
        server.stop();
        (void)co_await server.drained(0ms);
      }(*bench.server));
    });
    cut = co_await read_answer(*stream);
  });
  CHECK_MESSAGE(has(cut, "without TLS's goodbye"), cut);
  CHECK(bench.reaches(0));
}

TEST_CASE("aborting and closing in the middle of a handshake ends it at once") {
  const tests::RawListener silent;
  Loop loop;
  const tests::TestAuthority authority;
  const auto start = std::chrono::steady_clock::now();
  tests::run_on(loop, [&]() -> Task<> {
    DialOptions options;
    options.uri = *parse_uri("wss://127.0.0.1:" + std::to_string(silent.port()) + "/agent/");
    options.tls = TlsBench::make_client({.ca = authority.pem(), .ca_hash = {}});
    options.tls_timeout = 200ms;
    auto socket = co_await dial(options);
    REQUIRE_FALSE(socket);
    CHECK(socket.error().code() == base::ErrorCode::timed_out);
  });
  CHECK(std::chrono::steady_clock::now() - start < 2s);
  // A loop that ends with a handshake under way leaves nothing behind (seen with the sanitizers).
  Loop abandoned;
  const auto dialling = [](DialOptions options) -> Task<> {
    auto socket = co_await dial(std::move(options));
  };
  DialOptions options;
  options.uri = *parse_uri("wss://127.0.0.1:" + std::to_string(silent.port()) + "/agent/");
  options.tls = TlsBench::make_client({.ca = authority.pem(), .ca_hash = {}});
  spawn(abandoned.get_executor(), dialling(options));
  abandoned.run_for(100ms);
}

TEST_CASE("an abort ends reading and writing of a secure websocket at once") {
  TlsBench bench;
  Loop loop;
  std::optional<base::Error> read_error;
  std::optional<base::Error> write_error;
  tests::run_on(loop, [&]() -> Task<> {
    DialOptions options = bench.socket_to(bench.client());
    auto socket = co_await dial(options);
    REQUIRE(socket);
    const auto held = *socket;
    const auto writing = [&]() -> Task<> {
      const Text text = make_text(std::string(7'000'000, 'x'));
      while (!write_error) {
        auto written = co_await held->write(text);
        if (!written) write_error = written.error();
      }
    };
    const auto reading = [&]() -> Task<> {
      auto hello = co_await held->read();
      // Nothing more is taken, so that the echo and then our writing stall.
      co_await sleep_for(500ms);
      held->abort();
      auto message = co_await held->read();
      if (!message) read_error = message.error();
    };
    spawn(held->executor(), writing());
    co_await reading();
    co_await sleep_for(50ms);
  });
  REQUIRE(read_error);
  REQUIRE(write_error);
  CHECK(read_error->code() == base::ErrorCode::cancelled);
  CHECK(write_error->code() == base::ErrorCode::cancelled);
  CHECK(bench.reaches(0));
}
