// The API over HTTP: what it refuses, how it pages, what it streams.
#include "backend/api/route.hpp"
#include "tests/support/live_backend.hpp"
#include "tests/support/scratch_folder.hpp"

using tests::JsonView;
using tests::LiveBackend;
using tests::TestAgent;
using namespace std::chrono_literals;

namespace {

constexpr const char* kOneState = R"([{"id":"a","module":"meta.comment","parameter":{"comment":"x"}}])";

// A path with something in place of each {…}.
std::string filled(std::string_view pattern) {
  std::string path;
  for (const std::string_view part : base::split(pattern.substr(1), '/'))
    path.append("/").append(part.starts_with('{') ? "1" : part);
  return path;
}

unsigned status(const LiveBackend& backend, const std::string& method, const std::string& target,
                const std::string& body = {}, transport::Headers headers = {}) {
  return backend.call(method, target, body, std::move(headers)).status;
}

}  // namespace

TEST_CASE("without the token nothing is told or done, but for the description and the probes") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  transport::HttpClient stranger(backend.client_options(false));
  for (const auto& route : backend::api::all_routes()) {
    const auto reply = stranger.request(
        {.method = std::string(route.method), .target = "/api/v1" + filled(route.pattern), .body = "{}"});
    REQUIRE(reply);
    CHECK_MESSAGE(reply->status == (route.role == backend::api::Role::anyone ? 200 : 401),
                  std::string(route.pattern));
  }
  CHECK(stranger.request({.target = "/api/v1/nonsense"})->status == 401);
  const auto guessed = stranger.request(
      {.target = "/api/v1/apps", .headers = {{"Authorization", "Bearer " + std::string(64, '0')}}});
  CHECK(guessed->status == 401);
  CHECK(guessed->header("Content-Type") == "application/problem+json");
  CHECK(guessed->header("WWW-Authenticate") == "Bearer");
  CHECK(stranger.request({.target = "/healthz"})->status == 200);
  CHECK(stranger.request({.target = "/readyz"})->status == 200);
  const auto metrics = stranger.request({.target = "/metrics"});
  CHECK(metrics->body.find("opsbackend_store_seconds_count") != std::string::npos);
  CHECK(metrics->body.find("process_resident_memory_bytes") != std::string::npos);
  CHECK(stranger.request({.target = "/elsewhere"})->status == 404);
  CHECK(stranger.request({.method = "POST", .target = "/healthz"})->status == 405);
}

TEST_CASE("a wrong token is what is wrong, however large the body is that comes with it") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  transport::HttpClient stranger(backend.client_options(false));
  const std::string body = "{\"x\":\"" + std::string(2 * 1024 * 1024, 'x') + "\"}";
  const auto post = [&](const std::string& target, transport::Headers headers) {
    auto reply =
        stranger.request({.method = "POST", .target = target, .headers = std::move(headers), .body = body});
    return reply ? reply->status : 0;
  };
  CHECK(post("/api/v1/recipes/x/revisions", {}) == 401);
  CHECK(post("/api/v1/recipes/x/revisions", {{"Authorization", "Bearer " + std::string(64, '0')}}) == 401);
  CHECK(post("/api/v1/nonsense", {}) == 401);
  CHECK(post("/healthz", {}) == 413);
  CHECK(status(backend, "POST", "/plan", body) == 413);
}

TEST_CASE("HEAD is answered as GET is, without the body") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  for (const char* path : {"/apps", "/openapi.json", "/instances", "/apps/default"}) {
    CAPTURE(path);
    const auto get = backend.call("GET", path);
    const auto head = backend.call("HEAD", path);
    CHECK(head.status == get.status);
    CHECK(head.body.empty());
    CHECK(head.header("Content-Length") == std::to_string(get.body.size()));
    CHECK(head.header("Content-Type") == get.header("Content-Type"));
  }
  CHECK(status(backend, "HEAD", "/nonsense") == 404);
  CHECK(status(backend, "HEAD", "/events") == 200);
  CHECK(status(backend, "HEAD", "/plan") == 405);
  transport::HttpClient stranger(backend.client_options(false));
  for (const char* path : {"/healthz", "/readyz", "/metrics"}) {
    const auto head = stranger.request({.method = "HEAD", .target = path});
    REQUIRE(head);
    CHECK(head->status == 200);
    CHECK(head->body.empty());
  }
  CHECK(stranger.request({.method = "HEAD", .target = "/api/v1/apps"})->status == 401);
}

