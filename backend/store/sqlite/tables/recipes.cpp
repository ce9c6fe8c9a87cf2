// Apps, recipes with their revisions, assignments.
#include "backend/store/sqlite/tables/tables.hpp"
#include "base/text.hpp"

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

domain::App read_app(const Query& row) {
  domain::App app{.app_id = row.text(0),
                  .report = row.text(1),
                  .agent_version = row.text(4),
                  .created = row.integer(2),
                  .edit = row.integer(3),
                  .trust = domain::self_trust_of(row.view(5)).value_or(domain::SelfTrust::off)};
  for (const std::string_view part : base::split_words(row.view(6)))
    app.rings.push_back(static_cast<int>(base::parse_integer(part).value_or(0)));
  app.module = {.repo = row.text(7), .tag = row.text(8), .commit = {}};
  app.compat_v1 = row.view(9) == "v1";
  return app;
}

domain::Assignment read_assignment(const Query& row) {
  domain::Assignment assignment;
  assignment.id = row.integer(0);
  assignment.app_id = row.view(1);
  assignment.selector = row.view(2);
  assignment.recipe = row.view(3);
  if (!row.is_null(4)) assignment.revision = row.integer(4);
  assignment.order = row.integer(5);
  assignment.kill_on_change = row.integer(6) != 0;
  if (!row.is_null(7)) assignment.round_delay_s = row.integer(7);
  assignment.created = row.integer(8);
  assignment.edit = row.integer(9);
  assignment.owner = row.view(10);
  assignment.set = row.view(11);
  return assignment;
}

const std::string kSelectAssignments =
    "SELECT id, app_id, selector, recipe, revision, position, kill_on_change, round_delay_s, created, edit, "
    "owner, applied_set FROM assignments ";

// Without content and states, which may be megabytes.
const std::string kSelectRevisions =
    "SELECT name, revision, digest, syntax, state_count, created, author, message, module_repo, module_tag, "
    "module_commit, unchecked, inputs FROM revisions ";

domain::Revision read_revision(const Query& row) {
  domain::Revision revision;
  revision.name = row.view(0);
  revision.revision = row.integer(1);
  revision.digest = row.view(2);
  revision.syntax = row.view(3);
  revision.state_count = static_cast<std::size_t>(row.integer(4));
  revision.created = row.integer(5);
  revision.author = row.view(6);
  revision.message = row.view(7);
  revision.module = {.repo = row.text(8), .tag = row.text(9), .commit = row.text(10)};
  revision.unchecked = row.view(11);
  revision.inputs = row.view(12);
  return revision;
}

std::string no_recipe(std::string_view name, std::optional<std::int64_t> revision) {
  std::string missing = "there is no recipe '" + std::string(name) + "'";
  if (revision) missing += " with revision " + std::to_string(*revision);
  return missing;
}

}  // namespace

Result<domain::Page<domain::App>> SqliteStore::list_apps(const domain::PageRequest& page) {
  Query rows(database_,
             "SELECT app_id, report, created, edit, agent_version, trust_self_reported, rings, module_repo, "
             "module_tag, compat FROM apps WHERE "
             "app_id>? ORDER BY app_id LIMIT ?",
             page.after, page_size(page));
  domain::Page<domain::App> found;
  if (auto done = for_each_row(rows, [&] { found.items.push_back(read_app(rows)); }); !done)
    return std::move(done).error();
  if (found.items.size() == page_size(page)) found.next = found.items.back().app_id;
  return found;
}

Result<domain::App> SqliteStore::find_app(std::string_view app_id) {
  Query row(database_,
            "SELECT app_id, report, created, edit, agent_version, trust_self_reported, rings, module_repo, "
            "module_tag, compat FROM apps WHERE "
            "app_id=?",
            app_id);
  if (auto found = expect_row(row, "there is no app '" + std::string(app_id) + "'"); !found)
    return std::move(found).error();
  return read_app(row);
}

