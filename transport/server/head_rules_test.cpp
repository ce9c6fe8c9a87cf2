#include "transport/server/head_rules.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace transport;

namespace {

std::string get(const std::string& fields, const std::string& line = "GET / HTTP/1.1") {
  return line + "\r\n" + fields + "\r\n";
}

// Its status; 0: it may be served.
unsigned status_of(std::string_view head) {
  const auto problem = problem_with_head(head);
  return problem ? problem->status : 0;
}

const std::string kHost = "Host: h\r\n";

}  // namespace

TEST_CASE("a head that has one reading may be served") {
  for (const std::string& fields : {
           std::string("Host: h"),
           std::string("hOST:h"),
           std::string("Host:   ops.example:8963\t "),
           std::string("Host: [::1]:80"),
           std::string("Host: [::ffff:10.0.0.1]"),
           std::string("Host: h:"),
           std::string("Host: h\r\nContent-Length: 0"),
           std::string("Host: h\r\nContent-Length: 007"),
           std::string("Host: h\r\nTransfer-Encoding: chunked"),
           std::string("Host: h\r\nTransfer-Encoding:\t ChUnKeD \t"),
           std::string("Host: h\r\nExpect: 100-Continue\r\nContent-Length: 3"),
           std::string("Host: h\r\nX-Empty:\r\nX-Bytes: \xc3\xa4\tx"),
       }) {
    CAPTURE(fields);
    CHECK(status_of(get(fields + "\r\n")) == 0);
  }
  for (const char* line :
       {"GET /a?b=c%20d&e HTTP/1.1", "HEAD / HTTP/1.1", "X-OWN / HTTP/1.1", "OPTIONS * HTTP/1.1",
        "GET http://other/a HTTP/1.1", "GET HTTPS://other:1?q HTTP/1.1", "GET // HTTP/1.1"}) {
    CAPTURE(line);
    CHECK(status_of(get(kHost, line)) == 0);
  }
  CHECK(status_of(get("", "GET / HTTP/1.0")) == 0);
  CHECK(status_of(get("Expect: anything\r\n", "GET / HTTP/1.0")) == 0);
}

TEST_CASE("a head whose body could end in two places is refused") {
  for (const char* value : {"identity", "xchunked", "gzip", "\"chunked\"", "chunked, identity", "chunked,",
                            ",chunked", "chunked, chunked", "identity, chunked", "chunked;a=b", "chunked\x0b",
                            "", "chunk ed", "chunked gzip", "'chunked'", "\xc3\x83hunked"}) {
    CAPTURE(value);
    CHECK(status_of(get(kHost + "Transfer-Encoding: " + value + "\r\n")) == 400);
  }
  // That there is such a coding is known; that it is not undone here too.
  CHECK(status_of(get(kHost + "Transfer-Encoding: gzip, chunked\r\n")) == 501);
  for (const char* value : {"+3", "-3", "3 3", "3,3", "3, 3", "0x3", "3.0", "", "three", "3;", "3\x0b"}) {
    CAPTURE(value);
    CHECK(status_of(get(kHost + "Content-Length: " + value + "\r\n")) == 400);
  }
  CHECK(status_of(get(kHost + "Content-Length: 99999999999999999999\r\n")) == 413);
  for (const char* fields : {"Content-Length: 3\r\nContent-Length: 3\r\n",
                             "Content-Length: 3\r\ncontent-length: 4\r\n",
                             "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
                             "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
                             "Transfer-Encoding:\r\n chunked\r\n",
                             "Transfer-Encoding : chunked\r\n",
                             "Transfer-Encoding\t: chunked\r\n",
                             " Transfer-Encoding: chunked\r\n",
                             "X: y\r\n Transfer-Encoding: chunked\r\n",
                             "X: y\r\n\t\r\n",
                             "X: y\n Z: z\r\n",
                             "X: y\nTransfer-Encoding: chunked\r\n",
                             "X: y\rTransfer-Encoding: chunked\r\n",
                             "X\r\n",
                             ": y\r\n",
                             "X y: z\r\n",
                             "\"X\": z\r\n",
                             "X(1): z\r\n"}) {
    CAPTURE(fields);
    CHECK(status_of(get(kHost + fields)) == 400);
  }
  CHECK(status_of(get(kHost + std::string("X: a\0b\r\n", 8))) == 400);
  CHECK(status_of(get(kHost + std::string("X\0: b\r\n", 7))) == 400);
  CHECK(status_of(get("Transfer-Encoding: chunked\r\n", "POST / HTTP/1.0")) == 400);
}

