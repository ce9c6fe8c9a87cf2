// SqliteStore: the rows of the Store, by table. Each .cpp has the methods of a few tables that belong
// together: instances, presence, recipes, placements, reports, lists, records, rollouts, pins, enrolments,
// certificates, tokens, audit, variables. No rules are here: domain/ decides, and the functions in store/
// combine.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "backend/store/sqlite/sqlite.hpp"
#include "backend/store/store.hpp"

namespace backend::store::sqlite {

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(Database database) : database_(std::move(database)) {}

  base::Result<void> transact(const std::function<base::Result<void>()>& work) override;
  base::Result<void> probe_room(domain::Millis now) override;

  // AppStore
  base::Result<domain::Page<domain::App>> list_apps(const domain::PageRequest& page) override;
  base::Result<domain::App> find_app(std::string_view app_id) override;
  base::Result<void> write_app(const domain::App& app, domain::Millis now) override;

  // InstanceStore
  base::Result<domain::Page<domain::Instance>> list_instances(const domain::InstanceFilter& filter,
                                                              const domain::Selector* selector,
                                                              const domain::PageRequest& page,
                                                              bool with_facts) override;
  base::Result<domain::Instance> find_instance(std::string_view app_id,
                                               std::string_view instance_id) override;
  base::Result<domain::Instance> find_instance(domain::InstanceKey instance) override;
  base::Result<domain::FleetCounts> fleet(std::string_view app_id, domain::Millis now) override;
  base::Result<domain::FleetHealth> fleet_health(domain::Millis now) override;
  base::Result<std::optional<domain::KnownInstance>> find_known_instance(
      std::string_view app_id, std::string_view instance_id) override;
  base::Result<domain::InstanceKey> add_instance(std::string_view app_id, std::string_view instance_id,
                                                 std::string_view token_hash, domain::Millis now) override;
  base::Result<void> reset_instance(std::string_view app_id, std::string_view instance_id,
                                    domain::Millis now) override;
  base::Result<void> revoke_instance(domain::InstanceKey instance, std::string_view why,
                                     domain::Millis now) override;
  base::Result<bool> remove_offline_instance(std::string_view app_id, std::string_view instance_id) override;
  base::Result<domain::AgentStream> put_agent(domain::InstanceKey instance, std::string_view agent_uid,
                                              domain::Millis now) override;
  base::Result<void> remove_oldest_agents(domain::InstanceKey instance, domain::AgentKey current,
                                          std::size_t most) override;
  base::Result<domain::Swept> remove_dead_agents(const domain::Sweep& sweep) override;
  base::Result<std::uint64_t> set_connected(const domain::ConnectedAgent& agent, domain::Millis now) override;
  base::Result<bool> is_current(const domain::AgentSession& session) override;
  base::Result<void> set_offline(const domain::AgentSession& session, domain::Millis now) override;
  base::Result<std::vector<domain::InstanceKey>> set_all_offline() override;
  base::Result<void> set_last_seen(std::span<const domain::InstanceKey> instances,
                                   domain::Millis now) override;
  base::Result<void> set_pending(domain::InstanceKey instance, domain::Millis since,
                                 std::string_view from) override;
  base::Result<void> set_token_hash(domain::InstanceKey instance, std::string_view token_hash) override;
  base::Result<domain::PendingCounts> count_pending(std::string_view network) override;
  base::Result<void> remove_oldest_pending(std::string_view network) override;
  base::Result<void> remove_pending(domain::Millis before) override;
  base::Result<void> set_wished_name(std::string_view app_id, std::string_view instance_id,
                                     std::string_view name) override;
  base::Result<void> set_excluded(domain::InstanceKey instance, domain::Millis at,
                                  std::string_view why) override;
  base::Result<void> set_pause(domain::InstanceKey instance, const domain::Pause& pause) override;
  base::Result<bool> set_said_holds(const domain::AgentSession& session,
                                    std::span<const protocol::MachineHold> holds) override;
  base::Result<void> set_operator_tags(domain::InstanceKey instance, const domain::Tags& tags,
                                       const domain::Tags& scopes) override;
  base::Result<std::optional<StoredFacts>> find_facts(domain::InstanceKey instance) override;
  base::Result<void> set_facts(domain::InstanceKey instance, std::string_view hash,
                               std::string_view facts) override;

