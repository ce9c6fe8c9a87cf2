// What one token may take of the API, and how long it lives.
#include <atomic>
#include <thread>

#include "backend/domain/limits/call_limits.hpp"
#include "base/utc_text.hpp"
#include "tests/support/live_backend.hpp"
#include "tests/support/loopback.hpp"
#include "tests/support/operators.hpp"
#include "tests/support/scratch_folder.hpp"

using tests::call_as;
using tests::JsonView;
using tests::LiveBackend;
using tests::make_token;
using tests::RawPeer;
using tests::TestAgent;
using namespace std::chrono_literals;
using namespace backend::domain;

namespace {

transport::HttpClientOptions client_of(const LiveBackend& backend, const std::string& token) {
  auto options = backend.client_options(false);
  options.headers.push_back({"Authorization", "Bearer " + token});
  return options;
}

std::string head_of(const std::string& line, const std::string& token, const std::string& more = {}) {
  return line + " HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + token + "\r\n" + more + "\r\n";
}

// A request whose body is announced and does not come; what is answered before any of it.
std::string announce(const RawPeer& peer, const std::string& target, const std::string& token,
                     std::size_t size) {
  peer.send(head_of("POST /api/v1" + target, token,
                    "Expect: 100-continue\r\nContent-Length: " + std::to_string(size) + "\r\n"));
  return peer.read_until("\r\n");
}

// Waits until the backend has noticed that connections were closed.
unsigned status_soon(const LiveBackend& backend, const std::string& token, const std::string& target,
                     unsigned wanted) {
  unsigned status = 0;
  for (int i = 0; i < 500 && status != wanted; ++i) {
    if (i > 0) std::this_thread::sleep_for(20ms);
    status = call_as(backend, token, "GET", target).status;
  }
  return status;
}

}  // namespace

TEST_CASE("a token that calls without end is told to wait, and others are not held up") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const std::string greedy = make_token(backend, "greedy", "viewer");
  transport::HttpClient client(client_of(backend, greedy));
  transport::HttpReply last;
  for (int i = 0; i < 20'000 && last.status != 429; ++i)
    last = *client.request({.target = "/api/v1/nothing"});
  REQUIRE(last.status == 429);
  CHECK(base::parse_integer(last.header("Retry-After")).value_or(0) >= 1);
  CHECK(last.body.find("'greedy' calls too often") != std::string::npos);
  CHECK(call_as(backend, make_token(backend, "ann", "viewer"), "GET", "/apps").status == 200);
  for (int i = 0; i < 500; ++i)
    [[maybe_unused]] const auto more = client.request({.target = "/api/v1/nothing"});
  const JsonView audit(backend.call("GET", "/audit?limit=1000").body);
  std::size_t denied = 0;
  for (std::size_t i = 0; i < audit.size("items"); ++i)
    denied += audit.text("items." + std::to_string(i) + ".result") == "denied" ? 1 : 0;
  CHECK(denied == 1);  // that it happened, not how often
  std::this_thread::sleep_for(1100ms);
  CHECK(call_as(backend, greedy, "GET", "/apps").status == 200);
}

TEST_CASE("a token with many calls under way is told to wait for them") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);  // and answers nothing
  const std::string busy = make_token(backend, "busy", "operator");
  std::atomic<bool> is_over = false;
  std::vector<std::thread> askers;
  for (std::size_t i = 0; i < kCallsAtOnce; ++i)
    askers.emplace_back([&] {
      transport::HttpClient client(client_of(backend, busy));
      // The look from outside, below, is a call under way as well: whoever it pushed out asks again.
      for (bool is_refused = true; is_refused && !is_over;) {
        const auto answered =
            client.request({.method = "POST",
                            .target = "/api/v1/query",
                            .headers = {{"Content-Type", "application/json"}},
                            .body = R"({"instance_id":"web1","kind":"facts","timeout_s":60})"});
        is_refused = answered && answered->status == 429;
      }
    });
  transport::HttpReply reply;
  for (int i = 0; i < 1000 && reply.status != 429; ++i) {
    std::this_thread::sleep_for(30ms);
    reply = call_as(backend, busy, "GET", "/apps");
  }
  CHECK(reply.status == 429);
  CHECK(reply.header("Retry-After") == "1");
  CHECK(reply.body.find("wait for them") != std::string::npos);
  CHECK(backend.call("GET", "/apps").status == 200);
  is_over = true;
  agent.leave();  // and with it all that waits
  for (std::thread& asker : askers)
    asker.join();
  CHECK(call_as(backend, busy, "GET", "/apps").status == 200);
}

