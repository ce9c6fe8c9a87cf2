// Peers of other makes, old ones, slow ones, and those that speak no TLS.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <thread>

#include <doctest/doctest.h>
#include <openssl/ssl.h>

#include "tests/support/scratch_folder.hpp"
#include "tests/support/tls_bench.hpp"
#include "transport/server/server_state.hpp"

using namespace std::chrono_literals;
using namespace transport;
using tests::RawListener;
using tests::RawPeer;

namespace {

// What a program prints, both streams.
std::string run(const std::string& command) {
  FILE* pipe = ::popen(("timeout 20 sh -c '" + command + "' 2>&1").c_str(), "r");
  REQUIRE(pipe);
  std::string text;
  std::array<char, 4096> piece;
  for (std::size_t got = 0; (got = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;)
    text.append(piece.data(), got);
  ::pclose(pipe);
  return text;
}

// openssl s_client, asking "/", with the folder's files.
std::string s_client(const TlsBench& bench, const tests::ScratchFolder& files, const std::string& options) {
  files.write("ca.pem", bench.authority.pem());
  return run("cd " + files.path() +
             " && printf \"GET / HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n\" | " +
             "openssl s_client -connect " + bench.where() + " -CAfile ca.pem -ign_eof " + options);
}

// The first message of a TLS client, as it would be sent.
std::string client_hello() {
  SSL_CTX* context = ::SSL_CTX_new(::TLS_client_method());
  SSL* ssl = ::SSL_new(context);
  BIO* out = ::BIO_new(::BIO_s_mem());
  ::SSL_set_bio(ssl, ::BIO_new(::BIO_s_mem()), out);
  ::SSL_set_connect_state(ssl);
  ::SSL_do_handshake(ssl);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out, &data);
  std::string hello(data, static_cast<std::size_t>(size));
  ::SSL_free(ssl);
  ::SSL_CTX_free(context);
  return hello;
}

// The error of a client of that port, which is somebody's who is no TLS server of ours.
std::string error_at(std::uint16_t port, std::chrono::milliseconds timeout = 5s) {
  const tests::TestAuthority authority;
  HttpClientOptions options;
  options.server = *parse_uri("https://127.0.0.1:" + std::to_string(port));
  options.tls = TlsBench::make_client({.ca = authority.pem(), .ca_hash = {}});
  options.tls_timeout = timeout;
  HttpClient http(options);
  auto reply = http.request({});
  return reply ? "no error" : reply.error().message();
}

}  // namespace

TEST_CASE("openssl's client is served with TLS 1.2 and 1.3 and good ciphers only") {
  const TlsBench bench;
  const tests::ScratchFolder files;
  for (const char* version : {"-tls1_2", "-tls1_3"}) {
    const std::string said = s_client(bench, files, version);
    CHECK(has(said, "Verify return code: 0 (ok)"));
    CHECK(has(said, "HTTP/1.1 200 OK"));
    CHECK(has(said, "nobody"));
    CHECK(has(said, "Compression: NONE"));
  }
  // Level 0, so that it is the server who refuses.
  CHECK(has(s_client(bench, files, "-tls1_1 -cipher ALL:@SECLEVEL=0"), "alert protocol version"));
  CHECK(has(s_client(bench, files, "-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES128-SHA256"),
            "alert handshake failure"));
  CHECK(has(s_client(bench, files, "-tls1_2 -curves P-521"), "alert handshake failure"));
  CHECK(has(s_client(bench, files, "-tls1_2 -cipher ECDHE-ECDSA-CHACHA20-POLY1305"), "HTTP/1.1 200 OK"));
}

TEST_CASE("openssl's client resumes its session and is still known by its certificate") {
  const TlsBench bench;
  const tests::ScratchFolder files;
  const tests::Signed agent = bench.authority.issue({});
  files.write("agent.pem", agent.chain);
  files.write("agent.key", agent.key);
  for (const std::string version : {"-tls1_2", "-tls1_3"}) {
    const std::string first =
        s_client(bench, files, version + " -cert agent.pem -key agent.key -sess_out session");
    CHECK(has(first, "New, TLSv1"));
    CHECK(has(first, "verified"));
    const std::string second = s_client(bench, files, version + " -sess_in session");
    CHECK(has(second, "Reused, TLSv1"));
    CHECK(has(second, "verified"));
  }
}

