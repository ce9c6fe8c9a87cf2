#include "transport/client/download.hpp"

#include <thread>

#include <doctest/doctest.h>

#include "tests/support/download_bench.hpp"
#include "tests/support/tls_bench.hpp"

using namespace std::chrono_literals;
using namespace transport;
using tests::DownloadBench;
using tests::RawPeer;
using tests::RawServer;
using tests::says;

TEST_CASE("a file is downloaded whole, by length, in chunks, or until the server hangs up") {
  DownloadBench bench;
  std::string head;
  SUBCASE("length") {
    head = "Content-Length: 10\r\n\r\n0123456789";
  }
  SUBCASE("chunks") {
    head = "Transfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n";
  }
  SUBCASE("until the end") {
    head = "\r\n0123456789";
  }
  const RawServer server(says("HTTP/1.1 200 OK\r\n" + head));
  std::uint64_t seen = 0;
  bench.request.progress = [&](std::uint64_t bytes) { seen = bytes; };
  const auto got = bench.get(server.url("/a%20b?c"));
  REQUIRE(got);
  CHECK(*got == 10);
  CHECK(seen == 10);
  CHECK(bench.folder.read("f.part") == "0123456789");
  CHECK(server.heads().at(0).starts_with("GET /a%20b?c HTTP/1.1\r\n"));
  CHECK(has(server.heads().at(0), "Accept-Encoding: identity\r\n"));
  CHECK_FALSE(has(server.heads().at(0), "Range:"));
}

TEST_CASE("a large body arrives whole, through memory that does not grow") {
  constexpr std::size_t kSize = 20'000'000;
  DownloadBench bench;
  bench.request.limit = kSize;
  std::string body(kSize, 'x');
  for (std::size_t i = 0; i < kSize; i += 7)
    body[i] = static_cast<char>('a' + i % 26);
  const RawServer server(says("HTTP/1.1 200 OK\r\nContent-Length: 20000000\r\n\r\n" + body));
  std::uint64_t largest_step = 0;
  std::uint64_t before = 0;
  bench.request.progress = [&](std::uint64_t bytes) {
    largest_step = std::max(largest_step, bytes - before);
    before = bytes;
  };
  REQUIRE(bench.get(server.url()));
  CHECK(bench.folder.read("f.part") == body);
  CHECK(largest_step <= 64 * 1024);
}

