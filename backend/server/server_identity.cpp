#include "backend/server/server_identity.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/file_read.hpp"
#include "pki/private_key.hpp"
#include "pki/server_name.hpp"
#include "transport/uri.hpp"

namespace backend::server {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kLargestFile = 256 * 1024;
constexpr std::chrono::hours kServerLife{24 * 90};
constexpr std::chrono::hours kRenewAfter{24 * 60};

Result<pki::Authority> read_brought(const ServerIdentityOptions& options) {
  if (options.ca_cert.empty() || options.ca_key.empty())
    return Error(ErrorCode::invalid, "ca_cert and ca_key belong together: give both, or neither");
  const auto chain = base::read_file(options.ca_cert, kLargestFile);
  if (!chain) return chain.error();
  const auto key = base::read_file(options.ca_key, kLargestFile);
  if (!key) return key.error();
  return pki::Authority::parse(*chain, *key);
}

// One file holds certificate and key, so that a kill at the wrong moment cannot part them.
Result<pki::Authority> read_or_make(const DataFolder& data, pki::Instant now) {
  const std::string path = data.authority_file();
  const auto kept = base::read_file(path, kLargestFile);
  if (kept) {
    const std::size_t key_at = std::min(kept->find("-----BEGIN PRIVATE KEY-----"), kept->size());
    auto authority = pki::Authority::parse(kept->substr(0, key_at), kept->substr(key_at), now);
    if (!authority)
      return std::move(authority).error().with_context(
          path + " (restore it from a backup: every agent knows this backend by it)");
    return authority;
  }
  if (kept.error().code() != ErrorCode::not_found) return kept.error();
  auto made = pki::Authority::generate(now);
  if (!made) return made;
  if (auto written = data.write_private("ca.pem", made->chain_pem() + made->key_pem()); !written)
    return std::move(written).error();
  return made;
}

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
  const bool is_brought = !options.ca_cert.empty() || !options.ca_key.empty();
  auto authority = is_brought ? read_brought(options) : read_or_make(data, now);
  if (!authority) return std::move(authority).error().with_context("the certificate authority");
  if (auto written = data.write_private("ca.crt", authority->chain_pem()); !written)
    return std::move(written).error();
  return ServerIdentity(std::move(*authority), server_names(options));
}

Result<transport::TlsIdentity> ServerIdentity::issue(Instant now) {
  auto key = pki::PrivateKey::generate();
  if (!key) return std::move(key).error();
  auto certificate = authority_.issue_server(*key, names_, now, kServerLife);
  if (!certificate) return std::move(certificate).error();
  renew_at_ = now + kRenewAfter;
  return transport::TlsIdentity{.chain = certificate->pem() + authority_.chain_pem(), .key = key->pem()};
}

}  // namespace backend::server
