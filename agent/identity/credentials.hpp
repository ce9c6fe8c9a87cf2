// Credentials: the agent's key, its certificate and whom it trusts, kept in the state folder.
//
// All of it is one file, identity.pem (0600), replaced by a rename: key and certificate can never disagree,
// whenever the agent is killed. A key that is still without certificate is in pending.key, on disk before it
// is sent to anybody: when the answer is lost, the same key can ask again, and the server knows it.
//
// Authorities that were retired are in retired_authorities, by the hashes of their keys. They count for
// nothing whatever identity.pem says: an older copy of that file does not bring them back. Values and
// functions; they block on the disk. One thread at a time for a folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "pki/certificate.hpp"
#include "pki/private_key.hpp"

namespace agent::identity {

struct Credentials {
  std::string key;    // PEM
  std::string chain;  // PEM; the agent's certificate first
  std::string ca;     // PEM; the authorities that are trusted
  pki::AgentName name;
  std::string serial;
  pki::Instant not_before, not_after;

  // Of the key that signed the certificate; empty when the chain does not say.
  std::string issuer_hash() const;

  // From 0 to 1, by the serial number: so that a fleet does not do at once what each has to do in some time.
  double share() const;

  // At two thirds of the certificate's life and up to a tenth of it later, by its serial number: a fleet that
  // was enrolled at once does not renew at once.
  pki::Instant renew_at() const;

  // Why they cannot be used now, and what to do; empty when they can.
  std::string problem(pki::Instant now) const;
};

// From what the server has sent, with the key that was asked for. An Error when they do not belong together,
// the certificate is not an agent's, or does not lead to `ca`. Times are not looked at: see problem().
base::Result<Credentials> make_credentials(const std::string& key, const std::string& chain,
                                           const std::string& ca);

// Nothing when the machine has not been enrolled. An Error when what is there cannot be read or is damaged.
base::Result<std::optional<Credentials>> load_credentials(const std::string& state_dir);

// Replaces whom is trusted, and nothing else. `dropped`: hashes of those that are trusted no more; written
// first, so that whenever the agent is killed it trusts either as before or as from now on.
base::Result<void> store_authorities(const std::string& state_dir, const Credentials& credentials,
                                     const std::vector<std::string>& dropped);

// Somebody who owns the machine says so, by a join token: this authority counts again.
base::Result<void> unretire_authority(const std::string& state_dir, const std::string& hash);

// Checks them as make_credentials() does. On disk when it returns, or the old ones are untouched. The pending
// key is gone afterwards.
base::Result<void> store_credentials(const std::string& state_dir, const Credentials& credentials);

// The key to ask a certificate for: the one that was asked for before, if that has led to nothing, else a new
// one. Never the key that the credentials have. On disk when it returns.
base::Result<pki::PrivateKey> pending_key(const std::string& state_dir);

}  // namespace agent::identity
