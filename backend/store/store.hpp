// Store: all that the backend keeps, behind one interface, so that a database server can take SQLite's place.
//
// Methods block, and are called by one thread: the writer thread for a store that writes, the reader thread
// for a read-only one (whose writing methods fail). Errors by code: `not_found` there is no such thing,
// `exists` it is in the way or was edited meanwhile, `invalid` the input is wrong, anything else: the
// database.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "backend/domain/identity.hpp"
#include "backend/domain/model.hpp"
#include "backend/domain/rollout.hpp"
#include "backend/domain/selector.hpp"
#include "base/result.hpp"

namespace backend::store {

class Store {
 public:
  virtual ~Store() = default;

  // Runs `work`; if it answers an error, all that it wrote is undone and the error is handed on. The
  // outermost call is a transaction, durable when it returns success; inside another one it is a savepoint.
  virtual base::Result<void> transact(const std::function<base::Result<void>()>& work) = 0;

  // ---- apps
  virtual base::Result<domain::Page<domain::App>> list_apps(const domain::PageRequest& page) = 0;
  virtual base::Result<domain::App> find_app(std::string_view app_id) = 0;
  // Creates or edits. `expected`: the edit that the caller has seen; 0: it must not exist yet; nothing: any.
  virtual base::Result<domain::App> put_app(const domain::App& app, std::optional<domain::Edit> expected,
                                            domain::Millis now) = 0;

  // ---- instances
  // A handshake: who it is, epoch, what the agent says of itself. Refusals are verdicts, not errors. With a
  // credential that alone says who it is; without one it is the instance_token, which is of no use to an
  // instance that was ever enrolled.
  virtual base::Result<domain::Admission> admit(const protocol::Handshake& handshake,
                                                const std::optional<domain::Credential>& credential,
                                                domain::Millis now) = 0;
  base::Result<domain::Admission> admit(const protocol::Handshake& handshake, domain::Millis now) {
    return admit(handshake, std::nullopt, now);
  }
  // Presence. last_seen is written for many at once, seldom. A stale epoch changes nothing.
  virtual base::Result<void> set_offline(const domain::AgentSession& session, domain::Millis now) = 0;
  virtual base::Result<void> set_all_offline() = 0;  // at the backend's start
  virtual base::Result<void> set_last_seen(std::span<const domain::InstanceKey> instances,
                                           domain::Millis now) = 0;
  // Merges a patch (RFC 7396) into, or replaces, the facts. False: a patch on other facts than we have; the
  // agent is to send them in full. `base_hash`: the hash of the facts that the
  // patch is for; "": those that we have.
  virtual base::Result<bool> put_facts(domain::InstanceKey instance, const protocol::Facts& facts,
                                       std::string_view base_hash) = 0;

  // By app and id. `selector` may be null. With facts when `with_facts`.
  virtual base::Result<domain::Page<domain::Instance>> list_instances(const domain::InstanceFilter& filter,
                                                                      const domain::Selector* selector,
                                                                      const domain::PageRequest& page,
                                                                      bool with_facts = false) = 0;
  virtual base::Result<domain::Instance> find_instance(std::string_view app_id,
                                                       std::string_view instance_id) = 0;
  virtual base::Result<domain::Instance> find_instance(domain::InstanceKey instance) = 0;
  // The operator's tags; an empty optional removes one.
  virtual base::Result<domain::Instance> patch_tags(
      std::string_view app_id, std::string_view instance_id,
      const std::map<std::string, std::optional<std::string>>& tags,
      std::optional<domain::Edit> expected) = 0;
  // `exists` while it is online. Its reports stay until retention takes them, but are listed no more. Its
  // certificates are dead; that its id was enrolled is remembered.
  virtual base::Result<void> forget_instance(std::string_view app_id, std::string_view instance_id) = 0;

  // ---- identities of agents
  // docs/backend.md has the rules. A refusal is a verdict, and changes nothing but the audit, which says why;
  // success counts the token's use in the same transaction. The certificate is to be put next.
  virtual base::Result<domain::Enrolled> enrol(const domain::EnrolRequest& request, domain::Millis now) = 0;
  // One that was issued for the current enrolment; those before it stay good until it is first used.
  virtual base::Result<void> put_certificate(domain::InstanceKey instance, const std::string& uid,
                                             const std::string& serial, const std::string& key_hash,
                                             domain::Millis not_after, domain::Millis now) = 0;
  virtual base::Result<domain::Renewal> may_renew(const domain::Credential& credential,
                                                  domain::Millis now) = 0;
  // From now on nobody is admitted as this instance, until a join token that names it is used.
  virtual base::Result<domain::Instance> revoke(std::string_view app_id, std::string_view instance_id,
                                                const std::string& reason, domain::Millis now) = 0;
  virtual base::Result<std::optional<domain::Enrolment>> find_enrolment(std::string_view app_id,
                                                                        std::string_view instance_id) = 0;

