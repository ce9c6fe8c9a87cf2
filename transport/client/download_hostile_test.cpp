// Servers that cut off, never end, dawdle or send elsewhere: nothing is taken that is not whole, nothing is
// waited for without end, nobody else is asked. For large files and for documents.
//
// Compiled alone: its names are those of other tests.
#include <filesystem>

#include <doctest/doctest.h>

#include "tests/support/download_bench.hpp"
#include "tests/support/tls_bench.hpp"
#include "transport/client/download.hpp"

using namespace std::chrono_literals;
using namespace transport;
using tests::DownloadBench;
using tests::never_ends;
using tests::RawPeer;
using tests::RawServer;
using tests::says;
using tests::trickles;

namespace {

const std::string kFile = "0123456789";

// Sends what it is asked for, all of it or the rest.
void serve_honestly(const RawPeer& peer, const std::string& head) {
  const std::string_view range = "Range: bytes=";
  const std::size_t at = head.find(range);
  if (at == std::string::npos) {
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + kFile);
    return;
  }
  const std::string from(1, head.at(at + range.size()));
  peer.send("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + from + "-9/10\r\n\r\n" +
            kFile.substr(std::stoul(from)));
}

}  // namespace

TEST_CASE("an answer that is cut off anywhere is noticed, and what came of it is continued or thrown away") {
  std::string answer;
  SUBCASE("with a length") {
    answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789";
  }
  SUBCASE("in chunks") {
    answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n";
  }
  DownloadBench bench;
  const RawServer honest(serve_honestly);
  for (std::size_t size = 0; size < answer.size(); ++size) {
    CAPTURE(size);
    const RawServer server(says(answer.substr(0, size)));
    std::filesystem::remove(bench.request.file);
    CHECK(bench.problem(server.url()) != "");
    CHECK(bench.document_problem(server.url()) != "");
    // Without a file: as with one that is empty.
    CHECK(kFile.starts_with(bench.folder.read("f.part")));
    REQUIRE(bench.get(honest.url()));
    CHECK(bench.folder.read("f.part") == kFile);
  }
  const RawServer server(says(answer));
  std::filesystem::remove(bench.request.file);
  CHECK(bench.get(server.url()));
  CHECK(*fetch_small(server.url(), 10, bench.options) == kFile);
}

TEST_CASE("an answer that never ends is left soon, whatever part of it is without end") {
  DownloadBench bench;
  bench.options.rate_window = 2s;
  const std::string good = "HTTP/1.1 200 OK\r\n", chunked = good + "Transfer-Encoding: chunked\r\n\r\n";
  std::string beginning = good, piece;
  SUBCASE("the status line") {
    beginning = "HTTP/1.1 200 O";
    piece = "K";
  }
  SUBCASE("one header") {
    beginning = good + "X-Long: ";
    piece = "x";
  }
  SUBCASE("many headers") {
    piece = "X: y\r\n";
  }
  SUBCASE("answers before the answer") {
    piece = "HTTP/1.1 100 Continue\r\n\r\n";
    beginning = piece;
  }
  SUBCASE("the body") {
    beginning = good + "\r\n";
    piece = "0123456789";
  }
  SUBCASE("chunks of a byte") {
    beginning = chunked;
    piece = "1\r\n0\r\n";
  }
  SUBCASE("an extension of a chunk") {
    beginning = chunked + "4;x=";
    piece = "y";
  }
  SUBCASE("the length of a chunk") {
    beginning = chunked;
    piece = "0";
  }
  SUBCASE("what follows the last chunk") {
    beginning = chunked + "a\r\n0123456789\r\n0\r\n";
    piece = "X: y\r\n";
  }
  const RawServer server(never_ends(beginning, piece));
  const auto start = std::chrono::steady_clock::now();
  const std::string problem = bench.problem(server.url());
  CAPTURE(problem);
  CHECK(problem != "");
  CHECK((bench.code == base::ErrorCode::limit || bench.code == base::ErrorCode::invalid));
  CHECK_FALSE(bench.folder.exists("f.part"));
  CHECK(bench.document_problem(server.url()) != "");
  CHECK((bench.code == base::ErrorCode::limit || bench.code == base::ErrorCode::invalid));
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}

TEST_CASE("a redirect is not followed: whom it names is never asked") {
  const RawServer elsewhere(serve_honestly);
  for (const char* status : {"301 Moved Permanently", "302 Found", "303 See Other", "307 Temporary Redirect",
                             "308 Permanent Redirect", "300 Multiple Choices", "304 Not Modified"}) {
    CAPTURE(status);
    DownloadBench bench;
    const RawServer server(says("HTTP/1.1 " + std::string(status) + "\r\nLocation: " + elsewhere.url() +
                                "\r\nContent-Length: 0\r\n\r\n"));
    CHECK(has(bench.problem(server.url()), "redirects are not followed"));
    CHECK(bench.code == base::ErrorCode::invalid);
    CHECK(has(bench.document_problem(server.url()), "redirects are not followed"));
    CHECK(bench.code == base::ErrorCode::invalid);
    CHECK_FALSE(bench.folder.exists("f.part"));
  }
  // Nor whoever is named in other ways.
  DownloadBench bench;
  const RawServer server(says("HTTP/1.1 200 OK\r\nLocation: " + elsewhere.url() + "\r\nRefresh: 0; url=" +
                              elsewhere.url() + "\r\nContent-Length: 10\r\n\r\n0123456789"));
  CHECK(bench.get(server.url()));
  CHECK(elsewhere.heads().empty());
}

TEST_CASE("a byte now and then holds nobody up, wherever in the answer it comes") {
  DownloadBench bench;
  bench.options.min_rate = 1000;
  bench.options.rate_window = 400ms;
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
  std::string beginning, rest;
  SUBCASE("from the first byte on") {
    rest = head + kFile;
  }
  SUBCASE("in the body") {
    beginning = head;
    rest = kFile;
  }
  SUBCASE("after a quick start") {
    bench.request.limit = 2000;
    beginning = "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + std::string(1000, 'x');
    rest = std::string(1000, 'x');
  }
  SUBCASE("between chunks") {
    beginning = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\n";
    rest = "6\r\n456789\r\n0\r\n\r\n";
  }
  const RawServer server(trickles(beginning, rest, 100ms));
  const auto start = std::chrono::steady_clock::now();
  CHECK(has(bench.problem(server.url()), "that is too slow"));
  CHECK(bench.code == base::ErrorCode::timed_out);
  CHECK(has(bench.document_problem(server.url()), "that is too slow"));
  CHECK(bench.code == base::ErrorCode::timed_out);
  CHECK(std::chrono::steady_clock::now() - start < 5s);
}
