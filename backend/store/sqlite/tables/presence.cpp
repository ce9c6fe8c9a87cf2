// Handshakes, presence and facts: rows of instances and agents.
#include "backend/domain/json_text.hpp"
#include "backend/store/sqlite/tables/tables.hpp"

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<std::optional<domain::KnownInstance>> SqliteStore::find_known_instance(std::string_view app_id,
                                                                              std::string_view instance_id) {
  Query row(
      database_,
      "SELECT id, token_hash, agent_tags, facts_hash, epoch, recipe_version, reported_version, unplaced, "
      "revoked, revoked_why, pending, takes_inputs, ifnull((SELECT digest FROM placements p WHERE "
      "p.id=placement), '') "
      "FROM "
      "instances WHERE app_id=? AND instance_id=?",
      app_id, instance_id);
  auto there = row.next();
  if (!there) return std::move(there).error();
  if (!*there) return std::optional<domain::KnownInstance>();
  return std::optional(domain::KnownInstance{.key = row.integer(0),
                                             .token_hash = row.text(1),
                                             .agent_tags = row.text(2),
                                             .facts_hash = row.text(3),
                                             .epoch = row.count(4),
                                             .recipe_version = row.integer(5),
                                             .reported_version = row.integer(6),
                                             .recipe_digest = row.text(12),
                                             .unplaced = row.integer(7) != 0,
                                             .revoked = row.integer(8),
                                             .revoked_why = row.text(9),
                                             .pending = row.integer(10),
                                             .takes_inputs = row.integer(11) != 0});
}

Result<domain::InstanceKey> SqliteStore::add_instance(std::string_view app_id, std::string_view instance_id,
                                                      std::string_view token_hash, domain::Millis now) {
  auto added = write("INSERT INTO instances (app_id, instance_id, token_hash, first_seen) VALUES (?,?,?,?)",
                     app_id, instance_id, token_hash, now);
  if (!added) return std::move(added).error();
  return database_.last_row_id();
}

Result<void> SqliteStore::reset_instance(std::string_view app_id, std::string_view instance_id,
                                         domain::Millis now) {
  return write(
      "INSERT INTO instances (app_id, instance_id, token_hash, first_seen, unplaced) VALUES (?,?,'',?,1) ON "
      "CONFLICT DO UPDATE SET token_hash='', revoked=0, revoked_why='', unplaced=1, "
      "online=0, epoch=CASE WHEN epoch>0 THEN epoch+1 ELSE 0 END",
      app_id, instance_id, now);
}

Result<void> SqliteStore::revoke_instance(domain::InstanceKey instance, std::string_view why,
                                          domain::Millis now) {
  return write(
      "UPDATE instances SET revoked=?, revoked_why=?, token_hash='', epoch=epoch+1, online=0, "
      "edit=edit+1 WHERE id=?",
      now, why, instance);
}

Result<void> SqliteStore::set_pending(domain::InstanceKey instance, domain::Millis since,
                                      std::string_view from) {
  return write("UPDATE instances SET pending=?, pending_from=?, edit=edit+1 WHERE id=?", since, from,
               instance);
}

Result<void> SqliteStore::set_token_hash(domain::InstanceKey instance, std::string_view token_hash) {
  return write("UPDATE instances SET token_hash=?, edit=edit+1 WHERE id=?", token_hash, instance);
}

Result<domain::PendingCounts> SqliteStore::count_pending(std::string_view network) {
  Query row(database_,
            "SELECT pending_from, count(*) FROM instances WHERE pending<>0 AND token_hash<>'' GROUP BY "
            "pending_from");
  domain::PendingCounts counts;
  while (true) {
    auto found = row.next();
    if (!found) return std::move(found).error();
    if (!*found) return counts;
    const std::size_t count = row.count(1);
    counts.all += count;
    if (row.view(0) == network) counts.of_network = count;
    if (count <= counts.of_busiest) continue;
    counts.of_busiest = count;
    counts.busiest = row.text(0);
  }
}

Result<void> SqliteStore::remove_oldest_pending(std::string_view network) {
  return write(
      "DELETE FROM instances WHERE id=(SELECT id FROM instances WHERE pending<>0 AND token_hash<>'' AND "
      "pending_from=? ORDER BY pending, id LIMIT 1)",
      network);
}

Result<void> SqliteStore::remove_pending(domain::Millis before) {
  return write("DELETE FROM instances WHERE pending<>0 AND pending<? AND token_hash<>''", before);
}

Result<bool> SqliteStore::remove_offline_instance(std::string_view app_id, std::string_view instance_id) {
  auto removed = database_.run("DELETE FROM instances WHERE app_id=? AND instance_id=? AND online=0", app_id,
                               instance_id);
  if (!removed) return std::move(removed).error();
  return *removed > 0;
}

