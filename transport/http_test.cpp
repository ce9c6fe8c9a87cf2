#include "transport/http.hpp"

#include <doctest/doctest.h>

using namespace transport;

namespace {

std::vector<ServerEvent> parse_events(std::string_view text, std::size_t piece) {
  std::vector<ServerEvent> events;
  EventParser parser(1000);
  for (std::size_t i = 0; i < text.size(); i += piece)
    CHECK(parser.feed(text.substr(i, piece), [&](const ServerEvent& event) {
      events.push_back(event);
      return true;
    }) == EventParser::Outcome::more);
  return events;
}

}  // namespace

TEST_CASE("headers are found in any case") {
  const Headers headers = {{"Content-Type", "a"}, {"X", "b"}, {"x", "c"}};
  CHECK(find_header(headers, "content-type") == "a");
  CHECK(find_header(headers, "X") == "b");
  CHECK(find_header(headers, "Y").empty());
}

TEST_CASE("percent encoding goes both ways, and what is malformed is refused") {
  const std::string all = "a/b c+d%\xc3\xa4\n?&=~";
  CHECK(percent_decode(percent_encode(all), false) == all);
  CHECK(percent_encode("a/b c") == "a%2Fb%20c");
  CHECK(percent_decode("a+b", true) == "a b");
  CHECK(percent_decode("a+b", false) == "a+b");
  for (const char* bad : {"%", "%4", "%zz", "a%00b"})
    CHECK_FALSE(percent_decode(bad, false));
}

TEST_CASE("a target is split into path and query") {
  HttpRequest request;
  REQUIRE(split_target("/a%20b/c?x=1&y=%26+&x=2&&flag", request));
  CHECK(request.path == "/a b/c");
  CHECK(request.parameter("x") == "1");
  CHECK(request.query.count("x") == 2);
  CHECK(request.parameter("y") == "& ");
  CHECK(request.query.count("flag") == 1);
  CHECK(request.parameter("none").empty());
  for (const char* bad : {"", "a", "**", "ftp://h/", "/%", "/?a=%g0"})
    CHECK_FALSE(split_target(bad, request));
}

TEST_CASE("a target as to a proxy is split as if it had come without the server's name") {
  for (const auto& [target, path] :
       std::initializer_list<std::pair<const char*, const char*>>{{"http://h/", "/"},
                                                                  {"HTTPS://h:1/a", "/a"},
                                                                  {"http://h", "/"},
                                                                  {"http://h?x=1", "/"},
                                                                  {"*", "*"}}) {
    CAPTURE(target);
    HttpRequest request;
    REQUIRE(split_target(target, request));
    CHECK(request.path == path);
  }
}

TEST_CASE("events survive the way over the wire, however it is cut up") {
  const std::string text = format_event("1", "result", "line one\nline two\r\nthree\rfour") +
                           ": a comment\n\n" + format_event("2", "", "{}") + "data: crlf\r\n\r\n" +
                           "event: without data\n\n" + format_event("", "x\ny", "");
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, text.size()}) {
    const auto events = parse_events(text, piece);
    REQUIRE(events.size() == 4);
    CHECK(events[0].id == "1");
    CHECK(events[0].event == "result");
    CHECK(events[0].data == "line one\nline two\nthree\nfour");
    CHECK(events[1].id == "2");
    CHECK(events[1].event == "message");
    CHECK(events[1].data == "{}");
    CHECK(events[2].data == "crlf");
    CHECK(events[2].id == "2");
    CHECK(events[3].event == "xy");
    CHECK(events[3].data.empty());
  }
}

TEST_CASE("an event larger than allowed ends the parsing, and so does a sink that has enough") {
  EventParser parser(10);
  const auto never = [](const ServerEvent&) { return true; };
  CHECK(parser.feed("data: 12345678901", never) == EventParser::Outcome::too_large);
  EventParser other(100);
  int seen = 0;
  const auto one = [&](const ServerEvent&) { return ++seen < 1; };
  CHECK(other.feed("data: a\n\ndata: b\n\n", one) == EventParser::Outcome::stopped);
  CHECK(seen == 1);
}
