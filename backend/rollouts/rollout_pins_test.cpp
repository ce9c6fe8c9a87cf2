// Pinned versions, and how long rollouts are kept.
//
// Compiled alone: its names are those of other tests.
#include "backend/store/history/housekeeping.hpp"
#include "backend/store/inventory/apps.hpp"
#include "tests/support/rollout_bench.hpp"

using namespace backend;
using namespace backend::rollouts;
using tests::must;
using Bench = tests::RolloutBench;

STORE_TEST_CASE("a pinned version is told at the handshake, once, until the pin changes") {
  Bench bench;
  bench.join_all(1);
  const auto pin = [&](const std::string& version) {
    domain::App app = must(bench->find_app("default"));
    app.agent_version = version;
    return must(backend::store::put_app(*bench, app, std::nullopt, bench.now)).agent_version;
  };
  CHECK(pin("3.0") == "3.0");
  CHECK_FALSE(bench.come("m0", "3.0", "3.0"));
  const auto first = bench.come("m0", "1.2.3", "3.0");
  REQUIRE(first);
  CHECK(first->version == "3.0");
  const auto again = bench.come("m0", "1.2.3", "3.0");
  REQUIRE(again);
  CHECK(again->action_id == first->action_id);
  bench.report("m0", "failed", first->action_id);
  const auto second = bench.come("m0", "1.2.3", "3.0");  // a full disk is not the version's fault
  REQUIRE(second);
  CHECK(second->action_id != first->action_id);
  bench.report("m0", "rolled_back", second->action_id);
  CHECK_FALSE(bench.come("m0", "1.2.3", "3.0"));

  pin("");
  CHECK_FALSE(bench.come("m0", "1.2.3", ""));
  pin("3.0");
  const auto new_pin = bench.come("m0", "1.2.3", "3.0");
  REQUIRE(new_pin);
  CHECK(new_pin->action_id != first->action_id);
  CHECK(bench.step().any_pinned);
  CHECK(bench.step(901).lost.size() == 1);
}

STORE_TEST_CASE("retention removes rollouts that are over, the oldest first") {
  Bench bench;
  bench.join_all(2);
  bench.start();
  must(backend::store::purge(*bench, {.oldest = bench.now + 1'000'000}));
  CHECK(bench.state() == "running");
  bench.command(RolloutCommand::abort);
  must(backend::store::purge(*bench, {.oldest = bench.now}));
  CHECK(bench.state() == "aborted");
  must(backend::store::purge(*bench, {.oldest = bench.now + 1}));
  CHECK_FALSE(bench->find_rollout("r1"));
  CHECK(must(bench->count_rollouts()).empty());
}

STORE_TEST_CASE("while a rollout has a machine its app's pin is not told") {
  Bench bench;
  bench.join_all(6);
  bench.start();
  domain::App app = must(bench->find_app("default"));
  app.agent_version = "3.0";
  must(backend::store::put_app(*bench, app, std::nullopt, bench.now));
  const auto last = must(bench->list_rollout_targets(bench.rollout(), "", {})).items.back().instance_id;
  CHECK_FALSE(bench.come(last, "1.2.3", "3.0"));
  bench.command(RolloutCommand::abort);
  CHECK(bench.come(last, "1.2.3", "3.0"));
}
