// SqliteStore: the Store's methods, by table. Each .cpp has the methods of a few tables that belong together:
// sqlite_instances, sqlite_admission, sqlite_recipes, sqlite_reports, sqlite_lists, sqlite_records,
// sqlite_rollouts, sqlite_update_orders, sqlite_enrolment, sqlite_tokens, sqlite_audit.
#pragma once

#include "backend/domain/rate_limit.hpp"
#include "backend/store/sqlite/sqlite.hpp"
#include "backend/store/store.hpp"

namespace backend::store::sqlite {

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(Database database) : database_(std::move(database)) {}

  base::Result<void> transact(const std::function<base::Result<void>()>& work) override;

  base::Result<domain::Page<domain::App>> list_apps(const domain::PageRequest& page) override;
  base::Result<domain::App> find_app(std::string_view app_id) override;
  base::Result<domain::App> put_app(const domain::App& app, std::optional<domain::Edit> expected,
                                    domain::Millis now) override;

  using Store::admit;
  base::Result<domain::Admission> admit(const protocol::Handshake& handshake,
                                        const std::optional<domain::Credential>& credential,
                                        domain::Millis now) override;
  base::Result<void> set_offline(const domain::AgentSession& session, domain::Millis now) override;
  base::Result<void> set_all_offline() override;
  base::Result<void> set_last_seen(std::span<const domain::InstanceKey> instances,
                                   domain::Millis now) override;
  base::Result<bool> put_facts(domain::InstanceKey instance, const protocol::Facts& facts,
                               std::string_view base_hash) override;

  base::Result<domain::Page<domain::Instance>> list_instances(const domain::InstanceFilter& filter,
                                                              const domain::Selector* selector,
                                                              const domain::PageRequest& page,
                                                              bool with_facts) override;
  base::Result<domain::Instance> find_instance(std::string_view app_id,
                                               std::string_view instance_id) override;
  base::Result<domain::Instance> find_instance(domain::InstanceKey instance) override;
  base::Result<domain::Instance> patch_tags(std::string_view app_id, std::string_view instance_id,
                                            const std::map<std::string, std::optional<std::string>>& tags,
                                            std::optional<domain::Edit> expected) override;
  base::Result<void> forget_instance(std::string_view app_id, std::string_view instance_id) override;

  base::Result<domain::Enrolled> enrol(const domain::EnrolRequest& request, domain::Millis now) override;
  base::Result<void> put_certificate(domain::InstanceKey instance, const std::string& uid,
                                     const std::string& serial, const std::string& key_hash,
                                     domain::Millis not_after, domain::Millis now) override;
  base::Result<domain::Renewal> may_renew(const domain::Credential& credential, domain::Millis now) override;
  base::Result<domain::Instance> revoke(std::string_view app_id, std::string_view instance_id,
                                        const std::string& reason, domain::Millis now) override;
  base::Result<std::optional<domain::Enrolment>> find_enrolment(std::string_view app_id,
                                                                std::string_view instance_id) override;
  base::Result<domain::JoinToken> add_join_token(const domain::JoinToken& token) override;
  base::Result<domain::Page<domain::JoinToken>> list_join_tokens(const domain::PageRequest& page) override;
  base::Result<domain::JoinToken> revoke_join_token(std::string_view id, domain::Millis now) override;

  base::Result<domain::OperatorToken> add_token(const domain::OperatorToken& token,
                                                domain::Millis now) override;
  base::Result<domain::Page<domain::OperatorToken>> list_tokens(const domain::PageRequest& page) override;
  base::Result<std::vector<domain::OperatorToken>> live_tokens(domain::Millis now) override;
  base::Result<domain::OperatorToken> revoke_token(std::string_view name, domain::Millis now) override;
  base::Result<void> note_token_use(std::string_view id, domain::Millis now) override;
  base::Result<void> set_admin_token(const std::string& id, const std::string& secret_hash,
                                     domain::Millis now) override;

