#include "agent/identity/membership.hpp"

#include <algorithm>

#include "agent/identity/trust_rules.hpp"
#include "base/files/durable_file.hpp"
#include "base/files/file_read.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "pki/request.hpp"
#include "pki/verify.hpp"

namespace agent::identity {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using transport::TlsClient;

constexpr std::size_t kLargestFile = 256 * 1024;
constexpr const char* kUsedToken = "/join_token_id";

// A token stands in the configuration, or in a file that only root can read.
Result<pki::JoinToken> read_token(const std::string& text) {
  if (!text.starts_with('/')) return pki::parse_join_token(text);
  const auto content = base::read_file(text, kLargestFile);
  if (!content) return content.error();
  auto token = pki::parse_join_token(base::trim(*content));
  if (!token) return std::move(token).error().with_context(text);
  return token;
}

}  // namespace

Result<std::unique_ptr<Membership>> Membership::open(MembershipOptions options, base::Redactor& redactor) {
  auto kept = load_credentials(options.state_dir);
  if (!kept) return std::move(kept).error();
  std::unique_ptr<Membership> membership(new Membership(std::move(options), std::move(*kept)));
  const MembershipOptions& given = membership->options_;
  if (const auto used = base::read_file(given.state_dir + kUsedToken, kLargestFile))
    membership->used_token_ = base::trim(*used);
  if (!given.ca_file.empty()) {
    auto content = base::read_file(given.ca_file, kLargestFile);
    if (!content) return std::move(content).error().with_context("ca_file");
    membership->trusted_ = std::move(*content);
  }
  if (auto taken = membership->take_first_token(redactor); !taken) return std::move(taken).error();
  return membership;
}

Result<void> Membership::take_first_token(base::Redactor& redactor) {
  if (!options_.announced_token.empty()) {
    const auto offered = offer_token(options_.announced_token, redactor);
    if (offered) return {};
    refused_token_ = offered.error().message();
  }
  if (options_.join_token.empty()) return {};
  auto token = read_token(options_.join_token);
  // A file that was removed after the enrolment is not missed.
  if (!token && !credentials_) return std::move(token).error().with_context("join_token");
  if (token) {
    redactor.add(token->secret);
    token_ = std::move(*token);
  }
  return {};
}

Result<void> Membership::offer_token(const std::string& text, base::Redactor& redactor) {
  auto token = pki::parse_join_token(text);
  if (!token) return std::move(token).error();
  redactor.add(token->secret);
  // A metadata service is asked without any proof of who answers. At first there is nothing better;
  // afterwards it must not hand the machine to somebody else.
  if (credentials_) {
    const auto known = pki::Certificate::parse_chain(authorities());
    if (!known) return known.error();
    const bool is_known = std::ranges::any_of(
        *known, [&](const pki::Certificate& each) { return each.public_hash() == token->ca_hash; });
    if (!is_known)
      return Error(ErrorCode::permission,
                   "the identity source has a join token of another authority than the one that this machine "
                   "trusts; it is not used. If the machine is to move to another backend, set join_token in "
                   "its own configuration, or run 'opsagent clean' and install it anew");
  }
  token_ = std::move(*token);
  return {};
}

bool Membership::must_enrol(const std::string& app_id, Instant now) const {
  if (!token_) return false;
  return !credentials_ || credentials_->name.app_id != app_id || credentials_->not_after <= now ||
         token_->id != used_token_;
}

Result<std::shared_ptr<TlsClient>> Membership::tls_for_work(const std::string& app_id, Instant now) {
  if (credentials_ && credentials_->name.app_id != app_id)
    return Error(ErrorCode::permission,
                 "this machine is enrolled in the app " + credentials_->name.app_id + " and not in " +
                     app_id + ": set join_token to a token of that app (opsctl join-token create)");
  if (credentials_)
    if (const std::string problem = credentials_->problem(now); !problem.empty())
      return Error(ErrorCode::permission, problem);
  if (!credentials_ && trusted_.empty())
    return Error(ErrorCode::permission,
                 "this machine is not enrolled: set join_token to what 'opsctl join-token create' prints (or "
                 "ca_file, for "
                 "a backend that accepts agents without a certificate)");
  if (client_) return client_;
  transport::TlsTrust trust{.ca = trusted_.empty() ? credentials_->ca : trusted_};
  std::optional<transport::TlsIdentity> identity;
  if (credentials_) {
    // The backend knows its own authority: to send that along would only cost it time.
    const auto chain = pki::Certificate::parse_chain(credentials_->chain);
    if (!chain) return chain.error();
    identity = transport::TlsIdentity{.chain = chain->front().pem(), .key = credentials_->key};
  }
  auto made = TlsClient::make(std::move(trust), std::move(identity));
  if (made) client_ = *made;
  return made;
}

Result<std::shared_ptr<TlsClient>> Membership::tls_for_enrolment() const {
  if (!token_) return Error(ErrorCode::permission, "there is no join token to enrol with");
  return TlsClient::make({.ca_hash = token_->ca_hash});
}

std::string Membership::authorities() const {
  return trusted_ + "\n" + (credentials_ ? credentials_->ca : "");
}

namespace {

// Of a text that was read before: what cannot be read counts for nothing.
std::vector<pki::Certificate> read_authorities(const std::string& pem) {
  auto read = pki::Certificate::parse_chain(pem);
  return read ? std::move(*read) : std::vector<pki::Certificate>();
}

}  // namespace

std::vector<std::string> Membership::vouching() const {
  return hashes_of(read_authorities(!trusted_.empty() ? trusted_ : credentials_ ? credentials_->ca : ""));
}

