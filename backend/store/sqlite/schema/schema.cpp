#include "backend/store/sqlite/schema/schema.hpp"

#include <array>

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// docs/backend.md describes the tables. Reports have no foreign keys: they are many, outlive the machine that
// sent them, and are removed by retention.
constexpr std::string_view kFirst = R"sql(
CREATE TABLE apps (
  app_id TEXT PRIMARY KEY, report TEXT NOT NULL, created INTEGER NOT NULL, edit INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE placements (
  id INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL, kill_on_change INTEGER NOT NULL,
  round_delay_s INTEGER NOT NULL,  -- -1: the agent's own
  has_waits INTEGER NOT NULL, states TEXT NOT NULL,
  UNIQUE (digest, kill_on_change, round_delay_s)
);
CREATE TABLE placement_sources (
  source TEXT PRIMARY KEY, placement INTEGER NOT NULL REFERENCES placements ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX placement_sources_placement ON placement_sources (placement);

CREATE TABLE instances (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  app_id TEXT NOT NULL REFERENCES apps, instance_id TEXT NOT NULL,
  token_hash TEXT NOT NULL, agent INTEGER NOT NULL DEFAULT 0, epoch INTEGER NOT NULL DEFAULT 0,
  protocol INTEGER NOT NULL DEFAULT 1,
  agent_version TEXT NOT NULL DEFAULT '', os TEXT NOT NULL DEFAULT '', arch TEXT NOT NULL DEFAULT '',
  boot_id TEXT NOT NULL DEFAULT '', agent_tags TEXT NOT NULL DEFAULT '{}', operator_tags TEXT NOT NULL DEFAULT '{}',
  facts_hash TEXT NOT NULL DEFAULT '',
  online INTEGER NOT NULL DEFAULT 0, first_seen INTEGER NOT NULL, connected_at INTEGER NOT NULL DEFAULT 0,
  last_seen INTEGER NOT NULL DEFAULT 0,
  recipe_version INTEGER NOT NULL DEFAULT 0, placement INTEGER REFERENCES placements, problem TEXT NOT NULL DEFAULT '',
  reported_version INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL DEFAULT 'new', errors TEXT NOT NULL DEFAULT '[]',
  converged_version INTEGER NOT NULL DEFAULT 0, converged_at INTEGER NOT NULL DEFAULT 0,
  round INTEGER, round_version INTEGER, round_counts TEXT, round_not_reached INTEGER, round_ms INTEGER, round_at INTEGER,
  edit INTEGER NOT NULL DEFAULT 1,
  UNIQUE (app_id, instance_id)
);

CREATE INDEX instances_placement ON instances (placement);

CREATE TABLE facts (
  instance INTEGER PRIMARY KEY REFERENCES instances ON DELETE CASCADE, facts TEXT NOT NULL
);

CREATE TABLE agents (
  id INTEGER PRIMARY KEY AUTOINCREMENT, instance INTEGER NOT NULL REFERENCES instances ON DELETE CASCADE,
  agent_uid TEXT NOT NULL, last_seq INTEGER NOT NULL DEFAULT 0, first_seen INTEGER NOT NULL,
  UNIQUE (instance, agent_uid)
);

CREATE TABLE revisions (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, revision INTEGER NOT NULL, digest TEXT NOT NULL, syntax TEXT NOT NULL,
  state_count INTEGER NOT NULL, created INTEGER NOT NULL, content TEXT NOT NULL, states TEXT NOT NULL,
  UNIQUE (name, revision)
);

CREATE TABLE assignments (
  id INTEGER PRIMARY KEY AUTOINCREMENT, app_id TEXT NOT NULL REFERENCES apps, selector TEXT NOT NULL,
  recipe TEXT NOT NULL, revision INTEGER, position INTEGER NOT NULL, kill_on_change INTEGER NOT NULL,
  round_delay_s INTEGER, created INTEGER NOT NULL, edit INTEGER NOT NULL
);
CREATE INDEX assignments_app ON assignments (app_id, position);

CREATE TABLE results (
  id INTEGER PRIMARY KEY, instance INTEGER NOT NULL, agent INTEGER NOT NULL, seq INTEGER NOT NULL,
  received INTEGER NOT NULL, recipe_version INTEGER NOT NULL, state_id TEXT NOT NULL, ok INTEGER NOT NULL,
  outcome TEXT NOT NULL, comment TEXT NOT NULL, stdout TEXT, run_id TEXT NOT NULL, round INTEGER NOT NULL,
  changes TEXT, attempt INTEGER NOT NULL, exit_code INTEGER, started TEXT NOT NULL, duration_ms INTEGER NOT NULL,
  cpu_ms INTEGER NOT NULL, max_rss_kb INTEGER NOT NULL, truncated INTEGER NOT NULL,
  UNIQUE (agent, seq)
);
CREATE INDEX results_instance ON results (instance);
CREATE INDEX results_changed ON results (received) WHERE outcome = 'changed';

CREATE TABLE rounds (
  id INTEGER PRIMARY KEY, instance INTEGER NOT NULL, agent INTEGER NOT NULL, seq INTEGER NOT NULL,
  received INTEGER NOT NULL, recipe_version INTEGER NOT NULL, run_id TEXT NOT NULL, round INTEGER NOT NULL,
  counts TEXT NOT NULL, not_reached INTEGER NOT NULL, duration_ms INTEGER NOT NULL, drift TEXT NOT NULL,
  UNIQUE (agent, seq)
);
CREATE INDEX rounds_instance ON rounds (instance);

CREATE TABLE statuses (
  id INTEGER PRIMARY KEY, instance INTEGER NOT NULL, agent INTEGER NOT NULL, seq INTEGER NOT NULL,
  received INTEGER NOT NULL, recipe_version INTEGER NOT NULL, status TEXT NOT NULL, errors TEXT NOT NULL,
  UNIQUE (agent, seq)
);
CREATE INDEX statuses_instance ON statuses (instance);

CREATE TABLE standings (
  instance INTEGER NOT NULL REFERENCES instances ON DELETE CASCADE, state_id TEXT NOT NULL,
  recipe_version INTEGER NOT NULL, outcome TEXT NOT NULL, done_version INTEGER NOT NULL, done_at INTEGER NOT NULL,
  PRIMARY KEY (instance, state_id)
) WITHOUT ROWID;

CREATE TABLE updates (
  action_id TEXT PRIMARY KEY, app_id TEXT NOT NULL, selector TEXT NOT NULL, version TEXT NOT NULL, url TEXT NOT NULL,
  created INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE update_targets (
  action_id TEXT NOT NULL REFERENCES updates ON DELETE CASCADE, instance INTEGER NOT NULL, instance_id TEXT NOT NULL,
  phase TEXT NOT NULL, error TEXT NOT NULL, progress REAL, at INTEGER NOT NULL,
  PRIMARY KEY (action_id, instance)
) WITHOUT ROWID;

CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL,
  object TEXT NOT NULL, detail TEXT NOT NULL, chain TEXT  -- for the hash that ties each row to the one before
);
CREATE TRIGGER audit_is_not_edited BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'audit rows are not edited'); END;
CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'audit rows are not removed'); END;

