#include "backend/store/sqlite/tables/tables.hpp"

namespace backend::store::sqlite {

using base::Result;

// One look at each row of instances: a hundred thousand take a tenth of a second, so nobody should ask often.
Result<domain::FleetHealth> SqliteStore::fleet_health(domain::Millis now) {
  Query rows(database_,
             "SELECT status, recipe_version, reported_version, protocol, online, problem<>'', revoked<>0, "
             "pending<>0, excluded<>0, first_seen, ifnull(round_at, 0), pause_until>? FROM "
             "instances",
             now);
  domain::FleetHealth health;
  auto done = for_each_row(rows, [&] {
    health.add({.status = rows.view(0),
                .recipe_version = rows.integer(1),
                .reported_version = rows.integer(2),
                .protocol = static_cast<int>(rows.integer(3)),
                .online = rows.integer(4) != 0,
                .has_problem = rows.integer(5) != 0,
                .is_revoked = rows.integer(6) != 0,
                .is_pending = rows.integer(7) != 0,
                .is_excluded = rows.integer(8) != 0,
                .is_paused = rows.integer(11) != 0,
                .first_seen = rows.integer(9),
                .round_at = rows.integer(10)},
               now);
  });
  if (!done) return std::move(done).error();
  return health;
}

}  // namespace backend::store::sqlite