  // IdentityStore
  base::Result<std::optional<domain::JoinToken>> find_join_token(std::string_view id) override;
  base::Result<domain::Page<domain::JoinToken>> list_join_tokens(const domain::PageRequest& page) override;
  base::Result<std::size_t> count_join_tokens(domain::Millis now) override;
  base::Result<void> insert_join_token(const domain::JoinToken& token) override;
  base::Result<void> use_join_token(std::string_view id) override;
  base::Result<domain::JoinToken> revoke_join_token(std::string_view id, domain::Millis now) override;
  base::Result<void> remove_join_tokens(domain::Millis expired_before) override;
  base::Result<std::optional<domain::Enrolment>> newest_enrolment(std::string_view app_id,
                                                                  std::string_view instance_id) override;
  base::Result<std::optional<domain::Enrolment>> find_enrolment(std::string_view uid) override;
  base::Result<std::int64_t> count_enrolments(std::string_view app_id, std::string_view instance_id,
                                              std::string_view token_id) override;
  base::Result<std::optional<domain::Enrolment>> enrolment_with_key(std::string_view app_id,
                                                                    std::string_view key_hash) override;
  base::Result<void> insert_enrolment(const domain::Enrolment& enrolment) override;
  base::Result<void> end_enrolments(std::string_view app_id, std::string_view instance_id,
                                    std::string_view why, domain::Millis now) override;
  base::Result<void> revoke_enrolments(std::string_view app_id, std::string_view instance_id,
                                       std::string_view why, domain::Millis now) override;
  base::Result<void> set_enrolment_key(std::string_view uid, std::string_view key_hash) override;
  base::Result<std::optional<domain::CertificateRow>> find_certificate(std::string_view serial) override;
  base::Result<std::vector<domain::CertificateRow>> list_certificates(std::string_view uid,
                                                                      std::size_t most) override;
  base::Result<std::vector<domain::CertificateRow>> certificates_with_key(std::string_view uid,
                                                                          std::string_view key_hash) override;
  base::Result<bool> has_used_certificate(std::string_view uid) override;
  base::Result<std::int64_t> count_good_certificates(std::string_view uid, domain::Millis now) override;
  base::Result<std::int64_t> count_certificates_since(std::string_view uid,
                                                      domain::Millis issued_since) override;
  base::Result<void> insert_certificate(const domain::CertificateRow& certificate) override;
  base::Result<void> set_certificate_used(std::string_view serial, domain::Millis now) override;
  base::Result<void> revoke_certificates_before(std::string_view uid, std::int64_t id, std::string_view why,
                                                domain::Millis now) override;
  base::Result<void> revoke_unused_certificates(std::string_view uid, std::string_view except,
                                                std::string_view why, domain::Millis now) override;
  base::Result<void> remove_certificates(std::string_view uid, domain::Millis expired_before) override;
  base::Result<std::size_t> remove_dead_certificates(domain::Millis before, std::size_t most) override;
  base::Result<domain::Swept> remove_dead_enrolments(const domain::Sweep& sweep) override;
  base::Result<void> set_certificate_kept(std::string_view uid, std::string_view serial,
                                          domain::Millis now) override;
  base::Result<void> adopt_authority(std::string_view issuer, std::string_view ca_hash) override;
  base::Result<domain::RelyingMachines> machines_relying_on(std::string_view issuer, domain::Millis now,
                                                            std::size_t most) override;
  base::Result<std::size_t> count_machines_of(std::string_view issuer, domain::Millis now) override;
  base::Result<std::size_t> count_join_tokens_of(std::string_view ca_hash, domain::Millis now) override;