INSERT INTO apps VALUES ('default', 'all', CAST(strftime('%s', 'now') AS INTEGER) * 1000, 1);
)sql";

const std::array kSteps{SchemaStep{.sql = kFirst},
                        identity_step(),
                        rollout_step(),
                        owner_step(),
                        limits_step(),
                        authority_step(),
                        trust_step(),
                        waiting_step(),
                        scope_step(),
                        recipe_size_step(),
                        recipe_author_step(),
                        history_step(),
                        cause_step(),
                        set_step(),
                        change_step(),
                        module_step(),
                        variable_step(),
                         pause_step(),
                         compat_step()};

Result<void> run_step(Database& database, const SchemaStep& step) {
  if (auto done = database.execute(std::string(step.sql)); !done) return done;
  if (step.compute)
    if (auto done = step.compute(database); !done) return done;
  return step.after.empty() ? Result<void>() : database.execute(std::string(step.after));
}

Result<std::int64_t> version_of(Database& database) {
  Query query(database, "PRAGMA user_version");
  auto row = query.next();
  if (!row) return std::move(row).error();
  return query.integer(0);
}

Error too_new(std::int64_t version, std::size_t known) {
  return Error(ErrorCode::unsupported, "the database has version " + std::to_string(version) +
                                           ", and this opsbackend knows only " + std::to_string(known) +
                                           ": use the newer opsbackend again, or a backup from before it");
}

}  // namespace

std::span<const SchemaStep> schema_steps() {
  return kSteps;
}

Result<void> migrate(Database& database, std::span<const SchemaStep> steps) {
  while (true) {
    auto version = version_of(database);
    if (!version) return std::move(version).error();
    const auto at = static_cast<std::size_t>(*version);
    if (at > steps.size()) return too_new(*version, steps.size());
    if (at == steps.size()) return {};
    auto stepped = database.transact([&]() -> Result<void> {
      if (auto done = run_step(database, steps[at]); !done) return done;
      return database.execute("PRAGMA user_version=" + std::to_string(at + 1));
    });
    if (!stepped)
      return std::move(stepped).error().with_context("bringing the database to version " +
                                                     std::to_string(at + 1));
  }
}

Result<void> check_version(Database& database) {
  auto version = version_of(database);
  if (!version) return std::move(version).error();
  if (static_cast<std::size_t>(*version) > kSteps.size()) return too_new(*version, kSteps.size());
  if (static_cast<std::size_t>(*version) < kSteps.size())
    return Error(ErrorCode::unsupported, "the database has version " + std::to_string(*version) +
                                             " and was not yet brought to version " +
                                             std::to_string(kSteps.size()));
  return {};
}

}  // namespace backend::store::sqlite
