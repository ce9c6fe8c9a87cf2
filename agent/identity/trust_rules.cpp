#include "agent/identity/trust_rules.hpp"

#include <algorithm>

namespace agent::identity {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

bool has(const std::vector<std::string>& hashes, const std::string& hash) {
  return std::ranges::find(hashes, hash) != hashes.end();
}

Result<std::vector<pki::Certificate>> read_roots(const std::vector<std::string>& roots) {
  if (roots.empty()) return Error(ErrorCode::invalid, "the backend announced no authority at all");
  if (roots.size() > kMostAuthorities)
    return Error(ErrorCode::limit, "the backend announced " + std::to_string(roots.size()) +
                                       " authorities, and " + std::to_string(kMostAuthorities) +
                                       " are trusted at most");
  std::vector<pki::Certificate> read;
  for (const std::string& pem : roots) {
    if (pem.size() > kLargestAuthority)
      return Error(ErrorCode::limit, "the backend announced an authority that is too large");
    auto certificate = pki::Certificate::parse(pem);
    if (!certificate) return std::move(certificate).error().with_context("an announced authority");
    if (!certificate->is_authority())
      return Error(ErrorCode::invalid,
                   "the backend announced \"" + certificate->subject() + "\", which is not a CA");
    if (!has(hashes_of(read), certificate->public_hash())) read.push_back(std::move(*certificate));
  }
  return read;
}

}  // namespace

std::vector<std::string> hashes_of(const std::vector<pki::Certificate>& certificates) {
  std::vector<std::string> hashes;
  for (const pki::Certificate& each : certificates)
    hashes.push_back(each.public_hash());
  return hashes;
}

Result<TrustDecision> decide_trust(const std::vector<std::string>& roots, const TrustFacts& facts) {
  const auto refuse = [](std::string why) { return Error(ErrorCode::permission, std::move(why)); };
  if (facts.vouching.empty())
    return refuse("authorities are not believed over a connection that no authority vouches for");
  const std::vector<std::string> trusted = hashes_of(facts.trusted);
  const std::vector<std::string> configured = hashes_of(facts.configured);
  for (const std::string& hash : facts.vouching)
    if (!has(facts.configured.empty() ? trusted : configured, hash))
      return refuse(
          "authorities are not believed over a connection that was opened under one that is not trusted any "
          "more: it is made anew first");
  auto announced = read_roots(roots);
  if (!announced) return std::move(announced).error();
  const std::vector<std::string> wanted = hashes_of(*announced);
  if (std::ranges::none_of(wanted, [&](const std::string& hash) { return has(trusted, hash); }))
    return refuse("none of the authorities that the backend announced is one that this machine trusts");
  for (const pki::Certificate& each : *announced)
    if (!configured.empty() && !has(configured, each.public_hash()))
      return refuse("the backend announced the authority \"" + each.subject() + "\" (CA hash " +
                    each.public_hash() +
                    "), which is not in this machine's ca_file: add it there, and start the agent again");
  TrustDecision decision;
  for (const std::string& hash : trusted)
    if (!has(wanted, hash)) decision.dropped.push_back(hash);
  decision.changes = pki::pem_of(*announced) != pki::pem_of(facts.trusted);
  decision.trusted = std::move(*announced);
  return decision;
}

}  // namespace agent::identity
