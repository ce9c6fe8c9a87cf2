// Updates, and the fleet at a glance.
#include "backend/sqlite_tables.hpp"

namespace backend {

using base::Result;

Result<void> SqliteStore::add_update(const UpdateAction& action, std::span<const InstanceKey> instances) {
  auto added = write("INSERT INTO updates VALUES (?,?,?,?,?,?)", action.action_id, action.app_id,
                     action.selector, action.version, action.url, action.created);
  if (!added) return added;
  for (const InstanceKey instance : instances) {
    auto target = write(
        "INSERT INTO update_targets SELECT ?, id, instance_id, 'sent', '', NULL, ? FROM instances WHERE id=?",
        action.action_id, action.created, instance);
    if (!target) return target;
  }
  return {};
}

Result<UpdateAction> SqliteStore::find_update(std::string_view action_id) {
  Query row(database_,
            "SELECT action_id, app_id, selector, version, url, created FROM updates WHERE action_id=?",
            action_id);
  if (auto found = expect_row(row, "there is no update '" + std::string(action_id) + "'"); !found)
    return std::move(found).error();
  return UpdateAction{row.text(0), row.text(1), row.text(2), row.text(3), row.text(4), row.integer(5)};
}

Result<Page<UpdateTarget>> SqliteStore::list_update_targets(std::string_view action_id,
                                                            const PageRequest& page) {
  auto after = read_cursor(page, 0);
  if (!after) return std::move(after).error();
  Query rows(
      database_,
      "SELECT instance, instance_id, phase, error, progress, at FROM update_targets WHERE action_id=? AND "
      "instance>? ORDER BY instance LIMIT ?",
      action_id, *after, page_size(page));
  Page<UpdateTarget> found;
  std::int64_t last = 0;
  auto done = for_each_row(rows, [&] {
    last = rows.integer(0);
    UpdateTarget& target = found.items.emplace_back();
    target.instance_id = rows.view(1);
    target.phase = rows.view(2);
    target.error = rows.view(3);
    if (!rows.is_null(4)) target.progress = rows.real(4);
    target.at = rows.integer(5);
  });
  if (!done) return std::move(done).error();
  if (found.items.size() == page_size(page)) found.next = std::to_string(last);
  return found;
}

Result<FleetCounts> SqliteStore::fleet(std::string_view app_id, Millis now) {
  constexpr Millis kHour = 3600 * 1000;
  constexpr int kMostCounted = 1'000'000;  // beyond that nobody reads the last digits
  FleetCounts counts;
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

}  // namespace backend
