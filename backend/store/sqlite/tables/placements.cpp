// What instances should run.
#include "backend/store/sqlite/tables/tables.hpp"

namespace backend::store::sqlite {

using base::Result;

namespace {

constexpr std::int64_t kNoDelay = -1;

domain::Placement read_placement(const Query& row) {
  domain::Placement placement;
  placement.key = row.integer(0);
  placement.digest = row.view(1);
  placement.states = row.view(2);
  placement.kill_on_change = row.integer(3) != 0;
  if (row.integer(4) != kNoDelay) placement.round_delay_s = row.integer(4);
  placement.has_waits = row.integer(5) != 0;
  placement.module = {.repo = row.text(6), .tag = row.text(7), .commit = row.text(8)};
  placement.vars = row.view(9);
  placement.tags = row.view(10);
  placement.needs_inputs = row.integer(11) != 0;
  placement.base = row.is_null(12) ? 0 : row.integer(12);
  return placement;
}

const std::string kSelectPlacements =
    "SELECT p.id, p.digest, p.states, p.kill_on_change, p.round_delay_s, p.has_waits, p.module_repo, "
    "p.module_tag, p.module_commit, p.vars, p.tags, p.needs_inputs, p.base FROM placements p ";

}  // namespace

Result<domain::PlacementKey> SqliteStore::put_placement(const domain::Placement& placement) {
  const std::int64_t delay = placement.round_delay_s.value_or(kNoDelay);
  auto added = write(
      "INSERT OR IGNORE INTO placements (digest, kill_on_change, round_delay_s, has_waits, states, "
      "module_repo, module_tag, module_commit, vars, tags, needs_inputs, base) VALUES "
      "(?,?,?,?,?,?,?,?,?,?,?,?)",
      placement.digest, placement.kill_on_change, delay, placement.has_waits,
      placement.base == 0 ? std::string_view(placement.states) : std::string_view(), placement.module.repo,
      placement.module.tag, placement.module.commit, placement.vars, placement.tags, placement.needs_inputs,
      placement.base == 0 ? std::optional<domain::PlacementKey>() : std::optional(placement.base));
  if (!added) return std::move(added).error();
  Query row(database_, "SELECT id FROM placements WHERE digest=? AND kill_on_change=? AND round_delay_s=?",
            placement.digest, placement.kill_on_change, delay);
  if (auto found = expect_row(row, "placement"); !found) return std::move(found).error();
  const domain::PlacementKey key = row.integer(0);
  if (placement.source.empty()) return key;
  auto noted = write("INSERT OR REPLACE INTO placement_sources VALUES (?,?)", placement.source, key);
  if (!noted) return std::move(noted).error();
  return key;
}

Result<domain::Placement> SqliteStore::find_placement(domain::PlacementKey key) {
  Query row(database_, kSelectPlacements + "WHERE p.id=?", key);
  if (auto found = expect_row(row, "there is no such placement"); !found) return std::move(found).error();
  return read_placement(row);
}

Result<std::optional<domain::PlacementKey>> SqliteStore::find_placement(std::string_view source) {
  Query row(database_, "SELECT placement FROM placement_sources WHERE source=?", source);
  auto found = row.next();
  if (!found) return std::move(found).error();
  return *found ? std::optional(row.integer(0)) : std::nullopt;
}

Result<std::vector<domain::Placement>> SqliteStore::waiting_placements(std::string_view app_id) {
  Query rows(
      database_,
      kSelectPlacements +
          "WHERE p.has_waits AND p.base IS NULL AND EXISTS (SELECT 1 FROM instances i JOIN placements own ON "
          "own.id=i.placement WHERE ifnull(own.base, own.id)=p.id AND i.app_id=?)",
      app_id);
  std::vector<domain::Placement> found;
  if (auto done = for_each_row(rows, [&] { found.push_back(read_placement(rows)); }); !done)
    return std::move(done).error();
  return found;
}

Result<bool> SqliteStore::is_placed(std::string_view app_id, domain::PlacementKey placement) {
  Query row(
      database_,
      "SELECT 1 FROM instances WHERE app_id=?1 AND (placement=?2 OR placement IN (SELECT id FROM "
      "placements WHERE base=(SELECT ifnull(base, id) FROM placements WHERE id=?2)) OR placement=(SELECT "
      "base FROM placements WHERE id=?2)) LIMIT 1",
      app_id, placement);
  return row.next();
}

Result<std::int64_t> SqliteStore::place(domain::InstanceKey instance, domain::PlacementKey placement) {
  Query row(database_,
            "UPDATE instances SET placement=?, problem='', recipe_version=recipe_version+1 WHERE id=? "
            "RETURNING recipe_version",
            placement, instance);
  if (auto found = expect_row(row, "there is no such instance any more"); !found)
    return std::move(found).error();
  const std::int64_t version = row.integer(0);
  if (auto end = row.next(); !end) return std::move(end).error();
  return version;
}

Result<void> SqliteStore::set_problem(domain::InstanceKey instance, std::string_view problem) {
  return write("UPDATE instances SET problem=?1 WHERE id=?2 AND problem<>?1", problem, instance);
}

Result<std::size_t> SqliteStore::remove_unused_placements(std::size_t most) {
  auto removed = database_.run(
      "DELETE FROM placements WHERE id IN (SELECT p.id FROM placements p WHERE NOT EXISTS (SELECT 1 FROM "
      "instances i WHERE i.placement=p.id) AND NOT EXISTS (SELECT 1 FROM placements d WHERE d.base=p.id) "
      "LIMIT "
      "?)",
      most);
  if (!removed) return std::move(removed).error();
  return static_cast<std::size_t>(*removed);
}

}  // namespace backend::store::sqlite
