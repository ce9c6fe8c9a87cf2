#include "agent/identity/credentials.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>

#include "base/durable_file.hpp"
#include "base/file_read.hpp"
#include "base/utc_text.hpp"
#include "pki/verify.hpp"

namespace agent::identity {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// Two chains of the largest size that pki/ reads.
constexpr std::size_t kLargestCredentials = 1024 * 1024;

constexpr std::string_view kHeading =
    "# This machine's identity, written by opsagent: its key, its certificate, and below whom it trusts.\n";
constexpr std::string_view kFirstCertificate = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kTrusted = "# Trusted authorities:\n";

std::string identity_file(const std::string& state_dir) {
  return state_dir + "/identity.pem";
}
std::string pending_file(const std::string& state_dir) {
  return state_dir + "/pending.key";
}

Result<Credentials> parse(const std::string& text) {
  const std::size_t chain = text.find(kFirstCertificate);
  const std::size_t ca = text.find(kTrusted);
  if (chain == text.npos || ca == text.npos || ca < chain)
    return Error(ErrorCode::invalid, "a part of it is missing");
  return make_credentials(text.substr(0, chain), text.substr(chain, ca - chain), text.substr(ca));
}

// The file's text; nothing when there is no such file.
Result<std::optional<std::string>> read_if_there(const std::string& path) {
  auto text = base::read_file(path, kLargestCredentials);
  if (text) return std::optional(std::move(*text));
  if (text.error().code() == ErrorCode::not_found) return std::optional<std::string>();
  return std::move(text).error();
}

}  // namespace

pki::Instant Credentials::renew_at() const {
  const auto life = not_after - not_before;
  // The last digits of a random number are as random as any.
  const std::string digits = serial.substr(serial.size() - std::min<std::size_t>(serial.size(), 8));
  std::uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  const double share = static_cast<double>(number) / static_cast<double>(UINT32_MAX);
  const std::chrono::duration<double> later = std::chrono::duration<double>(life) / 10 * share;
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
  auto credentials = parse(**text);
  if (!credentials)
    return Error(ErrorCode::invalid, path + " is damaged: " + credentials.error().message() +
                                         "; bring the file back from a backup, or remove it and enrol the "
                                         "machine anew with a token of \"opsctl join-token create\"");
  return std::optional(std::move(*credentials));
}

Result<void> store_credentials(const std::string& state_dir, const Credentials& credentials) {
  auto checked = make_credentials(credentials.key, credentials.chain, credentials.ca);
  if (!checked) return std::move(checked).error();
  const std::string text =
      std::string(kHeading) + checked->key + checked->chain + std::string(kTrusted) + checked->ca;
  if (auto written = base::write_durable_file(identity_file(state_dir), text); !written) return written;
  return base::remove_lasting_file(pending_file(state_dir));
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
