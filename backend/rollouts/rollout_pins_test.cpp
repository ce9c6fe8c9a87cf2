// Pinned versions, and how long rollouts are kept.
#include "backend/store/sqlite/schema.hpp"
#include "tests/support/rollout_bench.hpp"

using namespace backend;
using namespace backend::rollouts;
using tests::must;
using Bench = tests::RolloutBench;

TEST_CASE("a pinned version is told at the handshake, once, until the pin changes") {
  Bench bench;
  bench.join_all(1);
  const auto pin = [&](const std::string& version) {
    domain::App app = must(bench->find_app("default"));
    app.agent_version = version;
    return must(bench->put_app(app, std::nullopt, bench.now)).agent_version;
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

TEST_CASE("retention removes rollouts that are over, the oldest first") {
  Bench bench;
  bench.join_all(2);
  bench.start();
  must(bench->purge({.oldest = bench.now + 1'000'000}));
  CHECK(bench.state() == "running");
  bench.command(RolloutCommand::abort);
  must(bench->purge({.oldest = bench.now}));
  CHECK(bench.state() == "aborted");
  must(bench->purge({.oldest = bench.now + 1}));
  CHECK_FALSE(bench->find_rollout("r1"));
  CHECK(must(bench->count_rollouts()).empty());
}

TEST_CASE("updates of a database of version 2 are rollouts that are over") {
  tests::ScratchFolder folder;
  const std::string path = folder / "old.db";
  {
    auto database = must(store::sqlite::Database::open(path, store::sqlite::Database::Mode::write));
    must(store::sqlite::migrate(database, store::sqlite::schema_steps().first(2)));
    must(
        database.execute("INSERT INTO updates VALUES ('act1', 'default', '*', '1.9', '', 5000);"
                         "INSERT INTO update_targets VALUES ('act1', 1, 'm1', 'sent', '', NULL, 5000);"
                         "INSERT INTO update_targets VALUES ('act1', 2, 'm2', 'confirmed', '', 1.0, 6000);"));
  }
  const auto store = must(store::sqlite::open_sqlite_store(path, store::Access::write));
  const domain::Rollout old = must(store->find_rollout("act1"));
  CHECK(old.version == "1.9");
  CHECK(old.state == domain::RolloutState::ended);
  const auto targets = must(store->list_rollout_targets(old, "", {})).items;
  REQUIRE(targets.size() == 2);
  CHECK(targets[0].phase == "told");
  CHECK(targets[1].phase == "confirmed");
  CHECK(must(step_rollouts(*store, 9000)).orders.empty());
  CHECK(must(store->find_app("default")).agent_version.empty());
}

TEST_CASE("while a rollout has a machine its app's pin is not told") {
  Bench bench;
  bench.join_all(6);
  bench.start();
  domain::App app = must(bench->find_app("default"));
  app.agent_version = "3.0";
  must(bench->put_app(app, std::nullopt, bench.now));
  const auto last = must(bench->list_rollout_targets(bench.rollout(), "", {})).items.back().instance_id;
  CHECK_FALSE(bench.come(last, "1.2.3", "3.0"));
  bench.command(RolloutCommand::abort);
  CHECK(bench.come(last, "1.2.3", "3.0"));
}
