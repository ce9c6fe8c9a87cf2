// Certificates of agents: issued for a join token, or renewed for the one that is there. Each in one
// transaction with what it means to the store, and with its audit row. For the writer thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "backend/domain/access/identity.hpp"
#include "backend/domain/model.hpp"
#include "backend/fleet/authority_set.hpp"
#include "backend/store/store.hpp"
#include "protocol/messages.hpp"

namespace backend::fleet {

// Who signs, and for how long.
struct CertificateTerms {
  SharedAuthorities authorities;  // none without TLS
  std::chrono::seconds life = std::chrono::hours(24 * 7);
};

struct Signed {
  protocol::CertIssued issued;
  std::string refusal;      // set: nothing was issued, and this is what the agent is told
  bool is_for_now = false;  // and it may ask again later
  std::string name;         // "app/instance", for the log
  std::string serial;
  std::string issuer;
  domain::Millis not_after = 0;
  // The instance that is enrolled by this: a connection that it still has is to be closed.
  domain::InstanceKey superseded = 0;
};

// An error means that the store failed; refusals are answers. An enrolment is signed by the authority whose
// hash the token has: the agent believes no other. A renewal by the newest, if the agent trusts them all.
// `shown`: see store::may_renew().
base::Result<Signed> enrol_agent(store::Store& store, const CertificateTerms& terms,
                                 const protocol::CertRequest& request, const std::string& peer);
base::Result<Signed> renew_certificate(store::Store& store, const CertificateTerms& terms,
                                       const domain::Credential& credential,
                                       const std::optional<domain::Credential>& shown, bool trusts_all,
                                       const protocol::CertRequest& request, const std::string& peer);

}  // namespace backend::fleet
