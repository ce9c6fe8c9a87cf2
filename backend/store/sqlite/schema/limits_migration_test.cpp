// What reports take, in a file from before it was counted.
#include <algorithm>

#include <doctest/doctest.h>

#include "backend/store/history/housekeeping.hpp"
#include "backend/store/sqlite/schema/schema.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;
using tests::must;

TEST_CASE("reports of an older database are counted, and are removed with what they were counted for") {
  tests::ScratchFolder folder;
  const std::string path = folder / "old.db";
  const auto steps = store::sqlite::schema_steps();
  const auto ours =
      std::ranges::find(steps, store::sqlite::limits_step().sql, &store::sqlite::SchemaStep::sql);
  REQUIRE(ours != steps.end());
  {
    auto database = must(store::sqlite::Database::open(path, store::sqlite::Database::Mode::write));
    must(store::sqlite::migrate(database, steps.first(static_cast<std::size_t>(ours - steps.begin()))));
    must(database.execute(
        "INSERT INTO instances (id, app_id, instance_id, token_hash, first_seen) VALUES (7, 'default', 'm', "
        "'', 1);"
        "INSERT INTO results (instance, agent, seq, received, recipe_version, state_id, ok, outcome, "
        "comment, run_id, "
        "round, attempt, started, duration_ms, cpu_ms, max_rss_kb, truncated) VALUES (7, 1, 1, 5, 1, 'a', 1, "
        "'kept', "
        "'', '', 1, 1, '', 0, 0, 0, 0), (7, 1, 2, 6, 1, 'a', 1, 'kept', '', '', 1, 1, '', 0, 0, 0, 0);"
        "INSERT INTO statuses (instance, agent, seq, received, recipe_version, status, errors) VALUES (7, 1, "
        "3, 6, 1, "
        "'running', '[]');"));
  }
  const auto store = must(store::sqlite::open_sqlite_store(path, store::Access::write));
  auto use = must(store->report_use(7));
  CHECK(use.results.rows == 2);
  CHECK(use.results.bytes == 1024);
  CHECK(use.statuses.rows == 1);
  const auto rows = must(store->list_results({.app_id = "default", .instance_id = "m"}, {}));
  REQUIRE(rows.items.size() == 2);
  CHECK(rows.items[0].log.cause == protocol::ChangeCause::none);  // nobody has said
  CHECK(must(store->fleet("", 0)).results == 2);
  must(store::purge(*store, {.oldest = 6}));
  CHECK(must(store->report_use(7)).results.bytes == 512);
  must(store::purge(*store, {.oldest = 7}));
  use = must(store->report_use(0));
  CHECK(use.results.bytes == 512);  // the newest stays, for its id
  CHECK(use.statuses.rows == 1);
}

TEST_CASE("whether there is room is found out by writing") {
  tests::StoreBench bench;
  must(bench->probe_room(bench.now));
  must(bench->probe_room(bench.now + 1));
}