TEST_CASE("attack: a viewer asks for large answers and takes none of them") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  TestAgent agent("web1");
  agent.connect(backend);
  backend.tag("web1", "role", "web");
  constexpr std::uint64_t kReports = 60;
  for (std::uint64_t seq = 1; seq <= kReports; ++seq) {
    protocol::StateLog log;
    log.instance_id = "web1";
    log.app_id = "default";
    log.recipe_version = 1;
    log.id = "noisy";
    log.state_result = true;
    log.outcome = "changed";
    log.seq = seq;
    log.state_stdout = std::string(140 * 1024, 'x');
    agent.send(log);
  }
  REQUIRE(agent.acked(kReports));
  const std::string greedy = make_token(backend, "greedy", "viewer", "role=web");
  const auto page = call_as(backend, greedy, "GET", "/results?limit=1000");
  REQUIRE(page.status == 200);
  CHECK(page.body.size() < kMostPageBytes + 400 * 1024);
  CHECK_FALSE(JsonView(page.body).text("next").empty());

  constexpr std::size_t kAskers = 3 * kAnswerBytesAtOnce / kMostPageBytes;
  std::vector<RawPeer> askers;
  std::size_t answered = 0, refused = 0;
  for (std::size_t i = 0; i < kAskers; ++i) {
    askers.push_back(RawPeer::connect(backend.port(), 4096));
    askers.back().send(head_of("GET /api/v1/results?limit=1000", greedy));
    const std::string status = askers.back().read_until("\r\n", 20s);
    answered += status.starts_with("HTTP/1.1 200 ") ? 1 : 0;
    refused += status.starts_with("HTTP/1.1 429 ") ? 1 : 0;
  }
  CHECK(answered <= kAnswerBytesAtOnce / kMostPageBytes);
  CHECK(answered + refused == kAskers);
  // Small ones have no room either, and others have theirs.
  const auto another = call_as(backend, greedy, "GET", "/results?limit=1000");
  CHECK(another.status == 429);
  CHECK(another.header("Retry-After") == "1");
  CHECK(another.body.find("read them, or ask for less at once") != std::string::npos);
  CHECK(call_as(backend, make_token(backend, "ann", "viewer"), "GET", "/results?limit=1000").status == 200);
  askers.clear();
  CHECK(status_soon(backend, greedy, "/results?limit=1000", 200) == 200);
}

TEST_CASE("attack: large bodies are begun and never ended") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  constexpr std::size_t kLarge = 4 * 1024 * 1024;
  const std::string viewer = make_token(backend, "viewer", "viewer", "role=none");
  const std::string greedy = make_token(backend, "greedy", "operator", "role=none");
  // Whoever may not call the route, and a route that takes none, get no room at all.
  for (const auto& [token, target] : {std::pair(viewer, "/recipes/r/revisions"), {greedy, "/settings"}}) {
    const RawPeer peer = RawPeer::connect(backend.port());
    CHECK(announce(peer, target, token, kLarge) == "HTTP/1.1 403 Forbidden\r\n");
  }
  const RawPeer lost = RawPeer::connect(backend.port());
  CHECK(announce(lost, "/nowhere", greedy, kLarge).starts_with("HTTP/1.1 413 "));

  std::vector<RawPeer> begun;
  for (std::size_t i = 0; i < kBodyBytesAtOnce / kLarge; ++i) {
    begun.push_back(RawPeer::connect(backend.port()));
    CHECK(announce(begun.back(), "/recipes/r/revisions", greedy, kLarge) == "HTTP/1.1 100 Continue\r\n");
  }
  {
    const RawPeer more = RawPeer::connect(backend.port());
    CHECK(announce(more, "/recipes/r/revisions", greedy, kLarge).starts_with("HTTP/1.1 429 "));
    CHECK(more.read_until("wait for them").find("Retry-After: 1\r\n") != std::string::npos);
  }
  // One that does not say how large it gets may get as large as any.
  const RawPeer endless = RawPeer::connect(backend.port());
  endless.send(head_of("POST /api/v1/recipes/r/revisions", greedy, "Transfer-Encoding: chunked\r\n"));
  endless.send("4\r\n[]  \r\n");
  CHECK(endless.read_until("\r\n").starts_with("HTTP/1.1 429 "));
  const RawPeer other = RawPeer::connect(backend.port());
  CHECK(announce(other, "/recipes/r/revisions", backend.token(), kLarge) == "HTTP/1.1 100 Continue\r\n");
  CHECK(call_as(backend, greedy, "GET", "/apps").status == 200);

  begun.clear();
  std::string status;
  for (int i = 0; i < 500 && !status.starts_with("HTTP/1.1 100 "); ++i) {
    if (i > 0) std::this_thread::sleep_for(20ms);
    const RawPeer again = RawPeer::connect(backend.port());
    status = announce(again, "/recipes/r/revisions", greedy, kLarge);
  }
  CHECK(status == "HTTP/1.1 100 Continue\r\n");
}

