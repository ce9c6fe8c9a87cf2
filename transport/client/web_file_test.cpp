// Compiled alone: its names are those of other tests.
#include "transport/client/web_file.hpp"

#include <fstream>

#include <doctest/doctest.h>

#include "tests/support/tls_bench.hpp"
#include "tests/support/web_files.hpp"

namespace transport {
namespace {

class Text final : public WebFileSink {
 public:
  base::Result<void> begin(std::uint64_t at, const Validators& validators) override {
    text.resize(at);
    seen = validators;
    return {};
  }
  base::Result<void> take(std::string_view bytes) override {
    text.append(bytes);
    return {};
  }
  std::string text;
  Validators seen;
};

struct Bench {
  std::string problem_of(const WebFileRequest& request) {
    auto answer = fetch_web_file(request, options, sink);
    return answer ? "" : answer.error().message();
  }
  std::string problem(const std::string& url) { return problem_of({.url = url, .limit = 1000}); }

  tests::WebFiles server;
  FetchOptions options;
  Text sink;
};

}  // namespace

TEST_CASE("a web file is found behind redirects, relative ones too") {
  Bench bench;
  bench.server.serve("/a/b", {.location = "c?x=1"});
  bench.server.serve("/a/c?x=1", {.location = "/d#part"});
  bench.server.serve("/d", {.location = bench.server.url("/e")});
  bench.server.put("/e", "content", "\"1\"");
  CHECK(bench.problem(bench.server.url("/a/b")) == "");
  CHECK(bench.sink.text == "content");
  CHECK(bench.sink.seen.etag == "\"1\"");
}

TEST_CASE("a web file's redirects end: at ten, at addresses that are none, at other protocols") {
  Bench bench;
  for (int i = 0; i < 11; ++i)
    bench.server.serve("/" + std::to_string(i), {.location = "/" + std::to_string(i + 1)});
  bench.server.put("/11", "content");
  CHECK(bench.problem(bench.server.url("/0")) == "more than 10 redirects");
  CHECK(bench.problem(bench.server.url("/1")) == "");
  bench.server.serve("/self", {.location = "/self"});
  CHECK(bench.problem(bench.server.url("/self")) == "more than 10 redirects");
  bench.server.serve("/file", {.location = "file:///etc/shadow"});
  CHECK(bench.problem(bench.server.url("/file")).starts_with("a redirect that cannot be followed: "));
  bench.server.serve("/socket", {.location = "ws://127.0.0.1/x"});
  CHECK(bench.problem(bench.server.url("/socket")) == "a redirect to ws://, which is not followed");
  bench.server.serve("/user", {.location = "http://a:b@127.0.0.1/x"});
  CHECK(bench.problem(bench.server.url("/user")).starts_with("a redirect that cannot be followed: "));
}

TEST_CASE("a web file is not fetched from http when https leads there") {
  Bench bench;
  bench.server.put("/plain", "content");
  tests::TestAuthority authority;
  tests::LoopThread thread;
  std::unique_ptr<HttpServer> server;
  auto tls = TlsServer::make(identity(authority.issue({.names = "IP:127.0.0.1"})), authority.pem());
  REQUIRE(tls);
  thread.call([&] {
    HttpServerOptions options;
    options.tls = *tls;
    auto listening = HttpServer::listen(thread.loop(), options,
                                        [&](HttpRequest) -> Task<HttpResponse> {
                                          HttpResponse response;
                                          response.status = 302;
                                          response.headers = {{"Location", bench.server.url("/plain")}};
                                          co_return response;
                                        },
                                        {});
    REQUIRE(listening);
    server = std::move(*listening);
    server->start();
  });
  auto client = TlsClient::make({.ca = authority.pem()});
  REQUIRE(client);
  bench.options.tls = *client;
  const std::string url = "https://127.0.0.1:" + std::to_string(server->port()) + "/x";
  CHECK(bench.problem(url).starts_with("a redirect from https to http ("));
  CHECK(bench.server.requests() == 0);
  // And a server that nobody vouches for is not asked.
  auto stranger = TlsClient::make({.ca = tests::TestAuthority().pem()});
  REQUIRE(stranger);
  bench.options.tls = *stranger;
  CHECK_MESSAGE(bench.problem(url).find("certificate") != std::string::npos, bench.problem(url));
  thread.call([&] { server.reset(); });
}

TEST_CASE("a web file's redirect never leads from elsewhere to this machine, however it is written") {
  Bench bench;
  bench.server.put("/latest/meta-data/", "secret");
  const std::string own = bench.server.url("/latest/meta-data/");
  const std::string port = own.substr(own.rfind(':'));
  std::mutex mutex;
  std::string location;
  // What is elsewhere is reached through this, as if it were a proxy of http.
  const tests::RawServer elsewhere([&](const tests::RawPeer& peer, const std::string& head) {
    if (!head.starts_with("CONNECT ") || !peer.send("HTTP/1.1 200 Yes\r\n\r\n")) return;
    if (peer.read_until("\r\n\r\n").empty()) return;
    const std::scoped_lock lock(mutex);
    peer.send("HTTP/1.1 302 Found\r\nLocation: " + location + "\r\nContent-Length: 0\r\n\r\n");
  });
  const std::string proxy = elsewhere.url("").substr(7);
  for (const bool all_by_proxy : {false, true}) {
    auto proxies = all_by_proxy ? Proxies::parse({.proxy = proxy}) : Proxies::parse({.http_proxy = proxy});
    REQUIRE(proxies);
    bench.options.proxies = *proxies;
    for (const char* host :
         {"127.0.0.1", "localhost", "localhost.", "127.1", "0.0.0.0", "[::1]", "2130706433",
          "[::ffff:127.0.0.1]", "0x7f.1", "169.254.169.254", "[fe80::1]", "[fd00:ec2::254]"}) {
      CAPTURE(host);
      CAPTURE(all_by_proxy);
      {
        const std::scoped_lock lock(mutex);
        location = "http://" + std::string(host) + port;
      }
      const std::string why = bench.problem("http://files.example.com/f");
      CHECK_MESSAGE(why.find("which is not followed") != std::string::npos, why);
    }
  }
  CHECK(bench.server.requests() == 0);
  CHECK(bench.sink.text.empty());
  // From this machine to this machine it is followed.
  bench.server.serve("/here", {.location = own});
  bench.options.proxies = {};
  CHECK(bench.problem(bench.server.url("/here")) == "");
  CHECK(bench.sink.text == "secret");
}

TEST_CASE("a web file's name and password are told to its own server only, and never shown") {
  Bench bench;
  tests::WebFiles other;
  other.put("/there", "content");
  bench.server.serve("/f", {.location = other.url("/there")});
  std::string url = bench.server.url("/f");
  url.insert(7, "ann:se%40cret@");
  CHECK(bench.problem(url) == "");
  CHECK(bench.sink.text == "content");
  REQUIRE(bench.server.requests() == 1);
  CHECK(bench.server.heads()[0].find("Authorization: Basic YW5uOnNlQGNyZXQ=\r\n") != std::string::npos);
  CHECK(other.heads()[0].find("Authorization") == std::string::npos);
  CHECK(without_credentials(url) == bench.server.url("/f"));
  CHECK(without_credentials("http://h/a@b") == "http://h/a@b");
}

TEST_CASE("a web file that is known is not sent again") {
  Bench bench;
  bench.server.put("/f", "content", "\"1\"");
  auto answer = fetch_web_file({.url = bench.server.url("/f"), .known = {.etag = "\"1\""}, .limit = 1000},
                               bench.options, bench.sink);
  REQUIRE(answer);
  CHECK(answer->not_modified);
  CHECK(bench.server.bodies() == 0);
  answer = fetch_web_file({.url = bench.server.url("/f"), .known = {.etag = "\"0\""}, .limit = 1000},
                          bench.options, bench.sink);
  REQUIRE(answer);
  CHECK_FALSE(answer->not_modified);
  CHECK(bench.sink.text == "content");
}

TEST_CASE("a web file is continued if its beginning is one of the same, and sent anew if not") {
  Bench bench;
  bench.server.put("/f", "0123456789", "\"1\"");
  const auto continued = [&](Validators begun) {
    bench.sink.text = "01234";
    CHECK(bench.problem_of(
              {.url = bench.server.url("/f"), .from = 5, .begun = std::move(begun), .limit = 1000}) == "");
    CHECK(bench.sink.text == "0123456789");
    return bench.server.heads().back().find("\r\nRange: bytes=5-") != std::string::npos;
  };
  CHECK(continued({.etag = "\"1\""}));
  CHECK(continued({.etag = "\"another\""}));  // asked, and refused by the server
  CHECK_FALSE(continued({.etag = "W/\"1\""}));
  CHECK_FALSE(continued({}));
}

TEST_CASE("a web file that is not there is told by its status, what cannot be reached by its reason") {
  Bench bench;
  CHECK(bench.problem(bench.server.url("/none")) == "HTTP 404");
  bench.server.serve("/broken", {.status = 503});
  CHECK(bench.problem(bench.server.url("/broken")) == "HTTP 503");
  CHECK(bench.problem("http://127.0.0.1:1/f").find("refused") != std::string::npos);
  CHECK(bench.problem("ws://127.0.0.1/f") == "ws:// is not supported, only https:// and http://");
  CHECK(bench.problem("not an address") != "");
}

TEST_CASE("system_trust takes the file that it is given") {
  tests::TestAuthority authority;
  tests::ScratchFolder folder;
  std::ofstream(folder / "ca.pem") << authority.pem();
  CHECK(system_trust(folder / "ca.pem"));
  CHECK_FALSE(system_trust(folder / "none.pem"));
}

}  // namespace transport
