// Handshakes, presence and facts.
#include <algorithm>

#include "backend/domain/json_text.hpp"
#include "backend/store/sqlite/tables.hpp"
#include "base/json.hpp"
#include "base/sha256.hpp"
#include "base/token.hpp"
#include "protocol/ids.hpp"

namespace backend::store::sqlite {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

// A megabyte of facts per machine is ten gigabytes per fleet: what is larger is a mistake.
constexpr std::size_t kLargestFacts = 1024 * 1024;
constexpr std::size_t kLongestUid = 255;

// Why the handshake cannot be that of an agent; "" if it can.
std::string wrong_with(const protocol::Handshake& handshake, bool has_certificate) {
  if (const auto wrong = protocol::problem_of_name(handshake.instance_id); !wrong.empty())
    return "the instance_id " + std::string(wrong);
  for (const auto& [name, value] : handshake.tags)
    if (const auto wrong = protocol::problem_of_name(name); !wrong.empty())
      return "the name of a tag " + std::string(wrong);
  if (handshake.agent_uid.size() > kLongestUid) return "the agent_uid is too long";
  if (!has_certificate && handshake.instance_token.empty()) return "the handshake has no instance_token";
  return {};
}

domain::Admission refused(domain::Admission::Verdict verdict, std::string reason) {
  domain::Admission admission;
  admission.verdict = verdict;
  admission.reason = std::move(reason);
  return admission;
}

}  // namespace

struct SqliteStore::Known {
  domain::InstanceKey key = 0;  // 0: it is not
  std::string token_hash, agent_tags, facts_hash;
  std::uint64_t epoch = 0;
  bool unplaced = false;
  bool revoked = false;
  std::string revoked_why;
};

// Who it says it is, and whether that is so. Nothing: it is.
Result<std::optional<domain::Admission>> SqliteStore::refuse_peer(
    const protocol::Handshake& handshake, const std::optional<domain::Credential>& credential,
    const Known& known, domain::Millis now) {
  using Verdict = domain::Admission::Verdict;
  const auto refuse = [](Verdict verdict, std::string reason) {
    return std::optional(refused(verdict, std::move(reason)));
  };
  if (credential) {
    auto wrong = wrong_with_certificate(*credential, now);
    if (!wrong) return std::move(wrong).error();
    return wrong->empty() ? std::nullopt : refuse(Verdict::revoked, std::move(*wrong));
  }
  if (known.revoked)
    return refuse(Verdict::revoked, "instance '" + handshake.instance_id + "' was revoked" +
                                        (known.revoked_why.empty() ? "" : ": " + known.revoked_why));
  auto enrolled = was_enrolled(handshake.app_id, handshake.instance_id);
  if (!enrolled) return std::move(enrolled).error();
  // Or whoever gets hold of the old token could go on without a certificate.
  if (*enrolled)
    return refuse(Verdict::wrong_token,
                  "instance '" + handshake.instance_id + "' is enrolled: it needs its certificate");
  if (known.key != 0 &&
      !base::equal_in_constant_time(known.token_hash, base::sha256_hex(handshake.instance_token)))
    return refuse(Verdict::wrong_token, "instance '" + handshake.instance_id +
                                            "' is known with another token: if the machine was " +
                                            "reinstalled, forget it first (opsctl agent forget " +
                                            handshake.instance_id + ")");
  return std::optional<domain::Admission>();
}

