// AuthoritySet: who signs for this backend: one authority, or two while one follows the other. A value, never
// changed after it was made; any thread.
//
// While there are two, the older one signs the server's own certificate: machines that have not heard of the
// next one know the server by it. The newer one signs agents' certificates, for those that trust it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "pki/authority.hpp"
#include "protocol/messages.hpp"

namespace backend::fleet {

struct AuthoritySet {
  std::vector<pki::Authority> active = {};  // oldest first; one at least
  std::uint64_t number = 0;                 // in this process: another set has another

  const pki::Authority& oldest() const { return active.front(); }
  const pki::Authority& newest() const { return active.back(); }
  bool is_changing() const { return active.size() > 1; }

  // Who signs the server's own certificate: the oldest that has not expired.
  const pki::Authority& for_server(pki::Instant now) const;
  // Who signs for a join token with that hash: null when none of them is meant.
  const pki::Authority* for_token(std::string_view ca_hash) const;
  // Who signs for an agent that is known by its certificate. `trusts_all`: it has said that it trusts them.
  const pki::Authority& for_renewal(bool trusts_all) const;
  // The one whose key has that hash; null: it is none of these.
  const pki::Authority* with_issuer(std::string_view hash) const;

  // Without repetition: two may have one root.
  std::vector<std::string> roots() const;        // PEM
  std::vector<std::string> root_hashes() const;  // of their public keys
  // What everybody may have: all certificates of all chains, PEM.
  std::string published_pem() const;
  // What vouches for agents: the certificates that sign, and nothing above them. PEM.
  std::string issuers_pem() const;
  // Changes when the roots do.
  std::string fingerprint() const;

  protocol::Authorities announcement(std::chrono::milliseconds within) const;
};

using SharedAuthorities = std::shared_ptr<const AuthoritySet>;

// Where authorities are kept, and used for TLS. The first two are called on the writer thread, inside the
// transaction that notes it, and are on disk when they return; the third on the loop's thread, afterwards.
class AuthorityKeeper {
 public:
  virtual ~AuthorityKeeper() = default;
  // `exists`: a change is under way already.
  virtual base::Result<SharedAuthorities> begin_change(pki::Instant now) = 0;
  // The oldest, which must be the one with this issuer. `exists`: there is no other.
  virtual base::Result<SharedAuthorities> retire(const std::string& issuer, pki::Instant now) = 0;
  virtual base::Result<void> use(const AuthoritySet& authorities) = 0;
};

}  // namespace backend::fleet
