// What `opsctl login` remembers: a backend and its access token, in a file that only its owner can read.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "ctl/options.hpp"

namespace ctl {

inline constexpr std::string_view kDefaultServer = "https://127.0.0.1:8963";
inline constexpr std::string_view kLocalFolder = "opsbackend-data";
inline constexpr std::string_view kLocalToken = "opsbackend-data/admin.token";
inline constexpr std::string_view kLocalCa = "opsbackend-data/ca.crt";

struct Login {
  std::string server;
  std::string token;
  std::string ca;  // a file with certificates; "": none
  std::string authorities =
      {};  // what the backend called them when they were stored; "": they came with --ca
};

// $XDG_CONFIG_HOME/opsctl/config, or ~/.config/opsctl/config; empty without either.
std::string login_path();

// Nothing when there is no such file. Refused: a file that others can read, or that is not ours.
base::Result<std::optional<Login>> read_login(const std::string& path);
// Replaces the file in one step; its folder is made.
base::Result<void> write_login(const std::string& path, const Login& login);

// Where the certificates are kept that belong to the login: ca.pem beside it.
std::string ca_path(const std::string& login);
base::Result<void> write_ca(const std::string& path, std::string_view pem);
// The certificates in a file; "" when none is named. Refused: what has no certificate in it.
base::Result<std::string> read_ca(const std::string& file);

// After an answer that these certificates vouched for: the backend says that there are others
// (Api::authorities()), and those are stored in their place. Only the copy that belongs to the stored login
// is replaced, never a file that somebody named. True: they were others.
base::Result<bool> follow_authorities(Api& api, const Login& used, const std::string& path);

// The token in a file: its first line. "-" is standard input.
base::Result<std::string> read_token(const std::string& file);

// Which backend, and with which token: options and environment over what is stored over defaults. The stored
// token and certificates are for the stored server only; what is in
// ./opsbackend-data only for this machine, and only if it is all ours and nobody else can write to it or
// above it (base/files/private_folder.hpp). Refused: http to the machine of a stored https login, and the
// token of ./opsbackend-data over http when there is an authority beside it.
base::Result<Login> choose_login(const Options& options, const std::string& path);

}  // namespace ctl
