// The audit in an SQLite file: what happens to it when somebody edits the file, and how it began.
#include <filesystem>

#include <doctest/doctest.h>

#include "backend/domain/access/audit_chain.hpp"
#include "backend/store/history/audit.hpp"
#include "backend/store/sqlite/schema/schema.hpp"
#include "backend/store/sqlite/sqlite.hpp"
#include "base/sha256.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;

namespace {

using backend::store::Store;
using tests::must;
using tests::StoreBench;

void add_row(StoreBench& bench, const std::string& object, std::string_view result = backend::domain::kDone) {
  domain::AuditRow row{.at = bench.now, .actor = "ann", .action = "test", .object = object};
  row.from = "10.0.0.7";
  row.result = result;
  must(backend::store::add_audit(*bench, row));
}

// The id of the first row that does not follow; 0: all do, and the last is the head.
std::int64_t first_bad_row(StoreBench& bench) {
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
    auto database = must(store::sqlite::Database::open(tests::sqlite_file(bench.folder.path()),
                                                       store::sqlite::Database::Mode::write));
    must(database.execute("DROP TRIGGER audit_is_not_edited; DROP TRIGGER audit_is_not_removed; " + sql));
  }
  bench.open();
}

}  // namespace

TEST_CASE("an edited audit row, a removed one and a removed end are found") {
  const auto found = [](const std::string& sql) {
    StoreBench bench;
    for (int i = 0; i < 5; ++i)
      add_row(bench, std::to_string(i));
    CHECK(first_bad_row(bench) == 0);
    tamper(bench, sql);
    const auto bad = first_bad_row(bench);
    add_row(bench, "later");
    CHECK(first_bad_row(bench) > 0);
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
    std::filesystem::remove(tests::sqlite_file(bench.folder.path()) + ending);
  {
    auto database = must(store::sqlite::Database::open(tests::sqlite_file(bench.folder.path()),
                                                       store::sqlite::Database::Mode::write));
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
  CHECK(first_bad_row(bench) == 0);
  CHECK(bench.admit("web1").verdict == backend::domain::Admission::Verdict::admitted);
  add_row(bench, "new");
  CHECK(must(bench->audit_head()).id == 3);
  CHECK(first_bad_row(bench) == 0);
  tamper(bench, "UPDATE audit SET detail='x' WHERE id=1");
  CHECK(first_bad_row(bench) == 1);
}

TEST_CASE("audit rows are added and never edited or removed") {
  StoreBench bench;
  for (int i = 0; i < 3; ++i)
    must(backend::store::add_audit(*bench, {0, bench.now + i, "admin", "assign", "web", std::to_string(i)}));
  auto page = must(bench->list_audit({"", 2}));
  CHECK(page.items[0].detail == "2");
  CHECK(must(bench->list_audit({page.next, 2})).items[0].detail == "0");
  bench.store.reset();
  auto database = must(backend::store::sqlite::Database::open(tests::sqlite_file(bench.folder.path()),
                                                              backend::store::sqlite::Database::Mode::write));
  CHECK_FALSE(database.execute("DELETE FROM audit"));
  CHECK_FALSE(database.execute("UPDATE audit SET detail='x'"));
}
