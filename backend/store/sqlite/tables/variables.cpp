// Variables, by layer, and their history.
#include "backend/store/sqlite/tables/tables.hpp"

namespace backend::store::sqlite {

using base::ErrorCode;
using base::Result;

namespace {

const std::string kSelectLayers =
    "SELECT id, app_id, kind, target, position, created, edit, owner, applied_set FROM variable_layers ";

domain::LayerKind layer_kind(std::int64_t number) {
  return number == 0   ? domain::LayerKind::app
         : number == 1 ? domain::LayerKind::selector
                       : domain::LayerKind::machine;
}

domain::VariableLayer read_layer(const Query& row) {
  domain::VariableLayer layer;
  layer.id = row.integer(0);
  layer.app_id = row.view(1);
  layer.kind = layer_kind(row.integer(2));
  layer.target = row.view(3);
  layer.order = row.integer(4);
  layer.created = row.integer(5);
  layer.edit = row.integer(6);
  layer.owner = row.view(7);
  layer.set = row.view(8);
  return layer;
}

domain::Variable read_variable(const Query& row) {
  return {.name = row.text(0), .value = row.text(1), .author = row.text(2), .at = row.integer(3)};
}

std::string no_layer(std::int64_t id) {
  return "there are no variables with the number " + std::to_string(id);
}

}  // namespace

Result<void> SqliteStore::read_variables(domain::VariableLayer& layer) {
  Query rows(database_, "SELECT name, value, author, at FROM variables WHERE layer=? ORDER BY name",
             layer.id);
  return for_each_row(rows, [&] { layer.variables.push_back(read_variable(rows)); });
}

Result<domain::Page<domain::VariableLayer>> SqliteStore::list_layers(std::string_view app_id,
                                                                     const domain::PageRequest& page) {
  auto after = read_cursor(page, 0);
  if (!after) return std::move(after).error();
  Query rows(database_, kSelectLayers + "WHERE id>?1 AND (?2='' OR app_id=?2) ORDER BY id LIMIT ?3", *after,
             app_id, page_size(page));
  domain::Page<domain::VariableLayer> found;
  std::size_t bytes = 0;
  bool is_cut = false;
  while (!is_cut) {
    auto row = rows.next();
    if (!row) return std::move(row).error();
    if (!*row) break;
    domain::VariableLayer& layer = found.items.emplace_back(read_layer(rows));
    if (auto read = read_variables(layer); !read) return std::move(read).error();
    for (const domain::Variable& each : layer.variables)
      bytes += each.value.size();
    is_cut = bytes > domain::kMostPageBytes;
  }
  if (is_cut || found.items.size() == page_size(page)) found.next = std::to_string(found.items.back().id);
  return found;
}

Result<std::vector<domain::VariableLayer>> SqliteStore::layers_of(std::string_view app_id,
                                                                  std::optional<std::string_view> machine) {
  constexpr int kMachine = static_cast<int>(domain::LayerKind::machine);
  std::vector<domain::VariableLayer> found;
  Query rows(database_,
             kSelectLayers +
                 "WHERE app_id=?1 AND (kind<>?2 OR ?3 IS NULL OR target=?3) ORDER BY kind, "
                 "CASE kind WHEN 1 THEN position ELSE 0 END, id",
             app_id, kMachine, machine);
  if (auto done = for_each_row(rows, [&] { found.push_back(read_layer(rows)); }); !done)
    return std::move(done).error();
  for (domain::VariableLayer& layer : found)
    if (auto read = read_variables(layer); !read) return std::move(read).error();
  return found;
}

Result<domain::VariableLayer> SqliteStore::find_layer(std::int64_t id) {
  Query row(database_, kSelectLayers + "WHERE id=?", id);
  if (auto found = expect_row(row, no_layer(id)); !found) return std::move(found).error();
  domain::VariableLayer layer = read_layer(row);
  if (auto read = read_variables(layer); !read) return std::move(read).error();
  return layer;
}

Result<std::optional<domain::VariableLayer>> SqliteStore::find_layer(std::string_view app_id,
                                                                     domain::LayerKind kind,
                                                                     std::string_view target) {
  Query row(database_, kSelectLayers + "WHERE app_id=? AND kind=? AND target=?", app_id,
            static_cast<int>(kind), target);
  auto found = row.next();
  if (!found) return std::move(found).error();
  if (!*found) return std::optional<domain::VariableLayer>();
  domain::VariableLayer layer = read_layer(row);
  if (auto read = read_variables(layer); !read) return std::move(read).error();
  return std::optional(std::move(layer));
}

Result<std::size_t> SqliteStore::count_layers(std::string_view app_id, domain::LayerKind kind,
                                              std::string_view owner) {
  Query row(database_, "SELECT count(*) FROM variable_layers WHERE app_id=? AND kind=? AND owner=?", app_id,
            static_cast<int>(kind), owner);
  if (auto found = expect_row(row, "variables"); !found) return std::move(found).error();
  return static_cast<std::size_t>(row.integer(0));
}

Result<std::size_t> SqliteStore::variable_bytes(std::string_view app_id, std::string_view owner) {
  Query row(database_,
            "SELECT ifnull(sum(length(CAST(v.name AS BLOB)) + length(CAST(v.value AS BLOB))), 0) FROM "
            "variable_layers l JOIN variables v ON v.layer=l.id WHERE l.app_id=? AND l.owner=?",
            app_id, owner);
  if (auto found = expect_row(row, "variables"); !found) return std::move(found).error();
  return static_cast<std::size_t>(row.integer(0));
}

Result<void> SqliteStore::write_variables(const domain::VariableLayer& layer) {
  if (auto done = write("DELETE FROM variables WHERE layer=?", layer.id); !done) return done;
  for (const domain::Variable& each : layer.variables) {
    auto added = write("INSERT INTO variables (layer, name, value, author, at) VALUES (?,?,?,?,?)", layer.id,
                       each.name, each.value, each.author, each.at);
    if (!added) return added;
  }
  return {};
}

Result<domain::VariableLayer> SqliteStore::insert_layer(const domain::VariableLayer& layer,
                                                        domain::Millis now) {
  auto added = write(
      "INSERT INTO variable_layers (app_id, kind, target, position, created, edit, owner, applied_set) "
      "VALUES (?,?,?,?,?,0,?,?)",
      layer.app_id, static_cast<int>(layer.kind), layer.target, layer.order, now, layer.owner, layer.set);
  if (!added) return std::move(added).error();
  domain::VariableLayer numbered = layer;
  numbered.id = database_.last_row_id();
  if (auto written = write_variables(numbered); !written) return std::move(written).error();
  return find_layer(numbered.id);
}

Result<domain::VariableLayer> SqliteStore::write_layer(const domain::VariableLayer& layer) {
  auto written =
      write("UPDATE variable_layers SET position=?, owner=?, applied_set=?, edit=edit+1 WHERE id=?",
            layer.order, layer.owner, layer.set, layer.id);
  if (written) written = write_variables(layer);
  if (!written) return std::move(written).error();
  return find_layer(layer.id);
}

Result<void> SqliteStore::remove_empty_layers(std::string_view app_id) {
  return write(
      "DELETE FROM variable_layers WHERE app_id=? AND NOT EXISTS (SELECT 1 FROM variables v WHERE "
      "v.layer=variable_layers.id) AND NOT EXISTS (SELECT 1 FROM rollouts r WHERE r.layer=variable_layers.id "
      "AND "
      "r.state IN ('running', 'paused', 'stopped', 'aborted'))",
      app_id);
}

// ---- while a change of them is rolled out

Result<void> SqliteStore::hold_layer(std::int64_t rollout, const domain::VariableLayer& layer) {
  auto held = write("INSERT INTO held_layers (rollout, kind, target, position, owner) VALUES (?,?,?,?,?)",
                    rollout, static_cast<int>(layer.kind), layer.target, layer.order, layer.owner);
  if (!held) return held;
  for (const domain::Variable& each : layer.variables) {
    auto added = write("INSERT INTO held_variables (rollout, name, value, author, at) VALUES (?,?,?,?,?)",
                       rollout, each.name, each.value, each.author, each.at);
    if (!added) return added;
  }
  return {};
}

Result<void> SqliteStore::read_held_layer(domain::Rollout& rollout) {
  Query row(database_, "SELECT kind, target, position, owner FROM held_layers WHERE rollout=?",
            rollout.number);
  auto found = row.next();
  if (!found) return std::move(found).error();
  if (!*found) return {};
  domain::VariableLayer& layer = rollout.change.layer_before.emplace();
  layer.id = rollout.change.layer;
  layer.app_id = rollout.app_id;
  layer.kind = layer_kind(row.integer(0));
  layer.target = row.view(1);
  layer.order = row.integer(2);
  layer.owner = row.view(3);
  Query rows(database_, "SELECT name, value, author, at FROM held_variables WHERE rollout=? ORDER BY name",
             rollout.number);
  return for_each_row(rows, [&] { layer.variables.push_back(read_variable(rows)); });
}

// ---- history

Result<void> SqliteStore::add_variable_changes(std::span<const domain::VariableChange> changes) {
  constexpr std::size_t kRow = 200;  // what a row takes besides its texts
  for (const domain::VariableChange& each : changes) {
    const std::size_t bytes = kRow + each.target.size() + each.name.size() +
                              (each.before ? each.before->size() : 0) + (each.after ? each.after->size() : 0);
    auto added = write(
        "INSERT INTO variable_changes (layer, app_id, kind, target, owner, name, before, after, author, at, "
        "bytes) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        each.layer, each.app_id, static_cast<int>(each.kind), each.target, each.owner, each.name, each.before,
        each.after, each.author, each.at, bytes);
    if (!added) return added;
  }
  return {};
}

Result<domain::Page<domain::VariableChange>> SqliteStore::list_variable_changes(
    const VariableHistoryFilter& filter, const domain::PageRequest& page) {
  auto before = read_cursor(page, INT64_MAX);
  if (!before) return std::move(before).error();
  Query rows(
      database_,
      "SELECT id, layer, app_id, kind, target, owner, name, before, after, author, at FROM "
      "variable_changes WHERE id<?1 AND (?2='' OR app_id=?2) AND (?3 IS NULL OR (kind=?3 AND target=?4)) "
      "AND (?5='' OR name=?5) ORDER BY id DESC LIMIT ?6",
      *before, filter.app_id,
      filter.kind ? std::optional(static_cast<std::int64_t>(*filter.kind)) : std::nullopt, filter.target,
      filter.name, page_size(page));
  domain::Page<domain::VariableChange> found;
  std::size_t bytes = 0;
  bool is_cut = false;
  while (!is_cut) {
    auto row = rows.next();
    if (!row) return std::move(row).error();
    if (!*row) break;
    domain::VariableChange& change = found.items.emplace_back();
    change.id = rows.integer(0);
    change.layer = rows.integer(1);
    change.app_id = rows.view(2);
    change.kind = layer_kind(rows.integer(3));
    change.target = rows.view(4);
    change.owner = rows.view(5);
    change.name = rows.view(6);
    if (!rows.is_null(7)) change.before = rows.text(7);
    if (!rows.is_null(8)) change.after = rows.text(8);
    change.author = rows.view(9);
    change.at = rows.integer(10);
    bytes += rows.text_bytes();
    is_cut = bytes > domain::kMostPageBytes;
  }
  if (is_cut || found.items.size() == page_size(page)) found.next = std::to_string(found.items.back().id);
  return found;
}

Result<VariableHistoryUse> SqliteStore::variable_history_use(std::string_view owner) {
  Query row(database_,
            "SELECT count(*), ifnull(sum(bytes), 0) FROM variable_changes INDEXED BY variable_changes_owner "
            "WHERE owner=?",
            owner);
  if (auto found = expect_row(row, "variables"); !found) return std::move(found).error();
  return VariableHistoryUse{.changes = static_cast<std::size_t>(row.integer(0)),
                            .bytes = static_cast<std::size_t>(row.integer(1))};
}

Result<void> SqliteStore::remove_oldest_variable_changes(std::string_view owner, std::size_t most) {
  return write(
      "DELETE FROM variable_changes WHERE id IN (SELECT id FROM variable_changes WHERE owner=? ORDER BY id "
      "LIMIT ?)",
      owner, most);
}

}  // namespace backend::store::sqlite
