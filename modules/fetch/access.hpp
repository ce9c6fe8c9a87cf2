// What the configuration says about reaching repositories: host keys, credentials. Pure, but for the reading
// of files.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "modules/fetch/repository_address.hpp"

namespace modules::fetch {

// A file with a secret in it: it must belong to root or to us, and be closed to everybody else.
base::Result<std::string> read_secret_file(const std::string& path);

// The keys that a file in the form of OpenSSH's known_hosts has for this host, as lines "TYPE BASE64"; names
// may be hashed. "" when it has none. What is marked @revoked does not count; neither do authorities.
std::string host_keys_for(std::string_view known_hosts, const RepositoryAddress& address);

struct Login {
  std::string user, password;  // empty: none for this address
};

// From lines "https://USER:PASSWORD@HOST[:PORT][/PATH]", as git's own "store" helper writes them. The first
// that has this host and port, and whose path, if it has one, is the repository's or a folder above it.
base::Result<Login> login_for(std::string_view credentials, const RepositoryAddress& address);

}  // namespace modules::fetch
