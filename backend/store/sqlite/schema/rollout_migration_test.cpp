// Rollouts in a file from before there were any.
#include <doctest/doctest.h>

#include "backend/rollouts/rollout_step.hpp"
#include "backend/store/sqlite/schema/schema.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;
using tests::must;

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
  CHECK(must(rollouts::step_rollouts(*store, 9000)).orders.empty());
  CHECK(must(store->find_app("default")).agent_version.empty());
}