TEST_CASE("a client that wants to renegotiate is not obeyed") {
  const TlsBench bench;
  const tests::ScratchFolder files;
  files.write("ca.pem", bench.authority.pem());
  const std::string said = run("cd " + files.path() + " && (echo R; sleep 1) | openssl s_client -connect " +
                               bench.where() + " -CAfile ca.pem -tls1_2");
  CHECK(has(said, "no renegotiation"));
}

TEST_CASE("Python's ssl is served, and sees the end of a response as an end") {
  const TlsBench bench;
  const tests::ScratchFolder files;
  files.write("ca.pem", bench.authority.pem());
  files.write("ask.py",
              "import http.client, ssl, sys\n"
              "context = ssl.create_default_context(cafile=sys.argv[1])\n"
              "c = http.client.HTTPSConnection(sys.argv[2], context=context, timeout=10)\n"
              "for path in ('/', '/large'):\n"
              "    c.request('GET', path)\n"
              "    r = c.getresponse()\n"
              "    print(r.status, len(r.read()))\n"
              "import socket\n"
              "host, port = sys.argv[2].split(':')\n"
              "s = context.wrap_socket(socket.create_connection((host, int(port))), server_hostname=host,\n"
              "                        suppress_ragged_eofs=False)\n"
              "s.sendall(b'GET /large HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n')\n"
              "total = 0\n"
              "while piece := s.recv(65536): total += len(piece)\n"
              "print('whole', total > 4000000)\n");
  const std::string said = run("python3 " + files / "ask.py" + " " + files / "ca.pem" + " " + bench.where());
  CHECK(said == "200 6\n200 4000000\nwhole True\n");
}

TEST_CASE("plain HTTP on a TLS port is answered with what to do") {
  TlsBench bench;
  const RawPeer peer = RawPeer::connect(bench.server->port());
  peer.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string reply = peer.read_all();
  CHECK(reply.starts_with("HTTP/1.1 400 "));
  CHECK(has(reply, "this port speaks TLS: use https:// or wss://"));
  Loop loop;
  std::string error;
  tests::run_on(loop, [&]() -> Task<> {
    DialOptions options;
    options.uri = *parse_uri("ws://" + bench.where() + "/agent/");
    auto socket = co_await dial(options);
    if (!socket) error = socket.error().message();
  });
  CHECK(has(error, "answered 400"));
  CHECK(bench.ask(bench.client()) == "nobody");
}

TEST_CASE("a client says when the other side speaks no TLS, no good one, or nothing at all") {
  Loop loop;
  tests::LoopThread thread;
  std::unique_ptr<HttpServer> plain;
  thread.call([&] { plain = std::move(*HttpServer::listen(thread.loop(), {}, answer_tls)); });
  thread.call([&] { plain->start(); });
  CHECK(has(error_at(plain->port()), "does not speak TLS: is the port right, or is it a plain one"));
  thread.call([&] { plain.reset(); });

  const auto served_by = [&](auto serve, std::chrono::milliseconds timeout = 5s) {
    const RawListener listener;
    std::thread server([&] {
      const RawPeer peer = listener.accept();
      serve(peer);
    });
    std::string error = error_at(listener.port(), timeout);
    server.join();
    return error;
  };
  const auto answers = [](std::string bytes) {
    return [bytes](const RawPeer& peer) {
      (void)peer.read_until("\x03", 1s);
      peer.send(bytes);
      (void)peer.read_all(1s);
    };
  };
  CHECK(has(served_by(answers(std::string("\x15\x03\x01\x00\x02\x02\x46", 7))),
            "no version of TLS that is safe"));
  CHECK(has(served_by(answers(std::string("\x15\x03\x03\x00\x02\x02\x2a", 7))),
            "refused this side's certificate"));
  CHECK(has(served_by([](const RawPeer& peer) { (void)peer.read_until("\x03", 1s); }),
            "hung up during the TLS handshake"));
  CHECK(has(served_by([](const RawPeer& peer) { (void)peer.read_all(3s); }, 300ms),
            "did not finish the TLS handshake in time"));
}