  // OperatorTokenStore
  base::Result<domain::Page<domain::OperatorToken>> list_tokens(const domain::PageRequest& page) override;
  base::Result<std::vector<domain::OperatorToken>> live_tokens(domain::Millis now) override;
  base::Result<std::size_t> count_live_tokens(domain::Millis now) override;
  base::Result<std::optional<domain::OperatorToken>> find_token(std::string_view id) override;
  base::Result<std::optional<domain::OperatorToken>> token_named(std::string_view name) override;
  base::Result<void> insert_token(const domain::OperatorToken& token) override;
  base::Result<void> set_token_revoked(std::string_view id, domain::Millis now) override;
  base::Result<void> note_token_use(std::string_view id, domain::Millis now) override;

  // RecipeStore
  base::Result<domain::Page<domain::RecipeSummary>> list_recipes(const domain::PageRequest& page) override;
  base::Result<domain::Page<domain::Revision>> list_revisions(std::string_view name,
                                                              const domain::PageRequest& page) override;
  base::Result<domain::Revision> find_revision(std::string_view name,
                                               std::optional<std::int64_t> revision) override;
  base::Result<domain::Revision> find_revision_row(std::string_view name,
                                                   std::optional<std::int64_t> revision) override;
  base::Result<void> insert_revision(const domain::NewRevision& revision, std::int64_t number,
                                     domain::Millis now) override;
  base::Result<std::string> recipe_owner(std::string_view name) override;
  base::Result<void> set_recipe_owner(std::string_view name, std::string_view scope) override;
  base::Result<domain::RecipeUse> recipe_use(std::string_view owner) override;

  // AssignmentStore
  base::Result<domain::Page<domain::Assignment>> list_assignments(std::string_view app_id,
                                                                  const domain::PageRequest& page) override;
  base::Result<std::vector<domain::Assignment>> assignments_in_order(std::string_view app_id) override;
  base::Result<std::vector<std::string>> apps_that_follow(std::string_view recipe) override;
  base::Result<domain::Assignment> find_assignment(std::int64_t id) override;
  base::Result<domain::Assignment> insert_assignment(const domain::Assignment& assignment,
                                                     domain::Millis now) override;
  base::Result<domain::Assignment> write_assignment(const domain::Assignment& assignment) override;
  base::Result<void> delete_assignment(std::int64_t id) override;

  // PlacementStore
  base::Result<domain::PlacementKey> put_placement(const domain::Placement& placement) override;
  base::Result<domain::Placement> find_placement(domain::PlacementKey key) override;
  base::Result<std::optional<domain::PlacementKey>> find_placement(std::string_view source) override;
  base::Result<std::vector<domain::Placement>> waiting_placements(std::string_view app_id) override;
  base::Result<bool> is_placed(std::string_view app_id, domain::PlacementKey placement) override;
  base::Result<std::int64_t> place(domain::InstanceKey instance, domain::PlacementKey placement) override;
  base::Result<void> set_problem(domain::InstanceKey instance, std::string_view problem) override;
  base::Result<std::size_t> remove_unused_placements(std::size_t most) override;

  // ReportStore
  base::Result<domain::ReportsStored> store_reports(const domain::AgentSession& session,
                                                    std::span<const domain::Report> reports,
                                                    domain::Millis now,
                                                    const domain::ReportTerms& terms) override;
  base::Result<std::optional<domain::FailedState>> find_failed_state(domain::InstanceKey instance) override;
  base::Result<domain::ReportUse> report_use(domain::InstanceKey instance) override;
  base::Result<domain::Page<domain::ResultRow>> list_results(const domain::ReportFilter& filter,
                                                             const domain::PageRequest& page) override;
  base::Result<domain::Page<domain::RoundRow>> list_rounds(const domain::ReportFilter& filter,
                                                           const domain::PageRequest& page) override;
  base::Result<domain::Page<domain::StatusRow>> list_statuses(const domain::ReportFilter& filter,
                                                              const domain::PageRequest& page) override;
  base::Result<domain::Purged> remove_reports(const domain::Retention& retention) override;
  base::Result<domain::InstanceProgress> instance_progress(domain::InstanceKey instance) override;
  base::Result<void> each_instance_progress(
      const std::function<void(const domain::InstanceProgress&)>& take) override;