Result<void> SqliteStore::write_app(const domain::App& app, domain::Millis now) {
  std::string rings;
  for (const int part : app.rings)
    rings += (rings.empty() ? "" : " ") + std::to_string(part);
  return write(
      "INSERT INTO apps (app_id, report, agent_version, trust_self_reported, rings, module_repo, module_tag, "
      "compat, created, edit) VALUES (?,?,?,?,?,?,?,?,?,1) ON CONFLICT DO UPDATE SET report=excluded.report, "
      "agent_version=excluded.agent_version, trust_self_reported=excluded.trust_self_reported, "
      "rings=excluded.rings, module_repo=excluded.module_repo, module_tag=excluded.module_tag, "
      "compat=excluded.compat, edit=edit+1",
      app.app_id, app.report, app.agent_version, domain::name_of(app.trust), rings, app.module.repo,
      app.module.tag, app.compat_v1 ? "v1" : "", now);
}

Result<void> SqliteStore::insert_revision(const domain::NewRevision& revision, std::int64_t number,
                                          domain::Millis now) {
  return write(
      "INSERT INTO revisions (name, revision, digest, syntax, state_count, created, content, states, bytes, "
      "author, message, module_repo, module_tag, module_commit, unchecked, inputs) VALUES "
      "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
      revision.name, number, revision.digest, revision.syntax, revision.state_count, now, revision.content,
      revision.states, revision.content.size() + revision.states.size(), revision.author, revision.message,
      revision.module.repo, revision.module.tag, revision.module.commit, revision.unchecked, revision.inputs);
}

Result<domain::RecipeUse> SqliteStore::recipe_use(std::string_view owner) {
  Query row(database_,
            "SELECT count(*), ifnull(sum(r.bytes), 0) FROM revisions r INDEXED BY revision_sizes LEFT JOIN "
            "recipe_owners o ON o.name=r.name WHERE ifnull(o.scope, '')=?",
            owner);
  if (auto found = expect_row(row, "recipes"); !found) return std::move(found).error();
  return domain::RecipeUse{row.count(0), row.count(1)};
}

Result<domain::Page<domain::RecipeSummary>> SqliteStore::list_recipes(const domain::PageRequest& page) {
  // Of the columns without an aggregate SQLite takes those of the row that has the maximum.
  Query rows(
      database_,
      "SELECT r.name, max(r.revision), r.digest, r.state_count, r.created, ifnull(o.scope, ''), r.author, "
      "r.message FROM revisions r LEFT JOIN recipe_owners o ON o.name=r.name WHERE r.name>? GROUP BY r.name "
      "ORDER BY r.name LIMIT ?",
      page.after, page_size(page));
  domain::Page<domain::RecipeSummary> found;
  auto done = for_each_row(rows, [&] {
    found.items.push_back({rows.text(0), rows.integer(1), rows.text(2),
                           static_cast<std::size_t>(rows.integer(3)), rows.integer(4), rows.text(5),
                           rows.text(6), rows.text(7)});
  });
  if (!done) return std::move(done).error();
  if (found.items.size() == page_size(page)) found.next = found.items.back().name;
  return found;
}

Result<std::string> SqliteStore::recipe_owner(std::string_view name) {
  Query row(database_, "SELECT scope FROM recipe_owners WHERE name=?", name);
  auto found = row.next();
  if (!found) return std::move(found).error();
  return *found ? row.text(0) : std::string();
}

Result<void> SqliteStore::set_recipe_owner(std::string_view name, std::string_view scope) {
  return write("INSERT OR REPLACE INTO recipe_owners (name, scope) VALUES (?,?)", name, scope);
}

Result<domain::Page<domain::Revision>> SqliteStore::list_revisions(std::string_view name,
                                                                   const domain::PageRequest& page) {
  auto before = read_cursor(page, INT64_MAX);
  if (!before) return std::move(before).error();
  Query rows(database_, kSelectRevisions + "WHERE name=? AND revision<? ORDER BY revision DESC LIMIT ?", name,
             *before, page_size(page));
  domain::Page<domain::Revision> found;
  if (auto done = for_each_row(rows, [&] { found.items.push_back(read_revision(rows)); }); !done)
    return std::move(done).error();
  if (found.items.empty() && page.after.empty())
    return Error(ErrorCode::not_found, no_recipe(name, std::nullopt));
  if (found.items.size() == page_size(page)) found.next = std::to_string(found.items.back().revision);
  return found;
}

