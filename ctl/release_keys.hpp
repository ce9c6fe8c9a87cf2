// Key files of `opsctl release`, and the passphrases that open them. Blocks; one thread.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "ctl/options.hpp"
#include "release/key.hpp"

namespace ctl {

// Opens the key files of one command. Passphrases come from --passphrase-file, from OPSCTL_PASSPHRASE, or,
// for each key that none of those opens, from the terminal, without echo.
class KeyFiles {
 public:
  KeyFiles(const Options& options, terminal::Console& console) : options_(options), console_(console) {}

  // Both parts; the file must hold a private key.
  base::Result<release::SigningKey> signing_key(const std::string& file);
  base::Result<std::vector<release::SigningKey>> signing_keys(const std::vector<std::string>& files);
  // A private key, or the public part alone: its text, as "FILE.pub" has it, or PEM.
  using AnyKey = std::variant<release::SigningKey, release::PublicKey>;
  base::Result<AnyKey> any_key(const std::string& file);

  // For a new key: asked for twice on the terminal. Refused: fewer than kShortestPassphrase characters.
  base::Result<std::string> new_passphrase(const std::string& file);

 private:
  base::Result<std::vector<std::string>> given_passphrases();
  base::Result<release::SigningKey> open(const std::string& file, const std::string& pem);

  const Options& options_;
  terminal::Console& console_;
};

// What stands between a stolen key file and its use.
inline constexpr std::size_t kShortestPassphrase = 8;

}  // namespace ctl
