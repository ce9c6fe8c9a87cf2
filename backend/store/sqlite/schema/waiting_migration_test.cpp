// Machines that wait to be approved, in a file from before it was known where they come from.
#include <algorithm>

#include <doctest/doctest.h>

#include "backend/store/sqlite/schema/schema.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;
using tests::must;

TEST_CASE("machines of an older database that wait go on waiting, as those of one network") {
  tests::ScratchFolder folder;
  const std::string path = folder / "old.db";
  const auto steps = store::sqlite::schema_steps();
  const auto ours =
      std::ranges::find(steps, store::sqlite::waiting_step().sql, &store::sqlite::SchemaStep::sql);
  REQUIRE(ours != steps.end());
  {
    auto database = must(store::sqlite::Database::open(path, store::sqlite::Database::Mode::write));
    must(store::sqlite::migrate(database, steps.first(static_cast<std::size_t>(ours - steps.begin()))));
    must(database.execute(
        "INSERT INTO instances (app_id, instance_id, token_hash, first_seen, pending) VALUES "
        "('default', 'a', 'x', 1, 5), ('default', 'b', 'x', 1, 4), ('default', 'c', 'x', 1, 0);"));
  }
  const auto store = must(store::sqlite::open_sqlite_store(path, store::Access::write));
  auto counts = must(store->count_pending("192.0.2.1"));
  CHECK(counts.all == 2);
  CHECK(counts.of_network == 0);
  CHECK(counts.busiest.empty());
  CHECK(counts.of_busiest == 2);
  must(store->remove_oldest_pending(""));
  CHECK(must(store->count_pending("")).of_network == 1);
  CHECK(must(store->find_known_instance("default", "a")));
  CHECK_FALSE(must(store->find_known_instance("default", "b")));
  CHECK(must(store->find_known_instance("default", "c")));
}