std::vector<std::string> Membership::trusted() const {
  if (!credentials_) return {};
  std::vector<std::string> hashes = hashes_of(read_authorities(credentials_->ca));
  const std::vector<std::string> shown = vouching();
  std::erase_if(hashes,
                [&](const std::string& hash) { return std::ranges::find(shown, hash) == shown.end(); });
  return hashes;
}

Result<Membership::TrustChange> Membership::trust(const protocol::Authorities& announced,
                                                  const std::vector<std::string>& vouching) {
  if (!credentials_)
    return Error(ErrorCode::permission, "this machine has no certificate, and trusts what its ca_file says");
  if (!base::is_sha256_hex(announced.issuer))
    return Error(ErrorCode::invalid, "the backend did not say properly who issues certificates");
  auto decided = decide_trust(announced.roots, {.trusted = read_authorities(credentials_->ca),
                                                .configured = read_authorities(trusted_),
                                                .vouching = vouching});
  if (!decided) return std::move(decided).error();
  TrustChange change{.changed = decided->changes};
  if (decided->changes) {
    Credentials next = *credentials_;
    next.ca = pki::pem_of(decided->trusted);
    if (auto stored = store_authorities(options_.state_dir, next, decided->dropped); !stored)
      return std::move(stored).error().with_context("the authorities that the backend announced");
    credentials_ = std::move(next);
    client_.reset();
  }
  for (const std::string& hash : decided->dropped)
    if (std::ranges::find(vouching, hash) != vouching.end()) change.is_stale = true;
  change.must_renew = credentials_->issuer_hash() != announced.issuer;
  return change;
}

Result<protocol::CertRequest> Membership::ask_to_enrol(std::string app_id, std::string instance_id) {
  if (!token_) return Error(ErrorCode::permission, "there is no join token to enrol with");
  auto key = credentials_ ? pki::PrivateKey::parse(credentials_->key) : pending_key(options_.state_dir);
  if (!key) return std::move(key).error();
  auto csr = pki::make_request(*key);
  if (!csr) return std::move(csr).error();
  pending_ = Pending{.key = std::move(*key), .app_id = app_id, .ca_hash = token_->ca_hash};
  return protocol::CertRequest{.csr = std::move(*csr),
                               .token = pki::format_join_token(*token_),
                               .app_id = std::move(app_id),
                               .instance_id = std::move(instance_id)};
}

Result<protocol::CertRequest> Membership::ask_to_renew() {
  if (!credentials_) return Error(ErrorCode::internal, "there is no certificate to renew");
  auto key = pending_key(options_.state_dir);
  if (!key) return std::move(key).error();
  auto csr = pki::make_request(*key);
  if (!csr) return std::move(csr).error();
  pending_ = Pending{.key = std::move(*key), .app_id = credentials_->name.app_id};
  return protocol::CertRequest{.csr = std::move(*csr)};
}

// A certificate that does not fit would cut the machine off: better none.
Result<void> Membership::check(const Pending& asked, const std::vector<pki::Certificate>& chain) const {
  const auto wrong = [](std::string text) { return Error(ErrorCode::invalid, std::move(text)); };
  if (chain.size() < 2) return wrong("the backend sent a certificate without its authority");
  const pki::Certificate& mine = chain.front();
  const auto name = mine.agent_name();
  if (!name) return wrong("the backend sent a certificate that names no agent");
  if (name->app_id != asked.app_id)
    return wrong("the backend issued a certificate of the app " + name->app_id + ", not of " + asked.app_id);
  if (mine.public_hash() != asked.key.public_hash())
    return wrong("the backend sent a certificate of another key");
  // An enrolment believes the authority whose hash the token has, a renewal the one that enrolled us.
  std::vector<pki::Certificate> authorities{chain.back()};
  if (asked.ca_hash.empty()) {
    if (*name != credentials_->name) return wrong("the backend renewed a certificate under another name");
    auto known = pki::Certificate::parse_chain(credentials_->ca);
    if (!known) return std::move(known).error();
    authorities = std::move(*known);
  } else if (chain.back().public_hash() != asked.ca_hash) {
    return wrong("the certificate was issued by another authority than the join token's");
  }
  return pki::verify(chain, authorities, pki::Purpose::agent, std::nullopt);
}

Result<void> Membership::accept(const protocol::CertIssued& issued) {
  if (!pending_) return Error(ErrorCode::invalid, "the backend sent a certificate that nobody asked for");
  const Pending asked = *std::exchange(pending_, std::nullopt);
  auto chain = pki::Certificate::parse_chain(issued.chain);
  if (!chain) return std::move(chain).error().with_context("the certificate that the backend sent");
  if (auto fine = check(asked, *chain); !fine) return fine;
  // Only an enrolment says whom to trust, and only by the hash in its token.
  const bool enrols = !asked.ca_hash.empty();
  auto fresh =
      make_credentials(asked.key.pem(), issued.chain, enrols ? chain->back().pem() : credentials_->ca);
  if (!fresh) return std::move(fresh).error();
  if (enrols)
    if (auto again = unretire_authority(options_.state_dir, asked.ca_hash); !again) return again;
  if (auto stored = store_credentials(options_.state_dir, *fresh); !stored) return stored;
  credentials_ = std::move(*fresh);
  client_.reset();
  return enrols ? note_token() : Result<void>();
}

Result<void> Membership::note_token() {
  used_token_ = token_->id;
  return base::write_durable_file(options_.state_dir + kUsedToken, used_token_ + "\n");
}

void Membership::token_refused() {
  if (token_ && credentials_) (void)note_token();  // at worst it is tried once more after a restart
}

}  // namespace agent::identity
