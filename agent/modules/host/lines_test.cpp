#include "agent/modules/host/lines.hpp"

#include <doctest/doctest.h>

namespace agent::modules {

namespace {

std::unique_ptr<const ::modules::Manifest> manifest() {
  return ::modules::Manifest::read(
             R"({"name": "acme.x", "version": "1.0", "command": ["x"], "schema": {"type": "object"}})", "m")
      .manifest;
}

std::string planned_problem(std::string_view line) {
  auto planned = read_planned(line, 7);
  return planned ? "" : planned.error().message();
}

}  // namespace

TEST_CASE("requests are one line each, type and id first") {
  const Request request{
      .id = 7, .state_id = "a\"b", .parameter = R"({"x":1})", .time_left = std::chrono::seconds(2)};
  CHECK(
      plan_line(request) ==
      "{\"type\":\"plan\",\"id\":7,\"state_id\":\"a\\\"b\",\"deadline_ms\":2000,\"parameter\":{\"x\":1}}\n");
  CHECK(apply_line(request, {{"it", "a", "b\nc", "diff"}}) ==
        "{\"type\":\"apply\",\"id\":7,\"state_id\":\"a\\\"b\",\"deadline_ms\":2000,\"parameter\":{\"x\":1},"
        "\"changes\":[{\"what\":\"it\",\"before\":\"a\",\"after\":\"b\\nc\"}]}\n");
  CHECK(cancel_line(7) == "{\"type\":\"cancel\",\"id\":7}\n");
}

TEST_CASE("a hello must be that of the manifest") {
  const auto module = manifest();
  CHECK(read_hello(R"({"type":"hello","protocol":1,"module":"acme.x","version":"1.0","features":["new"]})",
                   *module));
  for (const char* line : {"", "{", "[]", R"({"type":"planned"})",
                           R"({"type":"hello","protocol":2,"module":"acme.x","version":"1.0"})",
                           R"({"type":"hello","protocol":"1","module":"acme.x","version":"1.0"})",
                           R"({"type":"hello","protocol":1,"module":"acme.y","version":"1.0"})",
                           R"({"type":"hello","protocol":1,"module":"acme.x","version":"1.1"})"})
    CHECK_FALSE(read_hello(line, *module));
}

TEST_CASE("a plan's answer is read, and what is wrong with one is said") {
  const auto planned = read_planned(
      R"({"type":"planned","id":7,"verdict":"change","message":"m","changes":[{"what":"w","before":null,"diff":"d"}],"watch":[]})",
      7);
  REQUIRE(planned);
  CHECK(planned->verdict == states::Verdict::change);
  CHECK(planned->changes[0].what == "w");
  CHECK(planned->changes[0].diff == "d");
  struct Row {
    const char* line;
    const char* said;
  };
  for (const Row& row : {
           Row{"oops", "is not JSON"},
           Row{"7", "not an object"},
           Row{R"({"type":"applied","id":7,"ok":true})",
               "answered with type 'applied'; 'planned' was asked for"},
           Row{R"({"type":"planned","id":8,"verdict":"kept"})",
               "another id (8) than that of the request (7)"},
           Row{R"({"type":"planned","verdict":"kept"})", "no id"},
           Row{R"({"type":"planned","id":"7","verdict":"kept"})", "no id"},
           Row{R"({"type":"planned","id":7,"verdict":"ok"})", "the verdict 'ok'"},
           Row{R"({"type":"planned","id":7,"verdict":"change"})", "without saying in 'changes'"},
           Row{R"({"type":"planned","id":7,"verdict":"kept","changes":[{"what":"w"}]})",
               "'kept' with a list"},
           Row{R"({"type":"planned","id":7,"verdict":"fail"})", "without a 'message'"},
           Row{R"({"type":"planned","id":7,"verdict":"change","changes":[1]})",
               "a change that is not an object"},
           Row{R"({"type":"planned","id":7,"verdict":"change","changes":[{"after":"x"}]})",
               "does not say 'what'"},
           Row{R"({"type":"planned","id":7,"verdict":"kept","message":5})", "'message' that is not text"},
       }) {
    CAPTURE(row.line);
    CHECK_MESSAGE(planned_problem(row.line).find(row.said) != std::string::npos, planned_problem(row.line));
  }
}

TEST_CASE("an answer is cut to what people read, and one with too many changes is refused") {
  const std::string long_text(100'000, 'x');
  const auto planned =
      read_planned(R"({"type":"planned","id":7,"verdict":"change","changes":[{"what":"w","after":")" +
                       long_text + R"(","diff":")" + long_text + R"("}]})",
                   7);
  REQUIRE(planned);
  CHECK(planned->changes[0].after.size() < kLongestMessage + 100);
  CHECK(planned->changes[0].diff.size() < kLongestDiff + 100);
  std::string many;
  for (std::size_t i = 0; i <= kMostChanges; ++i)
    many += std::string(i ? "," : "") + R"({"what":"w"})";
  CHECK(planned_problem(R"({"type":"planned","id":7,"verdict":"change","changes":[)" + many + "]}")
            .find("more than 1000 changes") != std::string::npos);
}

TEST_CASE("an apply's answer says whether it worked, and why not") {
  CHECK(read_applied(R"({"type":"applied","id":7,"ok":true})", 7)->ok);
  CHECK(read_applied(R"({"type":"applied","id":7,"ok":false,"message":"no"})", 7)->message == "no");
  for (const char* line :
       {R"({"type":"applied","id":7})", R"({"type":"applied","id":7,"ok":"true"})",
        R"({"type":"applied","id":7,"ok":false})", R"({"type":"planned","id":7,"ok":true})"})
    CHECK_FALSE(read_applied(line, 7));
}

}  // namespace agent::modules
