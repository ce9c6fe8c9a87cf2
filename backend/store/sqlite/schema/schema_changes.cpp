// A step of the schema: rollouts of recipes and assignments, and the rings that an app's changes go by.
#include "backend/store/sqlite/schema/schema.hpp"

namespace backend::store::sqlite {

namespace {

// kind: 'version', 'recipe', 'assignment'. given_version: the recipe_version that a machine got by a change.
// held_assignments: what an assignment was before its change; no row: it was not there. An installation that
// has machines or recipes goes on as it did, with all machines at once; one that has neither is new.
constexpr std::string_view kChanges = R"sql(
ALTER TABLE rollouts ADD COLUMN kind TEXT NOT NULL DEFAULT 'version';
ALTER TABLE rollouts ADD COLUMN recipe TEXT NOT NULL DEFAULT '';
ALTER TABLE rollouts ADD COLUMN from_revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollouts ADD COLUMN to_revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollouts ADD COLUMN assignment INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rollouts ADD COLUMN may_fail INTEGER NOT NULL DEFAULT 2;
ALTER TABLE rollout_targets ADD COLUMN given_version INTEGER NOT NULL DEFAULT 0;
CREATE TABLE held_assignments (
  rollout INTEGER PRIMARY KEY REFERENCES rollouts ON DELETE CASCADE, selector TEXT NOT NULL, recipe TEXT NOT NULL,
  revision INTEGER, position INTEGER NOT NULL, kill_on_change INTEGER NOT NULL, round_delay_s INTEGER
);
ALTER TABLE apps ADD COLUMN rings TEXT NOT NULL DEFAULT '';
UPDATE apps SET rings='10 50 100'
  WHERE NOT EXISTS (SELECT 1 FROM instances) AND NOT EXISTS (SELECT 1 FROM revisions);
)sql";

}  // namespace

SchemaStep change_step() {
  return {.sql = kChanges};
}

}  // namespace backend::store::sqlite
