#include "ctl/output/failure_text.hpp"

#include <doctest/doctest.h>

namespace {

std::string text(std::string json) {
  return ctl::failure_text(ctl::Document(std::move(json)).root());
}

}  // namespace

TEST_CASE("a failure is told by its state and its reason") {
  CHECK(text(R"({"failed_state":{"state_id":"nginx","outcome":"failed","comment":"cannot\nstart it"}})") ==
        "state 'nginx': cannot; start it");
  CHECK(text(R"({"failed_state":{"state_id":"nginx","outcome":"timed_out","comment":"30 s"}})") ==
        "state 'nginx' timed out: 30 s");
  CHECK(text(R"({"errors":["too new","other"],"failed_state":null})") == "too new; other");
  CHECK(text(R"({"errors":["why"],"failed_state":{"state_id":"x","outcome":"failed","comment":""}})") ==
        "state 'x': why");
  CHECK(text("{}") == "");
}

TEST_CASE("the command that shows more can be pasted, whatever the state is called") {
  const ctl::Document one(R"({"app_id":"shop","instance_id":"web1","failed_state":{"state_id":"it's; rm"}})");
  CHECK(ctl::failure_command(one.root()) == R"(opsctl results -i shop/web1 --state 'it'\''s; rm' --verbose)");
  const ctl::Document other(R"({"app_id":"shop","instance_id":"web1"})");
  CHECK(ctl::failure_command(other.root()) == "opsctl agent show shop/web1");
}
