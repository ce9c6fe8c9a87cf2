// Authority: a CA with its key. It issues what it is told to; who may have what is decided by others. A
// value, never changed after it was made; any thread.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "pki/certificate.hpp"
#include "pki/private_key.hpp"
#include "pki/request.hpp"

namespace pki {

// Certificates are valid from a little before they are made: the clocks of a fleet differ.
inline constexpr std::chrono::minutes kClockSkew{5};
// The longest life that is issued: that of the CA that we make.
inline constexpr std::chrono::hours kLongestLife{24 * 3652};  // ten years

class Authority {
 public:
  // A new one of our own: EC P-256, ten years, signs agents and servers but no other CA.
  static base::Result<Authority> generate(Instant now);

  // One that was kept, or that an operator brings. `chain_pem` begins with the certificate of the key and
  // ends with a root (itself, if there is but one). All that would make its certificates useless is found
  // here, and the error says what is wrong and what to do.
  // `passphrase`: of a key that is encrypted.
  static base::Result<Authority> parse(std::string_view chain_pem, std::string_view key_pem,
                                       Instant now = std::chrono::system_clock::now(),
                                       std::string_view passphrase = {});

  // The issuer first, the root last. A leaf's pem() followed by this is the chain to show in TLS: who knows
  // but the root's hash needs to see the root.
  std::string chain_pem() const { return pem_of(chain_); }
  std::string root_pem() const { return chain_.back().pem(); }
  // The certificate that signs: what a server trusts of its clients. Other CAs below the same root are
  // nobody's here.
  std::string issuer_pem() const { return chain_.front().pem(); }
  std::string key_pem() const { return key_.pem(); }
  base::Result<std::string> key_pem(std::string_view passphrase) const { return key_.pem(passphrase); }
  // Of the root's public key: what join tokens carry.
  std::string public_hash() const { return chain_.back().public_hash(); }
  // Of the key that signs; the same when the root does. By this authorities are told apart: two may be below
  // one root.
  std::string issuer_hash() const { return chain_.front().public_hash(); }
  std::string subject() const { return chain_.front().subject(); }
  // When the first certificate of the chain ends, and with it all that was issued.
  Instant not_after() const;

  // For the key of a request, which is (or was) checked, see Request, under a name that the caller has
  // decided. It never outlives the authority.
  base::Result<Certificate> issue_agent(std::string_view csr_pem, const AgentName& name, Instant now,
                                        std::chrono::seconds life) const;
  base::Result<Certificate> issue_agent(const Request& request, const AgentName& name, Instant now,
                                        std::chrono::seconds life) const;
  // `names`: DNS names and IP addresses under which the server is reached, one at least.
  base::Result<Certificate> issue_server(const PrivateKey& key, const std::vector<std::string>& names,
                                         Instant now, std::chrono::seconds life) const;

 private:
  struct Times {
    Instant from, until;
  };

  Authority(std::vector<Certificate> chain, PrivateKey key)
      : chain_(std::move(chain)), key_(std::move(key)) {}
  base::Result<Times> times(Instant now, std::chrono::seconds life) const;

  std::vector<Certificate> chain_;
  PrivateKey key_;
};

}  // namespace pki