  virtual base::Result<domain::JoinToken> add_join_token(const domain::JoinToken& token) = 0;
  virtual base::Result<domain::Page<domain::JoinToken>> list_join_tokens(
      const domain::PageRequest& page) = 0;  // newest first
  virtual base::Result<domain::JoinToken> revoke_join_token(std::string_view id, domain::Millis now) = 0;

  // ---- operators
  // `exists` while another live token has the name.
  virtual base::Result<domain::OperatorToken> add_token(const domain::OperatorToken& token,
                                                        domain::Millis now) = 0;
  virtual base::Result<domain::Page<domain::OperatorToken>> list_tokens(
      const domain::PageRequest& page) = 0;  // newest first
  virtual base::Result<std::vector<domain::OperatorToken>> live_tokens(domain::Millis now) = 0;
  virtual base::Result<domain::OperatorToken> revoke_token(std::string_view name, domain::Millis now) = 0;
  virtual base::Result<void> note_token_use(std::string_view id, domain::Millis now) = 0;
  // What <data>/admin.token holds is the token named "admin" from now on; another one of that name is
  // revoked. One that was revoked over the API stays so.
  virtual base::Result<void> set_admin_token(const std::string& id, const std::string& secret_hash,
                                             domain::Millis now) = 0;

  // ---- recipes
  virtual base::Result<domain::PutRevision> put_revision(const domain::NewRevision& revision,
                                                         domain::Millis now) = 0;
  virtual base::Result<domain::Page<domain::RecipeSummary>> list_recipes(const domain::PageRequest& page) = 0;
  // Newest first, without content.
  virtual base::Result<domain::Page<domain::Revision>> list_revisions(std::string_view name,
                                                                      const domain::PageRequest& page) = 0;
  virtual base::Result<domain::Revision> find_revision(std::string_view name,
                                                       std::optional<std::int64_t> revision) = 0;
  // The same without content and states.
  virtual base::Result<domain::Revision> find_revision_row(std::string_view name,
                                                           std::optional<std::int64_t> revision) = 0;

  // ---- assignments; placing them is place_app()'s business (placer.hpp)
  virtual base::Result<domain::Page<domain::Assignment>> list_assignments(
      std::string_view app_id,  // "": of all apps
      const domain::PageRequest& page) = 0;
  virtual base::Result<std::vector<domain::Assignment>> assignments_in_order(std::string_view app_id) = 0;
  virtual base::Result<std::vector<std::string>> apps_that_follow(std::string_view recipe) = 0;
  virtual base::Result<domain::Assignment> find_assignment(std::int64_t id) = 0;
  virtual base::Result<domain::Assignment> add_assignment(const domain::Assignment& assignment,
                                                          domain::Millis now) = 0;
  virtual base::Result<domain::Assignment> edit_assignment(const domain::Assignment& assignment,
                                                           std::optional<domain::Edit> expected) = 0;
  virtual base::Result<void> remove_assignment(std::int64_t id, std::optional<domain::Edit> expected) = 0;

  // ---- placements
  // Finds or adds the row (its `key` is ignored).
  virtual base::Result<domain::PlacementKey> put_placement(const domain::Placement& placement) = 0;
  virtual base::Result<domain::Placement> find_placement(domain::PlacementKey key) = 0;
  virtual base::Result<std::optional<domain::PlacementKey>> find_placement(std::string_view source) = 0;
  // Those with wait states that instances of the app have now.
  virtual base::Result<std::vector<domain::Placement>> waiting_placements(std::string_view app_id) = 0;
  virtual base::Result<bool> is_placed(std::string_view app_id, domain::PlacementKey placement) = 0;
  // The instance is to run this from now on; answers its new recipe_version. A problem that it had is gone.
  virtual base::Result<std::int64_t> place(domain::InstanceKey instance, domain::PlacementKey placement) = 0;
  // What it should run stays as it is; status "rejected" with the reason. "" takes a problem back.
  virtual base::Result<void> set_problem(domain::InstanceKey instance, std::string_view problem) = 0;

