// Documents, which are fetched into memory.
#include <doctest/doctest.h>

#include "tests/support/download_bench.hpp"
#include "transport/download.hpp"

using namespace transport;
using tests::RawPeer;
using tests::RawServer;

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
