// SqliteStore: the Store's methods, by table. Each .cpp has the methods of a few tables that belong together:
// sqlite_instances, sqlite_admission, sqlite_recipes, sqlite_reports, sqlite_lists, sqlite_records,
// sqlite_rollouts, sqlite_update_orders, sqlite_enrolment, sqlite_tokens, sqlite_audit.
#pragma once

#include "backend/domain/rate_limit.hpp"
#include "backend/store/sqlite/sqlite.hpp"
#include "backend/store/store.hpp"

namespace backend {

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(Database database) : database_(std::move(database)) {}

  base::Result<void> transact(const std::function<base::Result<void>()>& work) override;

  base::Result<Page<App>> list_apps(const PageRequest& page) override;
  base::Result<App> find_app(std::string_view app_id) override;
  base::Result<App> put_app(const App& app, std::optional<Edit> expected, Millis now) override;

  using Store::admit;
  base::Result<Admission> admit(const protocol::Handshake& handshake,
                                const std::optional<Credential>& credential, Millis now) override;
  base::Result<void> set_offline(const AgentSession& session, Millis now) override;
  base::Result<void> set_all_offline() override;
  base::Result<void> set_last_seen(std::span<const InstanceKey> instances, Millis now) override;
  base::Result<bool> put_facts(InstanceKey instance, const protocol::Facts& facts,
                               std::string_view base_hash) override;

  base::Result<Page<Instance>> list_instances(const InstanceFilter& filter, const Selector* selector,
                                              const PageRequest& page, bool with_facts) override;
  base::Result<Instance> find_instance(std::string_view app_id, std::string_view instance_id) override;
  base::Result<Instance> find_instance(InstanceKey instance) override;
  base::Result<Instance> patch_tags(std::string_view app_id, std::string_view instance_id,
                                    const std::map<std::string, std::optional<std::string>>& tags,
                                    std::optional<Edit> expected) override;
  base::Result<void> forget_instance(std::string_view app_id, std::string_view instance_id) override;

  base::Result<Enrolled> enrol(const EnrolRequest& request, Millis now) override;
  base::Result<void> put_certificate(InstanceKey instance, const std::string& uid, const std::string& serial,
                                     const std::string& key_hash, Millis not_after, Millis now) override;
  base::Result<Renewal> may_renew(const Credential& credential, Millis now) override;
  base::Result<Instance> revoke(std::string_view app_id, std::string_view instance_id,
                                const std::string& reason, Millis now) override;
  base::Result<std::optional<Enrolment>> find_enrolment(std::string_view app_id,
                                                        std::string_view instance_id) override;
  base::Result<JoinToken> add_join_token(const JoinToken& token) override;
  base::Result<Page<JoinToken>> list_join_tokens(const PageRequest& page) override;
  base::Result<JoinToken> revoke_join_token(std::string_view id, Millis now) override;

  base::Result<OperatorToken> add_token(const OperatorToken& token, Millis now) override;
  base::Result<Page<OperatorToken>> list_tokens(const PageRequest& page) override;
  base::Result<std::vector<OperatorToken>> live_tokens(Millis now) override;
  base::Result<OperatorToken> revoke_token(std::string_view name, Millis now) override;
  base::Result<void> note_token_use(std::string_view id, Millis now) override;
  base::Result<void> set_admin_token(const std::string& id, const std::string& secret_hash,
                                     Millis now) override;

  base::Result<PutRevision> put_revision(const NewRevision& revision, Millis now) override;
  base::Result<Page<RecipeSummary>> list_recipes(const PageRequest& page) override;
  base::Result<Page<Revision>> list_revisions(std::string_view name, const PageRequest& page) override;
  base::Result<Revision> find_revision(std::string_view name, std::optional<std::int64_t> revision) override;

  base::Result<Revision> find_revision_row(std::string_view name,
                                           std::optional<std::int64_t> revision) override;

  base::Result<Page<Assignment>> list_assignments(std::string_view app_id, const PageRequest& page) override;
  base::Result<std::vector<Assignment>> assignments_in_order(std::string_view app_id) override;
  base::Result<std::vector<std::string>> apps_that_follow(std::string_view recipe) override;
  base::Result<Assignment> find_assignment(std::int64_t id) override;
  base::Result<Assignment> add_assignment(const Assignment& assignment, Millis now) override;
  base::Result<Assignment> edit_assignment(const Assignment& assignment,
                                           std::optional<Edit> expected) override;
  base::Result<void> remove_assignment(std::int64_t id, std::optional<Edit> expected) override;

  base::Result<PlacementKey> put_placement(const Placement& placement) override;
  base::Result<Placement> find_placement(PlacementKey key) override;
  base::Result<std::optional<PlacementKey>> find_placement(std::string_view source) override;
  base::Result<std::vector<Placement>> waiting_placements(std::string_view app_id) override;
  base::Result<bool> is_placed(std::string_view app_id, PlacementKey placement) override;
  base::Result<std::int64_t> place(InstanceKey instance, PlacementKey placement) override;
  base::Result<void> set_problem(InstanceKey instance, std::string_view problem) override;

