#include "pki/authority.hpp"

#include <algorithm>

#include "base/utc_text.hpp"
#include "pki/issue.hpp"
#include "pki/openssl.hpp"
#include "pki/server_name.hpp"
#include "pki/verify.hpp"

namespace pki {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// More names are a mistake in a script.
constexpr std::size_t kMostNames = 100;

Result<void> check_is_authority(const Certificate& certificate) {
  if (certificate.is_authority()) return {};
  return Error(ErrorCode::invalid,
               "\"" + certificate.subject() +
                   "\" is not a CA: it needs the extensions basicConstraints with CA:TRUE and keyUsage with "
                   "keyCertSign; give the certificate of a CA, not one of a server");
}

Result<void> check_times(const Certificate& certificate, Instant now) {
  if (now > certificate.not_after())
    return Error(ErrorCode::invalid, "the CA \"" + certificate.subject() + "\" expired at " +
                                         base::utc_text(certificate.not_after()) +
                                         "; renew it or bring another");
  if (now < certificate.not_before())
    return Error(ErrorCode::invalid, "the CA \"" + certificate.subject() + "\" is not valid before " +
                                         base::utc_text(certificate.not_before()) +
                                         "; is this machine's clock right?");
  return {};
}

// Each signed by the next, the last by itself.
Result<void> check_order(const std::vector<Certificate>& chain) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const bool is_last = i + 1 == chain.size();
    const Certificate& signer = is_last ? chain[i] : chain[i + 1];
    if (X509_check_issued(signer.get(), chain[i].get()) == X509_V_OK &&
        X509_verify(chain[i].get(), X509_get0_pubkey(signer.get())) == 1)
      continue;
    if (is_last)
      return Error(ErrorCode::invalid,
                   "the chain ends with \"" + chain[i].subject() +
                       "\", which is not a root; append the CA that signed it, up to the root");
    return Error(ErrorCode::invalid,
                 "\"" + chain[i].subject() + "\" was not signed by \"" + signer.subject() +
                     "\", which follows it; the issuing CA comes first, then the one that "
                     "signed it, and so on to the root");
  }
  return {};
}

}  // namespace

Result<Authority> Authority::generate(Instant now) {
  auto key = PrivateKey::generate();
  if (!key) return std::move(key).error();
  const Wanted wanted{.common_name = "OpsAgent CA " + key->public_hash().substr(0, 8),
                      .key = key->get(),
                      .usage = Usage::authority,
                      .not_before = now - kClockSkew,
                      .not_after = now + kLongestLife};
  auto certificate = issue(wanted, *key, nullptr);
  if (!certificate) return std::move(certificate).error();
  return Authority({std::move(*certificate)}, std::move(*key));
}

Result<Authority> Authority::parse(std::string_view chain_pem, std::string_view key_pem, Instant now,
                                   std::string_view passphrase) {
  const ErrorScope scope;
  auto chain = Certificate::parse_chain(chain_pem);
  if (!chain) return std::move(chain).error().with_context("the CA's certificate");
  auto key = PrivateKey::parse_brought(key_pem, passphrase);
  if (!key) return std::move(key).error().with_context("the CA's key");
  for (const Certificate& certificate : *chain) {
    if (auto fine = check_is_authority(certificate); !fine) return std::move(fine).error();
    if (auto fine = check_times(certificate, now); !fine) return std::move(fine).error();
  }
  if (X509_check_private_key(chain->front().get(), key->get()) != 1)
    return Error(ErrorCode::invalid, "the CA's key does not belong to \"" + chain->front().subject() +
                                         "\"; give the key of the first certificate of the chain");
  if (auto fine = check_order(*chain); !fine) return std::move(fine).error();
  Authority authority(std::move(*chain), std::move(*key));
  // Tried out on an agent that does not exist: path lengths, usages, name constraints, weak signatures.
  auto trial_key = PrivateKey::generate();
  if (!trial_key) return std::move(trial_key).error();
  auto request = make_request(*trial_key);
  if (!request) return std::move(request).error();
  auto trial = authority.issue_agent(*request, {"trial", "trial", "0"}, now, std::chrono::hours(1));
  if (!trial) return std::move(trial).error();
  std::vector<Certificate> shown = authority.chain_;
  shown.insert(shown.begin(), std::move(*trial));
  if (auto fine = verify(shown, {authority.chain_.back()}, Purpose::agent, now); !fine)
    return std::move(fine).error().with_context("certificates of this CA would not be accepted");
  return authority;
}

Instant Authority::not_after() const {
  return std::ranges::min(chain_, {}, &Certificate::not_after).not_after();
}

Result<Authority::Times> Authority::times(Instant now, std::chrono::seconds life) const {
  if (life <= std::chrono::seconds(0) || life > kLongestLife)
    return Error(ErrorCode::invalid, "a certificate's life must be more than nothing and ten years at most");
  for (const Certificate& certificate : chain_)
    if (auto fine = check_times(certificate, now); !fine) return std::move(fine).error();
  return Times{now - kClockSkew, std::min(now + life, not_after())};
}

Result<Certificate> Authority::issue_agent(std::string_view csr_pem, const AgentName& name, Instant now,
                                           std::chrono::seconds life) const {
  const auto request = Request::parse(csr_pem);
  if (!request) return request.error();
  return issue_agent(*request, name, now, life);
}

Result<Certificate> Authority::issue_agent(const Request& request, const AgentName& name, Instant now,
                                           std::chrono::seconds life) const {
  if (auto fine = check_agent_name(name); !fine) return std::move(fine).error();
  const auto when = times(now, life);
  if (!when) return when.error();
  const Wanted wanted{.common_name = name.uid,
                      .key = request.key(),
                      .usage = Usage::agent,
                      .names = {{AltName::Kind::uri, uri_of(name)}},
                      .not_before = when->from,
                      .not_after = when->until};
  return issue(wanted, key_, &chain_.front());
}

Result<Certificate> Authority::issue_server(const PrivateKey& key, const std::vector<std::string>& names,
                                            Instant now, std::chrono::seconds life) const {
  if (names.empty() || names.size() > kMostNames)
    return Error(ErrorCode::invalid, "a server's certificate needs a name, and has " +
                                         std::to_string(kMostNames) +
                                         " at most; say under which names or addresses agents reach it");
  const auto when = times(now, life);
  if (!when) return when.error();
  Wanted wanted{.common_name = "OpsAgent server",
                .key = key.get(),
                .usage = Usage::server,
                .not_before = when->from,
                .not_after = when->until};
  for (const std::string& name : names) {
    auto read = read_server_name(name);
    if (!read) return std::move(read).error();
    wanted.names.push_back(std::move(*read));
  }
  return issue(wanted, key_, &chain_.front());
}

}  // namespace pki
