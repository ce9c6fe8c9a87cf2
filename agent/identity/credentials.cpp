#include "agent/identity/credentials.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>

#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/utc_text.hpp"
#include "pki/verify.hpp"

namespace agent::identity {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// Two chains of the largest size that pki/ reads.
constexpr std::size_t kLargestCredentials = 1024 * 1024;
// A change of the authority is a matter of years: the newest are kept.
constexpr std::size_t kMostRetired = 64;

constexpr std::string_view kHeading =
    "# This machine's identity, written by opsagent: its key, its certificate, and below whom it trusts.\n";
constexpr std::string_view kFirstCertificate = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kTrusted = "# Trusted authorities:\n";

std::string identity_file(const std::string& state_dir) {
  return state_dir + "/identity.pem";
}
std::string retired_file(const std::string& state_dir) {
  return state_dir + "/retired_authorities";
}
std::string pending_file(const std::string& state_dir) {
  return state_dir + "/pending.key";
}

// The file's text; nothing when there is no such file.
Result<std::optional<std::string>> read_if_there(const std::string& path) {
  auto text = base::read_file(path, kLargestCredentials);
  if (text) return std::optional(std::move(*text));
  if (text.error().code() == ErrorCode::not_found) return std::optional<std::string>();
  return std::move(text).error();
}

// The hashes of authorities that were retired, oldest first.
Result<std::vector<std::string>> read_retired(const std::string& state_dir) {
  auto text = read_if_there(retired_file(state_dir));
  if (!text) return std::move(text).error();
  std::vector<std::string> hashes;
  if (!*text) return hashes;
  for (const std::string_view line : base::split(**text, '\n'))
    if (base::is_sha256_hex(base::trim(line))) hashes.emplace_back(base::trim(line));
  return hashes;
}

Result<void> write_retired(const std::string& state_dir, std::vector<std::string> hashes) {
  if (hashes.size() > kMostRetired)
    hashes.erase(hashes.begin(), hashes.end() - static_cast<std::ptrdiff_t>(kMostRetired));
  std::string text;
  for (const std::string& hash : hashes)
    text += hash + "\n";
  return base::write_durable_file(retired_file(state_dir), text);
}

// What is left of the trusted ones without those that were retired.
Result<std::string> without_retired(const std::string& ca, const std::vector<std::string>& retired) {
  auto authorities = pki::Certificate::parse_chain(ca);
  if (!authorities) return std::move(authorities).error().with_context("the CA");
  std::erase_if(*authorities, [&](const pki::Certificate& each) {
    return std::ranges::find(retired, each.public_hash()) != retired.end();
  });
  if (authorities->empty())
    return Error(ErrorCode::invalid,
                 "it is from before the backend's authority was changed: it trusts only one that was retired "
                 "since");
  return pki::pem_of(*authorities);
}

Result<Credentials> parse(const std::string& text, const std::vector<std::string>& retired) {
  const std::size_t chain = text.find(kFirstCertificate);
  const std::size_t ca = text.find(kTrusted);
  if (chain == text.npos || ca == text.npos || ca < chain)
    return Error(ErrorCode::invalid, "a part of it is missing");
  auto trusted = without_retired(text.substr(ca), retired);
  if (!trusted) return std::move(trusted).error();
  return make_credentials(text.substr(0, chain), text.substr(chain, ca - chain), *trusted);
}

Result<void> write_identity(const std::string& state_dir, const Credentials& credentials) {
  auto checked = make_credentials(credentials.key, credentials.chain, credentials.ca);
  if (!checked) return std::move(checked).error();
  const std::string text =
      std::string(kHeading) + checked->key + checked->chain + std::string(kTrusted) + checked->ca;
  return base::write_durable_file(identity_file(state_dir), text);
}

}  // namespace

std::string Credentials::issuer_hash() const {
  const auto certificates = pki::Certificate::parse_chain(chain);
  return certificates && certificates->size() > 1 ? (*certificates)[1].public_hash() : "";
}

double Credentials::share() const {
  // The last digits of a random number are as random as any.
  const std::string digits = serial.substr(serial.size() - std::min<std::size_t>(serial.size(), 8));
  std::uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return static_cast<double>(number) / static_cast<double>(UINT32_MAX);
}

pki::Instant Credentials::renew_at() const {
  const auto life = not_after - not_before;
  const std::chrono::duration<double> later = std::chrono::duration<double>(life) / 10 * share();
  return not_before + life / 3 * 2 + std::chrono::duration_cast<pki::Instant::duration>(later);
}