TEST_CASE("peers that stop anywhere in the handshake are dropped, and others are served meanwhile") {
  HttpServerOptions options;
  options.tls_deadline = 600ms;
  TlsBench bench(options);
  const std::string hello = client_hello();
  const auto start = std::chrono::steady_clock::now();
  std::vector<RawPeer> peers;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{100}, hello.size()}) {
    peers.push_back(RawPeer::connect(bench.server->port()));
    peers.back().send(std::string_view(hello).substr(0, size));
  }
  CHECK(bench.ask(bench.client()) == "nobody");
  for (const RawPeer& peer : peers)
    CHECK(peer.sees_close(5s));
  CHECK(std::chrono::steady_clock::now() - start < 3s);
  // One that leaves by itself, in the middle.
  RawPeer::connect(bench.server->port()).send(hello);
  CHECK(bench.reaches(0));
}

TEST_CASE("slow headers, slow bodies and idle connections end over TLS as without it") {
  HttpServerOptions options;
  options.header_deadline = 300ms;
  options.body_deadline = 300ms;
  options.idle_timeout = 300ms;
  const TlsBench bench(options);
  const tests::ScratchFolder files;
  files.write("ca.pem", bench.authority.pem());
  const auto talk = [&](const std::string& text) {
    return run("cd " + files.path() + " && (printf \"" + text +
               "\"; sleep 5) | openssl s_client -quiet -connect " + bench.where() + " -CAfile ca.pem");
  };
  const auto start = std::chrono::steady_clock::now();
  CHECK(has(talk("GET / HT"), "408 Request Timeout"));
  CHECK(has(talk("POST /echo HTTP/1.1\\r\\nHost: h\\r\\nContent-Length: 10\\r\\n\\r\\nhalf"),
            "408 Request Timeout"));
  CHECK(has(talk("GET / HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n"), "nobody"));
  CHECK(std::chrono::steady_clock::now() - start < 18s);
}

TEST_CASE("handshakes that hang at one address are nobody else's business") {
  HttpServerOptions options;
  options.max_handshaking = 4;
  options.patience = 60s;  // nobody's time is over in this test
  options.tls_deadline = 60s;
  options.max_per_address = 40;
  TlsBench bench(options);
  std::vector<RawPeer> peers;
  std::string_view said;
  SUBCASE("that say nothing") {}
  SUBCASE("that begin and stop") {
    said = std::string_view("\x16\x03\x01", 3);
  }
  // More than there are places for an address: the rest is turned away.
  for (int i = 0; i < 60; ++i) {
    peers.push_back(RawPeer::connect(bench.server->port(), 0, "127.0.0.9"));
    peers.back().send(said);
  }
  CHECK(bench.reaches(40));
  for (int i = 0; i < 5; ++i)
    CHECK(bench.ask(bench.client()) == "nobody");
  CHECK(bench.connections() <= 46);  // those that have just been served say goodbye
}

TEST_CASE("handshakes that hang at several addresses give way to one of another, the oldest of the busiest") {
  HttpServerOptions options;
  options.max_handshaking = 8;
  options.patience = 60s;
  options.tls_deadline = 60s;
  TlsBench bench(options);
  std::vector<RawPeer> peers;
  for (const char* address : {"127.0.0.8", "127.0.0.9"})
    for (int i = 0; i < 10; ++i) {
      peers.push_back(RawPeer::connect(bench.server->port(), 0, address));
      peers.back().send(std::string_view("\x16\x03\x01", 3));
    }
  // The second address may have taken one of the first one's by now.
  std::this_thread::sleep_for(300ms);
  CHECK(bench.ask(bench.client()) == "nobody");
  CHECK(peers.front().sees_close(5s));
}

TEST_CASE("a full server makes room for a quiet address, and turns the busy one away") {
  HttpServerOptions options;
  options.max_connections = 20;
  options.patience = 60s;
  options.tls_deadline = 60s;
  TlsBench bench(options);
  std::vector<RawPeer> peers;
  for (int i = 0; i < 30; ++i)
    peers.push_back(RawPeer::connect(bench.server->port(), 0, "127.0.0.9"));
  CHECK(peers.back().sees_close(5s));
  CHECK(bench.reaches(19));  // the last is kept for those whom the server knows
  CHECK(bench.ask(bench.client()) == "nobody");
  CHECK(peers.front().sees_close(5s));
}