  base::Result<domain::PutRevision> put_revision(const domain::NewRevision& revision,
                                                 domain::Millis now) override;
  base::Result<domain::Page<domain::RecipeSummary>> list_recipes(const domain::PageRequest& page) override;
  base::Result<domain::Page<domain::Revision>> list_revisions(std::string_view name,
                                                              const domain::PageRequest& page) override;
  base::Result<domain::Revision> find_revision(std::string_view name,
                                               std::optional<std::int64_t> revision) override;

  base::Result<domain::Revision> find_revision_row(std::string_view name,
                                                   std::optional<std::int64_t> revision) override;

  base::Result<domain::Page<domain::Assignment>> list_assignments(std::string_view app_id,
                                                                  const domain::PageRequest& page) override;
  base::Result<std::vector<domain::Assignment>> assignments_in_order(std::string_view app_id) override;
  base::Result<std::vector<std::string>> apps_that_follow(std::string_view recipe) override;
  base::Result<domain::Assignment> find_assignment(std::int64_t id) override;
  base::Result<domain::Assignment> add_assignment(const domain::Assignment& assignment,
                                                  domain::Millis now) override;
  base::Result<domain::Assignment> edit_assignment(const domain::Assignment& assignment,
                                                   std::optional<domain::Edit> expected) override;
  base::Result<void> remove_assignment(std::int64_t id, std::optional<domain::Edit> expected) override;

  base::Result<domain::PlacementKey> put_placement(const domain::Placement& placement) override;
  base::Result<domain::Placement> find_placement(domain::PlacementKey key) override;
  base::Result<std::optional<domain::PlacementKey>> find_placement(std::string_view source) override;
  base::Result<std::vector<domain::Placement>> waiting_placements(std::string_view app_id) override;
  base::Result<bool> is_placed(std::string_view app_id, domain::PlacementKey placement) override;
  base::Result<std::int64_t> place(domain::InstanceKey instance, domain::PlacementKey placement) override;
  base::Result<void> set_problem(domain::InstanceKey instance, std::string_view problem) override;

  base::Result<domain::ReportsStored> store_reports(const domain::AgentSession& session,
                                                    std::span<const domain::Report> reports,
                                                    domain::Millis now) override;
  base::Result<domain::Page<domain::ResultRow>> list_results(const domain::ReportFilter& filter,
                                                             const domain::PageRequest& page) override;
  base::Result<domain::Page<domain::RoundRow>> list_rounds(const domain::ReportFilter& filter,
                                                           const domain::PageRequest& page) override;
  base::Result<domain::Page<domain::StatusRow>> list_statuses(const domain::ReportFilter& filter,
                                                              const domain::PageRequest& page) override;

  base::Result<domain::InstanceProgress> instance_progress(domain::InstanceKey instance) override;
  base::Result<void> each_instance_progress(
      const std::function<void(const domain::InstanceProgress&)>& take) override;

  base::Result<domain::Rollout> add_rollout(const domain::Rollout& rollout,
                                            std::span<const domain::RolloutTarget> targets) override;
  base::Result<domain::Rollout> find_rollout(std::string_view id) override;
  base::Result<domain::Page<domain::Rollout>> list_rollouts(std::string_view app_id,
                                                            const domain::PageRequest& page) override;
  base::Result<std::vector<domain::Rollout>> open_rollouts() override;
  base::Result<std::map<std::string, std::size_t>> count_rollouts() override;
  base::Result<void> set_rollout(const domain::Rollout& rollout) override;
  base::Result<std::vector<domain::RingCounts>> ring_counts(const domain::Rollout& rollout) override;
  base::Result<domain::Page<domain::RolloutTarget>> list_rollout_targets(
      const domain::Rollout& rollout, std::string_view phase, const domain::PageRequest& page) override;
  base::Result<std::string> active_rollout_of(domain::InstanceKey instance) override;
  base::Result<std::string> conflicting_rollout(const domain::Rollout& rollout) override;
  base::Result<void> begin_ring(const domain::Rollout& rollout, domain::Millis now) override;
  base::Result<std::vector<domain::UpdateOrder>> take_due(const domain::Rollout& rollout,
                                                          domain::Millis now) override;
  base::Result<std::vector<domain::UpdateOrder>> unacknowledged_targets(
      const domain::Rollout& rollout) override;
  base::Result<std::vector<domain::RolloutTarget>> mark_unresponsive(const domain::Rollout& rollout,
                                                                     domain::Millis now) override;
  base::Result<void> exclude_past_failures(const domain::Rollout& rollout) override;
  base::Result<std::optional<domain::UpdateOrder>> update_for(const domain::UpdateCaller& caller,
                                                              domain::Millis now) override;