  // RolloutStore
  base::Result<domain::Rollout> add_rollout(const domain::Rollout& rollout,
                                            std::span<const domain::RolloutTarget> targets) override;
  base::Result<domain::Rollout> find_rollout(std::string_view id) override;
  base::Result<domain::Page<domain::Rollout>> list_rollouts(std::string_view app_id,
                                                            const domain::PageRequest& page) override;
  base::Result<std::vector<domain::Rollout>> open_rollouts() override;
  base::Result<domain::RolloutCounts> count_rollouts() override;
  base::Result<void> set_rollout(const domain::Rollout& rollout) override;
  base::Result<std::size_t> hold_rollouts(std::string_view why) override;
  base::Result<std::size_t> remove_ended_rollout(domain::Millis ended_before) override;
  base::Result<std::optional<domain::Rollout>> find_pin(std::string_view app_id) override;
  base::Result<void> end_pin(std::string_view app_id, domain::Millis now) override;
  base::Result<domain::PinAttempt> pin_attempt(const domain::Rollout& pin,
                                               domain::InstanceKey instance) override;
  base::Result<void> begin_pin_attempt(const domain::Rollout& pin, const domain::UpdateCaller& caller,
                                       std::string_view action_id, std::int64_t attempt,
                                       domain::Millis now) override;
  base::Result<std::vector<domain::RingCounts>> ring_counts(const domain::Rollout& rollout,
                                                            domain::Millis now) override;
  base::Result<domain::Page<domain::RolloutTarget>> list_rollout_targets(
      const domain::Rollout& rollout, std::string_view phase, const domain::PageRequest& page) override;
  base::Result<void> begin_ring(const domain::Rollout& rollout, domain::Millis now) override;
  base::Result<std::vector<DueTarget>> due_targets(const domain::Rollout& rollout,
                                                   domain::Millis now) override;
  base::Result<void> set_target_phase(std::int64_t rollout, domain::InstanceKey instance,
                                      std::string_view phase, domain::Millis now) override;
  base::Result<std::vector<domain::UpdateOrder>> unacknowledged_targets(
      const domain::Rollout& rollout) override;
  base::Result<void> mark_absent(const domain::Rollout& rollout, domain::Millis due_before) override;
  base::Result<std::vector<domain::RolloutTarget>> mark_lost(const domain::Rollout& rollout,
                                                             domain::Millis heard_before) override;
  base::Result<void> exclude_past_failures(const domain::Rollout& rollout) override;
  base::Result<std::size_t> exclude_targets(const domain::Rollout& rollout,
                                            std::span<const std::string> instances) override;
  base::Result<std::vector<domain::RolloutTarget>> failed_targets(const domain::Rollout& rollout,
                                                                  std::size_t most) override;
  base::Result<std::string> active_rollout_of(domain::InstanceKey instance) override;
  base::Result<std::string> conflicting_rollout(const domain::Rollout& rollout) override;
  base::Result<std::optional<domain::HandshakeTarget>> newest_target_of(
      domain::InstanceKey instance) override;
  base::Result<std::vector<domain::Rollout>> held_changes(std::string_view app_id) override;
  base::Result<std::vector<domain::InstanceKey>> told_machines(
      const domain::Rollout& rollout, std::optional<domain::InstanceKey> only) override;
  base::Result<void> end_change(const domain::Rollout& rollout, std::string_view why,
                                domain::Millis now) override;
  base::Result<std::vector<domain::ChangeEvidence>> change_evidence(const domain::Rollout& rollout) override;
  base::Result<void> set_given_version(std::int64_t rollout, domain::InstanceKey instance,
                                       std::int64_t version) override;
  base::Result<void> close_change(std::int64_t rollout, domain::InstanceKey instance,
                                  const domain::ChangeVerdict& verdict, domain::Millis now) override;

  // AuditStore
  base::Result<domain::AuditHead> audit_head() override;
  base::Result<void> append_audit(const domain::AuditHead& head, const domain::AuditRow& row) override;
  base::Result<domain::Page<domain::AuditRow>> list_audit(const domain::PageRequest& page,
                                                          Order order) override;

