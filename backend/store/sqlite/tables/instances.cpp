// Instances, their tags and what they should run; what waits need to know of them.
#include "backend/domain/json_text.hpp"
#include "backend/store/sqlite/tables/tables.hpp"

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// The columns of read_instance(), in its order; with facts as one more at the end.
constexpr int kFactsColumn = 47;
std::string select_instances(bool with_facts) {
  std::string sql =
      "SELECT i.id, i.app_id, i.instance_id, a.agent_uid, i.agent_version, i.os, i.arch, i.boot_id, "
      "i.protocol, "
      "i.epoch, i.agent_tags, i.operator_tags, i.facts_hash, i.online, i.first_seen, i.connected_at, "
      "i.last_seen, i.recipe_version, i.placement, p.digest, i.problem, i.reported_version, i.status, "
      "i.errors, "
      "i.round, i.round_version, i.round_counts, i.round_not_reached, i.round_ms, i.round_at, i.edit, "
      "i.revoked, i.revoked_why, i.excluded, i.excluded_why, i.wished_name, apps.trust_self_reported, "
      "i.pending, "
      "substr(i.token_hash, 1, 16), i.tag_scopes, i.takes_inputs, i.takes_holds, i.pause_by, i.pause_reason, "
      "i.pause_since, "
      "i.pause_until, i.said_holds";
  if (with_facts) sql += ", f.facts";
  sql +=
      " FROM instances i LEFT JOIN agents a ON a.id=i.agent LEFT JOIN placements p ON p.id=i.placement "
      "LEFT JOIN apps ON apps.app_id=i.app_id ";
  if (with_facts) sql += "LEFT JOIN facts f ON f.instance=i.id ";
  return sql;
}

domain::Instance read_instance(const Query& row) {
  domain::Instance instance;
  int at = 0;
  instance.key = row.integer(at++);
  for (std::string* text : {&instance.app_id, &instance.instance_id, &instance.agent_uid,
                            &instance.agent_version, &instance.os, &instance.arch, &instance.boot_id})
    *text = row.view(at++);
  instance.protocol = static_cast<int>(row.integer(at++));
  instance.epoch = row.count(at++);
  instance.agent_tags = domain::read_tags(row.view(at++));
  instance.operator_tags = domain::read_tags(row.view(at++));
  instance.facts_hash = row.view(at++);
  instance.online = row.integer(at++) != 0;
  for (domain::Millis* time : {&instance.first_seen, &instance.connected_at, &instance.last_seen})
    *time = row.integer(at++);
  instance.recipe_version = row.integer(at++);
  instance.placement = row.integer(at++);
  instance.recipe_digest = row.view(at++);
  instance.problem = row.view(at++);
  instance.reported_version = row.integer(at++);
  instance.status = row.view(at++);
  instance.errors = domain::read_texts(row.view(at++));
  if (!row.is_null(at)) {
    domain::LastRound& round = instance.last_round.emplace();
    round.round = row.count(at);
    round.recipe_version = row.integer(at + 1);
    round.counts = row.view(at + 2);
    round.not_reached = row.count(at + 3);
    round.duration_ms = row.integer(at + 4);
    round.at = row.integer(at + 5);
  }
  at += 6;
  instance.edit = row.integer(at++);
  instance.revoked = row.integer(at++);
  instance.revoked_why = row.view(at++);
  instance.excluded = row.integer(at++);
  instance.excluded_why = row.view(at++);
  instance.wished_name = row.view(at++);
  instance.trust = domain::self_trust_of(row.view(at++)).value_or(domain::SelfTrust::off);
  instance.pending = row.integer(at++);
  instance.token_prefix = row.view(at++);
  instance.tag_scopes = domain::read_tags(row.view(at++));
  instance.takes_inputs = row.integer(at++) != 0;
  instance.takes_holds = row.integer(at++) != 0;
  instance.pause.by = row.view(at++);
  instance.pause.reason = row.view(at++);
  instance.pause.since = row.integer(at++);
  instance.pause.until = row.integer(at++);
  instance.said_holds = domain::read_holds(row.view(at));
  // What it has said of an older version says nothing about the one that it should run.
  if (instance.status == "converged" && instance.reported_version != instance.recipe_version)
    instance.status = "running";
  if (instance.pending != 0) instance.status = "pending";
  if (!instance.problem.empty()) {
    instance.status = "rejected";
    instance.errors = {instance.problem};
  }
  return instance;
}

std::string no_such(std::string_view app_id, std::string_view instance_id) {
  return "there is no instance '" + std::string(instance_id) + "' in app '" + std::string(app_id) + "'";
}

}  // namespace

Result<domain::Page<domain::Instance>> SqliteStore::list_instances(const domain::InstanceFilter& filter,
                                                                   const domain::Selector* selector,
                                                                   const domain::PageRequest& page,
                                                                   bool with_facts) {
  const std::size_t slash = page.after.find('/');
  if (!page.after.empty() && slash == std::string::npos)
    return Error(ErrorCode::invalid, "'" + page.after + "' is not a cursor of this list");
  const std::string after_app = page.after.substr(0, slash);
  const std::string after_id = page.after.empty() ? "" : page.after.substr(slash + 1);
  const bool reads_facts = with_facts || (selector && selector->uses_facts());

  std::string sql = select_instances(reads_facts);
  sql += "WHERE (i.app_id, i.instance_id) > (?, ?)";
  if (!filter.app_id.empty()) sql += " AND i.app_id=?";
  if (filter.online) sql += " AND i.online=?";
  if (filter.only_pending) sql += " AND i.pending<>0";
  if (filter.only_failed) sql += " AND (i.status IN ('failed', 'rejected') OR i.problem<>'')";
  if (filter.without_out) sql += " AND i.revoked=0 AND i.pending=0";
  sql += " ORDER BY i.app_id, i.instance_id";
  Query rows(database_, sql, after_app, after_id);
  if (!filter.app_id.empty()) rows.bind(filter.app_id);
  if (filter.online) rows.bind(*filter.online);

  domain::Page<domain::Instance> found;
  std::size_t bytes = 0;
  while (true) {
    auto row = rows.next();
    if (!row) return std::move(row).error();
    if (!*row) return found;
    domain::Instance instance = read_instance(rows);
    if (reads_facts) instance.facts = rows.view(kFactsColumn);
    if (selector && !selector->matches(instance)) continue;
    if (found.items.size() == page_size(page) || bytes >= domain::kMostPageBytes) {
      found.next = found.items.back().app_id + "/" + found.items.back().instance_id;
      return found;
    }
    if (!with_facts) instance.facts.clear();
    bytes += rows.text_bytes();
    found.items.push_back(std::move(instance));
  }
}

