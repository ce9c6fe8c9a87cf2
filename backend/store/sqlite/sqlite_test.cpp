#include "backend/store/sqlite/sqlite.hpp"

#include <array>
#include <cstdlib>
#include <random>
#include <set>

#include <doctest/doctest.h>

#include "backend/store/sqlite/schema/schema.hpp"
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

TEST_CASE(
    "attack: a disk that is full in the middle undoes all of a transaction, and nothing after it counts") {
  const tests::ScratchFolder folder;
  auto database = must(Database::open(folder / "a.db", Database::Mode::write));
  must(database.execute("CREATE TABLE t (x); PRAGMA max_page_count=10"));
  const auto fill = [&] {
    auto done = database.run("INSERT INTO t VALUES (zeroblob(1000000))");
    return done ? Result<void>() : Result<void>(std::move(done).error());
  };
  const auto outer = database.transact([&]() -> Result<void> {
    must(database.transact([&] { return insert(database, 1); }));
    const auto full = database.transact(fill);
    REQUIRE_FALSE(full);
    CHECK(full.error().code() == ErrorCode::no_space);
    // Each of these would have been a transaction of its own.
    CHECK(database.transact([&] { return insert(database, 2); }).error().code() == ErrorCode::no_space);
    CHECK(insert(database, 3).error().code() == ErrorCode::no_space);
    CHECK(database.execute("INSERT INTO t VALUES (4)").error().code() == ErrorCode::no_space);
    return {};  // nobody has noticed
  });
  REQUIRE_FALSE(outer);
  CHECK(outer.error().code() == ErrorCode::no_space);
  CHECK(number(database, "SELECT count(*) FROM t") == 0);
  must(database.transact([&] { return insert(database, 5); }));  // the next one is as any other
  CHECK(number(database, "SELECT sum(x) FROM t") == 5);
}

// OPSAGENT_SCHEDULES: how many runs; OPSAGENT_SEED: that of the first.
TEST_CASE("whichever jobs meet a disk that is full, a batch is there as a whole or not at all") {
  const auto number_of = [](const char* variable, unsigned long otherwise) {
    const char* const text = std::getenv(variable);
    return text ? std::strtoul(text, nullptr, 10) : otherwise;
  };
  const auto runs = number_of("OPSAGENT_SCHEDULES", 50);
  const auto first = number_of("OPSAGENT_SEED", std::random_device{}() % 1'000'000'000);
  std::size_t batches = 0, lost = 0;
  for (unsigned long seed = first; seed < first + runs; ++seed) {
    INFO("OPSAGENT_SEED=", seed, " OPSAGENT_SCHEDULES=1");
    std::mt19937 random(static_cast<unsigned>(seed));
    const tests::ScratchFolder folder;
    auto database = must(Database::open(folder / "a.db", Database::Mode::write));
    must(database.execute("CREATE TABLE t (x INTEGER, filler BLOB); PRAGMA max_page_count=" +
                          std::to_string(20 + random() % 60)));
    std::set<std::int64_t> model;
    std::int64_t next = 0;
    for (int batch = 0; batch < 40; ++batch) {
      std::set<std::int64_t> succeeded;
      const auto outer = database.transact([&]() -> Result<void> {
        for (auto jobs = 1 + random() % 6; jobs > 0; --jobs) {
          const std::int64_t value = ++next;
          const bool gives_up = random() % 5 == 0;
          const int bytes = random() % 4 == 0 ? 60'000 : 100;
          const auto job = database.transact([&]() -> Result<void> {
            auto added = database.run("INSERT INTO t VALUES (?, zeroblob(?))", value, bytes);
            if (!added) return std::move(added).error();
            if (gives_up) return Error(ErrorCode::invalid, "no");
            return {};
          });
          if (job) succeeded.insert(value);
        }
        if (random() % 8 == 0) return Error(ErrorCode::invalid, "no");
        return {};
      });
      ++batches;
      if (outer) model.merge(succeeded);
      if (!outer && outer.error().code() == ErrorCode::no_space) ++lost;
      std::set<std::int64_t> there;
      {
        Query rows(database, "SELECT x FROM t");
        while (must(rows.next()))
          there.insert(rows.integer(0));
      }
      REQUIRE(there == model);
      if (random() % 4 != 0) continue;
      must(database.run("DELETE FROM t"));
      model.clear();
    }
  }
  MESSAGE("OPSAGENT_SEED=", first, ": ", batches, " batches, ", lost, " of them on a full disk");
  CHECK(lost > 0);
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
