#include "backend/fleet/authority_set.hpp"

#include <algorithm>

#include "base/sha256.hpp"

namespace backend::fleet {

const pki::Authority& AuthoritySet::for_server(pki::Instant now) const {
  for (const pki::Authority& each : active)
    if (each.not_after() > now) return each;
  return oldest();
}

const pki::Authority* AuthoritySet::for_token(std::string_view ca_hash) const {
  const pki::Authority* found = nullptr;
  for (const pki::Authority& each : active)
    if (each.public_hash() == ca_hash) found = &each;
  return found;
}

// Who trusts the root trusts whatever is below it.
const pki::Authority& AuthoritySet::for_renewal(bool trusts_all) const {
  return trusts_all || newest().public_hash() == oldest().public_hash() ? newest() : oldest();
}

const pki::Authority* AuthoritySet::with_issuer(std::string_view hash) const {
  const auto found =
      std::ranges::find_if(active, [&](const pki::Authority& each) { return each.issuer_hash() == hash; });
  return found == active.end() ? nullptr : &*found;
}

std::vector<std::string> AuthoritySet::roots() const {
  std::vector<std::string> roots, hashes;
  for (const pki::Authority& each : active) {
    if (std::ranges::find(hashes, each.public_hash()) != hashes.end()) continue;
    hashes.push_back(each.public_hash());
    roots.push_back(each.root_pem());
  }
  return roots;
}

std::vector<std::string> AuthoritySet::root_hashes() const {
  std::vector<std::string> hashes;
  for (const pki::Authority& each : active)
    if (std::ranges::find(hashes, each.public_hash()) == hashes.end()) hashes.push_back(each.public_hash());
  return hashes;
}

std::string AuthoritySet::published_pem() const {
  std::string text;
  for (const pki::Authority& each : active)
    text += each.chain_pem();
  return text;
}

std::string AuthoritySet::issuers_pem() const {
  std::string text;
  for (const pki::Authority& each : active)
    text += each.issuer_pem();
  return text;
}

std::string AuthoritySet::fingerprint() const {
  std::string text;
  for (const std::string& root : roots())
    text += root;
  return base::sha256_hex(text);
}

protocol::Authorities AuthoritySet::announcement(std::chrono::milliseconds within) const {
  return {.roots = roots(), .issuer = newest().issuer_hash(), .within_ms = within.count()};
}

}  // namespace backend::fleet
