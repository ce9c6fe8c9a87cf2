// The fleet at a glance.
#include "backend/store/sqlite/tables.hpp"

namespace backend::store::sqlite {

using base::Result;

Result<domain::FleetCounts> SqliteStore::fleet(std::string_view app_id, domain::Millis now) {
  constexpr domain::Millis kHour = 3600 * 1000;
  constexpr int kMostCounted = 1'000'000;  // beyond that nobody reads the last digits
  domain::FleetCounts counts;
  Query instances(
      database_,
      "SELECT count(*), sum(online), sum(problem='' AND status='converged' AND "
      "reported_version=recipe_version), sum(problem='' AND status='failed'), sum(problem<>'' OR "
      "status='rejected'), sum(problem='' AND status IN ('accepted', 'running')) FROM instances WHERE "
      "?1='' OR app_id=?1",
      app_id);
  if (auto row = expect_row(instances, "instances"); !row) return std::move(row).error();
  int column = 0;
  for (std::uint64_t* count : {&counts.instances, &counts.online, &counts.converged, &counts.failed,
                               &counts.rejected, &counts.running})
    *count = instances.count(column++);
  Query changed(
      database_,
      "SELECT count(*) FROM (SELECT 1 FROM results WHERE outcome='changed' AND received>=?1 AND (?2='' OR "
      "instance IN (SELECT id FROM instances WHERE app_id=?2)) LIMIT ?3)",
      now - kHour, app_id, kMostCounted);
  if (auto row = expect_row(changed, "results"); !row) return std::move(row).error();
  counts.changed_last_hour = changed.count(0);
  // Ids have no gaps but at the old end, where retention works: no need to count millions.
  Query reports(database_,
                "SELECT ifnull((SELECT max(id) FROM results) - (SELECT min(id) FROM results) + 1, 0), "
                "ifnull((SELECT max(id) FROM rounds) - (SELECT min(id) FROM rounds) + 1, 0)");
  if (auto row = expect_row(reports, "reports"); !row) return std::move(row).error();
  counts.results = reports.count(0);
  counts.rounds = reports.count(1);
  return counts;
}

}  // namespace backend::store::sqlite