TEST_CASE("attack: one viewer opens event streams until it gets no more, and others still get theirs") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const std::string greedy = make_token(backend, "greedy", "viewer");
  TestAgent agent("web1");
  agent.connect(backend);
  agent.report(1, "s", 1);
  REQUIRE(agent.acked(1));
  std::atomic<bool> is_over = false;
  std::atomic<std::size_t> open = 0;
  std::vector<std::thread> watchers;
  for (std::size_t i = 0; i < kStreamsPerToken; ++i)
    watchers.emplace_back([&] {
      auto options = client_of(backend, greedy);
      options.stream_idle_timeout = 60s;
      transport::HttpClient client(options);
      bool counted = false;
      [[maybe_unused]] const auto ended =
          client.stream({.target = "/api/v1/events?types=result"}, "0", [&](const auto&) {
            if (!counted) ++open;
            counted = true;
            return !is_over;
          });
    });
  for (int i = 0; i < 1000 && open < kStreamsPerToken; ++i)
    std::this_thread::sleep_for(10ms);
  REQUIRE(open == kStreamsPerToken);
  const auto refused = call_as(backend, greedy, "GET", "/events");
  CHECK(refused.status == 429);
  CHECK_FALSE(refused.header("Retry-After").empty());
  CHECK(refused.body.find("event streams open") != std::string::npos);
  transport::HttpClient other(client_of(backend, make_token(backend, "ann", "viewer")));
  const auto seen =
      other.stream({.target = "/api/v1/events?types=result"}, "0", [](const auto&) { return false; });
  REQUIRE(seen);
  CHECK(seen->status == 200);
  is_over = true;
  agent.report(2, "s", 1);
  REQUIRE(agent.acked(2));
  for (std::thread& watcher : watchers)
    watcher.join();
  // Places that were left are free again.
  transport::HttpReply again{.status = 429, .headers = {}, .body = {}};
  for (int i = 0; i < 500 && again.status == 429; ++i) {
    transport::HttpClient client(client_of(backend, greedy));
    again = *client.stream({.target = "/api/v1/events?types=result"}, "0", [](const auto&) { return false; });
    if (again.status == 429) std::this_thread::sleep_for(20ms);
  }
  CHECK(again.status == 200);
}

TEST_CASE("a token ends after 90 days unless it was made for longer, and tells its holder in time") {
  const tests::ScratchFolder scratch;
  LiveBackend backend(scratch / "data");
  const auto made = [&](const std::string& body) {
    const auto reply = backend.call("POST", "/tokens", body);
    REQUIRE_MESSAGE(reply.status == 201, reply.body);
    return JsonView(reply.body);
  };
  const JsonView usual = made(R"({"name":"usual"})");
  const auto days = [](const JsonView& token) {
    const auto end = base::parse_utc(token.text("expires"));
    REQUIRE(end);
    return std::chrono::duration<double, std::ratio<24 * 3600>>(*end - std::chrono::system_clock::now())
        .count();
  };
  CHECK(days(usual) > 89);
  CHECK(days(usual) <= 90);
  const JsonView eternal = made(R"({"name":"eternal","ttl_s":"never"})");
  CHECK(eternal.at("expires").is_null());
  CHECK(backend.call("POST", "/tokens", R"({"name":"x","ttl_s":"long"})").status == 422);
  CHECK(call_as(backend, usual.text("token"), "GET", "/apps").header("Token-Expires").empty());
  CHECK(call_as(backend, eternal.text("token"), "GET", "/apps").header("Token-Expires").empty());
  // The way in does not end.
  const JsonView listed(backend.call("GET", "/tokens").body);
  CHECK(listed.text("items.2.name") == "admin");
  CHECK(listed.at("items.2.expires").is_null());
}