TEST_CASE("every route refuses what it cannot read, each mistake with its own status") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  for (const auto& route : backend::api::all_routes()) {
    const std::string path = filled(route.pattern);
    const std::string method(route.method);
    CAPTURE(method);
    CAPTURE(path);
    const auto wrong_method = backend.call("TRACE", path);
    CHECK(wrong_method.status == 405);
    CHECK(wrong_method.header("Allow").find(method) != std::string::npos);
    CHECK(status(backend, method, path + "?nonsense=1", "") == 400);
    if (route.queries.find("limit") != std::string_view::npos) {
      CHECK(status(backend, method, path + "?limit=0") == 400);
      CHECK(status(backend, method, path + "?limit=1001") == 400);
    }
    if (route.body == backend::api::Body::none) continue;
    CHECK(status(backend, method, path, "x", {{"Content-Type", "image/png"}}) == 415);
    if (route.body == backend::api::Body::json) {
      CHECK(status(backend, method, path, "{not json") == 400);
      CHECK(status(backend, method, path, "[]") == 400);
      CHECK(status(backend, method, path, R"({"nonsense":1})") == 422);
      CHECK(status(backend, method, path, "{\"x\":\"" + std::string(1024 * 1024, 'x') + "\"}") == 413);
    }
  }
  CHECK(status(backend, "GET", "/nonsense") == 404);
  for (const char* path : {"/apps/x", "/instances/default/x", "/recipes/x", "/recipes/x/revisions/1",
                           "/recipes/x/revisions/x", "/assignments/7", "/assignments/x", "/rollouts/x"})
    CHECK_MESSAGE(status(backend, "GET", path) == 404, path);
  CHECK(status(backend, "GET", "/instances?selector=%28") == 400);
  CHECK(status(backend, "GET", "/instances?online=perhaps") == 400);
  CHECK(status(backend, "GET", "/results?instance=x") == 400);
  CHECK(status(backend, "GET", "/results?since=yesterday") == 400);
  CHECK(status(backend, "GET", "/events?types=nonsense") == 400);
  CHECK(status(backend, "GET", "/events?output=1") == 400);
  CHECK(status(backend, "POST", "/assignments", R"({"recipe":"x"})") == 422);  // no such recipe
  CHECK(status(backend, "POST", "/plan", R"({"app_id":"x"})") == 404);
}

TEST_CASE("a recipe is checked whole when it is uploaded, and the same content is the same revision") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const transport::Headers yaml{{"Content-Type", "application/yaml"}};
  const auto wrong = backend.call("POST", "/recipes/web/revisions",
                                  "states:\n  - id: a\n    module: linux.fil\n    parameter: {}\n", yaml);
  CHECK(wrong.status == 422);
  const JsonView problem(wrong.body);
  CHECK(problem.text("errors.0.state_id") == "a");
  CHECK(problem.number("errors.0.line") == 3);
  CHECK(status(backend, "GET", "/recipes/web") == 404);

  const std::string content = "states:\n  - {id: a, module: meta.comment, parameter: {comment: x}}\n";
  const auto first = backend.call("POST", "/recipes/web/revisions", content, yaml);
  CHECK(first.status == 201);
  CHECK(first.header("Location") == "/api/v1/recipes/web/revisions/1");
  const auto again = backend.call("POST", "/recipes/web/revisions", content, yaml);
  CHECK(again.status == 200);
  CHECK(JsonView(again.body).number("revision") == 1);
  CHECK(JsonView(backend.call("GET", "/recipes/web/revisions/1").body).text("content") == content);
  CHECK(status(backend, "POST", "/recipes/web/revisions", std::string(5 * 1024 * 1024, 'x'), yaml) == 413);
}

TEST_CASE("edits say what they have seen, and are refused when somebody was faster") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  CHECK(status(backend, "PUT", "/apps/shop", R"({"report":"all"})", {{"If-None-Match", "*"}}) == 201);
  CHECK(status(backend, "PUT", "/apps/shop", R"({"report":"all"})", {{"If-None-Match", "*"}}) == 412);
  const auto seen = backend.call("GET", "/apps/shop");
  const std::string tag(seen.header("ETag"));
  REQUIRE_FALSE(tag.empty());
  CHECK(status(backend, "PUT", "/apps/shop", R"({"report":"changes"})", {{"If-Match", tag}}) == 200);
  CHECK(status(backend, "PUT", "/apps/shop", R"({"report":"all"})", {{"If-Match", tag}}) == 412);
  CHECK(status(backend, "PUT", "/apps/shop", R"({"report":"all"})", {{"If-Match", "nonsense"}}) == 400);
  CHECK(JsonView(backend.call("GET", "/apps/shop").body).text("report") == "changes");

  backend.push("web", kOneState);
  backend.assign("web");
  const std::string edit(backend.call("GET", "/assignments/1").header("ETag"));
  CHECK(status(backend, "PUT", "/assignments/1", R"({"recipe":"web","order":5})", {{"If-Match", edit}}) ==
        200);
  CHECK(status(backend, "PUT", "/assignments/1", R"({"recipe":"web","order":6})", {{"If-Match", edit}}) ==
        412);
  CHECK(status(backend, "DELETE", "/assignments/1", "", {{"If-Match", edit}}) == 412);
  CHECK(status(backend, "DELETE", "/assignments/1") == 200);
  CHECK(status(backend, "DELETE", "/assignments/1") == 404);
}