TEST_CASE("places are kept for addresses that somebody was admitted from") {
  HttpServerOptions options;
  options.max_handshaking = 4;
  options.patience = 60s;
  options.tls_deadline = 60s;
  TlsBench bench(options);
  const auto client = bench.client();
  Loop loop;
  std::shared_ptr<WebSocket> agent;
  tests::run_on(loop, [&]() -> Task<> {
    auto way = bench.socket_to(client);
    auto socket = co_await dial(std::move(way));
    REQUIRE(socket);
    auto hello = co_await (*socket)->read();
    REQUIRE(hello);
    agent = std::move(*socket);
  });
  // As many addresses as there are places, each with one: none of them has more than its share.
  std::vector<RawPeer> peers;
  for (const char* address : {"127.0.0.5", "127.0.0.6", "127.0.0.7", "127.0.0.8", "127.0.0.9"}) {
    peers.push_back(RawPeer::connect(bench.server->port(), 0, address));
    peers.back().send(std::string_view("\x16\x03\x01", 3));
  }
  REQUIRE(bench.reaches(6));
  CHECK(bench.ask(client) == "nobody");
  for (const RawPeer& peer : peers)
    CHECK_FALSE(peer.sees_close(1ms));
}

TEST_CASE("an address is IPv4's whole and IPv6's first half") {
  const auto key = [](const char* text) { return address_key(asio::ip::make_address(text)); };
  CHECK(key("10.0.0.1") != key("10.0.0.2"));
  CHECK(key("::ffff:10.0.0.1") == key("10.0.0.1"));
  CHECK(key("2001:db8:1:2::1") == key("2001:db8:1:2:ffff::9"));
  CHECK(key("2001:db8:1:2::1") != key("2001:db8:1:3::1"));
}

TEST_CASE("handshakes that hang do not keep others of their own address out for long") {
  HttpServerOptions options;
  options.max_handshaking = 4;
  options.patience = 200ms;
  TlsBench bench(options);
  std::vector<RawPeer> peers;
  for (int i = 0; i < 20; ++i) {
    peers.push_back(RawPeer::connect(bench.server->port()));
    peers.back().send(std::string_view("\x16\x03\x01", 3));
  }
  const auto start = std::chrono::steady_clock::now();
  CHECK(bench.ask(bench.client()) == "nobody");
  CHECK(std::chrono::steady_clock::now() - start < 8s);
}

TEST_CASE("one address has a limit of its own, which websockets do not count in once they are known") {
  HttpServerOptions options;
  options.max_per_address = 3;
  TlsBench bench(options);
  const auto client = bench.client();
  Loop loop;
  std::vector<std::shared_ptr<WebSocket>> sockets;
  tests::run_on(loop, [&]() -> Task<> {
    for (int i = 0; i < 5; ++i) {
      auto way = bench.socket_to(client);
      auto socket = co_await dial(std::move(way));
      REQUIRE(socket);
      auto hello = co_await (*socket)->read();
      REQUIRE(hello);
      sockets.push_back(std::move(*socket));
    }
  });
  std::vector<RawPeer> idle;
  for (int i = 0; i < 3; ++i)
    idle.push_back(RawPeer::connect(bench.server->port()));
  CHECK(bench.reaches(8));
  CHECK(RawPeer::connect(bench.server->port()).sees_close(2s));
  CHECK(has(bench.ask(client), "hung up during the TLS handshake"));
  idle.pop_back();
  CHECK(bench.reaches(7));
  CHECK(bench.ask(client) == "nobody");
}

TEST_CASE("a server that stops during handshakes does not wait for them") {
  TlsBench bench;
  const RawPeer silent = RawPeer::connect(bench.server->port());
  const RawPeer halfway = RawPeer::connect(bench.server->port());
  halfway.send(client_hello());
  CHECK(bench.reaches(2));
  bench.thread.call([&] { bench.server->stop(); });
  CHECK(silent.sees_close(1s));
  CHECK(halfway.sees_close(1s));
  CHECK(bench.reaches(0));
}