TEST_CASE("what is there already is not asked for again") {
  DownloadBench bench;
  bench.folder.write("f.part", "0123");
  SUBCASE("the server continues") {
    const RawServer server(says(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 4-9/10\r\nContent-Length: 6\r\n\r\n456789"));
    REQUIRE(bench.get(server.url()));
    CHECK(has(server.heads().at(0), "Range: bytes=4-\r\n"));
  }
  SUBCASE("the server has no ranges and sends it anew") {
    const RawServer server(says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"));
    REQUIRE(bench.get(server.url()));
  }
  SUBCASE("416: it starts over, once") {
    const RawServer server([](const RawPeer& peer, const std::string& head) {
      peer.send(has(head, "Range:") ? "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n"
                                    : "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789");
    });
    REQUIRE(bench.get(server.url()));
    CHECK(server.heads().size() == 2);
  }
  SUBCASE("more than there can be: it starts over") {
    bench.folder.write("f.part", "0123456789abc");
    const RawServer server(says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"));
    REQUIRE(bench.get(server.url()));
    CHECK_FALSE(has(server.heads().at(0), "Range:"));
  }
  SUBCASE("all of it: nobody is asked") {
    bench.folder.write("f.part", "0123456789");
    REQUIRE(bench.get("http://127.0.0.1:1/f"));
  }
  CHECK(bench.folder.read("f.part") == "0123456789");
}

TEST_CASE("a download that breaks off is continued where it was") {
  DownloadBench bench;
  const RawServer server([](const RawPeer& peer, const std::string& head) {
    peer.send(has(head, "Range: bytes=4-")
                  ? "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 4-9/10\r\n\r\n456789"
                  : "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123");
  });
  CHECK(has(bench.problem(server.url()), "hung up before its answer was complete"));
  CHECK(bench.code == base::ErrorCode::io);
  CHECK(bench.folder.read("f.part") == "0123");
  REQUIRE(bench.get(server.url()));
  CHECK(bench.folder.read("f.part") == "0123456789");
}

TEST_CASE("a server that lies is refused, and what it sent is thrown away") {
  DownloadBench bench;
  std::string answer;
  std::string words;
  base::ErrorCode code = base::ErrorCode::invalid;
  const std::string part = "HTTP/1.1 206 Partial Content\r\n";
  bool resumes = false;
  SUBCASE("announces too much") {
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n0123456789a";
    words = "more than the 10 bytes";
    code = base::ErrorCode::limit;
  }
  SUBCASE("announces too little") {
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n012345678";
    words = "announces 9 bytes where 10 were expected";
  }
  SUBCASE("chunks without end") {
    answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n01234567\r\n8\r\n01234567\r\n";
    words = "more than the 10 bytes";
    code = base::ErrorCode::limit;
  }
  SUBCASE("chunks that end early") {
    answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n0\r\n\r\n";
    words = "ended after 4 bytes of 10";
  }
  SUBCASE("compresses") {
    answer = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 10\r\n\r\n0123456789";
    words = "compresses";
  }
  SUBCASE("a part that nobody asked for") {
    answer = part + "Content-Range: bytes 0-9/10\r\nContent-Length: 10\r\n\r\n0123456789";
    words = "sends a part where the whole was asked for";
  }
  SUBCASE("another part") {
    resumes = true;
    answer = part + "Content-Range: bytes 3-9/10\r\nContent-Length: 7\r\n\r\n3456789";
    words = "another part";
  }
  SUBCASE("another total") {
    resumes = true;
    answer = part + "Content-Range: bytes 4-8/9\r\nContent-Length: 5\r\n\r\n45678";
    words = "another part";
  }
  SUBCASE("a larger total") {
    resumes = true;
    answer = part + "Content-Range: bytes 4-10/11\r\nContent-Length: 7\r\n\r\n456789a";
    words = "more than the 10 bytes";
    code = base::ErrorCode::limit;
  }
  SUBCASE("less than the rest") {
    resumes = true;
    answer = part + "Content-Range: bytes 4-6/10\r\nContent-Length: 3\r\n\r\n456";
    words = "another part";
  }
  SUBCASE("a length that contradicts the range") {
    resumes = true;
    answer = part + "Content-Range: bytes 4-9/10\r\nContent-Length: 5\r\n\r\n45678";
    words = "announces 9 bytes where 10";
  }
  SUBCASE("an unknown range") {
    resumes = true;
    answer = part + "Content-Range: bytes 4-9/*\r\nContent-Length: 6\r\n\r\n456789";
    words = "does not say which";
  }
  SUBCASE("no range") {
    resumes = true;
    answer = part + "Content-Length: 6\r\n\r\n456789";
    words = "does not say which";
  }
  SUBCASE("a redirect") {
    answer = "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\x01\r\nContent-Length: 0\r\n\r\n";
    answer.erase(answer.find('\x01'), 1);
    words = "redirects are not followed";
  }
  SUBCASE("no HTTP at all") {
    answer = "220 mail ESMTP\r\n\r\n";
    words = "does not speak HTTP";
  }
  if (resumes) bench.folder.write("f.part", "0123");
  const RawServer server(says(answer));
  const std::string problem = bench.problem(server.url());
  CAPTURE(problem);
  CHECK(has(problem, words));
  CHECK(bench.code == code);
  CHECK_FALSE(bench.folder.exists("f.part"));
}

TEST_CASE("a body without length or end costs no more than its limit") {
  DownloadBench bench;
  const RawServer server([](const RawPeer& peer, const std::string&) {
    peer.send("HTTP/1.1 200 OK\r\n\r\n");
    const std::string piece(65536, 'x');
    while (peer.send(piece)) {
    }
  });
  CHECK(has(bench.problem(server.url()), "more than the 10 bytes"));
  CHECK(bench.code == base::ErrorCode::limit);
}

TEST_CASE("a server that is too slow is left, and what it sent is kept") {
  DownloadBench bench;
  bench.options.min_rate = 1000;
  bench.options.rate_window = 400ms;
  const auto start = std::chrono::steady_clock::now();
  SUBCASE("a byte now and then") {
    const RawServer server([](const RawPeer& peer, const std::string&) {
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
      for (int i = 0; i < 10 && peer.send(std::to_string(i)); ++i)
        std::this_thread::sleep_for(150ms);
    });
    CHECK(has(bench.problem(server.url()), "that is too slow"));
    CHECK(std::string("0123456789").starts_with(bench.folder.read("f.part")));
    CHECK_FALSE(bench.folder.read("f.part").empty());
  }
  SUBCASE("no answer") {
    const RawServer server([](const RawPeer& peer, const std::string&) { (void)peer.read_all(); });
    CHECK(has(bench.problem(server.url()), "that is too slow"));
  }
  SUBCASE("longer than all of it may take") {
    bench.options.rate_window = 1h;
    bench.options.deadline = 300ms;
    const RawServer server([](const RawPeer& peer, const std::string&) { (void)peer.read_all(); });
    CHECK(has(bench.problem(server.url()), "took longer than"));
  }
  CHECK(bench.code == base::ErrorCode::timed_out);
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}

TEST_CASE("a download can be interrupted") {
  DownloadBench bench;
  tests::Flag flag;
  bench.options.interrupt = &flag;
  const RawServer server([&](const RawPeer& peer, const std::string&) {
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123");
    std::this_thread::sleep_for(100ms);
    flag.raised = true;
    (void)peer.read_all();
  });
  const auto start = std::chrono::steady_clock::now();
  CHECK(has(bench.problem(server.url()), "was interrupted"));
  CHECK(bench.code == base::ErrorCode::cancelled);
  CHECK(std::chrono::steady_clock::now() - start < 2s);
  CHECK(bench.folder.read("f.part") == "0123");
}

TEST_CASE("what a server refuses is told from a server that is not there") {
  DownloadBench bench;
  const auto status = [&](const std::string& line) {
    const RawServer server(says("HTTP/1.1 " + line + "\r\nContent-Length: 0\r\n\r\n"));
    (void)bench.problem(server.url());
    return bench.code;
  };
  CHECK(status("404 Not Found") == base::ErrorCode::not_found);
  CHECK(status("403 Forbidden") == base::ErrorCode::permission);
  CHECK(status("503 Service Unavailable") == base::ErrorCode::io);
  CHECK(status("400 Bad Request") == base::ErrorCode::invalid);
  (void)bench.problem("http://127.0.0.1:1/f");
  CHECK(bench.code == base::ErrorCode::io);
  (void)bench.problem("http://no-such-name.invalid/f");
  CHECK(bench.code == base::ErrorCode::io);
  CHECK(has(bench.problem("ftp://127.0.0.1/f"), "ftp"));
  CHECK(bench.code == base::ErrorCode::invalid);
  CHECK(has(bench.problem("ws://127.0.0.1:1/f"), "no place to download from"));
}

TEST_CASE("an absolute path is copied") {
  DownloadBench bench;
  bench.folder.write("source", "0123456789");
  bench.folder.write("f.part", "xx");
  REQUIRE(bench.get(bench.folder / "source"));
  CHECK(bench.folder.read("f.part") == "0123456789");
  bench.folder.write("source", "0123456789a");
  CHECK(has(bench.problem(bench.folder / "source"), "larger than the 10 bytes"));
  bench.folder.write("source", "012345678");
  CHECK(has(bench.problem(bench.folder / "source"), "has 9 bytes where 10"));
  bench.request.exact = false;
  CHECK(*bench.get(bench.folder / "source") == 9);
  CHECK(has(bench.problem(bench.folder.path()), "not a file"));
  (void)bench.problem(bench.folder / "none");
  CHECK(bench.code == base::ErrorCode::not_found);
}

TEST_CASE("a file that cannot be written says so") {
  DownloadBench bench;
  const RawServer server(says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"));
  bench.request.file = bench.folder / "none/f.part";
  CHECK(has(bench.problem(server.url()), "none/f.part"));
  bench.folder.link("link", "/etc/passwd");
  bench.request.file = bench.folder / "link";
  CHECK_FALSE(bench.get(server.url()));
  bench.request.file = "/dev/full";
  CHECK(has(bench.problem(server.url()), "is not a file"));
}

TEST_CASE("over TLS a file comes from a server that is trusted, and from no other") {
  const TlsBench server;
  DownloadBench bench;
  bench.request.limit = 4'000'000;
  const std::string url = "https://" + server.where() + "/large";
  CHECK(has(bench.problem(url), "which authority"));
  bench.options.tls = TlsBench::make_client({.ca = tests::TestAuthority().pem(), .ca_hash = {}});
  CHECK(has(bench.problem(url), "the certificate of "));
  CHECK(bench.code == base::ErrorCode::permission);
  bench.options.tls = server.client();
  const auto got = bench.get(url);
  REQUIRE_MESSAGE(got, got.error().message());
  CHECK(bench.folder.read("f.part") == std::string(4'000'000, 'x'));
  CHECK(*fetch_small("https://" + server.where() + "/", 100, bench.options) == "nobody");
}