Result<domain::AgentStream> SqliteStore::put_agent(domain::InstanceKey instance, std::string_view agent_uid,
                                                   domain::Millis now) {
  auto added = database_.run("INSERT OR IGNORE INTO agents (instance, agent_uid, first_seen) VALUES (?,?,?)",
                             instance, agent_uid, now);
  if (!added) return std::move(added).error();
  Query row(database_, "SELECT id, last_seq FROM agents WHERE instance=? AND agent_uid=?", instance,
            agent_uid);
  if (auto found = expect_row(row, "agent"); !found) return std::move(found).error();
  return domain::AgentStream{.key = row.integer(0), .last_seq = row.count(1), .is_new = *added > 0};
}

Result<void> SqliteStore::remove_oldest_agents(domain::InstanceKey instance, domain::AgentKey current,
                                               std::size_t most) {
  return write(
      "DELETE FROM agents WHERE instance=?1 AND id<>?2 AND id NOT IN (SELECT id FROM agents WHERE "
      "instance=?1 ORDER BY id DESC LIMIT ?3)",
      instance, current, most);
}

Result<domain::Swept> SqliteStore::remove_dead_agents(const domain::Sweep& sweep) {
  return remove_swept(
      "SELECT a.id, a.id<>i.agent AND a.first_seen<? AND NOT EXISTS (SELECT 1 FROM results WHERE "
      "agent=a.id) AND NOT EXISTS (SELECT 1 FROM rounds WHERE agent=a.id) AND NOT EXISTS (SELECT 1 FROM "
      "statuses WHERE agent=a.id) FROM agents a JOIN instances i ON i.id=a.instance WHERE a.id>? ORDER BY "
      "a.id LIMIT ?",
      "DELETE FROM agents WHERE id=?", sweep);
}

Result<std::uint64_t> SqliteStore::set_connected(const domain::ConnectedAgent& agent, domain::Millis now) {
  Query updated(
      database_,
      "UPDATE instances SET agent=?, epoch=epoch+1, protocol=?, agent_version=?, os=?, arch=?, boot_id=?, "
      "agent_tags=?, unplaced=0, online=1, connected_at=?, last_seen=?, errors=ifnull(?, errors), "
      "reported_version=?, recipe_version=?, takes_inputs=?, takes_holds=?, said_holds=? WHERE id=? "
      "RETURNING epoch",
      agent.agent, agent.protocol, agent.agent_version, agent.os, agent.arch, agent.boot_id, agent.agent_tags,
      now, now, agent.errors, agent.reported_version, agent.recipe_version, agent.takes_inputs,
      agent.takes_holds, agent.said_holds, agent.instance);
  if (auto found = expect_row(updated, "instance"); !found) return std::move(found).error();
  const std::uint64_t epoch = updated.count(0);
  if (auto end = updated.next(); !end) return std::move(end).error();
  return epoch;
}

Result<bool> SqliteStore::set_said_holds(const domain::AgentSession& session,
                                         std::span<const protocol::MachineHold> holds) {
  auto said = database_.run("UPDATE instances SET said_holds=? WHERE id=? AND epoch=?",
                            domain::to_json(holds), session.instance, session.epoch);
  if (!said) return std::move(said).error();
  return *said > 0;
}

Result<bool> SqliteStore::is_current(const domain::AgentSession& session) {
  Query row(database_, "SELECT 1 FROM instances WHERE id=? AND epoch=?", session.instance, session.epoch);
  return row.next();
}

Result<void> SqliteStore::set_offline(const domain::AgentSession& session, domain::Millis now) {
  return write("UPDATE instances SET online=0, last_seen=? WHERE id=? AND epoch=?", now, session.instance,
               session.epoch);
}

Result<std::vector<domain::InstanceKey>> SqliteStore::set_all_offline() {
  std::vector<domain::InstanceKey> were_online;
  Query rows(database_, "UPDATE instances SET online=0 WHERE online<>0 RETURNING id");
  if (auto done = for_each_row(rows, [&] { were_online.push_back(rows.integer(0)); }); !done)
    return std::move(done).error();
  return were_online;
}

Result<void> SqliteStore::set_last_seen(std::span<const domain::InstanceKey> instances, domain::Millis now) {
  for (const domain::InstanceKey instance : instances)
    if (auto done = write("UPDATE instances SET last_seen=max(last_seen, ?) WHERE id=?", now, instance);
        !done)
      return done;
  return {};
}

Result<std::optional<StoredFacts>> SqliteStore::find_facts(domain::InstanceKey instance) {
  Query row(database_,
            "SELECT i.facts_hash, f.facts FROM instances i JOIN facts f ON f.instance=i.id WHERE i.id=?",
            instance);
  auto there = row.next();
  if (!there) return std::move(there).error();
  if (!*there) return std::optional<StoredFacts>();
  return std::optional(StoredFacts{.hash = row.text(0), .facts = row.text(1)});
}

Result<void> SqliteStore::set_facts(domain::InstanceKey instance, std::string_view hash,
                                    std::string_view facts) {
  auto known = database_.run("UPDATE instances SET facts_hash=? WHERE id=?", hash, instance);
  if (!known) return std::move(known).error();
  if (*known == 0) return Error(ErrorCode::not_found, "no such instance");
  return write("INSERT INTO facts VALUES (?,?) ON CONFLICT DO UPDATE SET facts=excluded.facts", instance,
               facts);
}

}  // namespace backend::store::sqlite
