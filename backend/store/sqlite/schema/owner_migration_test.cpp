// Recipes in a file from before they had owners.
#include <doctest/doctest.h>

#include "backend/store/sqlite/schema/schema.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;
using tests::must;

TEST_CASE("recipes of a database from before there were owners belong to tokens without a scope") {
  tests::ScratchFolder folder;
  const std::string path = folder / "old.db";
  {
    auto database = must(store::sqlite::Database::open(path, store::sqlite::Database::Mode::write));
    must(store::sqlite::migrate(database, store::sqlite::schema_steps().first(3)));
    must(database.execute(
        "INSERT INTO revisions (name, revision, digest, syntax, state_count, created, content, states) "
        "VALUES "
        "('web', 1, 'd', 'json', 0, 1, '{}', '[]'), ('web', 2, 'e', 'json', 0, 2, '{ }', '[]')"));
  }
  const auto store = must(store::sqlite::open_sqlite_store(path, store::Access::write));
  CHECK(must(store->recipe_owner("web")).empty());
  const auto recipes = must(store->list_recipes({}));
  REQUIRE(recipes.items.size() == 1);
  CHECK(recipes.items[0].newest == 2);
  CHECK(recipes.items[0].owner.empty());
  must(store->set_recipe_owner("web", "role=web"));
  CHECK(must(store->recipe_owner("web")) == "role=web");
  CHECK(must(store->list_recipes({})).items[0].owner == "role=web");
}
