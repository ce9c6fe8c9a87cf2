// ServerIdentity: the authority that signs this backend's agents, and the certificate that the server shows.
//
// The authority lasts: it is in the data folder (ca.pem, 0600), or an operator has brought it. The server's
// own certificate does not: a new key and certificate at every start and well before the old one ends, only
// in memory.
#pragma once

#include <string>
#include <vector>

#include "backend/server/data_folder.hpp"
#include "base/result.hpp"
#include "pki/authority.hpp"
#include "transport/tls.hpp"

namespace backend::server {

struct ServerIdentityOptions {
  std::string ca_cert;  // files of an authority that was brought; both or neither
  std::string ca_key;
  std::string listen;              // its host is a name of this server
  std::vector<std::string> names;  // what else agents and people call it
};

class ServerIdentity {
 public:
  using Instant = pki::Instant;

  // Reads the authority or makes one, and writes its certificate, for everybody to have, to ca.crt.
  static base::Result<ServerIdentity> open(const DataFolder& data, const ServerIdentityOptions& options,
                                           Instant now);

  const pki::Authority& authority() const { return authority_; }
  // By this agents and people know the backend when they meet it first.
  std::string ca_hash() const { return authority_.public_hash(); }
  const std::vector<std::string>& names() const { return names_; }

  // A new key and its certificate, with the whole chain.
  base::Result<transport::TlsIdentity> issue(Instant now);
  bool is_due(Instant now) const { return now >= renew_at_; }

 private:
  ServerIdentity(pki::Authority authority, std::vector<std::string> names)
      : authority_(std::move(authority)), names_(std::move(names)) {}

  pki::Authority authority_;
  std::vector<std::string> names_;
  Instant renew_at_;
};

}  // namespace backend::server
