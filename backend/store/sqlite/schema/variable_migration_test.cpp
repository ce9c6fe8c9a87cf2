// Variables in a file from before there were any.
#include <doctest/doctest.h>

#include "backend/store/sqlite/schema/schema.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;
using tests::must;

TEST_CASE("an older database has no variables, and what its machines run stays as it is") {
  tests::ScratchFolder folder;
  const std::string path = folder / "old.db";
  {
    auto database = must(store::sqlite::Database::open(path, store::sqlite::Database::Mode::write));
    must(store::sqlite::migrate(database, store::sqlite::schema_steps().first(16)));
    must(
        database.execute("INSERT INTO placements (digest, kill_on_change, round_delay_s, has_waits, states) "
                         "VALUES ('d', 0, -1, 0, "
                         "'[1]');"
                         "INSERT INTO instances (app_id, instance_id, token_hash, first_seen, placement, "
                         "recipe_version) VALUES "
                         "('default', 'm1', 'x', 1, 1, 7);"
                         "INSERT INTO revisions (name, revision, digest, syntax, state_count, created, "
                         "content, states) VALUES "
                         "('web', 1, 'd', 'yaml', 1, 1, 'c', '[1]');"));
  }
  const auto store = must(store::sqlite::open_sqlite_store(path, store::Access::write));
  const auto machine = must(store->find_instance("default", "m1"));
  CHECK(machine.recipe_version == 7);
  CHECK_FALSE(machine.takes_inputs);
  const auto placement = must(store->find_placement(machine.placement));
  CHECK(placement.states == "[1]");
  CHECK(placement.base == 0);
  CHECK(placement.vars.empty());
  CHECK(must(store->find_revision("web", {})).inputs.empty());
  CHECK(must(store->layers_of("default", std::nullopt)).empty());
}

TEST_CASE("a program that does not know variables refuses a database that has them") {
  tests::ScratchFolder folder;
  auto database =
      must(store::sqlite::Database::open(folder / "new.db", store::sqlite::Database::Mode::write));
  must(store::sqlite::migrate(database));
  const auto refused = store::sqlite::migrate(database, store::sqlite::schema_steps().first(16));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message().find("knows only 16: use the newer opsbackend again") != std::string::npos);
}
