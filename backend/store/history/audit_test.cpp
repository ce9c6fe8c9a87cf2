// The audit's chain, and what it takes.

#include "backend/store/history/audit.hpp"

#include <doctest/doctest.h>

#include "backend/domain/access/audit_chain.hpp"
#include "backend/store/history/housekeeping.hpp"
#include "base/sha256.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;

namespace {

using backend::store::Store;
using tests::must;
using tests::StoreBench;

void add(StoreBench& bench, const std::string& object, std::string_view result = backend::domain::kDone) {
  domain::AuditRow row{.at = bench.now, .actor = "ann", .action = "test", .object = object};
  row.from = "10.0.0.7";
  row.result = result;
  must(backend::store::add_audit(*bench, row));
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

}  // namespace

STORE_TEST_CASE("an audit row's chain is the hash of the one before and of its fields with their lengths") {
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

STORE_TEST_CASE("a flood of refusals is noted up to a bound, and the rest is counted") {
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
  must(backend::store::purge(*bench, {}));  // housekeeping tells of those that nobody came after
  rows = must(bench->list_audit({"", 1})).items;
  CHECK(rows[0].actor == "opsbackend");
  CHECK(rows[0].detail == "9 more that were not noted one by one");
  CHECK(first_bad(bench) == 0);
}

STORE_TEST_CASE("what is in the audit is what everybody can read: text, of a bounded length") {
  StoreBench bench;
  add(bench, std::string("a\xff\0b", 4) + std::string(100'000, 'x'));
  const auto row = must(bench->list_audit({})).items.at(0);
  CHECK(row.object.starts_with("a??bxxx"));
  CHECK(row.object.size() < 4200);
  CHECK(first_bad(bench) == 0);
}

STORE_TEST_CASE("audit rows are listed newest first, in pages") {
  StoreBench bench;
  for (int i = 0; i < 3; ++i)
    must(backend::store::add_audit(*bench, {0, bench.now + i, "admin", "assign", "web", std::to_string(i)}));
  auto page = must(bench->list_audit({"", 2}));
  CHECK(page.items[0].detail == "2");
  CHECK(must(bench->list_audit({page.next, 2})).items[0].detail == "0");
}

STORE_TEST_CASE("of two writers who add to the audit after the same row one is refused") {
  StoreBench bench;
  add(bench, "first");
  const auto head = must(bench->audit_head());
  const domain::AuditRow row{.at = bench.now, .actor = "ann", .action = "test", .object = "x", .detail = ""};
  must(bench->append_audit(head, domain::next_audit_row(head, row)));
  CHECK(bench->append_audit(head, domain::next_audit_row(head, row)).error().code() ==
        base::ErrorCode::exists);
  CHECK(first_bad(bench) == 0);
}
