#include "backend/store/identity/enrolment.hpp"

#include "backend/domain/access/certificate_rules.hpp"
#include "backend/domain/access/enrolment_rules.hpp"
#include "backend/domain/access/token_rules.hpp"
#include "backend/store/history/audit.hpp"
#include "backend/store/inventory/instances.hpp"
#include "backend/store/transaction.hpp"
#include "base/token.hpp"

namespace backend::store {

using base::Result;

namespace {

// The machine that has the request's key, unless its name is another machine's by now.
Result<std::optional<domain::Enrolment>> find_by_key(Store& store, const domain::EnrolRequest& request,
                                                     const domain::JoinToken& token) {
  auto found = store.enrolment_with_key(token.app_id, request.key_hash);
  if (!found || !*found) return found;
  auto newest = store.newest_enrolment(token.app_id, (*found)->instance_id);
  if (!newest) return newest;
  if (!*newest || (*newest)->uid != (*found)->uid) return std::optional<domain::Enrolment>();
  return found;
}

Result<domain::EnrolmentFacts> read_enrolment_facts(Store& store, const domain::EnrolRequest& request,
                                                    const domain::JoinToken& token,
                                                    const std::string& instance_id) {
  domain::EnrolmentFacts facts;
  auto known = store.find_known_instance(token.app_id, instance_id);
  if (!known) return std::move(known).error();
  // A stranger who waits under a name does not keep it from those who have a join token for it.
  facts.instance_exists = known->has_value() && ((*known)->pending == 0 || (*known)->token_hash.empty());
  auto newest = store.newest_enrolment(token.app_id, instance_id);
  if (!newest) return std::move(newest).error();
  facts.newest = std::move(*newest);
  if (!facts.newest) return facts;
  auto used = store.has_used_certificate(facts.newest->uid);
  if (!used) return std::move(used).error();
  facts.has_used_certificate = *used;
  auto with_key = store.certificates_with_key(facts.newest->uid, request.key_hash);
  if (!with_key) return std::move(with_key).error();
  facts.with_requested_key = std::move(*with_key);
  auto with_token = store.count_enrolments(token.app_id, instance_id, token.id);
  if (!with_token) return std::move(with_token).error();
  facts.with_token = *with_token;
  return facts;
}

// The decision about a request, with the token that it is for and what is known of the instance.
struct Decided {
  domain::EnrolmentDecision decision;
  domain::JoinToken token;
  bool was_enrolled = false;
};

Result<Decided> decide(Store& store, const domain::EnrolRequest& request, domain::Millis now) {
  auto token = store.find_join_token(request.token_id);
  if (!token) return std::move(token).error();
  Decided decided;
  if (auto refusal = domain::refuse_join_token(request, *token, now)) {
    decided.decision = std::move(*refusal);
    return decided;
  }
  decided.token = std::move(**token);
  auto with_key = find_by_key(store, request, decided.token);
  if (!with_key) return std::move(with_key).error();
  const std::string name = domain::choose_name(request, decided.token, *with_key);
  auto facts = read_enrolment_facts(store, request, decided.token, name);
  if (!facts) return std::move(facts).error();
  decided.was_enrolled = facts->newest.has_value();
  decided.decision = domain::decide_enrolment(request, decided.token, *facts, name);
  return decided;
}

Result<domain::Enrolled> carry_out(Store& store, const Decided& decided, const domain::EnrolRequest& request,
                                   domain::Millis now) {
  const std::string& app_id = decided.decision.app_id;
  const std::string& instance_id = decided.decision.instance_id;
  domain::Enrolment enrolment;
  enrolment.app_id = app_id;
  enrolment.instance_id = instance_id;
  enrolment.uid = base::random_hex(16);
  enrolment.key_hash = request.key_hash;
  enrolment.token_id = request.token_id;
  enrolment.current = true;
  enrolment.enrolled = now;
  Result<void> done;
  if (!decided.decision.repeats) done = store.use_join_token(request.token_id);
  if (done) done = store.end_enrolments(app_id, instance_id, domain::kEnrolledAnew, now);
  if (done) done = store.insert_enrolment(enrolment);
  // The token that it came with before counts no more.
  if (done) done = store.reset_instance(app_id, instance_id, now);
  if (done)
    done = store.set_wished_name(app_id, instance_id,
                                 request.instance_id == instance_id ? "" : request.instance_id);
  if (!done) return std::move(done).error();
  const std::map<std::string, std::optional<std::string>> tags(decided.token.tags.begin(),
                                                               decided.token.tags.end());
  auto instance = patch_tags(store, app_id, instance_id, tags, std::nullopt);
  if (!instance) return std::move(instance).error();
  // One that asks again because the answer was lost may have been approved meanwhile.
  if (!decided.decision.repeats)
    if (auto set = store.set_pending(instance->key, decided.token.needs_approval ? now : 0, ""); !set)
      return std::move(set).error();
  return domain::Enrolled{.verdict = domain::Enrolled::Verdict::enrolled,
                          .reason = "",
                          .instance = instance->key,
                          .app_id = app_id,
                          .instance_id = instance_id,
                          .uid = enrolment.uid,
                          .was_enrolled = decided.was_enrolled};
}

Result<domain::Enrolled> refuse(Store& store, const domain::EnrolmentDecision& decision,
                                const domain::EnrolRequest& request, domain::AuditRow row) {
  row.object = request.app_id + "/" + request.instance_id;
  row.detail = decision.detail;
  row.result = domain::kDenied;
  // A flood of made-up ids is one peer to the audit: that of its address.
  if (decision.is_bad_token) row.actor = domain::kAgentActor;
  if (auto noted = add_audit(store, row); !noted) return std::move(noted).error();
  domain::Enrolled answer;
  answer.reason = decision.refusal;
  return answer;
}

}  // namespace

Result<domain::Enrolled> enrol(Store& store, const domain::EnrolRequest& request, domain::Millis now) {
  return in_transaction(store, [&]() -> Result<domain::Enrolled> {
    auto decided = decide(store, request, now);
    if (!decided) return std::move(decided).error();
    domain::AuditRow row{.at = now, .actor = "join-token " + request.token_id, .action = "agent.enrol"};
    row.from = request.from;
    if (!decided->decision.refusal.empty()) return refuse(store, decided->decision, request, std::move(row));
    auto enrolled = carry_out(store, *decided, request, now);
    if (!enrolled) return enrolled;
    row.object = enrolled->app_id + "/" + enrolled->instance_id;
    row.detail = "uid " + enrolled->uid + (enrolled->was_enrolled ? ", enrolled anew" : "");
    if (!request.instance_id.empty() && request.instance_id != enrolled->instance_id)
      row.detail += ", wished to be '" + request.instance_id + "'";
    if (auto noted = add_audit(store, row); !noted) return std::move(noted).error();
    return enrolled;
  });
}

Result<domain::JoinToken> add_join_token(Store& store, const domain::JoinToken& token) {
  return in_transaction(store, [&]() -> Result<domain::JoinToken> {
    if (auto app = store.find_app(token.app_id); !app) return std::move(app).error();
    auto live = store.count_join_tokens(token.created);
    if (!live) return std::move(live).error();
    if (auto room = domain::check_room(*live, domain::kMostJoinTokens, "join tokens"); !room)
      return std::move(room).error();
    if (auto added = store.insert_join_token(token); !added) return std::move(added).error();
    return token;
  });
}

}  // namespace backend::store