  // HistoryStore
  base::Result<domain::StoreHistory> history() override;
  base::Result<bool> knows_history(std::string_view id) override;
  base::Result<void> begin_history(std::string_view id, std::string_view other, domain::Millis now) override;
  base::Result<std::string> audit_chain(std::int64_t id) override;

  // VariableStore
  base::Result<domain::Page<domain::VariableLayer>> list_layers(std::string_view app_id,
                                                                const domain::PageRequest& page) override;
  base::Result<std::vector<domain::VariableLayer>> layers_of(
      std::string_view app_id, std::optional<std::string_view> machine) override;
  base::Result<domain::VariableLayer> find_layer(std::int64_t id) override;
  base::Result<std::optional<domain::VariableLayer>> find_layer(std::string_view app_id,
                                                                domain::LayerKind kind,
                                                                std::string_view target) override;
  base::Result<std::size_t> count_layers(std::string_view app_id, domain::LayerKind kind,
                                         std::string_view owner) override;
  base::Result<std::size_t> variable_bytes(std::string_view app_id, std::string_view owner) override;
  base::Result<domain::VariableLayer> insert_layer(const domain::VariableLayer& layer,
                                                   domain::Millis now) override;
  base::Result<domain::VariableLayer> write_layer(const domain::VariableLayer& layer) override;
  base::Result<void> remove_empty_layers(std::string_view app_id) override;
  base::Result<void> add_variable_changes(std::span<const domain::VariableChange> changes) override;
  base::Result<domain::Page<domain::VariableChange>> list_variable_changes(
      const VariableHistoryFilter& filter, const domain::PageRequest& page) override;
  base::Result<VariableHistoryUse> variable_history_use(std::string_view owner) override;
  base::Result<void> remove_oldest_variable_changes(std::string_view owner, std::size_t most) override;

 private:
  // A statement whose rows do not matter.
  template <class... Args>
  base::Result<void> write(std::string_view sql, const Args&... args) {
    auto changed = database_.run(sql, args...);
    if (!changed) return std::move(changed).error();
    return {};
  }
  base::Result<void> read_last_states(domain::InstanceProgress& progress);
  base::Result<void> hold_layer(std::int64_t rollout, const domain::VariableLayer& layer);
  base::Result<void> read_held_layer(domain::Rollout& rollout);
  base::Result<void> read_variables(domain::VariableLayer& layer);
  base::Result<void> write_variables(const domain::VariableLayer& layer);
  template <class Row, class Read>
  base::Result<domain::Page<Row>> list_reports(std::string_view table, std::string_view columns,
                                               const domain::ReportFilter& filter,
                                               const domain::PageRequest& page, const Read& read);
  base::Result<std::int64_t> first_since(std::string_view table, domain::Millis since);
  base::Result<std::size_t> purge_table(const std::string& table, domain::TableUse use,
                                        const domain::TableUse& most, const domain::Retention& retention);
  // `select` answers (id, whether it goes) for (before, after, batch); `remove` takes an id.
  base::Result<domain::Swept> remove_swept(std::string_view select, std::string_view remove,
                                           const domain::Sweep& sweep);

  Database database_;
};

// ---- shared by the files of this class

// The next row of a query that has one; `not_found` with that text if not.
base::Result<void> expect_row(Query& query, const std::string& not_found);

// The number in a page's `after`; `none` when it is empty.
base::Result<std::int64_t> read_cursor(const domain::PageRequest& page, std::int64_t none);
std::size_t page_size(const domain::PageRequest& page);

// "('a', 'b')", of words that need no quoting.
std::string sql_list(std::span<const std::string_view> words);

// Takes rows until there is no more; `take` reads the present one.
template <class Take>
base::Result<void> for_each_row(Query& query, const Take& take) {
  while (true) {
    auto row = query.next();
    if (!row) return std::move(row).error();
    if (!*row) return {};
    take();
  }
}

}  // namespace backend::store::sqlite
