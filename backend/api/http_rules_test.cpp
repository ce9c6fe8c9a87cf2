// What HTTP promises of any server: conditions, what is left out of answers, refusals that programs can read.
#include <thread>

#include "tests/support/live_backend.hpp"
#include "tests/support/scratch_folder.hpp"

using tests::JsonView;
using tests::LiveBackend;
using tests::TestAgent;

namespace {

constexpr const char* kOneState = R"([{"id":"a","module":"meta.comment","parameter":{"comment":"x"}}])";

unsigned status(const LiveBackend& backend, const std::string& method, const std::string& target,
                const std::string& body = {}, transport::Headers headers = {}) {
  return backend.call(method, target, body, std::move(headers)).status;
}

}  // namespace

TEST_CASE("If-Match with a star edits what is there and creates nothing") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  CHECK(status(backend, "PUT", "/apps/shop", "{}", {{"If-Match", "*"}}) == 412);
  CHECK(status(backend, "GET", "/apps/shop") == 404);
  CHECK(status(backend, "PUT", "/apps/shop", "{}") == 201);
  CHECK(status(backend, "PUT", "/apps/shop", R"({"report":"changes"})", {{"If-Match", "*"}}) == 200);
  CHECK(status(backend, "PUT", "/apps/shop", "{}", {{"If-None-Match", "\"7\""}}) == 400);
  CHECK(status(backend, "PUT", "/apps/shop", "{}", {{"If-None-Match", "*"}, {"If-Match", "*"}}) == 400);
  backend.push("web", kOneState);
  backend.assign("web");
  CHECK(status(backend, "PUT", "/assignments/1", R"({"recipe":"web"})", {{"If-Match", "*"}}) == 200);
  CHECK(status(backend, "PUT", "/assignments/1", R"({"recipe":"web"})", {{"If-None-Match", "*"}}) == 412);
  CHECK(status(backend, "DELETE", "/assignments/1", "", {{"If-Match", "*"}}) == 200);
}

TEST_CASE("what a client has already is not sent again, and what has changed is") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  backend.push("web", kOneState);
  backend.assign("web");
  for (const char* path : {"/apps/default", "/assignments/1", "/openapi.json"}) {
    CAPTURE(path);
    const auto first = backend.call("GET", path);
    const std::string tag(first.header("ETag"));
    REQUIRE_FALSE(tag.empty());
    for (const std::string& known : {tag, "W/" + tag, "\"other\", " + tag, std::string("*")}) {
      const auto again = backend.call("GET", path, "", {{"If-None-Match", known}});
      CHECK(again.status == 304);
      CHECK(again.body.empty());
      CHECK(again.header("ETag") == tag);
    }
    CHECK(status(backend, "HEAD", path, "", {{"If-None-Match", tag}}) == 304);
    const auto other = backend.call("GET", path, "", {{"If-None-Match", "\"other\""}});
    CHECK(other.status == 200);
    CHECK(other.body == first.body);
  }
  CHECK(status(backend, "GET", "/apps/none", "", {{"If-None-Match", "*"}}) == 404);

  // An instance's presence changes without an edit: the tag is another one, and edits go on with the old one.
  TestAgent agent("web1");
  agent.connect(backend);
  const std::string tag(backend.call("GET", "/instances/default/web1").header("ETag"));
  agent.report(1, "a", 1);
  CHECK(agent.acked(1));
  agent.leave();
  for (int i = 0; i < 200 && JsonView(backend.call("GET", "/fleet").body).number("online") > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(status(backend, "GET", "/instances/default/web1", "", {{"If-None-Match", tag}}) == 200);
  CHECK(status(backend, "PATCH", "/instances/default/web1", R"({"tags":{"role":"db"}})",
               {{"If-Match", tag}}) == 200);
  CHECK(status(backend, "PATCH", "/instances/default/web1", R"({"tags":{"role":"x"}})",
               {{"If-Match", tag}}) == 412);
}

TEST_CASE("a PUT of an app changes what it names: an empty one leaves the pin where it is") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  REQUIRE(status(backend, "PUT", "/apps/shop", R"({"report":"changes","agent_version":"3.0.0"})") == 201);
  const auto says = [&](const char* name) {
    return JsonView(backend.call("GET", "/apps/shop").body).text(name);
  };
  for (const char* body : {"", "{}", R"({"agent_version":null})", R"({"trust_self_reported":"named"})"}) {
    CAPTURE(body);
    CHECK(status(backend, "PUT", "/apps/shop", body) == 200);
    CHECK(says("agent_version") == "3.0.0");
    CHECK(says("report") == "changes");
  }
  CHECK(status(backend, "PUT", "/apps/shop", R"({"agent_version":""})") == 200);
  CHECK(says("agent_version").empty());
  CHECK(says("report") == "changes");
  CHECK(says("trust_self_reported") == "named");
  CHECK(status(backend, "PUT", "/apps/shop", R"({"report":"sometimes"})") == 422);
  CHECK(status(backend, "PUT", "/apps/shop", R"({"agent_version":7})") == 422);
}

TEST_CASE("a filter that can match nothing is refused, and so is one that is given twice") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  CHECK(status(backend, "GET", "/results?outcome=foo") == 400);
  CHECK(status(backend, "GET", "/results?outcome=changed") == 200);
  CHECK(status(backend, "GET", "/rollouts/x?phase=foo") == 400);
  CHECK(status(backend, "GET", "/rollouts/x?phase=waiting") == 404);
  CHECK(status(backend, "GET", "/rollouts/x?phase=rolled_back") == 404);
  CHECK(status(backend, "GET", "/instances?app=a&app=b") == 400);
}

TEST_CASE("refusals below the API are problem documents, too") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  transport::HttpClient stranger(backend.client_options(false));
  const auto refused = [&](transport::HttpCall call, unsigned wanted) {
    CAPTURE(call.target);
    const auto reply = stranger.request(call);
    REQUIRE(reply);
    CHECK(reply->status == wanted);
    CHECK(reply->header("Content-Type") == "application/problem+json");
    const JsonView document(reply->body);
    CHECK(document.number("status") == wanted);
    CHECK(document.text("type") == "about:blank");
    CHECK_FALSE(document.text("title").empty());
    CHECK_FALSE(document.text("detail").empty());
  };
  refused({.target = "/elsewhere"}, 404);
  refused({.target = "/releases/none"}, 404);
  refused({.method = "POST", .target = "/metrics"}, 405);
  refused({.method = "POST", .target = "/healthz", .body = std::string(64 * 1024, 'x')}, 413);
  refused({.target = "/agent/"}, 426);
  refused({.target = "/%zz"}, 400);
  refused({.target = "/healthz", .headers = {{"Expect", "miracles"}}}, 417);
  refused({.target = "/healthz", .headers = {{"X-Long", std::string(32 * 1024, 'x')}}}, 431);
}
