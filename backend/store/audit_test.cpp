// The audit's chain, and what happens to it when somebody edits the file.
#include <filesystem>

#include <doctest/doctest.h>

#include "backend/domain/audit_chain.hpp"
#include "backend/store/sqlite/schema.hpp"
#include "backend/store/sqlite/sqlite.hpp"
#include "base/sha256.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;

namespace {

using backend::domain::AuditRow;
using backend::store::Store;
using backend::store::sqlite::Database;
using tests::must;
using tests::StoreBench;

void add(StoreBench& bench, const std::string& object, std::string_view result = backend::domain::kDone) {
  domain::AuditRow row{.at = bench.now, .actor = "ann", .action = "test", .object = object};
  row.from = "10.0.0.7";
  row.result = result;
  must(bench->add_audit(row));
}

// The id of the first row that does not follow; 0: all do, and the last is the head.
std::int64_t first_bad(StoreBench& bench) {
  std::string chain(backend::domain::kNoChain);
  std::int64_t last = 0;
  for (const domain::AuditRow& row : must(bench->list_audit({"", 1000}, Store::Order::oldest_first)).items) {
    chain = backend::domain::chain_after(chain, row);
    if (chain != row.chain) return row.id;
    last = row.id;
  }
  const auto head = must(bench->audit_head());
  return head.id == last && head.chain == chain ? 0 : -1;
}

// As somebody with the file would.
void tamper(StoreBench& bench, const std::string& sql) {
  bench.store.reset();
  {
    auto database = must(sqlite::Database::open(bench.path(), sqlite::Database::Mode::write));
    must(database.execute("DROP TRIGGER audit_is_not_edited; DROP TRIGGER audit_is_not_removed; " + sql));
  }
  bench.open();
}

}  // namespace

TEST_CASE("an audit row's chain is the hash of the one before and of its fields with their lengths") {
  StoreBench bench;
  add(bench, "web");
  add(bench, "db");
  const auto rows = must(bench->list_audit({"", 10}, Store::Order::oldest_first)).items;
  REQUIRE(rows.size() == 2);
  const std::string at = std::to_string(bench.now);
  const std::string first =
      base::sha256_hex(std::string(64, '0') + "1:1,13:" + at + ",3:ann,8:10.0.0.7,4:test,3:web,0:,2:ok,");
  CHECK(rows[0].chain == first);
  CHECK(rows[1].chain == base::sha256_hex(first + "1:2,13:" + at + ",3:ann,8:10.0.0.7,4:test,2:db,0:,2:ok,"));
  CHECK(must(bench->audit_head()).chain == rows[1].chain);
  CHECK(first_bad(bench) == 0);
}

TEST_CASE("an edited audit row, a removed one and a removed end are found") {
  const auto found = [](const std::string& sql) {
    StoreBench bench;
    for (int i = 0; i < 5; ++i)
      add(bench, std::to_string(i));
    CHECK(first_bad(bench) == 0);
    tamper(bench, sql);
    const auto bad = first_bad(bench);
    add(bench, "later");
    CHECK(first_bad(bench) > 0);
    return bad;
  };
  CHECK(found("UPDATE audit SET actor='bob' WHERE id=3") == 3);
  CHECK(found("UPDATE audit SET at=at+1 WHERE id=1") == 1);
  CHECK(found("UPDATE audit SET result='denied' WHERE id=5") == 5);
  CHECK(found("UPDATE audit SET actor='an', origin='n10.0.0.7' WHERE id=2") == 2);
  CHECK(found("DELETE FROM audit WHERE id=1") == 2);
  CHECK(found("DELETE FROM audit WHERE id=3") == 4);
  CHECK(found("DELETE FROM audit WHERE id>3") == -1);
}

TEST_CASE("a database of version 1 opens with its rows, and its audit rows are the beginning of the chain") {
  StoreBench bench;
  bench.store.reset();
  for (const char* ending : {"", "-wal", "-shm"})
    std::filesystem::remove(bench.path() + ending);
  {
    auto database = must(sqlite::Database::open(bench.path(), sqlite::Database::Mode::write));
    must(backend::store::sqlite::migrate(database, backend::store::sqlite::schema_steps().first(1)));
    must(
        database.execute("INSERT INTO audit (at, actor, action, object, detail) VALUES (5, 'admin', 'a', "
                         "'b', 'c'), (6, 'agent', "
                         "'d', 'e', 'f'); INSERT INTO instances (app_id, instance_id, token_hash, "
                         "first_seen) VALUES ('default', "
                         "'web1', '" +
                         base::sha256_hex("token of web1") + "', 7)"));
  }
  bench.open();
  CHECK(must(bench->list_audit({})).items.size() == 2);
  CHECK(first_bad(bench) == 0);
  CHECK(bench.admit("web1").verdict == backend::domain::Admission::Verdict::admitted);
  add(bench, "new");
  CHECK(must(bench->audit_head()).id == 3);
  CHECK(first_bad(bench) == 0);
  tamper(bench, "UPDATE audit SET detail='x' WHERE id=1");
  CHECK(first_bad(bench) == 1);
}

TEST_CASE("a flood of refusals is noted up to a bound, and the rest is counted") {
  StoreBench bench;
  for (int i = 0; i < 10'000; ++i)
    add(bench, "x", backend::domain::kDenied);
  add(bench, "done");  // what was done is always noted
  auto rows = must(bench->list_audit({"", 1000})).items;
  CHECK(rows.size() == 101);
  CHECK(rows[0].object == "done");
  bench.now += 20'000;
  add(bench, "y", backend::domain::kDenied);
  rows = must(bench->list_audit({"", 1})).items;
  CHECK(rows[0].detail == "(and 9900 more before it)");

  for (int i = 0; i < 10; ++i)
    add(bench, "z", backend::domain::kDenied);
  must(bench->purge({}));  // housekeeping tells of those that nobody came after
  rows = must(bench->list_audit({"", 1})).items;
  CHECK(rows[0].actor == "opsbackend");
  CHECK(rows[0].detail == "9 more that were not noted one by one");
  CHECK(first_bad(bench) == 0);
}

TEST_CASE("what is in the audit is what everybody can read: text, of a bounded length") {
  StoreBench bench;
  add(bench, std::string("a\xff\0b", 4) + std::string(100'000, 'x'));
  const auto row = must(bench->list_audit({})).items.at(0);
  CHECK(row.object.starts_with("a??bxxx"));
  CHECK(row.object.size() < 4200);
  CHECK(first_bad(bench) == 0);
}
