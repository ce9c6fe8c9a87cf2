// Membership: who this machine is to its backends, and how both sides prove it.
//
// Over TLS the agent is its certificate: got with a join token, once, and renewed over the connection.
// Without one it is its instance_token, which a backend accepts only where it is configured to. Belongs to
// the loop's thread; writes short files to the state folder.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/identity/credentials.hpp"
#include "base/result.hpp"
#include "base/values/redactor.hpp"
#include "pki/join_token.hpp"
#include "pki/private_key.hpp"
#include "protocol/messages.hpp"
#include "transport/tls.hpp"

namespace agent::identity {

struct MembershipOptions {
  std::string state_dir;
  std::string join_token;  // the token, or the path of a file that holds it
  std::string ca_file;     // empty: the authority that enrolled us
  // What the identity source has said, which may be anybody on the network: instead of join_token, unless it
  // would lead an enrolled machine to another authority.
  std::string announced_token = {};
};

class Membership {
 public:
  using Instant = pki::Instant;

  // Reads what is in the state folder. The error says which file is wrong and what to do about it.
  static base::Result<std::unique_ptr<Membership>> open(MembershipOptions options, base::Redactor& redactor);

  // Null while this machine is not enrolled.
  const Credentials* credentials() const { return credentials_ ? &*credentials_ : nullptr; }

  // Whether it can prove who it is, or is about to: there is a certificate, or a join token. Such a machine
  // speaks only with backends that prove who they are.
  bool is_member() const { return credentials_.has_value() || token_.has_value(); }

  // Whether there is a join token that has not led to an answer yet.
  bool has_new_token() const { return token_ && token_->id != used_token_; }

  // Whether there is a join token, and a reason to use it: no certificate yet, one that is over, or one of
  // another app; or the token is a new one, by which somebody asks for a new certificate.
  bool must_enrol(const std::string& app_id, Instant now) const;

  // How to meet a backend: at work with our certificate, if we have one; and for the first time, known by the
  // hash in the join token. The errors say what is missing.
  base::Result<std::shared_ptr<transport::TlsClient>> tls_for_work(const std::string& app_id, Instant now);
  base::Result<std::shared_ptr<transport::TlsClient>> tls_for_enrolment() const;
  // The authorities that backends are known by, in PEM; releases may come from a backend.
  std::string authorities() const;

  // Asking for a certificate. An enrolment keeps the key that is there, by which the backend knows the
  // machine again; a renewal has a new one.
  base::Result<protocol::CertRequest> ask_to_enrol(std::string app_id, std::string instance_id);
  base::Result<protocol::CertRequest> ask_to_renew();

  // Whose certificates count for backends' at the next connection, by the hashes of their keys.
  std::vector<std::string> vouching() const;
  // Those of them that also count for our own certificate: what the backend is told.
  std::vector<std::string> trusted() const;

  // What a backend has announced, over a connection that one of `vouching` has vouched for (see
  // trust_rules.hpp). On disk when it returns; the error says why nothing has changed.
  struct TrustChange {
    bool changed = false;     // there is another set than before
    bool is_stale = false;    // one that may have vouched for the connection is not trusted any more
    bool must_renew = false;  // the certificate is not one of who issues them now
  };
  base::Result<TrustChange> trust(const protocol::Authorities& announced,
                                  const std::vector<std::string>& vouching);

  // A token that came later than the configuration, from the identity source. The error: it is not one, or
  // this machine is enrolled and the token is of another authority. Nothing changes then.
  base::Result<void> offer_token(const std::string& text, base::Redactor& redactor);

  // Why the token that was announced before the start is not used; empty: it is, or there was none.
  const std::string& refused_token() const { return refused_token_; }

  // The token was refused for good: it is not tried again while there is a certificate.
  void token_refused();

  // Keeps what was issued, if it answers what was asked; else nothing changes.
  base::Result<void> accept(const protocol::CertIssued& issued);

 private:
  Membership(MembershipOptions options, std::optional<Credentials> credentials)
      : options_(std::move(options)), credentials_(std::move(credentials)) {}

  // What was asked for and not yet answered.
  struct Pending {
    pki::PrivateKey key;
    std::string app_id;
    std::string ca_hash;  // of an enrolment
  };

  base::Result<void> take_first_token(base::Redactor& redactor);
  base::Result<void> check(const Pending& asked, const std::vector<pki::Certificate>& chain) const;
  base::Result<void> note_token();

  const MembershipOptions options_;
  std::optional<pki::JoinToken> token_;
  std::string used_token_;  // the id of the last one that led to an answer
  std::string refused_token_;
  std::string trusted_;  // the content of ca_file
  std::optional<Credentials> credentials_;
  std::optional<Pending> pending_;
  // For the certificate that we have: it resumes sessions, and costs more to make than a handshake.
  std::shared_ptr<transport::TlsClient> client_;
};

}  // namespace agent::identity