  // ---- reports
  // Each (agent, seq) once; a report without seq (version 1) gets the next one. Durable after the commit.
  virtual base::Result<domain::ReportsStored> store_reports(const domain::AgentSession& session,
                                                            std::span<const domain::Report> reports,
                                                            domain::Millis now) = 0;
  // Newest first.
  virtual base::Result<domain::Page<domain::ResultRow>> list_results(const domain::ReportFilter& filter,
                                                                     const domain::PageRequest& page) = 0;
  virtual base::Result<domain::Page<domain::RoundRow>> list_rounds(const domain::ReportFilter& filter,
                                                                   const domain::PageRequest& page) = 0;
  virtual base::Result<domain::Page<domain::StatusRow>> list_statuses(const domain::ReportFilter& filter,
                                                                      const domain::PageRequest& page) = 0;

  // ---- waits: what WaitIndex is filled from
  virtual base::Result<domain::InstanceProgress> instance_progress(domain::InstanceKey instance) = 0;
  virtual base::Result<void> each_instance_progress(
      const std::function<void(const domain::InstanceProgress&)>& take) = 0;

  // ---- rollouts; what comes next is decided elsewhere (rollout_step.hpp)
  // The targets in their order, none of them told. What older rollouts have not told them yet they are told
  // no more.
  virtual base::Result<domain::Rollout> add_rollout(const domain::Rollout& rollout,
                                                    std::span<const domain::RolloutTarget> targets) = 0;
  virtual base::Result<domain::Rollout> find_rollout(std::string_view id) = 0;
  // Newest first. `app_id` "": of all apps.
  virtual base::Result<domain::Page<domain::Rollout>> list_rollouts(std::string_view app_id,
                                                                    const domain::PageRequest& page) = 0;
  // Running, paused, pinned, and any with a machine that was told and has not closed its update.
  virtual base::Result<std::vector<domain::Rollout>> open_rollouts() = 0;
  virtual base::Result<std::map<std::string, std::size_t>> count_rollouts() = 0;  // by state
  virtual base::Result<void> set_rollout(
      const domain::Rollout& rollout) = 0;  // its state, reason, ring, next_at, ended
  virtual base::Result<std::vector<domain::RingCounts>> ring_counts(const domain::Rollout& rollout) = 0;
  // `phase` "": all.
  virtual base::Result<domain::Page<domain::RolloutTarget>> list_rollout_targets(
      const domain::Rollout& rollout, std::string_view phase, const domain::PageRequest& page) = 0;
  // The one that runs or is paused and has this machine; "" if none.
  virtual base::Result<std::string> active_rollout_of(domain::InstanceKey instance) = 0;
  // The id of another one that runs or is paused and has a machine which this one is not through with; or "".
  virtual base::Result<std::string> conflicting_rollout(const domain::Rollout& rollout) = 0;
  // From now on it is the turn of the machines of rollout.ring, each at its moment.
  virtual base::Result<void> begin_ring(const domain::Rollout& rollout, domain::Millis now) = 0;
  // Those whose turn it is and who are connected; from now on they count as told.
  virtual base::Result<std::vector<domain::UpdateOrder>> take_due(const domain::Rollout& rollout,
                                                                  domain::Millis now) = 0;
  virtual base::Result<std::vector<domain::UpdateOrder>> unacknowledged_targets(
      const domain::Rollout& rollout) = 0;
  // Those that were told and have been silent for longer than the rollout's timeout are lost.
  virtual base::Result<std::vector<domain::RolloutTarget>> mark_unresponsive(const domain::Rollout& rollout,
                                                                             domain::Millis now) = 0;
  // What has failed or is lost by now does not count any more.
  virtual base::Result<void> exclude_past_failures(const domain::Rollout& rollout) = 0;
  // At a handshake: what it has missed, or has not closed yet; else its app's pinned version, if it is
  // another one.
  virtual base::Result<std::optional<domain::UpdateOrder>> update_for(const domain::UpdateCaller& caller,
                                                                      domain::Millis now) = 0;

  // ---- the rest
  // Chains it to the row before. Of rows with the result "denied" only so many are added; the next one that
  // is says how many were not.
  virtual base::Result<void> add_audit(const domain::AuditRow& row) = 0;
  enum class Order { newest_first, oldest_first };
  virtual base::Result<domain::Page<domain::AuditRow>> list_audit(const domain::PageRequest& page,
                                                                  Order order = Order::newest_first) = 0;
  virtual base::Result<domain::AuditHead> audit_head() = 0;
  virtual base::Result<domain::FleetCounts> fleet(std::string_view app_id, domain::Millis now) = 0;
  virtual base::Result<domain::Purged> purge(const domain::Retention& retention) = 0;
};

// Opens stores on one database. A writing store makes what is missing and brings it to the present
// schema; a read-only one needs a database that a writing one has opened before, and sees what is committed.
enum class Access { write, read_only };
using Opener = std::function<base::Result<std::unique_ptr<Store>>(Access)>;

}  // namespace backend::store
