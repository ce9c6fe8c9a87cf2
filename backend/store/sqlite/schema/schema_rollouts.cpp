// The third step of the schema: rollouts, in place of single updates, and pinned versions.
#include "backend/store/sqlite/schema/schema.hpp"

namespace backend::store::sqlite {

namespace {

constexpr std::string_view kRolloutTables = R"sql(
CREATE TABLE rollouts (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, app_id TEXT NOT NULL, selector TEXT NOT NULL,
  canary TEXT NOT NULL, version TEXT NOT NULL, url TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
  ring INTEGER NOT NULL, rings TEXT NOT NULL,  -- how many machines each has: "5 15 80 100"
  pause_s INTEGER NOT NULL, jitter_s INTEGER NOT NULL, timeout_s INTEGER NOT NULL,
  created INTEGER NOT NULL, created_by TEXT NOT NULL, next_at INTEGER NOT NULL, ended INTEGER NOT NULL
);
CREATE INDEX rollouts_state ON rollouts (state);

-- No foreign key to instances: what became of a machine that was forgotten stays known.
CREATE TABLE rollout_targets (
  rollout INTEGER NOT NULL REFERENCES rollouts ON DELETE CASCADE, instance INTEGER NOT NULL, instance_id TEXT NOT NULL,
  position INTEGER NOT NULL, ring INTEGER NOT NULL, action_id TEXT NOT NULL, attempt INTEGER NOT NULL DEFAULT 1,
  due INTEGER NOT NULL DEFAULT 0,     -- its turn; 0: its ring has not begun
  absent INTEGER NOT NULL DEFAULT 0,  -- was not connected then, or has not been since
  told INTEGER NOT NULL DEFAULT 0, phase TEXT NOT NULL, error TEXT NOT NULL DEFAULT '', progress REAL,
  at INTEGER NOT NULL DEFAULT 0, forgiven INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (rollout, position)
) WITHOUT ROWID;
CREATE INDEX rollout_targets_instance ON rollout_targets (instance, rollout);

INSERT INTO rollouts (id, app_id, selector, canary, version, url, state, reason, ring, rings, pause_s, jitter_s,
                      timeout_s, created, created_by, next_at, ended)
  SELECT action_id, app_id, selector, '', version, url, 'ended', '', 0, '', 0, 0, 900, created, '', 0, created
  FROM updates ORDER BY created;
INSERT INTO rollout_targets (rollout, instance, instance_id, position, ring, action_id, told, phase, error, progress, at)
  SELECT r.number, t.instance, t.instance_id, t.instance, 0, t.action_id, r.created,
         CASE t.phase WHEN 'sent' THEN 'told' ELSE t.phase END, t.error, t.progress, t.at
  FROM update_targets t JOIN rollouts r ON r.id = t.action_id;
DROP TABLE update_targets;
DROP TABLE updates;

ALTER TABLE apps ADD COLUMN agent_version TEXT NOT NULL DEFAULT '';  -- pinned; '': none
)sql";

}  // namespace

SchemaStep rollout_step() {
  return {.sql = kRolloutTables};
}

}  // namespace backend::store::sqlite
