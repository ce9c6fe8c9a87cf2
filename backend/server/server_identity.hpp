// ServerIdentity: the authorities that sign this backend's agents, and the certificate that the server shows.
//
// Authorities last: see authority_files.hpp. The server's own certificate does not: a new key and certificate
// at every start and well before the old one ends, only in memory.
#pragma once

#include <string>
#include <vector>

#include "backend/fleet/authority_set.hpp"
#include "backend/server/authority_files.hpp"
#include "backend/server/data_folder.hpp"
#include "base/result.hpp"
#include "transport/tls.hpp"

namespace backend::server {

struct ServerIdentityOptions {
  AuthorityOptions authorities = {};  // that were brought
  std::string listen;                 // its host is a name of this server
  std::vector<std::string> names;     // what else agents and people call it
};

class ServerIdentity {
 public:
  using Instant = pki::Instant;

  static base::Result<ServerIdentity> open(const DataFolder& data, const ServerIdentityOptions& options,
                                           Instant now);

  AuthorityFiles& authorities() { return authorities_; }
  const AuthorityFiles& authorities() const { return authorities_; }
  const std::vector<std::string>& names() const { return names_; }

  // A new key and its certificate, with the whole chain, signed by the one of these that signs for the
  // server.
  base::Result<transport::TlsIdentity> issue(const fleet::AuthoritySet& authorities, Instant now);
  bool is_due(Instant now) const { return now >= renew_at_; }
  // Of the certificate that was issued last.
  Instant not_after() const { return not_after_; }

 private:
  ServerIdentity(AuthorityFiles authorities, std::vector<std::string> names)
      : authorities_(std::move(authorities)), names_(std::move(names)) {}

  AuthorityFiles authorities_;
  std::vector<std::string> names_;
  Instant renew_at_;
  Instant not_after_;
};

}  // namespace backend::server
