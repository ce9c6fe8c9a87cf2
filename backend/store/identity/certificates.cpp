#include "backend/store/identity/certificates.hpp"

#include "backend/domain/access/certificate_rules.hpp"
#include "backend/store/transaction.hpp"
#include "base/token.hpp"

namespace backend::store {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

constexpr std::size_t kMostShown = 100;

// The enrolment is current, and is that of the instance.
Result<void> check_enrolment(Store& store, domain::InstanceKey instance, const std::string& uid) {
  auto enrolment = store.find_enrolment(uid);
  if (!enrolment) return std::move(enrolment).error();
  if (*enrolment && (*enrolment)->current) {
    auto known = store.find_known_instance((*enrolment)->app_id, (*enrolment)->instance_id);
    if (!known) return std::move(known).error();
    if (*known && (*known)->key == instance) return {};
  }
  return Error(ErrorCode::not_found, "the instance has no such enrolment any more");
}

// One that came with an instance_token: from now on its id is one that was enrolled, and stays refused when
// it is forgotten.
Result<void> add_ended_enrolment(Store& store, std::string_view app_id, std::string_view instance_id,
                                 domain::Millis now) {
  domain::Enrolment enrolment;
  enrolment.app_id = app_id;
  enrolment.instance_id = instance_id;
  enrolment.uid = base::random_hex(16);
  enrolment.enrolled = now;
  return store.insert_enrolment(enrolment);
}

Result<domain::RenewalDecision> decide(Store& store, const domain::Credential& credential, domain::Millis now,
                                       std::string_view next_issuer) {
  auto enrolment = store.find_enrolment(credential.uid);
  if (!enrolment) return std::move(enrolment).error();
  auto certificate = store.find_certificate(credential.serial);
  if (!certificate) return std::move(certificate).error();
  domain::RenewalFacts facts;
  auto good = store.count_good_certificates(credential.uid, now);
  if (!good) return std::move(good).error();
  facts.good = *good;
  if (*certificate) {
    const domain::Millis half = domain::renewable_from(**certificate) - (*certificate)->issued;
    auto lately = store.count_certificates_since(credential.uid, now - half + 1);
    if (!lately) return std::move(lately).error();
    facts.lately = *lately;
    facts.changes_issuer = !next_issuer.empty() && (*certificate)->issuer != next_issuer;
  }
  return domain::decide_renewal(credential, *enrolment, *certificate, facts, now);
}

Result<domain::Renewal> renew(Store& store, const domain::Credential& credential, domain::Millis now,
                              const std::optional<domain::Credential>& shown, std::string_view next_issuer) {
  auto decided = decide(store, credential, now, next_issuer);
  if (!decided) return std::move(decided).error();
  domain::RenewalDecision decision = std::move(*decided);
  if (decision.is_for_now && shown) {
    auto by_shown = decide(store, *shown, now, next_issuer);
    if (!by_shown) return std::move(by_shown).error();
    if (by_shown->refusal.empty()) decision = std::move(*by_shown);
  }
  domain::Renewal renewal;
  renewal.reason = std::move(decision.refusal);
  renewal.is_for_now = decision.is_for_now;
  if (!renewal.reason.empty()) return renewal;
  auto known = store.find_known_instance(credential.app_id, credential.instance_id);
  if (!known) return std::move(known).error();
  if (!*known)
    return Error(ErrorCode::not_found,
                 "there is no instance '" + credential.instance_id + "' in app '" + credential.app_id + "'");
  if (decision.drops_unused)
    if (auto dropped =
            store.revoke_unused_certificates(credential.uid, credential.serial, domain::kNeverUsed, now);
        !dropped)
      return std::move(dropped).error();
  renewal.instance = (*known)->key;
  renewal.allowed = true;
  return renewal;
}

}  // namespace

Result<void> put_certificate(Store& store, domain::InstanceKey instance, const std::string& uid,
                             const std::string& serial, const std::string& key_hash, domain::Millis not_after,
                             domain::Millis now, const std::string& issuer) {
  return store.transact([&]() -> Result<void> {
    if (auto checked = check_enrolment(store, instance, uid); !checked) return checked;
    if (auto removed = store.remove_certificates(uid, now - domain::kCertificatesKeptAfterEnd); !removed)
      return removed;
    domain::CertificateRow row;
    row.serial = serial;
    row.uid = uid;
    row.key_hash = key_hash;
    row.issued = now;
    row.not_after = not_after;
    row.issuer = issuer;
    return store.insert_certificate(row);
  });
}

// The agent has stored the new one: nobody needs those before it, except somebody who has copied them.
Result<void> note_certificate_use(Store& store, const domain::CertificateRow& certificate,
                                  domain::Millis now) {
  if (certificate.first_used != 0) return {};
  if (auto used = store.set_certificate_used(certificate.serial, now); !used) return used;
  auto older = store.revoke_certificates_before(certificate.uid, certificate.id, domain::kReplaced, now);
  if (!older) return older;
  return store.set_enrolment_key(certificate.uid, certificate.key_hash);
}

Result<domain::Renewal> may_renew(Store& store, const domain::Credential& credential, domain::Millis now,
                                  const std::optional<domain::Credential>& shown,
                                  std::string_view next_issuer) {
  return in_transaction(store, [&] { return renew(store, credential, now, shown, next_issuer); });
}

Result<domain::Instance> revoke(Store& store, std::string_view app_id, std::string_view instance_id,
                                const std::string& reason, domain::Millis now) {
  return in_transaction(store, [&]() -> Result<domain::Instance> {
    auto instance = store.find_instance(app_id, instance_id);
    if (!instance) return instance;
    auto enrolment = store.newest_enrolment(app_id, instance_id);
    if (!enrolment) return std::move(enrolment).error();
    Result<void> done;
    if (!*enrolment) done = add_ended_enrolment(store, app_id, instance_id, now);
    if (done) done = store.end_enrolments(app_id, instance_id, reason, now);
    if (done) done = store.revoke_enrolments(app_id, instance_id, reason, now);
    if (done) done = store.revoke_instance(instance->key, reason, now);
    if (!done) return std::move(done).error();
    return store.find_instance(instance->key);
  });
}

Result<std::optional<domain::Enrolment>> show_enrolment(IdentityStore& store, std::string_view app_id,
                                                        std::string_view instance_id) {
  auto enrolment = store.newest_enrolment(app_id, instance_id);
  if (!enrolment || !*enrolment) return enrolment;
  auto certificates = store.list_certificates((*enrolment)->uid, kMostShown);
  if (!certificates) return std::move(certificates).error();
  (*enrolment)->certificates = std::move(*certificates);
  return enrolment;
}

}  // namespace backend::store
