// A step of the schema: variables, their history, and what machines are given of them.
#include "backend/store/sqlite/schema/schema.hpp"

namespace backend::store::sqlite {

namespace {

// kind: 0 app, 1 selector, 2 machine (domain::LayerKind). held_layers: what a layer was before its change; no
// row: it was not there. placements.base: the one with the same states and without variables; its states are
// in that row alone. revisions.inputs: what the recipe refers to, as JSON; '': to nothing.
// instances.takes_inputs: its agent knows what to do with variables.
constexpr std::string_view kVariables = R"sql(
CREATE TABLE variable_layers (
  id INTEGER PRIMARY KEY AUTOINCREMENT, app_id TEXT NOT NULL REFERENCES apps, kind INTEGER NOT NULL,
  target TEXT NOT NULL, position INTEGER NOT NULL, created INTEGER NOT NULL, edit INTEGER NOT NULL,
  owner TEXT NOT NULL, applied_set TEXT NOT NULL,
  UNIQUE (app_id, kind, target)
);
CREATE TABLE variables (
  layer INTEGER NOT NULL REFERENCES variable_layers ON DELETE CASCADE, name TEXT NOT NULL, value TEXT NOT NULL,
  author TEXT NOT NULL, at INTEGER NOT NULL,
  UNIQUE (layer, name)
);
CREATE TABLE variable_changes (
  id INTEGER PRIMARY KEY AUTOINCREMENT, layer INTEGER NOT NULL, app_id TEXT NOT NULL, kind INTEGER NOT NULL,
  target TEXT NOT NULL, owner TEXT NOT NULL, name TEXT NOT NULL, before TEXT, after TEXT, author TEXT NOT NULL,
  at INTEGER NOT NULL, bytes INTEGER NOT NULL
);
CREATE INDEX variable_changes_app ON variable_changes (app_id, kind, target);
CREATE INDEX variable_changes_owner ON variable_changes (owner, bytes);
CREATE TABLE held_layers (
  rollout INTEGER PRIMARY KEY REFERENCES rollouts ON DELETE CASCADE, kind INTEGER NOT NULL, target TEXT NOT NULL,
  position INTEGER NOT NULL, owner TEXT NOT NULL
);
CREATE TABLE held_variables (
  rollout INTEGER NOT NULL REFERENCES held_layers ON DELETE CASCADE, name TEXT NOT NULL, value TEXT NOT NULL,
  author TEXT NOT NULL, at INTEGER NOT NULL,
  UNIQUE (rollout, name)
);
ALTER TABLE rollouts ADD COLUMN layer INTEGER NOT NULL DEFAULT 0;
ALTER TABLE revisions ADD COLUMN inputs TEXT NOT NULL DEFAULT '';
ALTER TABLE placements ADD COLUMN base INTEGER REFERENCES placements;
ALTER TABLE placements ADD COLUMN vars TEXT NOT NULL DEFAULT '';
ALTER TABLE placements ADD COLUMN tags TEXT NOT NULL DEFAULT '';
ALTER TABLE placements ADD COLUMN needs_inputs INTEGER NOT NULL DEFAULT 0;
CREATE INDEX placements_base ON placements (base) WHERE base IS NOT NULL;
ALTER TABLE instances ADD COLUMN takes_inputs INTEGER NOT NULL DEFAULT 0;
)sql";

}  // namespace

SchemaStep variable_step() {
  return {.sql = kVariables};
}

}  // namespace backend::store::sqlite
