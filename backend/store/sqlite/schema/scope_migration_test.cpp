// Tags, assignments and rollouts in a file from before it was known whose they are.
#include <algorithm>

#include <doctest/doctest.h>

#include "backend/store/sqlite/schema/schema.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;
using tests::must;

TEST_CASE("tags, assignments and rollouts of an older database are of tokens without a scope") {
  tests::ScratchFolder folder;
  const std::string path = folder / "old.db";
  {
    const auto steps = store::sqlite::schema_steps();
    const auto ours =
        std::ranges::find(steps, store::sqlite::scope_step().sql, &store::sqlite::SchemaStep::sql);
    REQUIRE(ours != steps.end());
    auto database = must(store::sqlite::Database::open(path, store::sqlite::Database::Mode::write));
    must(store::sqlite::migrate(database, steps.first(static_cast<std::size_t>(ours - steps.begin()))));
    must(database.execute(
        "INSERT INTO instances (app_id, instance_id, token_hash, first_seen, operator_tags) VALUES "
        "('default', 'web1', 'h', 1, '{\"role\":\"web\"}');"
        "INSERT INTO assignments (app_id, selector, recipe, position, kill_on_change, created, edit) VALUES "
        "('default', 'role=web', 'web', 0, 0, 1, 1);"
        "INSERT INTO rollouts (id, app_id, selector, canary, version, url, state, reason, ring, rings, "
        "pause_s, jitter_s, timeout_s, created, created_by, next_at, ended) VALUES "
        "('r', 'default', 'role=web', '', '2', '', 'running', '', 0, '1', 1, 1, 1, 1, 'ann', 0, 0)"));
  }
  const auto store = must(store::sqlite::open_sqlite_store(path, store::Access::write));
  const auto instance = must(store->find_instance("default", "web1"));
  CHECK(instance.operator_tags.at("role") == "web");
  CHECK(instance.tag_scopes.empty());
  CHECK(must(store->find_assignment(1)).owner.empty());
  CHECK(must(store->find_rollout("r")).owner.empty());
  must(store->set_operator_tags(instance.key, {{"role", "web"}, {"x", "y"}}, {{"x", "role=web"}}));
  CHECK(must(store->find_instance(instance.key)).tag_scopes == domain::Tags{{"x", "role=web"}});
  CHECK(must(store->instance_progress(instance.key)).tag_scopes == domain::Tags{{"x", "role=web"}});
}
