// IdentityStore: the rows of agents' identities: join tokens, enrolments, certificates. They go by names, not
// by the row of an instance, and outlive it. Who may enrol or renew is decided in domain/ (enrolment_rules,
// certificate_rules). See store.hpp for threads and errors.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "backend/domain/access/authority_rules.hpp"
#include "backend/domain/access/identity.hpp"
#include "base/result.hpp"

namespace backend::store {

class IdentityStore {
 public:
  virtual ~IdentityStore() = default;

  // ---- join tokens
  virtual base::Result<std::optional<domain::JoinToken>> find_join_token(std::string_view id) = 0;
  virtual base::Result<domain::Page<domain::JoinToken>> list_join_tokens(
      const domain::PageRequest& page) = 0;  // newest first
  // Those that are neither revoked nor expired.
  virtual base::Result<std::size_t> count_join_tokens(domain::Millis now) = 0;
  virtual base::Result<void> insert_join_token(const domain::JoinToken& token) = 0;
  virtual base::Result<void> use_join_token(std::string_view id) = 0;  // one use less
  // `not_found` also when it was revoked before.
  virtual base::Result<domain::JoinToken> revoke_join_token(std::string_view id, domain::Millis now) = 0;
  virtual base::Result<void> remove_join_tokens(domain::Millis expired_before) = 0;

  // ---- enrolments, without their certificates
  virtual base::Result<std::optional<domain::Enrolment>> newest_enrolment(std::string_view app_id,
                                                                          std::string_view instance_id) = 0;
  virtual base::Result<std::optional<domain::Enrolment>> find_enrolment(std::string_view uid) = 0;
  // Of this name, made with this join token.
  virtual base::Result<std::int64_t> count_enrolments(std::string_view app_id, std::string_view instance_id,
                                                      std::string_view token_id) = 0;
  // The newest one in the app that has last used this key.
  virtual base::Result<std::optional<domain::Enrolment>> enrolment_with_key(std::string_view app_id,
                                                                            std::string_view key_hash) = 0;
  virtual base::Result<void> insert_enrolment(const domain::Enrolment& enrolment) = 0;
  // Revokes the certificates of all enrolments of this name; none of them is current any more.
  virtual base::Result<void> end_enrolments(std::string_view app_id, std::string_view instance_id,
                                            std::string_view why, domain::Millis now) = 0;
  // Marks those that are not marked yet. Their certificates: end_enrolments().
  virtual base::Result<void> revoke_enrolments(std::string_view app_id, std::string_view instance_id,
                                               std::string_view why, domain::Millis now) = 0;
  virtual base::Result<void> set_enrolment_key(std::string_view uid, std::string_view key_hash) = 0;

  // ---- certificates
  virtual base::Result<std::optional<domain::CertificateRow>> find_certificate(std::string_view serial) = 0;
  // Newest first, at most `most`.
  virtual base::Result<std::vector<domain::CertificateRow>> list_certificates(std::string_view uid,
                                                                              std::size_t most) = 0;
  virtual base::Result<std::vector<domain::CertificateRow>> certificates_with_key(
      std::string_view uid, std::string_view key_hash) = 0;
  virtual base::Result<bool> has_used_certificate(std::string_view uid) = 0;
  // Those that are neither revoked nor expired.
  virtual base::Result<std::int64_t> count_good_certificates(std::string_view uid, domain::Millis now) = 0;
  virtual base::Result<std::int64_t> count_certificates_since(std::string_view uid,
                                                              domain::Millis issued_since) = 0;
  // Its `id` is ignored.
  virtual base::Result<void> insert_certificate(const domain::CertificateRow& certificate) = 0;
  virtual base::Result<void> set_certificate_used(std::string_view serial, domain::Millis now) = 0;
  // Of those that are not revoked: all with a lower id.
  virtual base::Result<void> revoke_certificates_before(std::string_view uid, std::int64_t id,
                                                        std::string_view why, domain::Millis now) = 0;
  // Of those that are not revoked: all that were never used, but for `except`.
  virtual base::Result<void> revoke_unused_certificates(std::string_view uid, std::string_view except,
                                                        std::string_view why, domain::Millis now) = 0;
  virtual base::Result<void> remove_certificates(std::string_view uid, domain::Millis expired_before) = 0;

  // ---- housekeeping
  // Certificates that expired, or that others took the place of, before then: at most so many; answers how
  // many.
  virtual base::Result<std::size_t> remove_dead_certificates(domain::Millis before, std::size_t most) = 0;
  // Enrolments that are not current, have no certificates any more, and are not the newest of their name:
  // that one says whose id it is, for ever.
  virtual base::Result<domain::Swept> remove_dead_enrolments(const domain::Sweep& sweep) = 0;
  // The agent of that enrolment has stored it.
  virtual base::Result<void> set_certificate_kept(std::string_view uid, std::string_view serial,
                                                  domain::Millis now) = 0;

  // ---- authorities
  // What was issued before issuers were noted is of this one: `issuer` for certificates, `ca_hash` for join
  // tokens.
  virtual base::Result<void> adopt_authority(std::string_view issuer, std::string_view ca_hash) = 0;
  // Machines that have a good certificate of this issuer, and none of another that they have stored or used.
  virtual base::Result<domain::RelyingMachines> machines_relying_on(std::string_view issuer,
                                                                    domain::Millis now, std::size_t most) = 0;
  // Machines whose newest good certificate that they have stored or used is of this issuer.
  virtual base::Result<std::size_t> count_machines_of(std::string_view issuer, domain::Millis now) = 0;
  // Join tokens that are neither revoked, expired nor used up.
  virtual base::Result<std::size_t> count_join_tokens_of(std::string_view ca_hash, domain::Millis now) = 0;
};

}  // namespace backend::store