Result<domain::Admission> SqliteStore::admit(const protocol::Handshake& handshake,
                                             const std::optional<domain::Credential>& credential,
                                             domain::Millis now) {
  using Verdict = domain::Admission::Verdict;
  if (std::string wrong = wrong_with(handshake, credential.has_value()); !wrong.empty())
    return refused(Verdict::invalid, std::move(wrong));
  if (credential &&
      (credential->app_id != handshake.app_id || credential->instance_id != handshake.instance_id))
    return refused(Verdict::wrong_name, "the certificate is for " + credential->app_id + "/" +
                                            credential->instance_id + ", not for " + handshake.app_id + "/" +
                                            handshake.instance_id);
  auto app = find_app(handshake.app_id);
  if (!app && app.error().code() == ErrorCode::not_found)
    return refused(Verdict::unknown_app,
                   "app '" + handshake.app_id + "' is not known: opsctl app create " + handshake.app_id);
  if (!app) return std::move(app).error();

  Known known;
  {
    Query row(
        database_,
        "SELECT id, token_hash, agent_tags, facts_hash, epoch, unplaced, revoked, revoked_why FROM instances "
        "WHERE app_id=? AND instance_id=?",
        handshake.app_id, handshake.instance_id);
    auto there = row.next();
    if (!there) return std::move(there).error();
    if (*there)
      known = {row.integer(0), row.text(1),         row.text(2),         row.text(3),
               row.count(4),   row.integer(5) != 0, row.integer(6) != 0, row.text(7)};
  }
  auto refusal = refuse_peer(handshake, credential, known, now);
  if (!refusal) return std::move(refusal).error();
  if (*refusal) return std::move(**refusal);

  domain::Admission admission;
  admission.app = std::move(*app);
  admission.session.instance = known.key;
  admission.facts_hash = known.facts_hash;
  admission.is_new = known.epoch == 0;  // enrolment makes the row before the first handshake
  const std::string tags = domain::to_json(handshake.tags);
  admission.tags_changed = known.key != 0 && (known.unplaced || known.agent_tags != tags);
  if (credential) {
    auto noted = note_certificate_use(*credential, now);
    if (!noted) return std::move(noted).error();
  }
  const std::int64_t has_version = handshake.recipe_version.value_or(0);
  if (known.key == 0) {
    // Versions go on from what the agent has: it may be known from before it was forgotten here.
    auto added = write(
        "INSERT INTO instances (app_id, instance_id, token_hash, first_seen, recipe_version) VALUES "
        "(?,?,?,?,?)",
        handshake.app_id, handshake.instance_id, credential ? "" : base::sha256_hex(handshake.instance_token),
        now, has_version);
    if (!added) return std::move(added).error();
    admission.session.instance = database_.last_row_id();
  }

  // Version 1 has no agent_uid; its reports have no seq either, and are numbered here.
  const std::string uid = handshake.agent_uid.empty() ? "v1" : handshake.agent_uid;
  auto agent = write("INSERT OR IGNORE INTO agents (instance, agent_uid, first_seen) VALUES (?,?,?)",
                     admission.session.instance, uid, now);
  if (!agent) return std::move(agent).error();
  {
    Query row(database_, "SELECT id, last_seq FROM agents WHERE instance=? AND agent_uid=?",
              admission.session.instance, uid);
    if (auto found = expect_row(row, "agent"); !found) return std::move(found).error();
    admission.session.agent = row.integer(0);
    admission.ack_seq = row.count(1);
  }

  // An agent with a higher version than ours (our database is from a backup) would take ours for an old one.
  const int protocol = std::max(handshake.protocol_version, handshake.protocol_max) >= 2 ? 2 : 1;
  std::optional<std::string> errors;
  if (handshake.init_errors) errors = domain::to_json(std::span(&*handshake.init_errors, 1));
  Query updated(
      database_,
      "UPDATE instances SET agent=?, epoch=epoch+1, protocol=?, agent_version=?, os=?, arch=?, boot_id=?, "
      "agent_tags=?, unplaced=0, online=1, connected_at=?, last_seen=?, errors=ifnull(?, errors), "
      "reported_version=max(reported_version, ?), "
      "recipe_version=CASE WHEN recipe_version<? THEN ?+1 ELSE recipe_version END WHERE id=? "
      "RETURNING epoch",
      admission.session.agent, protocol, handshake.agent_version, handshake.os, handshake.arch,
      handshake.boot_id, tags, now, now, errors, has_version, has_version, has_version,
      admission.session.instance);
  if (auto found = expect_row(updated, "instance"); !found) return std::move(found).error();
  admission.session.epoch = updated.count(0);
  if (auto end = updated.next(); !end) return std::move(end).error();
  admission.verdict = Verdict::admitted;
  return admission;
}

Result<void> SqliteStore::set_offline(const domain::AgentSession& session, domain::Millis now) {
  return write("UPDATE instances SET online=0, last_seen=? WHERE id=? AND epoch=?", now, session.instance,
               session.epoch);
}

Result<void> SqliteStore::set_all_offline() {
  return write("UPDATE instances SET online=0 WHERE online<>0");
}

Result<void> SqliteStore::set_last_seen(std::span<const domain::InstanceKey> instances, domain::Millis now) {
  for (const domain::InstanceKey instance : instances)
    if (auto done = write("UPDATE instances SET last_seen=max(last_seen, ?) WHERE id=?", now, instance);
        !done)
      return done;
  return {};
}

Result<bool> SqliteStore::put_facts(domain::InstanceKey instance, const protocol::Facts& facts,
                                    std::string_view base_hash) {
  std::string text;
  if (facts.full) {
    base::Arena arena;
    const auto read = base::parse_json(facts.full->text, arena);
    const auto* value = std::get_if<base::Value>(&read);
    if (!value || !value->is_object()) return Error(ErrorCode::invalid, "facts must be a JSON object");
    text = facts.full->text;
  } else if (facts.patch) {
    Query present(
        database_,
        "SELECT i.facts_hash, f.facts FROM instances i JOIN facts f ON f.instance=i.id WHERE i.id=?",
        instance);
    auto row = present.next();
    if (!row) return std::move(row).error();
    if (!*row || (!base_hash.empty() && present.view(0) != base_hash)) return false;
    auto merged = domain::merge_patch(present.view(1), facts.patch->text);
    if (!merged) return std::move(merged).error();
    text = std::move(*merged);
  } else {
    return Error(ErrorCode::invalid, "facts without 'full' and 'patch'");
  }
  if (text.size() > kLargestFacts) return Error(ErrorCode::limit, "facts are larger than 1 MiB");
  auto known = database_.run("UPDATE instances SET facts_hash=? WHERE id=?", facts.hash, instance);
  if (!known) return std::move(known).error();
  if (*known == 0) return Error(ErrorCode::not_found, "no such instance");
  auto stored =
      write("INSERT INTO facts VALUES (?,?) ON CONFLICT DO UPDATE SET facts=excluded.facts", instance, text);
  if (!stored) return std::move(stored).error();
  return true;
}

}  // namespace backend::store::sqlite
