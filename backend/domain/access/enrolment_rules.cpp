#include "backend/domain/access/enrolment_rules.hpp"

#include <algorithm>

#include "backend/domain/access/certificate_rules.hpp"
#include "backend/domain/selectors/text_pattern.hpp"
#include "base/sha256.hpp"
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

constexpr std::size_t kMadeDigits = 16;

// "i-" and digits, or the digits in place of the first star. From the key, so that a machine that asks again
// gets it again, and nobody can choose it.
std::string made_name(std::string_view app_id, std::string_view pattern, std::string_view key_hash) {
  const std::string digits =
      base::sha256_hex("the name of " + std::string(app_id) + "/" + std::string(key_hash))
          .substr(0, kMadeDigits);
  const std::size_t star = pattern.find('*');
  if (pattern.empty() || pattern == "*") return "i-" + digits;
  std::string name(pattern);
  if (star != std::string_view::npos) name.replace(star, 1, digits);
  std::erase(name, '*');
  return name;
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

std::string choose_name(const EnrolRequest& request, const JoinToken& token,
                        const std::optional<Enrolment>& with_key) {
  if (!token.instance_id.empty()) return token.instance_id;
  const TextPattern allowed = TextPattern::parse(token.name_pattern);
  if (!request.instance_id.empty() && allowed.matches(request.instance_id)) return request.instance_id;
  if (with_key) return with_key->instance_id;
  return made_name(token.app_id, token.name_pattern, request.key_hash);
}

std::string problem_of_name_pattern(std::string_view pattern) {
  constexpr std::size_t kMostStars = 4;
  const auto stars = static_cast<std::size_t>(std::ranges::count(pattern, '*'));
  if (stars > kMostStars) return "has more than 4 stars";
  // A name that is made takes the place of the first star.
  if (pattern.size() + kMadeDigits > protocol::kLongestName) return "is too long";
  const std::string_view wrong = protocol::problem_of_name(made_name("", pattern, ""));
  return wrong.empty() ? std::string()
                       : "is not of names, in which a star stands for any text: it " + std::string(wrong);
}

EnrolmentDecision decide_enrolment(const EnrolRequest& request, const JoinToken& token,
                                   const EnrolmentFacts& facts, const std::string& name) {
  EnrolmentDecision decision;
  decision.repeats = is_repeated(request, facts);
  if (token.uses_left <= 0 && !decision.repeats) return refuse_bad_token("the join token is used up");

  // From here on the peer has shown a good token, and may know what is wrong.
  if (decision.repeats && facts.with_token >= kMostRepeats)
    return refuse_enrolment("this machine was given " + std::to_string(facts.with_token) +
                            " certificates for this join token and has used none: see whether it can write "
                            "its state folder, then give it another token (opsctl join-token create)");
  decision.app_id = token.app_id;
  decision.instance_id = name;
  if (!request.app_id.empty() && request.app_id != decision.app_id)
    return refuse_enrolment("the join token is for the app '" + decision.app_id + "', not for '" +
                            request.app_id + "'");
  // Whether it is followed or not: it is shown to people.
  for (const std::string& each : {request.instance_id, decision.instance_id})
    if (const auto wrong = protocol::problem_of_name(each); !each.empty() && !wrong.empty())
      return refuse_enrolment("the instance_id " + std::string(wrong));
  if (request.key_hash.empty()) return refuse_enrolment("the request has no public key");
  if (token.instance_id.empty())
    if (const auto wrong = problem_of_known_instance(request, facts, decision); !wrong.empty())
      return refuse_enrolment(wrong);
  return decision;
}

}  // namespace backend::domain
