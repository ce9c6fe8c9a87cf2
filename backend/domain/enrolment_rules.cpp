#include "backend/domain/enrolment_rules.hpp"

#include <algorithm>

#include "backend/domain/certificate_rules.hpp"
#include "base/token.hpp"
#include "protocol/ids.hpp"

namespace backend::domain {

namespace {

// Who guesses learns nothing from it; the audit says which of these it was.
constexpr std::string_view kBadToken =
    "this join token is of no use: not known, used up or expired; 'opsctl join-token create' makes another";

EnrolmentDecision refuse_bad_token(std::string detail) {
  EnrolmentDecision decision;
  decision.refusal = kBadToken;
  decision.detail = std::move(detail);
  decision.is_bad_token = true;
  return decision;
}

EnrolmentDecision refuse_enrolment(const std::string& why) {
  EnrolmentDecision decision;
  decision.refusal = decision.detail = why;
  return decision;
}

// The same machine asks again with the same key and token, and has never used what it was given.
bool is_repeated(const EnrolRequest& request, const EnrolmentFacts& facts) {
  const auto& newest = facts.newest;
  return newest && newest->current && newest->revoked == 0 && newest->token_id == request.token_id &&
         newest->key_hash == request.key_hash && !facts.has_used_certificate;
}

// The key that it has shows that it is the same machine.
bool is_same_machine(const EnrolRequest& request, const EnrolmentFacts& facts) {
  return facts.newest->key_hash == request.key_hash ||
         std::ranges::any_of(facts.with_requested_key, [](const CertificateRow& row) {
           return row.revoked == 0 || row.why == kForgotten;
         });
}

// Why a token that names no instance is not enough for this one; "" if it is.
std::string problem_of_known_instance(const EnrolRequest& request, const EnrolmentFacts& facts,
                                      const EnrolmentDecision& decision) {
  const std::string who = "'" + decision.instance_id + "' ";
  const std::string advice = ": it needs a join token that names it (opsctl join-token create --app " +
                             decision.app_id + " --instance " + decision.instance_id + ")";
  if (facts.newest) {
    if (facts.newest->revoked != 0) return who + "was revoked" + advice;
    if (is_same_machine(request, facts)) return {};
    return who + "is the id of another machine" + advice;
  }
  return facts.instance_exists ? who + "is known already, with an instance_token" + advice : std::string();
}

}  // namespace

std::optional<EnrolmentDecision> refuse_join_token(const EnrolRequest& request,
                                                   const std::optional<JoinToken>& token, Millis now) {
  if (!token) return refuse_bad_token("the join token is not known");
  if (!base::equal_in_constant_time(token->secret_hash, request.secret_hash))
    return refuse_bad_token("the join token's secret is wrong");
  if (token->revoked != 0) return refuse_bad_token("the join token was revoked");
  if (token->expires <= now) return refuse_bad_token("the join token has expired");
  return std::nullopt;
}

const std::string& wanted_instance(const EnrolRequest& request, const JoinToken& token) {
  return token.instance_id.empty() ? request.instance_id : token.instance_id;
}

EnrolmentDecision decide_enrolment(const EnrolRequest& request, const JoinToken& token,
                                   const EnrolmentFacts& facts, const std::string& new_name) {
  EnrolmentDecision decision;
  decision.repeats = is_repeated(request, facts);
  if (token.uses_left <= 0 && !decision.repeats) return refuse_bad_token("the join token is used up");

  // From here on the peer has shown a good token, and may know what is wrong.
  decision.app_id = token.app_id;
  decision.instance_id = wanted_instance(request, token);
  if (!request.app_id.empty() && request.app_id != decision.app_id)
    return refuse_enrolment("the join token is for the app '" + decision.app_id + "', not for '" +
                            request.app_id + "'");
  if (decision.instance_id.empty()) decision.instance_id = new_name;
  if (const auto wrong = protocol::problem_of_name(decision.instance_id); !wrong.empty())
    return refuse_enrolment("the instance_id " + std::string(wrong));
  if (request.key_hash.empty()) return refuse_enrolment("the request has no public key");
  if (token.instance_id.empty())
    if (const auto wrong = problem_of_known_instance(request, facts, decision); !wrong.empty())
      return refuse_enrolment(wrong);
  return decision;
}

}  // namespace backend::domain
