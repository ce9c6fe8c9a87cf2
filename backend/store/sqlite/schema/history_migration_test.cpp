// A file from before databases had a history.
#include <algorithm>

#include <doctest/doctest.h>

#include "backend/store/history/history.hpp"
#include "backend/store/sqlite/schema/schema.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;
using tests::must;

TEST_CASE("an older database gets a history and a key of its own, and keeps both") {
  tests::ScratchFolder folder;
  std::vector<std::string> keys;
  for (const char* name : {"one.db", "two.db"}) {
    const std::string path = folder / name;
    const auto steps = store::sqlite::schema_steps();
    const auto ours =
        std::ranges::find(steps, store::sqlite::history_step().sql, &store::sqlite::SchemaStep::sql);
    REQUIRE(ours != steps.end());
    {
      auto database = must(store::sqlite::Database::open(path, store::sqlite::Database::Mode::write));
      must(store::sqlite::migrate(database, steps.first(static_cast<std::size_t>(ours - steps.begin()))));
    }
    std::string mark;
    {
      const auto store = must(store::sqlite::open_sqlite_store(path, store::Access::write));
      const auto history = must(store->history());
      CHECK(history.key.size() == 64);
      CHECK(history.id.size() == 16);
      keys.push_back(history.key);
      mark = must(store::history_mark(*store));
    }
    const auto again = must(store::sqlite::open_sqlite_store(path, store::Access::write));
    CHECK(must(store::history_mark(*again)) == mark);
    CHECK(must(store::look_at_mark(*again, mark, "default/m", 1)).empty());
  }
  CHECK(keys[0] != keys[1]);
}
