// Steps of the schema about reports: what they take, by instance, and what housekeeping needs to find dead
// certificates; and why a result was a change.
#include "backend/store/sqlite/schema/schema.hpp"

namespace backend::store::sqlite {

namespace {

// Rows from before the column count as an average one, here and when they are removed: their texts are not
// read again. They are gone after the days of retention.
constexpr std::string_view kLimits = R"sql(
ALTER TABLE results ADD COLUMN bytes INTEGER NOT NULL DEFAULT 512;
ALTER TABLE rounds ADD COLUMN bytes INTEGER NOT NULL DEFAULT 256;
ALTER TABLE statuses ADD COLUMN bytes INTEGER NOT NULL DEFAULT 256;

-- No foreign key: reports outlive their instance, until retention removes them.
CREATE TABLE report_use (
  instance INTEGER PRIMARY KEY,
  results INTEGER NOT NULL, results_bytes INTEGER NOT NULL, rounds INTEGER NOT NULL, rounds_bytes INTEGER NOT NULL,
  statuses INTEGER NOT NULL, statuses_bytes INTEGER NOT NULL
);
INSERT INTO report_use
  SELECT instance, sum(results), sum(results) * 512, sum(rounds), sum(rounds) * 256, sum(statuses), sum(statuses) * 256
  FROM (SELECT instance, count(*) AS results, 0 AS rounds, 0 AS statuses FROM results GROUP BY instance
        UNION ALL SELECT instance, 0, count(*), 0 FROM rounds GROUP BY instance
        UNION ALL SELECT instance, 0, 0, count(*) FROM statuses GROUP BY instance)
  GROUP BY instance;

CREATE INDEX certificates_end ON certificates (not_after);
CREATE INDEX certificates_revoked ON certificates (revoked) WHERE revoked > 0;

CREATE TABLE room_probe (only_one INTEGER PRIMARY KEY CHECK (only_one = 1), filler BLOB NOT NULL, at INTEGER NOT NULL);
)sql";

// A word of protocol::kChangeCauseWords; '': none, or the agent did not say.
constexpr std::string_view kCause = R"sql(
ALTER TABLE results ADD COLUMN cause TEXT NOT NULL DEFAULT '';
)sql";

}  // namespace

SchemaStep limits_step() {
  return {.sql = kLimits};
}

SchemaStep cause_step() {
  return {.sql = kCause};
}

}  // namespace backend::store::sqlite
