// Changes of variables that go out ring by ring.
#include "backend/rollouts/change_rollout.hpp"
#include "tests/support/change_bench.hpp"
#include "tests/support/variable_bench.hpp"

using namespace backend;
using namespace backend::rollouts;
using tests::given_to;
using tests::LayerKind;
using tests::must;
using tests::setting;
using Bench = tests::ChangeBench;
using Names = std::set<std::string>;

namespace {

void begin(Bench& bench, std::size_t count) {
  push_using(bench, "web", tests::using_variables({"port"}));
  bench.assign("*", "web");
  tests::set_variables(bench, setting(LayerKind::app, "", {{"port", "80"}}));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = "m" + std::to_string(i);
    bench.sessions[name] = join_with_variables(bench, name);
    must(fleet::place_instance(*bench, bench.sessions[name].instance));
  }
}

base::Result<PlacedChange> set_port(Bench& bench, const std::string& port,
                                    const ChangeTerms& terms = Bench::in_rings()) {
  std::optional<base::Result<PlacedChange>> placed;
  auto done = bench->transact([&]() -> base::Result<void> {
    auto put = must(store::put_layer(*bench, setting(LayerKind::app, "", {{"port", port}}), bench.now));
    placed = place_change(*bench, {.app_id = "default",
                                   .selector = "*",
                                   .change = {.layer = put.layer.id, .layer_before = put.before},
                                   .created_by = "ann",
                                   .owner = "",
                                   .terms = terms,
                                   .now = bench.now});
    return *placed ? base::Result<void>() : placed->error();
  });
  if (!placed) return std::move(done).error();
  if (*placed && (*placed)->rollout) bench.id = (*placed)->rollout->id;
  return std::move(*placed);
}

std::size_t with_port(Bench& bench, const std::string& port) {
  std::size_t count = 0;
  for (const auto& [name, session] : bench.sessions)
    if (given_to(bench, name) == R"({"port":)" + port + "}") ++count;
  return count;
}

}  // namespace

STORE_TEST_CASE(
    "a change of variables goes through its rings, over restarts, and each machine gets it once") {
  Bench bench;
  begin(bench, 60);
  const auto placed = set_port(bench, "81");
  REQUIRE_MESSAGE(placed, placed.error().message());
  REQUIRE(placed->rollout);
  CHECK(placed->rollout->kind == domain::RolloutKind::variables);
  CHECK(placed->affected == 60);
  CHECK(placed->placed.changed.empty());
  std::size_t given = 0;
  const auto sizes = placed->rollout->rings;
  for (std::size_t ring = 0; ring < sizes.size(); ++ring) {
    const Names now = bench.step();
    CHECK(now.size() == sizes[ring]);
    given += now.size();
    CHECK(with_port(bench, "81") == given);
    CHECK(with_port(bench, "80") == 60 - given);
    for (const std::string& name : now)
      bench.converge(name);
    if (ring + 1 == sizes.size()) break;
    bench.step(1);
    bench.now += 60'000;
  }
  bench.step();
  CHECK(bench.state() == "done");
  CHECK(with_port(bench, "81") == 60);
}

STORE_TEST_CASE(
    "values with which machines fail stop in the first ring, and the former ones bring them back") {
  Bench bench;
  begin(bench, 60);
  REQUIRE(set_port(bench, "81"));
  const Names canaries = bench.step();
  REQUIRE(!canaries.empty());
  for (const std::string& name : canaries)
    bench.fail(name);
  bench.step(1);
  CHECK(bench.state() == "stopped");
  CHECK(with_port(bench, "81") == canaries.size());
  // One that comes meanwhile has what there was before.
  bench.sessions["new"] = join_with_variables(bench, "new");
  must(fleet::place_instance(*bench, bench.sessions["new"].instance));
  CHECK(given_to(bench, "new") == R"({"port":80})");
  ChangeTerms back;
  back.supersedes = true;
  const auto placed = set_port(bench, "80", back);
  REQUIRE_MESSAGE(placed, placed.error().message());
  CHECK_FALSE(placed->rollout);
  CHECK(placed->affected == canaries.size());
  CHECK(with_port(bench, "80") == 61);
}

STORE_TEST_CASE("with --now everybody gets new values at once") {
  Bench bench;
  begin(bench, 60);
  ChangeTerms now;
  now.pace = domain::ChangePace::at_once;
  const auto placed = set_port(bench, "81", now);
  REQUIRE(placed);
  CHECK_FALSE(placed->rollout);
  CHECK(placed->placed.changed.size() == 60);
}
