// Rollouts of recipes in a file from before there were any.
#include <doctest/doctest.h>

#include "backend/store/sqlite/schema/schema.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;
using tests::must;

namespace {

std::unique_ptr<store::Store> open_old(const tests::ScratchFolder& folder, const std::string& rows) {
  const std::string path = folder / "old.db";
  {
    auto database = must(store::sqlite::Database::open(path, store::sqlite::Database::Mode::write));
    must(store::sqlite::migrate(database, store::sqlite::schema_steps().first(14)));
    if (!rows.empty()) must(database.execute(rows));
  }
  return must(store::sqlite::open_sqlite_store(path, store::Access::write));
}

}  // namespace

TEST_CASE("rollouts of an older database are of versions, and its apps go on with all machines at once") {
  tests::ScratchFolder folder;
  const auto store = open_old(folder,
                              "INSERT INTO rollouts (id, app_id, selector, canary, version, url, state, "
                              "reason, ring, rings, pause_s, "
                              "jitter_s, timeout_s, created, created_by, next_at, ended) VALUES ('r1', "
                              "'default', '*', '', '2.0', '', "
                              "'running', '', 0, '5 15', 60, 5, 900, 5000, 'ann', 0, 0);"
                              "INSERT INTO instances (app_id, instance_id, token_hash, first_seen) VALUES "
                              "('default', 'm1', 'x', 1);");
  const domain::Rollout old = must(store->find_rollout("r1"));
  CHECK(old.kind == domain::RolloutKind::version);
  CHECK(old.may_fail == domain::kMayFail);
  CHECK(old.rings == std::vector<std::size_t>{5, 15});
  CHECK(must(store->held_changes("default")).empty());
  CHECK(must(store->find_app("default")).rings.empty());
}

TEST_CASE("an installation without machines and recipes is new: its changes go ring by ring") {
  tests::ScratchFolder folder;
  const auto store = open_old(folder, "");
  CHECK(must(store->find_app("default")).rings == std::vector<int>{10, 50, 100});
}
