// Compiled alone: its names are those of other tests.
#include "transport/server/http_server.hpp"

#include <sys/resource.h>

#include <atomic>
#include <stdexcept>

#include <doctest/doctest.h>

#include "tests/support/loopback.hpp"

using namespace std::chrono_literals;
using namespace transport;
using tests::RawPeer;

namespace {

// Answers what a test asks for by its path.
Task<HttpResponse> answer(HttpRequest request) {
  HttpResponse response;
  if (request.path == "/echo") {
    response.headers = {{"Content-Type", "text/plain"}, {"X-Query", std::string(request.parameter("q"))}};
    response.body = request.method + " " + request.body;
  } else if (request.path == "/slow") {
    co_await sleep_for(300ms);
    response.body = "late";
  } else if (request.path == "/large") {
    response.body = std::string(4'000'000, 'x');
  } else if (request.path == "/defect") {
    throw std::runtime_error("secret of the house");
  } else if (request.path == "/split") {
    response.headers = {{"X-Bad", "a\r\nSet-Cookie: b"}, {"Content-Length", "7"}, {"X-Good", "c"}};
  } else {
    response.status = 404;
  }
  co_return response;
}

// A server on a thread of its own.
class Server {
 public:
  explicit Server(HttpServerOptions options = {}, HttpHandler handler = answer,
                  std::vector<UpgradeRoute> upgrades = {}) {
    thread_.call([&] {
      auto listening = HttpServer::listen(thread_.loop(), options, handler, upgrades);
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

  RawPeer connect() const { return RawPeer::connect(server_->port()); }
  std::string ask(std::string_view text) const {
    const RawPeer peer = connect();
    peer.send(text);
    return peer.read_all();
  }
  std::size_t connections() {
    std::size_t count = 0;
    thread_.call([&] { count = server_->connections(); });
    return count;
  }
  // Waits for that many.
  bool reaches(std::size_t count) {
    for (int i = 0; i < 500; ++i) {
      if (connections() == count) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  HttpServer& operator*() { return *server_; }
  tests::LoopThread& thread() { return thread_; }

 private:
  tests::LoopThread thread_;
  std::unique_ptr<HttpServer> server_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("several requests use one connection, and the last closes it") {
  const Server server;
  const RawPeer peer = server.connect();
  peer.send("POST /echo?q=a%20b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\none");
  const std::string first = peer.read_until("POST one");
  CHECK(has(first, "HTTP/1.1 200 OK\r\n"));
  CHECK(has(first, "X-Query: a b\r\n"));
  CHECK(has(first, "Content-Length: 8\r\n"));
  CHECK(has(first, "Date: "));
  CHECK_FALSE(has(first, "Connection: close"));
  // Two at once, the second the last.
  peer.send(
      "GET /echo HTTP/1.1\r\nHost: h\r\n\r\nGET /none HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string rest = peer.read_all();
  CHECK(has(rest, "\r\n\r\nGET HTTP/1.1 404 Not Found\r\n"));
  CHECK(has(rest, "Connection: close\r\n"));
}

TEST_CASE("a chunked body, HEAD and Expect are understood") {
  const Server server;
  CHECK(has(
      server.ask("POST /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
      "POST abcde"));
  const std::string head = server.ask("HEAD /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  CHECK(has(head, "Content-Length: 4000000\r\n"));
  CHECK(head.ends_with("\r\n\r\n"));
  const RawPeer peer = server.connect();
  peer.send(
      "PUT /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: "
      "2\r\n\r\n");
  CHECK(peer.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
  peer.send("hi");
  CHECK(has(peer.read_all(), "PUT hi"));
}

TEST_CASE("a request whose end is not clear is refused, and nothing of it runs as the next one") {
  const Server server;
  const std::string hidden = "GET /echo?q=hidden HTTP/1.1\r\nHost: h\r\n\r\n";
  for (const char* encoding :
       {"identity", "xchunked", "gzip", "\"chunked\"", "chunked, identity", "chunked, chunked"}) {
    CAPTURE(encoding);
    const std::string reply =
        server.ask("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: " + std::string(encoding) +
                   "\r\n\r\n" + hidden);
    CHECK(reply.starts_with("HTTP/1.1 400 "));
    CHECK(has(reply, "Connection: close\r\n"));
    CHECK_FALSE(has(reply, "hidden"));
  }
  // In a chunk extension, where some see the end of a line.
  const std::string chunked = "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& body :
       {"1;a=\"\n\"\r\nx\r\n0\r\n\r\n" + hidden, "1;" + std::string(300, 'a') + "\r\nx\r\n0\r\n\r\n",
        std::string("1\nx\r\n0\r\n\r\n"), std::string("1 \r\nx\r\n0\r\n\r\n"),
        std::string("0x1\r\nx\r\n0\r\n\r\n"), std::string("1\r\nxx\r\n0\r\n\r\n"),
        std::string("-1\r\nx\r\n0\r\n\r\n"), std::string("\r\nx\r\n0\r\n\r\n"),
        std::string("11111111111111111\r\nx\r\n0\r\n\r\n"),
        std::string("1\r\nx\r\n0\r\nContent-Length: 5\r\n\r\n")}) {
    CAPTURE(body);
    const std::string reply = server.ask(chunked + body);
    CHECK(reply.starts_with("HTTP/1.1 400 "));
    CHECK_FALSE(has(reply, "hidden"));
  }
}

TEST_CASE("what is unusual and has one reading is served") {
  const Server server;
  const auto last = [&](const std::string& line, const std::string& rest) {
    return server.ask(line + "\r\nHost: h\r\nConnection: close\r\n" + rest);
  };
  CHECK(last("POST /echo HTTP/1.1",
             "Transfer-Encoding: CHUNKED\r\n\r\n3;a=b\r\nabc\r\n00\r\nX-After: 1\r\n\r\n")
            .ends_with("POST abc"));
  CHECK(last("GET http://other/echo?q=x HTTP/1.1", "\r\n").ends_with("\r\n\r\nGET "));
  CHECK(last("\r\nGET /echo HTTP/1.1", "\r\n").ends_with("\r\n\r\nGET "));
  CHECK(last("\r\n\r\nGET /echo HTTP/1.1", "\r\n").starts_with("HTTP/1.1 400 "));
  CHECK(server.ask("GET /echo HTTP/1.0\r\n\r\n").ends_with("\r\n\r\nGET "));
  // A client that speaks 1.0 does not know what 100 is.
  CHECK(server.ask("POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi")
            .starts_with("HTTP/1.1 200"));
  // A trailer is no header.
  CHECK(last("POST /echo HTTP/1.1", "Transfer-Encoding: chunked\r\n\r\n0\r\nConnection: keep-alive\r\n\r\n")
            .ends_with("POST "));
}

TEST_CASE("a connection that makes us wait gives way to another one of its address when its time is over") {
  HttpServerOptions options;
  options.max_per_address = 1;
  options.patience = 100ms;
  const auto never_admits = [](HttpRequest, std::shared_ptr<WebSocket> socket) -> Task<> {
    auto message = co_await socket->read();
  };
  Server server(options, answer, {{"/agent/", never_admits}});
  const RawPeer first = server.connect();
  SUBCASE("that says nothing") {}
  SUBCASE("in the middle of a head") {
    first.send("GET /echo HT");
  }
  SUBCASE("in the middle of a body") {
    first.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
  }
  SUBCASE("between requests") {
    first.send("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK(has(first.read_until("GET "), "200 OK"));
  }
  SUBCASE("as a websocket of which nobody knows whose it is") {
    first.send(
        "GET /agent/ HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n");
    CHECK(has(first.read_until("\r\n\r\n"), "101 "));
  }
  REQUIRE(server.reaches(1));
  std::this_thread::sleep_for(200ms);
  CHECK(has(server.ask("GET /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), "200 OK"));
  CHECK(first.sees_close(5s));
  CHECK(server.reaches(0));
}

TEST_CASE("a connection for which something is done does not give way") {
  HttpServerOptions options;
  options.max_per_address = 1;
  options.patience = 10ms;
  const Server server(options);
  const RawPeer busy = server.connect();
  busy.send("GET /slow HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  std::this_thread::sleep_for(100ms);
  CHECK(has(server.connect().read_all(), "HTTP/1.1 503 "));
  CHECK(busy.read_all().ends_with("late"));
}

TEST_CASE("a large response arrives whole") {
  const Server server;
  const std::string reply = server.ask("GET /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  CHECK(reply.size() - reply.find("\r\n\r\n") - 4 == 4'000'000);
}

TEST_CASE("requests beyond the limits are refused with the status that says so") {
  HttpServerOptions options;
  options.max_header = 2000;
  options.max_body = 1000;
  const Server server(options);
  CHECK(has(server.ask("GET /echo HTTP/1.1\r\nHost: h\r\nX: " + std::string(3000, 'x') + "\r\n\r\n"),
            "HTTP/1.1 431 "));
  CHECK(has(server.ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n"), "HTTP/1.1 413 "));
  CHECK(has(server.ask("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n" +
                       std::string(1024, 'x') + "\r\n0\r\n\r\n"),
            "HTTP/1.1 413 "));
  CHECK(has(server.ask("POST /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 1000\r\n\r\n" +
                       std::string(1000, 'x')),
            "HTTP/1.1 200 "));
  CHECK(has(server.ask("nonsense\r\n\r\n"), "HTTP/1.1 400 "));
  CHECK(has(server.ask("GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n"), "HTTP/1.1 400 "));
  CHECK(has(server.ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nTransfer-Encoding: "
                       "chunked\r\n\r\n0\r\n\r\n"),
            "HTTP/1.1 400 "));
}

TEST_CASE("how large a body may be can depend on who sends it, and is decided by the head") {
  HttpServerOptions options;
  options.max_body = 1000;
  options.body_limit = [](const HttpRequest& request) -> std::size_t {
    return request.header("X-Known").empty() ? 10 : 100'000;
  };
  const Server server(options);
  const auto post = [&](const std::string& head, std::size_t size) {
    return server.ask("POST /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" + head +
                      "Content-Length: " + std::to_string(size) + "\r\n\r\n" + std::string(size, 'x'));
  };
  CHECK(has(post("", 10), "HTTP/1.1 200 "));
  CHECK(has(post("", 11), "HTTP/1.1 413 "));
  CHECK(has(post("X-Known: yes\r\n", 1000), "HTTP/1.1 200 "));
  CHECK(has(post("X-Known: yes\r\n", 1001), "HTTP/1.1 413 "));
  CHECK(has(server.ask("POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: "
                       "chunked\r\n\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n"),
            "HTTP/1.1 413 "));
}

TEST_CASE("who decides about the size of a body has the word about one that is too large") {
  HttpServerOptions options;
  options.body_limit = [](const HttpRequest&) -> std::size_t { return 10; };
  options.too_large = [](HttpRequest request) -> transport::Task<HttpResponse> {
    HttpResponse response;
    response.status = 401;
    response.body = "who are you, " + request.path;
    co_return response;
  };
  const Server server(options);
  const std::string head = "POST /echo HTTP/1.1\r\nHost: h\r\n";
  for (const std::string& rest :
       {"Content-Length: 1000000\r\n\r\n" + std::string(1'000'000, 'x'),
        std::string("Transfer-Encoding: chunked\r\n\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n")}) {
    const std::string reply = server.ask(head + rest);
    CHECK(reply.starts_with("HTTP/1.1 401 "));
    CHECK(has(reply, "Connection: close\r\n"));
    CHECK(reply.ends_with("who are you, /echo"));
  }
}

TEST_CASE("a client that sends its request too slowly is refused, and one that sends none is let go") {
  HttpServerOptions options;
  options.header_deadline = 200ms;
  options.body_deadline = 200ms;
  options.idle_timeout = 200ms;
  Server server(options);
  SUBCASE("in the header") {
    CHECK(has(server.ask("GET /echo HTTP/1.1\r\nHost: h\r\nX: "), "HTTP/1.1 408 "));
  }
  SUBCASE("drop by drop") {
    const RawPeer peer = server.connect();
    for (int i = 0; i < 10; ++i) {
      peer.send("G");
      std::this_thread::sleep_for(50ms);
    }
    CHECK(has(peer.read_all(), "HTTP/1.1 408 "));
  }
  SUBCASE("in the body") {
    CHECK(has(server.ask("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab"), "HTTP/1.1 408 "));
  }
  SUBCASE("nothing at all") {
    CHECK(server.ask("").empty());
  }
  SUBCASE("nothing after the first request") {
    const RawPeer peer = server.connect();
    peer.send("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK(has(peer.read_until("GET "), "200 OK"));
    CHECK(peer.sees_close(3s));
  }
  CHECK(server.reaches(0));
}

TEST_CASE("one connection too many is answered with 503, and there is room again when others have left") {
  HttpServerOptions options;
  options.max_connections = 2;
  Server server(options);
  RawPeer first = server.connect();
  const RawPeer second = server.connect();
  REQUIRE(server.reaches(2));
  CHECK(has(server.connect().read_all(), "HTTP/1.1 503 "));
  first.close();
  REQUIRE(server.reaches(1));
  CHECK(has(server.ask("GET /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), "200 OK"));
}

TEST_CASE("an exception in a handler is a 500 without details, and a header cannot start another") {
  const Server server;
  const std::string defect = server.ask("GET /defect HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  CHECK(has(defect, "HTTP/1.1 500 "));
  CHECK_FALSE(has(defect, "secret"));
  const std::string split = server.ask("GET /split HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  CHECK_FALSE(has(split, "Set-Cookie"));
  CHECK(has(split, "X-Good: c\r\n"));
  CHECK(has(split, "Content-Length: 0\r\n"));
}

TEST_CASE("a stop lets the request that is under way finish and closes idle connections") {
  Server server;
  const RawPeer idle = server.connect();
  idle.send("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(has(idle.read_until("GET "), "200 OK"));
  const RawPeer busy = server.connect();
  busy.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n");
  std::this_thread::sleep_for(100ms);
  std::atomic<int> drained = -1;
  const auto stop = [&]() -> Task<> {
    (*server).stop();
    drained = co_await (*server).drained(5s);
    drained.notify_one();
  };
  server.thread().call([&] { spawn(server.thread().loop().get_executor(), stop()); });
  CHECK(idle.sees_close(250ms));
  const std::string reply = busy.read_all();
  CHECK(has(reply, "Connection: close"));
  CHECK(reply.ends_with("late"));
  drained.wait(-1);
  CHECK(drained == 1);
  CHECK(server.connections() == 0);
}

TEST_CASE("a stop that takes too long ends what is left") {
  HttpServerOptions options;
  Server server(options);
  const RawPeer slow = server.connect();
  slow.send("GET /echo HT");
  REQUIRE(server.reaches(1));
  std::atomic<int> drained = -1;
  const auto stop = [&]() -> Task<> {
    (*server).stop();
    drained = co_await (*server).drained(100ms);
    drained.notify_one();
  };
  server.thread().call([&] { spawn(server.thread().loop().get_executor(), stop()); });
  drained.wait(-1);
  CHECK(drained == 0);
  CHECK(slow.sees_close(1s));
}

TEST_CASE("server-sent events arrive one by one, and the server notices when the client leaves") {
  std::atomic<bool> ended = false;
  const auto stream = [&](EventSink& sink) -> Task<> {
    Wake wake(co_await asio::this_coro::executor);
    sink.on_end([&] { wake.notify(); });
    auto sent = co_await sink.send(format_event("1", "hello", "x"));
    while (!sink.ended())
      co_await wake.wait_for(10s);
    ended = true;
  };
  const auto handler = [&](HttpRequest) -> Task<HttpResponse> {
    HttpResponse response;
    response.headers = {{"Content-Type", "text/event-stream"}};
    response.stream = stream;
    co_return response;
  };
  Server server({}, handler);
  RawPeer peer = server.connect();
  peer.send("GET /events HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string text = peer.read_until("data: x\n\n\r\n");
  CHECK(has(text, "Transfer-Encoding: chunked\r\n"));
  CHECK(has(text, "\r\n\r\n1c\r\nid: 1\nevent: hello\ndata: x\n\n\r\n"));
  CHECK_FALSE(ended);
  SUBCASE("the client leaves") {
    peer.close();
  }
  SUBCASE("the server stops") {
    server.thread().call([&] { (*server).stop(); });
    CHECK(peer.read_all() == "0\r\n\r\n");
  }
  CHECK(server.reaches(0));
  CHECK(ended);
}

TEST_CASE("a stream to a client that does not read ends with the write deadline") {
  std::atomic<std::size_t> sent_bytes = 0;
  std::atomic<int> failed_with = -1;
  const auto stream = [&](EventSink& sink) -> Task<> {
    while (true) {
      auto sent = co_await sink.send(std::string(100'000, 'x'));
      if (!sent) {
        failed_with = static_cast<int>(sent.error().code());
        co_return;
      }
      sent_bytes += 100'000;
    }
  };
  const auto handler = [&](HttpRequest) -> Task<HttpResponse> {
    HttpResponse response;
    response.stream = stream;
    co_return response;
  };
  HttpServerOptions options;
  options.write_deadline = 300ms;
  Server server(options, handler);
  const RawPeer peer = RawPeer::connect((*server).port(), 4096);
  peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  REQUIRE(server.reaches(1));
  CHECK(server.reaches(0));
  CHECK(failed_with == static_cast<int>(base::ErrorCode::timed_out));
  CHECK(sent_bytes < 20'000'000);
}

TEST_CASE("without free descriptors the server waits, and goes on when there are some") {
  const Server server;
  REQUIRE(has(server.ask("GET /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), "200 OK"));
  const RawPeer waiting = server.connect();
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const base::UniqueFd lowest(::dup(0));
  const rlimit none{static_cast<rlim_t>(lowest.get()), limit.rlim_max};
  const RawPeer refused = [&] {
    const RawPeer peer = server.connect();
    return RawPeer(base::UniqueFd(::dup(peer.fd())));
  }();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  waiting.send("GET /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  std::this_thread::sleep_for(300ms);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(has(server.ask("GET /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"), "200 OK"));
}

TEST_CASE("without free descriptors a connection that makes us wait gives its own to the next one") {
  Server server;
  const RawPeer idle = server.connect();
  idle.send("GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
  REQUIRE(has(idle.read_until("GET "), "200 OK"));
  const RawPeer next(base::UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons((*server).port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const int lowest = ::dup(0);
  ::close(lowest);
  const rlimit none{static_cast<rlim_t>(lowest), limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const bool connected = ::connect(next.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  next.send("GET /echo HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string reply = next.read_all();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  REQUIRE(connected);
  CHECK(has(reply, "200 OK"));
  CHECK(idle.sees_close(1s));
}

TEST_CASE("an address that cannot be listened on is an error that says why") {
  Loop loop;
  const auto error = [&](std::string where) {
    HttpServerOptions options;
    options.listen = std::move(where);
    auto server = HttpServer::listen(loop, options, answer);
    return server ? std::string("listens") : server.error().message();
  };
  auto first = HttpServer::listen(loop, {}, answer);
  REQUIRE(first);
  CHECK(has(error((*first)->address()), "does another server run here?"));
  CHECK(has(error("127.0.0.1"), "the port is missing"));
  CHECK(has(error("backend:80"), "not an address of this machine"));
  CHECK(has(error("192.0.2.1:0"), "listening on 192.0.2.1:0"));
  CHECK(error("localhost:0") == "listens");
}
