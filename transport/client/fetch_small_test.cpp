// Documents, which are fetched into memory.
#include <doctest/doctest.h>

#include "tests/support/download_bench.hpp"
#include "tests/support/tls_bench.hpp"
#include "transport/client/download.hpp"

using namespace transport;
using tests::RawPeer;
using tests::RawServer;
using tests::says;

TEST_CASE("documents are fetched into memory, up to their limit") {
  const FetchOptions options;
  const RawServer server([](const RawPeer& peer, const std::string& head) {
    peer.send(head.starts_with("GET /none") ? "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
                                            : "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789");
  });
  const auto got = fetch_small(server.url(), 10, options);
  REQUIRE(got);
  CHECK(*got == "0123456789");
  CHECK(fetch_small(server.url(), 9, options).error().code() == base::ErrorCode::limit);
  CHECK(fetch_small(server.url("/none"), 10, options).error().code() == base::ErrorCode::not_found);
  const tests::ScratchFolder folder;
  folder.write("d", "text");
  CHECK(*fetch_small(folder / "d", 4, options) == "text");
  CHECK(fetch_small(folder / "d", 3, options).error().code() == base::ErrorCode::limit);
  CHECK(fetch_small(folder / "e", 3, options).error().code() == base::ErrorCode::not_found);
}

TEST_CASE("a part of a document, or one that is compressed, is not taken for the document") {
  tests::DownloadBench bench;
  const auto problem = [&bench](const std::string& answer) {
    const RawServer server(says("HTTP/1.1 " + answer));
    return bench.document_problem(server.url());
  };
  const std::string part = "206 Partial Content\r\n";
  CHECK(has(problem(part + "Content-Range: bytes 0-9/10\r\nContent-Length: 10\r\n\r\n0123456789"),
            "sends a part where the whole was asked for"));
  CHECK(has(problem(part + "Content-Length: 10\r\n\r\n0123456789"), "sends a part"));
  CHECK(
      has(problem("200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 10\r\n\r\n0123456789"), "compresses"));
  CHECK(bench.code == base::ErrorCode::invalid);
  CHECK(problem("200 OK\r\nContent-Length: 10\r\n\r\n0123456789") == "");
}