Result<domain::Revision> SqliteStore::find_revision(std::string_view name,
                                                    std::optional<std::int64_t> revision) {
  auto found = find_revision_row(name, revision);
  if (!found) return found;
  Query row(database_, "SELECT content, states FROM revisions WHERE name=? AND revision=?", name,
            found->revision);
  if (auto known = expect_row(row, no_recipe(name, revision)); !known) return std::move(known).error();
  found->content = row.view(0);
  found->states = row.view(1);
  return found;
}

Result<domain::Revision> SqliteStore::find_revision_row(std::string_view name,
                                                        std::optional<std::int64_t> revision) {
  Query row(database_,
            kSelectRevisions + "WHERE name=?1 AND (?2 IS NULL OR revision=?2) ORDER BY revision DESC LIMIT 1",
            name, revision);
  if (auto found = expect_row(row, no_recipe(name, revision)); !found) return std::move(found).error();
  return read_revision(row);
}

Result<domain::Page<domain::Assignment>> SqliteStore::list_assignments(std::string_view app_id,
                                                                       const domain::PageRequest& page) {
  auto after = read_cursor(page, 0);
  if (!after) return std::move(after).error();
  Query rows(database_, kSelectAssignments + "WHERE id>?1 AND (?2='' OR app_id=?2) ORDER BY id LIMIT ?3",
             *after, app_id, page_size(page));
  domain::Page<domain::Assignment> found;
  if (auto done = for_each_row(rows, [&] { found.items.push_back(read_assignment(rows)); }); !done)
    return std::move(done).error();
  if (found.items.size() == page_size(page)) found.next = std::to_string(found.items.back().id);
  return found;
}

Result<std::vector<domain::Assignment>> SqliteStore::assignments_in_order(std::string_view app_id) {
  Query rows(database_, kSelectAssignments + "WHERE app_id=? ORDER BY position, id", app_id);
  std::vector<domain::Assignment> found;
  if (auto done = for_each_row(rows, [&] { found.push_back(read_assignment(rows)); }); !done)
    return std::move(done).error();
  return found;
}

Result<std::vector<std::string>> SqliteStore::apps_that_follow(std::string_view recipe) {
  Query rows(database_,
             "SELECT DISTINCT app_id FROM assignments WHERE recipe=? AND revision IS NULL ORDER BY app_id",
             recipe);
  std::vector<std::string> found;
  if (auto done = for_each_row(rows, [&] { found.push_back(rows.text(0)); }); !done)
    return std::move(done).error();
  return found;
}

Result<domain::Assignment> SqliteStore::find_assignment(std::int64_t id) {
  Query row(database_, kSelectAssignments + "WHERE id=?", id);
  if (auto found = expect_row(row, "there is no assignment " + std::to_string(id)); !found)
    return std::move(found).error();
  return read_assignment(row);
}

Result<domain::Assignment> SqliteStore::insert_assignment(const domain::Assignment& assignment,
                                                          domain::Millis now) {
  auto added = write(
      "INSERT INTO assignments (app_id, selector, recipe, revision, position, kill_on_change, round_delay_s, "
      "created, edit, owner, applied_set) VALUES (?,?,?,?,?,?,?,?,1,?,?)",
      assignment.app_id, assignment.selector, assignment.recipe, assignment.revision, assignment.order,
      assignment.kill_on_change, assignment.round_delay_s, now, assignment.owner, assignment.set);
  if (!added) return std::move(added).error();
  return find_assignment(database_.last_row_id());
}

Result<domain::Assignment> SqliteStore::write_assignment(const domain::Assignment& assignment) {
  auto written = write(
      "UPDATE assignments SET selector=?, recipe=?, revision=?, position=?, kill_on_change=?, "
      "round_delay_s=?, owner=?, edit=edit+1 WHERE id=?",
      assignment.selector, assignment.recipe, assignment.revision, assignment.order,
      assignment.kill_on_change, assignment.round_delay_s, assignment.owner, assignment.id);
  if (!written) return std::move(written).error();
  return find_assignment(assignment.id);
}

Result<void> SqliteStore::delete_assignment(std::int64_t id) {
  return write("DELETE FROM assignments WHERE id=?", id);
}

}  // namespace backend::store::sqlite
