// Which authorities a machine trusts after a backend has announced some. Pure: what is trusted and what was
// said go in, a decision comes out. Any thread.
//
// The rules, each with the attack that it is for:
//  * The connection is vouched for by authorities that are all still trusted: nobody is believed over a plain
//    connection, nor over one that was opened under an authority that has been retired since.
//  * One of those announced is trusted already: a set of strangers is not believed, and the machine is never
//    left with nobody that it knows.
//  * Where the machine's own configuration names the authorities (ca_file), no others are believed.
//  * A few at most.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "pki/certificate.hpp"

namespace agent::identity {

// One, two while one follows the other, and one to spare.
inline constexpr std::size_t kMostAuthorities = 3;
// Of one certificate in PEM.
inline constexpr std::size_t kLargestAuthority = 16 * 1024;

struct TrustFacts {
  std::vector<pki::Certificate> trusted;     // now
  std::vector<pki::Certificate> configured;  // those of ca_file; empty: there is none
  // By the hashes of their keys: those of whom one has vouched for the connection. Empty: nobody has.
  std::vector<std::string> vouching;
};

struct TrustDecision {
  std::vector<pki::Certificate> trusted;  // from now on
  std::vector<std::string> dropped;       // hashes of those that are not any more
  bool changes = false;
};

// `roots` in PEM, as they were announced. The error says why they are not believed.
base::Result<TrustDecision> decide_trust(const std::vector<std::string>& roots, const TrustFacts& facts);

// SHA-256 of the public keys, in order.
std::vector<std::string> hashes_of(const std::vector<pki::Certificate>& certificates);

}  // namespace agent::identity
