// Whose tags count, in a file from before machines were asked less.
#include <doctest/doctest.h>

#include "backend/fleet/placer.hpp"
#include "backend/store/sqlite/schema/schema.hpp"
#include "backend/store/sqlite/sqlite_store.hpp"
#include "tests/support/store_bench.hpp"

using namespace backend;
using domain::SelfTrust;
using tests::must;

namespace {

// The steps before the one about trust, wherever it stands.
std::span<const store::sqlite::SchemaStep> steps_before() {
  const auto steps = store::sqlite::schema_steps();
  const auto found =
      std::ranges::find(steps, store::sqlite::trust_step().compute, &store::sqlite::SchemaStep::compute);
  REQUIRE(found != steps.end());
  return steps.first(static_cast<std::size_t>(found - steps.begin()));
}

}  // namespace

TEST_CASE("an app in which something rests on the word of its machines goes on so, and others do not") {
  const tests::ScratchFolder folder;
  const std::string path = folder / "old.db";
  {
    auto database = must(store::sqlite::Database::open(path, store::sqlite::Database::Mode::write));
    must(store::sqlite::migrate(database, steps_before()));
    for (const char* app : {"words", "facts", "waits", "scoped", "operators", "empty"})
      must(database.execute("INSERT INTO apps (app_id, report, created, edit) VALUES ('" + std::string(app) +
                            "', 'all', 1, 1)"));
    must(database.execute(R"sql(
INSERT INTO revisions (name, revision, digest, syntax, state_count, created, content, states)
  VALUES ('r', 1, 'd', 'json', 1, 1, '[{"id":"a","module":"meta.comment"}]', '[{"id":"a","module":"meta.comment"}]');
INSERT INTO placements (id, digest, kill_on_change, round_delay_s, has_waits, states) VALUES (7, 'w', 0, -1, 1,
  '[{"id":"w","module":"meta.wait","parameter":{"state":{"selector":"group=db","state_id":"a"}}}]');
INSERT INTO instances (app_id, instance_id, token_hash, first_seen, agent_tags, operator_tags, placement) VALUES
  ('words', 'm1', 'x', 1, '{"role":"web"}', '{}', NULL),
  ('facts', 'm1', 'x', 1, '{}', '{}', NULL),
  ('waits', 'm1', 'x', 1, '{"group":"db"}', '{}', 7),
  ('scoped', 'm1', 'x', 1, '{"team":"blue"}', '{}', NULL),
  ('operators', 'm1', 'x', 1, '{"role":"web"}', '{"role":"web"}', NULL);
INSERT INTO assignments (app_id, selector, recipe, position, kill_on_change, created, edit) VALUES
  ('words', 'role=web', 'r', 0, 0, 1, 1), ('facts', 'fact.os.id=debian', 'r', 0, 0, 1, 1),
  ('operators', 'role=web', 'r', 0, 0, 1, 1), ('empty', 'role=web', 'r', 0, 0, 1, 1);
INSERT INTO tokens (id, name, role, scope, secret_hash, created, created_by, expires)
  VALUES ('t', 'ann', 'operator', 'team=blue', 'h', 1, '', 0);
)sql"));
  }
  const auto store = must(store::sqlite::open_sqlite_store(path, store::Access::write));
  const auto trust = [&](const char* app) { return must(store->find_app(app)).trust; };
  CHECK(trust("words") == SelfTrust::all);
  CHECK(trust("facts") == SelfTrust::named);
  CHECK(trust("waits") == SelfTrust::all);
  CHECK(trust("scoped") == SelfTrust::all);
  CHECK(trust("operators") == SelfTrust::off);
  CHECK(trust("empty") == SelfTrust::off);
  CHECK(trust("default") == SelfTrust::off);
  // What is placed stays.
  CHECK(must(fleet::place_app(*store, "words")).matched == 1);
  CHECK(must(fleet::place_app(*store, "operators")).matched == 1);
}
