// Recipes in a file from before their sizes were noted.
#include <doctest/doctest.h>

#include "backend/store/inventory/recipes.hpp"
#include "backend/store/sqlite/schema/schema.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;
using tests::must;

TEST_CASE("recipes of a database from before their sizes were noted count with what they take") {
  tests::ScratchFolder folder;
  const std::string path = folder / "old.db";
  {
    auto database = must(store::sqlite::Database::open(path, store::sqlite::Database::Mode::write));
    must(store::sqlite::migrate(database, store::sqlite::schema_steps().first(7)));
    must(database.execute(
        "INSERT INTO revisions (name, revision, digest, syntax, state_count, created, content, states) "
        "VALUES ('web', 1, 'd', 'json', 0, 1, '{\u00e4}', '[]'), ('db', 1, 'e', 'json', 0, 2, '{ }', '[]')"));
    must(database.execute("INSERT INTO recipe_owners VALUES ('web', 'role=web')"));
  }
  const auto store = must(store::sqlite::open_sqlite_store(path, store::Access::write));
  const auto web = must(store->recipe_use("role=web"));
  CHECK(web.revisions == 1);
  CHECK(web.bytes == 6);
  CHECK(must(store->find_revision("web", 1)).author.empty());  // nobody had noted it
  CHECK(must(store->recipe_use("")).bytes == 5);               // that of a recipe of which no owner is noted
}
