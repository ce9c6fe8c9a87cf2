// Pauses in a file from before there were any.
#include <doctest/doctest.h>

#include "backend/store/sqlite/schema/schema.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;
using tests::must;

TEST_CASE("an older database has no paused machines, and none whose agent knows pauses") {
  tests::ScratchFolder folder;
  const std::string path = folder / "old.db";
  {
    auto database = must(store::sqlite::Database::open(path, store::sqlite::Database::Mode::write));
    must(store::sqlite::migrate(database, store::sqlite::schema_steps().first(17)));
    must(
        database.execute("INSERT INTO instances (app_id, instance_id, token_hash, first_seen) VALUES "
                         "('default', 'm1', 'x', 1);"));
  }
  const auto store = must(store::sqlite::open_sqlite_store(path, store::Access::write));
  const auto machine = must(store->find_instance("default", "m1"));
  CHECK(machine.pause == domain::Pause{});
  CHECK_FALSE(machine.takes_holds);
  CHECK(machine.said_holds.empty());
  must(store->set_pause(machine.key, {.by = "alice", .reason = "x", .since = 5, .until = 9}));
  CHECK(must(store->find_instance("default", "m1")).pause.is_on(8));
}

TEST_CASE("a program that does not know pauses refuses a database that has them") {
  tests::ScratchFolder folder;
  auto database =
      must(store::sqlite::Database::open(folder / "new.db", store::sqlite::Database::Mode::write));
  must(store::sqlite::migrate(database));
  const auto refused = store::sqlite::migrate(database, store::sqlite::schema_steps().first(17));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("knows only 17: use the newer opsbackend again") != std::string::npos);
}
