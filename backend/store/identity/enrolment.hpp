// Enrolment: how a machine gets an identity, and join tokens. The rules are in domain/enrolment_rules.hpp.
// For the writer thread; fails when the database does.
#pragma once

#include "backend/domain/access/identity.hpp"
#include "backend/store/store.hpp"

namespace backend::store {

// A refusal is a verdict, and changes nothing but the audit, which says why; success counts the token's use
// in the same transaction. The certificate is to be put next (certificates.hpp).
base::Result<domain::Enrolled> enrol(Store& store, const domain::EnrolRequest& request, domain::Millis now);

// `not_found`: there is no such app. `exists`: there are too many.
base::Result<domain::JoinToken> add_join_token(Store& store, const domain::JoinToken& token);

}  // namespace backend::store