  base::Result<ReportsStored> store_reports(const AgentSession& session, std::span<const Report> reports,
                                            Millis now) override;
  base::Result<Page<ResultRow>> list_results(const ReportFilter& filter, const PageRequest& page) override;
  base::Result<Page<RoundRow>> list_rounds(const ReportFilter& filter, const PageRequest& page) override;
  base::Result<Page<StatusRow>> list_statuses(const ReportFilter& filter, const PageRequest& page) override;

  base::Result<Standing> standing(InstanceKey instance) override;
  base::Result<void> each_standing(const std::function<void(const Standing&)>& take) override;

  base::Result<Rollout> add_rollout(const Rollout& rollout, std::span<const RolloutTarget> targets) override;
  base::Result<Rollout> find_rollout(std::string_view id) override;
  base::Result<Page<Rollout>> list_rollouts(std::string_view app_id, const PageRequest& page) override;
  base::Result<std::vector<Rollout>> open_rollouts() override;
  base::Result<std::map<std::string, std::size_t>> count_rollouts() override;
  base::Result<void> set_rollout(const Rollout& rollout) override;
  base::Result<std::vector<RingCounts>> ring_counts(const Rollout& rollout) override;
  base::Result<Page<RolloutTarget>> list_rollout_targets(const Rollout& rollout, std::string_view phase,
                                                         const PageRequest& page) override;
  base::Result<std::string> active_rollout_of(InstanceKey instance) override;
  base::Result<std::string> rival_of(const Rollout& rollout) override;
  base::Result<void> begin_ring(const Rollout& rollout, Millis now) override;
  base::Result<std::vector<UpdateOrder>> take_due(const Rollout& rollout, Millis now) override;
  base::Result<std::vector<UpdateOrder>> told_and_silent(const Rollout& rollout) override;
  base::Result<std::vector<RolloutTarget>> lose_silent(const Rollout& rollout, Millis now) override;
  base::Result<void> forgive(const Rollout& rollout) override;
  base::Result<std::optional<UpdateOrder>> update_for(const UpdateCaller& caller, Millis now) override;

  base::Result<void> add_audit(const AuditRow& row) override;
  base::Result<Page<AuditRow>> list_audit(const PageRequest& page, Order order) override;
  base::Result<AuditHead> audit_head() override;
  base::Result<FleetCounts> fleet(std::string_view app_id, Millis now) override;
  base::Result<Purged> purge(const Retention& retention) override;

 private:
  // A statement whose rows do not matter.
  template <class... Args>
  base::Result<void> write(std::string_view sql, const Args&... args) {
    auto changed = database_.run(sql, args...);
    if (!changed) return std::move(changed).error();
    return {};
  }
  base::Result<void> append_audit(AuditRow row);
  base::Result<void> note_missed_refusals();

  // ---- enrolment
  struct Decision;  // about an EnrolRequest
  base::Result<Decision> decide(const EnrolRequest& request, Millis now);
  base::Result<std::string> refuse_known_instance(const Decision& decision, const std::string& key_hash);
  base::Result<Enrolled> carry_out(const Decision& decision, const EnrolRequest& request, Millis now);
  base::Result<void> end_enrolments(std::string_view app_id, std::string_view instance_id,
                                    std::string_view why, Millis now);
  base::Result<bool> is_repeated(const EnrolRequest& request, std::string_view app_id,
                                 std::string_view instance_id);
  base::Result<bool> was_enrolled(std::string_view app_id, std::string_view instance_id);
  // What is wrong with the certificate; "" when nothing is.
  base::Result<std::string> wrong_with_certificate(const Credential& credential, Millis now);
  base::Result<void> note_certificate_use(const Credential& credential, Millis now);

  // ---- handshakes
  struct Known;  // an instance as a handshake finds it
  base::Result<std::optional<Admission>> refuse_peer(const protocol::Handshake& handshake,
                                                     const std::optional<Credential>& credential,
                                                     const Known& known, Millis now);

  // ---- pinned versions
  base::Result<std::optional<UpdateOrder>> pinned_update_for(const UpdateCaller& caller, Millis now);
  base::Result<void> set_pin(const App& app, Millis now);

  base::Result<void> read_last_states(Standing& standing);
  template <class Row, class Read>
  base::Result<Page<Row>> list_reports(std::string_view table, std::string_view columns,
                                       const ReportFilter& filter, const PageRequest& page, const Read& read);
  base::Result<std::int64_t> first_since(std::string_view table, Millis since);
  base::Result<std::size_t> purge_table(std::string_view table, Millis oldest, std::uint64_t most,
                                        std::size_t batch);

  Database database_;
  // Rows about refusals: somebody who is refused all day must not fill the disk (some 4 MiB a day and key).
  RateLimit refusals_{{.at_once = 100, .per_second = 0.1, .keys = 256}};
};

// ---- shared by the files of this class

// The next row of a query that has one; `not_found` with that text if not.
base::Result<void> expect_row(Query& query, const std::string& not_found);

// The number in a page's `after`; `none` when it is empty.
base::Result<std::int64_t> read_cursor(const PageRequest& page, std::int64_t none);
std::size_t page_size(const PageRequest& page);

// `exists` when somebody has edited it since `expected` was seen.
base::Result<void> check_edit(std::optional<Edit> expected, Edit present, const std::string& what);

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

}  // namespace backend