TEST_CASE("a wait that can never end is refused with the cycle, and nothing of it is stored") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent a("a"), b("b");
  a.connect(backend);
  b.connect(backend);
  backend.push("on_b", R"([{"id":"y","module":"meta.comment","parameter":{"comment":"x"}}])");
  backend.assign("on_b", "instance=b");
  backend.push("on_a", R"([{"id":"x","module":"meta.wait","parameter":{"state":["b/y"]}}])");
  backend.assign("on_a", "instance=a");
  REQUIRE(b.next<protocol::RecipeMetadata>());
  const auto refused =
      backend.call("POST", "/recipes/on_b/revisions",
                   R"({"states":[{"id":"y","module":"meta.wait","parameter":{"state":["a/x"]}}]})");
  CHECK(refused.status == 409);
  CHECK_MESSAGE(refused.body.find("b/y → a/x") != std::string::npos, refused.body);
  CHECK(JsonView(backend.call("GET", "/recipes/on_b").body).size("revisions") == 1);
  CHECK(b.hears_no<protocol::RecipeMetadata>());
  backend.push("lonely", R"([{"id":"z","module":"meta.wait","parameter":{"state":["b/nothing"]}}])");
  CHECK(status(backend, "POST", "/assignments", R"({"recipe":"lonely","selector":"instance=a"})") == 409);
}

TEST_CASE("tags of an operator place an instance, and who is connected cannot be forgotten") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.hello.tags = {{"role", "spare"}};
  agent.connect(backend);
  backend.push("web", kOneState);
  backend.assign("web", "role=web");
  CHECK(agent.hears_no<protocol::RecipeMetadata>());
  const std::string edit(backend.call("GET", "/instances/default/web1").header("ETag"));
  CHECK(status(backend, "PATCH", "/instances/default/web1", R"({"tags":{"role":7}})") == 422);
  CHECK(status(backend, "PATCH", "/instances/default/web1", R"({"tags":{"role":"web"}})",
               {{"If-Match", edit}}) == 200);
  CHECK(agent.next<protocol::RecipeMetadata>());
  CHECK(status(backend, "PATCH", "/instances/default/web1", R"({"tags":{"role":"db"}})",
               {{"If-Match", edit}}) == 412);
  CHECK(status(backend, "DELETE", "/instances/default/web1") == 409);
  agent.leave();
  for (int i = 0; i < 200 && status(backend, "DELETE", "/instances/default/web1") == 409; ++i)
    std::this_thread::sleep_for(50ms);
  CHECK(status(backend, "GET", "/instances/default/web1") == 404);
  const JsonView audit(backend.call("GET", "/audit").body);
  CHECK(audit.text("items.0.action") == "instance.forget");
  CHECK(audit.text("items.0.actor") == "admin");
}

TEST_CASE("lists are paged without a gap and without a repetition") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  for (std::uint64_t seq = 1; seq <= 25; ++seq)
    agent.report(seq, "s" + std::to_string(seq), 1);
  CHECK(agent.acked(25));
  std::vector<std::string> states;
  std::string after;
  do {
    const JsonView page(
        backend.call("GET", "/results?app=default&limit=10" + (after.empty() ? "" : "&after=" + after)).body);
    for (std::size_t i = 0; i < page.size("items"); ++i)
      states.push_back(page.text("items." + std::to_string(i) + ".state_id"));
    after = page.text("next");
  } while (!after.empty());
  REQUIRE(states.size() == 25);
  for (std::size_t i = 0; i < states.size(); ++i)
    CHECK(states[i] == "s" + std::to_string(25 - i));
  CHECK(JsonView(backend.call("GET", "/results?app=default&state=s7").body).size("items") == 1);
  const JsonView fleet(backend.call("GET", "/fleet").body);
  CHECK(fleet.number("online") == 1);
  CHECK(fleet.number("results") == 25);
}

TEST_CASE("an event stream continues where it broke off, shows only what was asked for, and admits gaps") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1"), other("web2");
  agent.connect(backend);
  other.connect(backend);
  transport::HttpClient client(backend.client_options());
  const transport::HttpCall call{.target = "/api/v1/events?app=default&instance=web1&types=result"};
  agent.report(1, "one", 1);
  other.report(1, "elsewhere", 1);
  agent.report(2, "two", 1);
  CHECK(agent.acked(2));
  CHECK(other.acked(1));

  std::vector<transport::ServerEvent> seen;
  const auto collect = [&](std::size_t wanted) {
    return [&seen, wanted](const transport::ServerEvent& event) {
      seen.push_back(event);
      return seen.size() < wanted;
    };
  };
  CHECK(client.stream(call, "0", collect(2)));  // from the beginning
  REQUIRE(seen.size() == 2);
  CHECK(JsonView(seen[0].data).text("state_id") == "one");
  CHECK(JsonView(seen[1].data).text("state_id") == "two");

  agent.report(3, "three", 1);
  CHECK(agent.acked(3));
  const std::string last = seen[0].id;
  seen.clear();
  CHECK(client.stream(call, last, collect(2)));
  REQUIRE(seen.size() == 2);
  CHECK(JsonView(seen[0].data).text("state_id") == "two");
  CHECK(JsonView(seen[1].data).text("state_id") == "three");

  seen.clear();
  CHECK(client.stream(call, "999999", collect(1)));  // of a process that ran before this one
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].event == "gap");
  CHECK(status(backend, "GET", "/events", "", {{"Last-Event-ID", "x"}}) == 400);
}