std::string Credentials::problem(pki::Instant now) const {
  if (now > not_after)
    return "this machine's certificate expired at " + base::utc_text(not_after) + ", and the clock says " +
           base::utc_text(now) +
           "; if the clock is right, enrol the machine anew with a token of \"opsctl join-token create\"";
  if (now < not_before)
    return "this machine's certificate is not valid before " + base::utc_text(not_before) +
           ", and the clock says " + base::utc_text(now) + "; is the clock right?";
  return {};
}

Result<Credentials> make_credentials(const std::string& key, const std::string& chain,
                                     const std::string& ca) {
  auto own_key = pki::PrivateKey::parse(key);
  if (!own_key) return std::move(own_key).error().with_context("the key");
  auto certificates = pki::Certificate::parse_chain(chain);
  if (!certificates) return std::move(certificates).error().with_context("the certificate");
  auto authorities = pki::Certificate::parse_chain(ca);
  if (!authorities) return std::move(authorities).error().with_context("the CA");
  const pki::Certificate& own = certificates->front();
  if (own.public_hash() != own_key->public_hash())
    return Error(ErrorCode::invalid, "the certificate was made for another key");
  auto name = own.agent_name();
  if (!name) return Error(ErrorCode::invalid, "the certificate is not one of an agent");
  for (const pki::Certificate& authority : *authorities)
    if (!authority.is_authority())
      return Error(ErrorCode::invalid, "\"" + authority.subject() + "\" is not a CA");
  if (auto fine = pki::verify(*certificates, *authorities, pki::Purpose::agent, std::nullopt); !fine)
    return std::move(fine).error().with_context("the certificate is not one of the CA's");
  return Credentials{.key = own_key->pem(),
                     .chain = pki::pem_of(*certificates),
                     .ca = pki::pem_of(*authorities),
                     .name = std::move(*name),
                     .serial = own.serial(),
                     .not_before = own.not_before(),
                     .not_after = own.not_after()};
}

Result<std::optional<Credentials>> load_credentials(const std::string& state_dir) {
  const std::string path = identity_file(state_dir);
  auto text = read_if_there(path);
  if (!text) return std::move(text).error();
  if (!*text) return std::optional<Credentials>();
  const auto retired = read_retired(state_dir);
  if (!retired) return retired.error();
  auto credentials = parse(**text, *retired);
  if (!credentials)
    return Error(ErrorCode::invalid, path + " is damaged: " + credentials.error().message() +
                                         "; bring the file back from a backup, or remove it and enrol the "
                                         "machine anew with a token of \"opsctl join-token create\"");
  return std::optional(std::move(*credentials));
}

Result<void> store_credentials(const std::string& state_dir, const Credentials& credentials) {
  if (auto written = write_identity(state_dir, credentials); !written) return written;
  return base::remove_lasting_file(pending_file(state_dir));
}

Result<void> store_authorities(const std::string& state_dir, const Credentials& credentials,
                               const std::vector<std::string>& dropped) {
  // Found out before anything is written: what is left must be enough for the certificate that is there.
  if (auto checked = make_credentials(credentials.key, credentials.chain, credentials.ca); !checked)
    return std::move(checked).error();
  if (!dropped.empty()) {
    auto retired = read_retired(state_dir);
    if (!retired) return std::move(retired).error();
    for (const std::string& hash : dropped)
      if (std::ranges::find(*retired, hash) == retired->end()) retired->push_back(hash);
    if (auto written = write_retired(state_dir, std::move(*retired)); !written) return written;
  }
  return write_identity(state_dir, credentials);
}

Result<void> unretire_authority(const std::string& state_dir, const std::string& hash) {
  auto retired = read_retired(state_dir);
  if (!retired) return std::move(retired).error();
  if (std::erase(*retired, hash) == 0) return {};
  return write_retired(state_dir, std::move(*retired));
}

Result<pki::PrivateKey> pending_key(const std::string& state_dir) {
  auto text = read_if_there(pending_file(state_dir));
  if (!text) return std::move(text).error();
  if (*text) {
    // A damaged one is worth nothing, and one that was killed just before its removal is in use.
    auto kept = pki::PrivateKey::parse(**text);
    const auto in_use = load_credentials(state_dir);
    const bool is_used = in_use && *in_use && kept && (*in_use)->key == kept->pem();
    if (kept && !is_used) return kept;
  }
  auto made = pki::PrivateKey::generate();
  if (!made) return made;
  if (auto written = base::write_durable_file(pending_file(state_dir), made->pem()); !written)
    return std::move(written).error();
  return made;
}

}  // namespace agent::identity