  base::Result<void> add_audit(const domain::AuditRow& row) override;
  base::Result<domain::Page<domain::AuditRow>> list_audit(const domain::PageRequest& page,
                                                          Order order) override;
  base::Result<domain::AuditHead> audit_head() override;
  base::Result<domain::FleetCounts> fleet(std::string_view app_id, domain::Millis now) override;
  base::Result<domain::Purged> purge(const domain::Retention& retention) override;

 private:
  // A statement whose rows do not matter.
  template <class... Args>
  base::Result<void> write(std::string_view sql, const Args&... args) {
    auto changed = database_.run(sql, args...);
    if (!changed) return std::move(changed).error();
    return {};
  }
  base::Result<void> append_audit(domain::AuditRow row);
  base::Result<void> note_missed_refusals();

  // ---- enrolment
  struct Decision;  // about an EnrolRequest
  base::Result<Decision> decide(const domain::EnrolRequest& request, domain::Millis now);
  base::Result<std::string> refuse_known_instance(const Decision& decision, const std::string& key_hash);
  base::Result<domain::Enrolled> carry_out(const Decision& decision, const domain::EnrolRequest& request,
                                           domain::Millis now);
  base::Result<void> end_enrolments(std::string_view app_id, std::string_view instance_id,
                                    std::string_view why, domain::Millis now);
  base::Result<bool> is_repeated(const domain::EnrolRequest& request, std::string_view app_id,
                                 std::string_view instance_id);
  base::Result<bool> was_enrolled(std::string_view app_id, std::string_view instance_id);
  // What is wrong with the certificate; "" when nothing is.
  base::Result<std::string> wrong_with_certificate(const domain::Credential& credential, domain::Millis now);
  base::Result<void> note_certificate_use(const domain::Credential& credential, domain::Millis now);

  // ---- handshakes
  struct Known;  // an instance as a handshake finds it
  base::Result<std::optional<domain::Admission>> refuse_peer(
      const protocol::Handshake& handshake, const std::optional<domain::Credential>& credential,
      const Known& known, domain::Millis now);

  // ---- pinned versions
  base::Result<std::optional<domain::UpdateOrder>> pinned_update_for(const domain::UpdateCaller& caller,
                                                                     domain::Millis now);
  base::Result<void> set_pin(const domain::App& app, domain::Millis now);

  base::Result<void> read_last_states(domain::InstanceProgress& progress);
  template <class Row, class Read>
  base::Result<domain::Page<Row>> list_reports(std::string_view table, std::string_view columns,
                                               const domain::ReportFilter& filter,
                                               const domain::PageRequest& page, const Read& read);
  base::Result<std::int64_t> first_since(std::string_view table, domain::Millis since);
  base::Result<std::size_t> purge_table(std::string_view table, domain::Millis oldest, std::uint64_t most,
                                        std::size_t batch);

  Database database_;
  // Rows about refusals: somebody who is refused all day must not fill the disk (some 4 MiB a day and key).
  domain::RateLimit refusals_{{.at_once = 100, .per_second = 0.1, .keys = 256}};
};

// ---- shared by the files of this class

// The next row of a query that has one; `not_found` with that text if not.
base::Result<void> expect_row(Query& query, const std::string& not_found);

// The number in a page's `after`; `none` when it is empty.
base::Result<std::int64_t> read_cursor(const domain::PageRequest& page, std::int64_t none);
std::size_t page_size(const domain::PageRequest& page);

// `exists` when somebody has edited it since `expected` was seen.
base::Result<void> check_edit(std::optional<domain::Edit> expected, domain::Edit present,
                              const std::string& what);

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