TEST_CASE("a request says once, and well, which host it is for") {
  CHECK(status_of(get("")) == 400);
  CHECK(status_of(get(kHost + kHost)) == 400);
  for (const char* value :
       {"",    " ",        "a b",  "a, b", "a,b", "a@b",    "a/b", "a?b",  "http://a", "a:b",     "a:80:80",
        ":80", "a:123456", "[::1", "::1",  "[]",  "[::1]x", "[g]", "a\\b", "a%00",     "\xc3\xa4"}) {
    CAPTURE(value);
    CHECK(status_of(get(std::string("Host: ") + value + "\r\n")) == 400);
  }
  CHECK(status_of(get("Host: " + std::string(300, 'a') + "\r\n")) == 400);
  CHECK(status_of(get(kHost + kHost, "GET / HTTP/1.0")) == 400);
  CHECK(status_of(get("Host: a b\r\n", "GET / HTTP/1.0")) == 400);
}

TEST_CASE("a request line that is none is refused") {
  for (const char* line : {"",
                           "GET",
                           "GET /",
                           "GET  / HTTP/1.1",
                           "GET /  HTTP/1.1",
                           "GET / HTTP/1.1 ",
                           " GET / HTTP/1.1",
                           "GET\t/ HTTP/1.1",
                           "GET / HTTP/1.1\t",
                           "GET /a b HTTP/1.1",
                           "G(T / HTTP/1.1",
                           "GET / http/1.1",
                           "GET / HTTP/11",
                           "GET / HTTP/1.10",
                           "GET / HTTQ/1.1",
                           "GET a HTTP/1.1",
                           "GET * HTTP/1.1",
                           "GET /a#b HTTP/1.1",
                           "GET ftp://h/ HTTP/1.1",
                           "GET http:// HTTP/1.1",
                           "GET http://a@b/ HTTP/1.1",
                           "GET http:///a HTTP/1.1",
                           "GET /\xc3\xa4 HTTP/1.1",
                           "GET h:80 HTTP/1.1"}) {
    CAPTURE(line);
    CHECK(status_of(get(kHost, line)) == 400);
  }
  CHECK(status_of(get(kHost, std::string(40, 'A') + " / HTTP/1.1")) == 400);
  CHECK(status_of(get(kHost, "CONNECT h:80 HTTP/1.1")) == 501);
  for (const char* version : {"HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/3.0"})
    CHECK(status_of(get(kHost, std::string("GET / ") + version)) == 505);
}

TEST_CASE("other expectations and too many fields are refused with their own status") {
  CHECK(status_of(get(kHost + "Expect: tea\r\n")) == 417);
  std::string fields = kHost;
  for (std::size_t i = 1; i < kMostFields; ++i)
    fields += "X: y\r\n";
  CHECK(status_of(get(fields)) == 0);
  CHECK(status_of(get(fields + "X: y\r\n")) == 431);
}

TEST_CASE("the end of a head is found however it is cut, and a bad byte at once") {
  const std::string head = get(kHost);
  for (std::size_t cut = 0; cut <= head.size(); ++cut) {
    HeadScan scan;
    if (cut < head.size()) CHECK(scan.feed(head.substr(0, cut)) == HeadScan::Outcome::more);
    CHECK(scan.feed(head + "rest\n") == HeadScan::Outcome::whole);
    CHECK(scan.size() == head.size());
  }
  using namespace std::string_view_literals;
  for (const std::string_view bad :
       {"GET / HTTP/1.1\n"sv, "G\0"sv, "GET\r "sv, "\x16\x03\x01"sv, "GET /\x7f"sv}) {
    HeadScan scan;
    CHECK(scan.feed(bad) == HeadScan::Outcome::malformed);
  }
  CHECK(status_of("GET / HTTP/1.1\r\nHost: h\r\n") == 400);
  CHECK(status_of(head + "more") == 400);
}

TEST_CASE("chunk extensions are short and have no control characters") {
  using namespace std::string_view_literals;
  for (const std::string_view good : {""sv, ";a"sv, ";a=b;c=\"d e\""sv, " ; a = b"sv})
    CHECK(is_good_chunk_extension(good));
  for (const std::string_view bad : {";a=\"\n\""sv, ";a=\"\r\""sv, ";a=\"\0\""sv, ";\x7f"sv})
    CHECK_FALSE(is_good_chunk_extension(bad));
  CHECK_FALSE(is_good_chunk_extension(";" + std::string(kMostChunkExtension, 'a')));
}
