// Agents' certificates: what is noted when one is issued, used, renewed or revoked. The rules are in
// domain/certificate_rules.hpp. For the writer thread, but for show_enrolment(), which any may call; fails
// when the database does.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backend/domain/access/identity.hpp"
#include "backend/store/store.hpp"

namespace backend::store {

// One that was issued for the current enrolment; those before it stay good until it is first used.
// `not_found`: the instance has no such enrolment any more.
base::Result<void> put_certificate(Store& store, domain::InstanceKey instance, const std::string& uid,
                                   const std::string& serial, const std::string& key_hash,
                                   domain::Millis not_after, domain::Millis now,
                                   const std::string& issuer = {});

// A good certificate was shown. At its first use those before it end.
base::Result<void> note_certificate_use(Store& store, const domain::CertificateRow& certificate,
                                        domain::Millis now);

// Whether the peer may have another certificate; makes room for it. The certificate is to be put next.
// `credential`: the newest that the peer was given. `shown`: the one that it has proved to have, when that is
// another: as long as it is good and the newer one was never used, the answer may have been lost.
// `next_issuer`: the authority that would sign; a certificate of another one may be renewed at any age.
base::Result<domain::Renewal> may_renew(Store& store, const domain::Credential& credential,
                                        domain::Millis now,
                                        const std::optional<domain::Credential>& shown = {},
                                        std::string_view next_issuer = {});

// From now on nobody is admitted as this instance, until a join token that names it is used.
base::Result<domain::Instance> revoke(Store& store, std::string_view app_id, std::string_view instance_id,
                                      const std::string& reason, domain::Millis now);

// The newest enrolment of an instance with its newest certificates.
base::Result<std::optional<domain::Enrolment>> show_enrolment(IdentityStore& store, std::string_view app_id,
                                                              std::string_view instance_id);

}  // namespace backend::store
