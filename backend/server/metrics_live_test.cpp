// /metrics of a running backend: what somebody who watches a fleet needs to know.
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/live_backend.hpp"
#include "tests/support/scratch_folder.hpp"

using tests::LiveBackend;
using tests::TestAgent;

namespace {

std::string scrape(const LiveBackend& backend) {
  transport::HttpClient stranger(backend.client_options(false));
  const auto reply = stranger.request({.target = "/metrics"});
  REQUIRE(reply);
  REQUIRE(reply->status == 200);
  return reply->body;
}

// -1: there is no such line.
double value(const std::string& text, const std::string& name) {
  const std::size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
}

}  // namespace

TEST_CASE("the metrics tell how the machines are, what failed, and what ends when") {
  const tests::ScratchFolder scratch;
  std::filesystem::create_directory(scratch / "releases");
  std::ofstream(scratch / "releases/timestamp.json") << R"({"expires":"2027-01-17T08:00:00Z"})";
  backend::server::Options options;
  options.releases = scratch / "releases";
  LiveBackend backend(scratch / "data", options);
  TestAgent agent("web1"), idle("web2");
  backend.push("web", R"([{"id":"a","module":"meta.comment","parameter":{"comment":"x"}}])");
  backend.assign("web", "instance=web1");
  agent.connect(backend);
  idle.connect(backend);
  agent.report(1, "a", 1, "failed");
  agent.send(protocol::RoundEnd{.seq = 2, .recipe_version = 1, .round = 1, .counts = {{"failed", 1}}});
  agent.send(protocol::RoundEnd{.seq = 3, .recipe_version = 1, .round = 2, .counts = {{"kept", 1}}});
  agent.send(
      protocol::RecipeStatus{.seq = 4, .recipe_version = 1, .status = protocol::RecipeProgress::converged});
  REQUIRE(agent.acked(4));

  const std::string text = scrape(backend);
  CAPTURE(text);
  CHECK(value(text, R"(opsbackend_machines{state="converged",online="true"})") == 1);
  CHECK(value(text, R"(opsbackend_machines{state="unassigned",online="true"})") == 1);
  CHECK(value(text, R"(opsbackend_machines{state="failed",online="false"})") == 0);
  CHECK(value(text, R"(opsbackend_machines_without_round{longer_than="15m"})") == 0);
  CHECK(value(text, R"(opsbackend_rounds_total{result="failed"})") == 1);
  CHECK(value(text, R"(opsbackend_rounds_total{result="converged"})") == 1);
  CHECK(value(text, R"(opsbackend_results_total{outcome="failed"})") == 1);
  CHECK(value(text, R"(opsbackend_http_requests_total{code="201"})") == 2);
  CHECK(value(text, R"(opsbackend_http_request_seconds_count{handler="api"})") == 2);
  CHECK(value(text, R"(opsbackend_rollouts{state="running",kind="version"})") == 0);
  CHECK(value(text, "opsbackend_release_timestamp_expiry_timestamp_seconds") == 1800172800);
  CHECK(value(text, R"(opsbackend_database_bytes{file="main"})") > 0);
  CHECK(value(text, "opsbackend_data_free_bytes") > 0);
  CHECK(value(text, "process_open_fds") > 5);
  CHECK(text.find("opsbackend_build_info{version=\"") != std::string::npos);
  // The machines were counted a moment ago: another look costs the store nothing.
  agent.leave();
  for (int i = 0; i < 200 && value(scrape(backend), "opsbackend_agents_connected") > 1; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::string again = scrape(backend);
  CHECK(value(again, "opsbackend_agents_connected") == 1);
  CHECK(value(again, R"(opsbackend_machines{state="converged",online="true"})") == 1);
  // Strangers may read it: nobody is named.
  CHECK(text.find("web1") == std::string::npos);
  CHECK(text.find("default") == std::string::npos);
}
