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
  auto use = report_use(0);  // no need to count millions
  if (!use) return std::move(use).error();
  counts.results = use->results.rows;
  counts.rounds = use->rounds.rows;
  return counts;
}

}  // namespace backend::store::sqlite
