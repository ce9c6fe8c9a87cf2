#include "backend/store/identity/certificates.hpp"

#include "backend/domain/access/instants.hpp"
#include "backend/fleet/certificates.hpp"
#include "backend/store/history/audit.hpp"
#include "backend/store/identity/enrolment.hpp"
#include "base/utc_text.hpp"
#include "pki/certificate.hpp"
#include "pki/join_token.hpp"
#include "pki/request.hpp"

namespace backend::fleet {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

Result<Signed> refuse(std::string reason) {
  return Signed{.refusal = std::move(reason)};
}

// Signs, and notes in the store what was signed.
Result<Signed> issue(store::Store& store, const pki::Authority& authority, std::chrono::seconds life,
                     const pki::Request& request, domain::InstanceKey instance, const pki::AgentName& name) {
  const auto now = std::chrono::system_clock::now();
  auto certificate = authority.issue_agent(request, name, now, life);
  if (!certificate) return std::move(certificate).error();
  const domain::Millis ends = domain::millis_of(certificate->not_after());
  if (auto put =
          store::put_certificate(store, instance, name.uid, certificate->serial(), certificate->public_hash(),
                                 ends, domain::now_millis(), authority.issuer_hash());
      !put)
    return std::move(put).error();
  return Signed{.issued = {.chain = certificate->pem() + authority.chain_pem(),
                           .expires = base::utc_text(certificate->not_after())},
                .name = name.app_id + "/" + name.instance_id,
                .serial = certificate->serial(),
                .issuer = authority.issuer_hash(),
                .not_after = ends};
}

}  // namespace

Result<Signed> enrol_agent(store::Store& store, const CertificateTerms& terms,
                           const protocol::CertRequest& request, const std::string& peer) {
  if (!terms.authorities) return refuse("this backend has no TLS and issues no certificates");
  const auto token = pki::parse_join_token(request.token);
  if (!token) return refuse("the join token: " + token.error().message());
  const pki::Authority* authority = terms.authorities->for_token(token->ca_hash);
  if (authority == nullptr)
    return refuse(
        "the join token is of an authority that this backend does not have, or has retired: make a new one "
        "with 'opsctl join-token create'");
  // Before the token is touched: a request that cannot be signed costs no use of it.
  const auto asked = pki::Request::parse(request.csr);
  if (!asked) return refuse("the certificate request: " + asked.error().message());
  auto enrolled = store::enrol(store,
                               {.token_id = token->id,
                                .secret_hash = pki::hash_of_secret(token->secret),
                                .app_id = request.app_id,
                                .instance_id = request.instance_id,
                                .key_hash = asked->public_hash(),
                                .from = peer},
                               domain::now_millis());
  if (!enrolled) return std::move(enrolled).error();
  if (enrolled->verdict != domain::Enrolled::Verdict::enrolled) return refuse(enrolled->reason);
  auto issued = issue(store, *authority, terms.life, *asked, enrolled->instance,
                      {enrolled->app_id, enrolled->instance_id, enrolled->uid});
  if (issued) issued->superseded = enrolled->instance;
  return issued;
}

Result<Signed> renew_certificate(store::Store& store, const CertificateTerms& terms,
                                 const domain::Credential& credential,
                                 const std::optional<domain::Credential>& shown, bool trusts_all,
                                 const protocol::CertRequest& request, const std::string& peer) {
  if (!terms.authorities) return refuse("this backend has no TLS and issues no certificates");
  const auto asked = pki::Request::parse(request.csr);
  if (!asked) return refuse("the certificate request: " + asked.error().message());
  const pki::Authority& signer = terms.authorities->for_renewal(trusts_all);
  auto renewal = store::may_renew(store, credential, domain::now_millis(), shown, signer.issuer_hash());
  if (!renewal) return std::move(renewal).error();
  // Who asks too early is no stranger, and gets no row of the audit, of which none is ever removed.
  if (renewal->is_for_now) return Signed{.refusal = std::move(renewal->reason), .is_for_now = true};
  domain::AuditRow row{.at = domain::now_millis(),
                       .actor = std::string(domain::kAgentActor),
                       .action = "agent.renew",
                       .object = credential.app_id + "/" + credential.instance_id};
  row.from = peer;
  auto issued = renewal->allowed ? issue(store, signer, terms.life, *asked, renewal->instance,
                                         {credential.app_id, credential.instance_id, credential.uid})
                                 : refuse(renewal->reason);
  if (!issued) return issued;
  row.detail = renewal->allowed ? "serial " + issued->serial : renewal->reason;
  if (!renewal->allowed) row.result = domain::kDenied;
  if (auto noted = store::add_audit(store, row, "certificate " + credential.serial); !noted)
    return std::move(noted).error();
  return issued;
}

}  // namespace backend::fleet
