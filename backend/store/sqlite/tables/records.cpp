// The fleet at a glance.
#include "backend/store/sqlite/tables/tables.hpp"

namespace backend::store::sqlite {

using base::Result;

Result<domain::FleetCounts> SqliteStore::fleet(std::string_view app_id, domain::Millis now) {
  constexpr domain::Millis kHour = 3600 * 1000;
  constexpr int kMostCounted = 1'000'000;  // beyond that nobody reads the last digits
  domain::FleetCounts counts;
  Query instances(
      database_,
      // As lists show it: see read_instance().
      "SELECT count(*), sum(online), sum(status='converged' AND is_there), sum(status='failed'), "
      "sum(status='rejected'), sum(status IN ('accepted', 'running') OR (status='converged' AND NOT "
      "is_there)) "
      "FROM (SELECT online, reported_version=recipe_version AS is_there, CASE WHEN problem<>'' THEN "
      "'rejected' "
      "WHEN pending<>0 THEN 'pending' ELSE status END AS status FROM instances WHERE ?1='' OR app_id=?1)",
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
  // No need to count millions. Reports of machines that were forgotten are of no app any more.
  Query use(
      database_,
      "SELECT ifnull(sum(results), 0), ifnull(sum(rounds), 0) FROM report_use WHERE ?1='' OR instance IN "
      "(SELECT id FROM instances WHERE app_id=?1)",
      app_id);
  if (auto row = expect_row(use, "reports"); !row) return std::move(row).error();
  counts.results = use.count(0);
  counts.rounds = use.count(1);
  return counts;
}

}  // namespace backend::store::sqlite