Result<domain::Instance> SqliteStore::find_instance(std::string_view app_id, std::string_view instance_id) {
  Query row(database_, "SELECT id FROM instances WHERE app_id=? AND instance_id=?", app_id, instance_id);
  if (auto found = expect_row(row, no_such(app_id, instance_id)); !found) return std::move(found).error();
  return find_instance(row.integer(0));
}

Result<domain::Instance> SqliteStore::find_instance(domain::InstanceKey key) {
  Query row(database_, select_instances(true) + "WHERE i.id=?", key);
  if (auto found = expect_row(row, "there is no such instance any more"); !found)
    return std::move(found).error();
  domain::Instance instance = read_instance(row);
  instance.facts = row.view(kFactsColumn);
  return instance;
}

Result<void> SqliteStore::set_operator_tags(domain::InstanceKey instance, const domain::Tags& tags,
                                            const domain::Tags& scopes) {
  return write("UPDATE instances SET operator_tags=?, tag_scopes=?, edit=edit+1 WHERE id=?",
               domain::to_json(tags), domain::to_json(scopes), instance);
}

Result<void> SqliteStore::set_wished_name(std::string_view app_id, std::string_view instance_id,
                                          std::string_view name) {
  return write("UPDATE instances SET wished_name=? WHERE app_id=? AND instance_id=?", name, app_id,
               instance_id);
}

Result<void> SqliteStore::set_excluded(domain::InstanceKey instance, domain::Millis at,
                                       std::string_view why) {
  return write("UPDATE instances SET excluded=?, excluded_why=?, edit=edit+1 WHERE id=?", at, why, instance);
}

Result<void> SqliteStore::set_pause(domain::InstanceKey instance, const domain::Pause& pause) {
  return write(
      "UPDATE instances SET pause_by=?, pause_reason=?, pause_since=?, pause_until=?, edit=edit+1 WHERE id=?",
      pause.by, pause.reason, pause.since, pause.until, instance);
}

namespace {

const std::string kSelectStandings =
    "SELECT i.id, i.app_id, i.instance_id, i.agent_tags, i.operator_tags, i.recipe_version, "
    "i.placement, "
    "i.converged_version, i.converged_at, i.revoked<>0 OR i.pending<>0, i.excluded, "
    "apps.trust_self_reported, "
    "i.tag_scopes FROM instances i "
    "LEFT JOIN apps ON apps.app_id=i.app_id ";

domain::InstanceProgress read_instance_progress(const Query& row) {
  domain::InstanceProgress progress;
  progress.key = row.integer(0);
  progress.app_id = row.view(1);
  progress.instance_id = row.view(2);
  const auto trust = domain::self_trust_of(row.view(11)).value_or(domain::SelfTrust::off);
  progress.tags = domain::read_tags(row.view(4));
  progress.self_tags = domain::read_tags(row.view(3));
  progress.trusts_self_reported = trust != domain::SelfTrust::off;
  progress.takes_self_tags = trust == domain::SelfTrust::all;
  progress.tag_scopes = domain::read_tags(row.view(12));
  if (progress.takes_self_tags) progress.tags.insert(progress.self_tags.begin(), progress.self_tags.end());
  progress.recipe_version = row.integer(5);
  progress.placement = row.integer(6);
  progress.converged_version = row.integer(7);
  progress.converged_at = row.integer(8);
  progress.is_out = row.integer(9) != 0;
  progress.is_excluded = row.integer(10) != 0;
  return progress;
}

}  // namespace

Result<void> SqliteStore::read_last_states(domain::InstanceProgress& progress) {
  Query rows(
      database_,
      "SELECT state_id, recipe_version, outcome, done_version, done_at FROM standings WHERE instance=?",
      progress.key);
  return for_each_row(rows, [&] {
    progress.states.push_back(
        {rows.text(0), rows.integer(1), rows.text(2), rows.integer(3), rows.integer(4)});
  });
}

Result<domain::InstanceProgress> SqliteStore::instance_progress(domain::InstanceKey instance) {
  Query row(database_, kSelectStandings + "WHERE i.id=?", instance);
  if (auto found = expect_row(row, "there is no such instance any more"); !found)
    return std::move(found).error();
  domain::InstanceProgress progress = read_instance_progress(row);
  if (auto states = read_last_states(progress); !states) return std::move(states).error();
  return progress;
}

Result<void> SqliteStore::each_instance_progress(
    const std::function<void(const domain::InstanceProgress&)>& take) {
  Query rows(database_, kSelectStandings + "ORDER BY i.id");
  while (true) {
    auto row = rows.next();
    if (!row) return std::move(row).error();
    if (!*row) return {};
    domain::InstanceProgress progress = read_instance_progress(rows);
    if (auto states = read_last_states(progress); !states) return states;
    take(progress);
  }
}

}  // namespace backend::store::sqlite
