#include "backend/store/sqlite/sqlite.hpp"

#include <array>

#include <doctest/doctest.h>

#include "backend/store/sqlite/schema.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/store_bench.hpp"

namespace {

using backend::store::sqlite::Database;
using backend::store::sqlite::Query;
using base::Error;
using base::ErrorCode;
using base::Result;
using tests::must;

std::int64_t number(Database& database, const char* sql) {
  Query query(database, sql);
  REQUIRE(must(query.next()));
  return query.integer(0);
}

Result<void> insert(Database& database, int value) {
  auto done = database.run("INSERT INTO t VALUES (?)", value);
  if (!done) return std::move(done).error();
  return {};
}

}  // namespace

TEST_CASE("an error inside a transaction undoes its own part and no other") {
  const tests::ScratchFolder folder;
  auto database = must(Database::open(folder / "a.db", Database::Mode::write));
  must(database.execute("CREATE TABLE t (x)"));
  auto outer = database.transact([&]() -> Result<void> {
    must(database.transact([&] { return insert(database, 1); }));
    const auto failed = database.transact([&]() -> Result<void> {
      must(insert(database, 10));
      return Error(ErrorCode::invalid, "no");
    });
    CHECK_FALSE(failed);
    must(database.transact([&] { return insert(database, 2); }));
    return {};
  });
  must(std::move(outer));
  CHECK(number(database, "SELECT sum(x) FROM t") == 3);

  CHECK_FALSE(database.transact([&]() -> Result<void> {
    must(database.transact([&] { return insert(database, 100); }));
    return Error(ErrorCode::invalid, "no");
  }));
  CHECK(number(database, "SELECT sum(x) FROM t") == 3);
}

TEST_CASE("a query inside the same query reads on where it was") {
  const tests::ScratchFolder folder;
  auto database = must(Database::open(folder / "a.db", Database::Mode::write));
  must(database.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2), (3)"));
  std::int64_t sum = 0;
  Query outer(database, "SELECT x FROM t");
  while (must(outer.next())) {
    Query inner(database, "SELECT x FROM t");
    while (must(inner.next()))
      sum += outer.integer(0) * inner.integer(0);
  }
  CHECK(sum == 36);
}

TEST_CASE("a reader sees what is committed, and cannot write") {
  const tests::ScratchFolder folder;
  auto writer = must(Database::open(folder / "a.db", Database::Mode::write));
  must(writer.execute("CREATE TABLE t (x)"));
  auto reader = must(Database::open(folder / "a.db", Database::Mode::read_only));
  must(writer.transact([&]() -> Result<void> {
    must(insert(writer, 1));
    CHECK(number(reader, "SELECT count(*) FROM t") == 0);
    return {};
  }));
  CHECK(number(reader, "SELECT count(*) FROM t") == 1);
  CHECK_FALSE(reader.execute("INSERT INTO t VALUES (2)"));
}

TEST_CASE("a commit is on disk when it returns") {
  const tests::ScratchFolder folder;
  auto database = must(Database::open(folder / "a.db", Database::Mode::write));
  CHECK(number(database, "PRAGMA synchronous") == 2);
  CHECK(number(database, "PRAGMA foreign_keys") == 1);
}

TEST_CASE("a database of the version before is brought to the present, with what is in it") {
  const tests::ScratchFolder folder;
  const std::array<backend::store::sqlite::SchemaStep, 1> old{
      {{.sql = "CREATE TABLE t (x); INSERT INTO t VALUES (7)"}}};
  const std::array<backend::store::sqlite::SchemaStep, 2> present{
      {old[0], {.sql = "ALTER TABLE t ADD COLUMN y DEFAULT 5"}}};
  {
    auto database = must(Database::open(folder / "a.db", Database::Mode::write));
    must(backend::store::sqlite::migrate(database, old));
  }
  auto database = must(Database::open(folder / "a.db", Database::Mode::write));
  must(backend::store::sqlite::migrate(database, present));
  must(backend::store::sqlite::migrate(database, present));
  CHECK(number(database, "SELECT x + y FROM t") == 12);
  CHECK(number(database, "PRAGMA user_version") == 2);
}

TEST_CASE("a step that fails leaves the version before") {
  const tests::ScratchFolder folder;
  const std::array<backend::store::sqlite::SchemaStep, 2> steps{
      {{.sql = "CREATE TABLE t (x)"}, {.sql = "CREATE TABLE u (x); CREATE TABLE t (x)"}}};
  auto database = must(Database::open(folder / "a.db", Database::Mode::write));
  const auto done = backend::store::sqlite::migrate(database, steps);
  REQUIRE_FALSE(done);
  CHECK(done.error().message() == "bringing the database to version 2: database: table t already exists");
  CHECK(number(database, "PRAGMA user_version") == 1);
  CHECK(number(database, "SELECT count(*) FROM sqlite_schema WHERE name='u'") == 0);
}

TEST_CASE("a database of a newer version is refused") {
  tests::StoreBench bench;
  bench.store.reset();
  {
    auto database = must(Database::open(tests::sqlite_file(bench.folder.path()), Database::Mode::write));
    must(database.execute("PRAGMA user_version=99"));
  }
  for (const auto access : {backend::store::Access::write, backend::store::Access::read_only}) {
    const auto store =
        backend::store::sqlite::open_sqlite_store(tests::sqlite_file(bench.folder.path()), access);
    REQUIRE_FALSE(store);
    CHECK(store.error().message().find("the database has version 99") != std::string::npos);
    CHECK(store.error().message().find("use the newer opsbackend") != std::string::npos);
  }
}

TEST_CASE("a file that is no database says what to do") {
  const tests::ScratchFolder folder;
  folder.write("a.db", std::string(8192, 'x'));
  const auto store =
      backend::store::sqlite::open_sqlite_store(folder / "a.db", backend::store::Access::write);
  REQUIRE_FALSE(store);
  CHECK(store.error().message().find("put a backup in its place") != std::string::npos);
}
