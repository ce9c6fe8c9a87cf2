#include "backend/domain/access/certificate_rules.hpp"

#include "backend/domain/access/instants.hpp"

namespace backend::domain {

namespace {

std::string text_with_reason(std::string text, std::string_view why) {
  return why.empty() ? text : text + ": " + std::string(why);
}

}  // namespace

std::string problem_of_certificate(const Credential& credential, const std::optional<Enrolment>& enrolment,
                                   const std::optional<CertificateRow>& certificate, Millis now) {
  const bool is_its_enrolment = enrolment && enrolment->uid == credential.uid &&
                                enrolment->app_id == credential.app_id &&
                                enrolment->instance_id == credential.instance_id;
  if (!is_its_enrolment)
    return "the certificate is of no enrolment that is known here: enrol the machine anew";
  if (enrolment->revoked != 0) return text_with_reason("the machine was revoked", enrolment->why);
  if (!enrolment->current)
    return "the certificate is dead: since it was issued the machine was enrolled anew or forgotten";
  const bool is_its_certificate =
      certificate && certificate->serial == credential.serial && certificate->uid == credential.uid;
  if (!is_its_certificate) return "the certificate is not known here: enrol the machine anew";
  if (certificate->revoked != 0) return text_with_reason("the certificate was revoked", certificate->why);
  if (certificate->not_after <= now) return "the certificate has expired: enrol the machine anew";
  return {};
}

Millis renewable_from(const CertificateRow& certificate) {
  return certificate.issued + (certificate.not_after - certificate.issued) / 2;
}

RenewalDecision decide_renewal(const Credential& credential, const std::optional<Enrolment>& enrolment,
                               const std::optional<CertificateRow>& certificate, const RenewalFacts& facts,
                               Millis now) {
  RenewalDecision decision{.refusal = problem_of_certificate(credential, enrolment, certificate, now)};
  if (!decision.refusal.empty()) return decision;
  if (const Millis from = renewable_from(*certificate); now < from && !facts.changes_issuer) {
    decision.refusal = "the certificate can be renewed in the last half of its life, from " +
                       instant_text(from) + " on: ask again then";
    decision.is_for_now = true;
    return decision;
  }
  if (facts.lately >= kMostRenewals) {
    decision.refusal = "the certificate was renewed " + std::to_string(facts.lately) +
                       " times within half of its life, and none of them was used: see whether the agent can "
                       "write its state folder, and ask again in an hour";
    decision.is_for_now = true;
    return decision;
  }
  // Answers that were lost, or could not be kept on a full disk: what nobody ever used makes room.
  decision.drops_unused = facts.good >= kMostCertificates;
  return decision;
}

}  // namespace backend::domain
