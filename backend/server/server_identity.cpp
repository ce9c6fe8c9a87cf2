#include "backend/server/server_identity.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "pki/private_key.hpp"
#include "pki/server_name.hpp"
#include "transport/uri.hpp"

namespace backend::server {

namespace {

using base::Result;

constexpr std::chrono::hours kServerLife{24 * 90};
constexpr std::chrono::hours kRenewAfter{24 * 60};
constexpr std::chrono::hours kSoonestRenewal{1};

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// Wildcards are no names; this machine's own ways to itself always are.
std::vector<std::string> server_names(const ServerIdentityOptions& options) {
  std::vector<std::string> names = options.names;
  const auto add = [&](std::string name) {
    if (!name.empty() && name != "0.0.0.0" && name != "::" && std::ranges::find(names, name) == names.end())
      names.push_back(std::move(name));
  };
  if (auto parts = transport::split_host_port(options.listen, 0)) add(std::move(parts->host));
  if (const std::string own = host_name(); pki::read_server_name(own)) add(own);  // some are no names for DNS
  for (const char* own : {"localhost", "127.0.0.1", "::1"})
    add(own);
  return names;
}

}  // namespace

Result<ServerIdentity> ServerIdentity::open(const DataFolder& data, const ServerIdentityOptions& options,
                                            Instant now) {
  auto authorities = AuthorityFiles::open(data, options.authorities, now);
  if (!authorities) return std::move(authorities).error().with_context("the certificate authority");
  return ServerIdentity(std::move(*authorities), server_names(options));
}

Result<transport::TlsIdentity> ServerIdentity::issue(const fleet::AuthoritySet& authorities, Instant now) {
  const pki::Authority& authority = authorities.for_server(now);
  auto key = pki::PrivateKey::generate();
  if (!key) return std::move(key).error();
  auto certificate = authority.issue_server(*key, names_, now, kServerLife);
  if (!certificate) return std::move(certificate).error();
  // Sooner, when the authority itself ends sooner: then another one signs, if there is one.
  renew_at_ = std::min(now + kRenewAfter, std::max(authority.not_after(), now + kSoonestRenewal));
  not_after_ = certificate->not_after();
  return transport::TlsIdentity{.chain = certificate->pem() + authority.chain_pem(), .key = key->pem()};
}

}  // namespace backend::server
