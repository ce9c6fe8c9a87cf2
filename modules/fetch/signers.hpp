// Who has signed a commit, of those whom the configuration trusts: SSH keys, and GPG keys by way of gpgv.
#pragma once

#include <string>
#include <vector>

#include "base/interrupt.hpp"
#include "base/result.hpp"
#include "modules/git/intake.hpp"
#include "modules/git/ssh_signature.hpp"

namespace modules::fetch {

class Signers {
 public:
  // Files: public SSH keys, one a line; a GPG keyring as "gpg --export" writes it. "": none.
  static base::Result<Signers> load(const std::string& ssh_keys_file, const std::string& gpg_keyring);

  // Whether signatures are asked for.
  bool required() const { return !keys_.empty() || !keyring_.empty(); }

  // Who has signed the tag or the commit: "SHA256:…" for SSH, the fingerprint for GPG. The error says why
  // nobody has. gpgv runs as `uid`, if that is not 0.
  base::Result<std::string> signer_of(const ::modules::git::Snapshot& snapshot, std::uint32_t uid,
                                      base::Interrupt& interrupt) const;

  // Whether this one is still trusted: its key is still among those of the configuration.
  bool trusts(const std::string& signer) const;

 private:
  std::vector<::modules::git::SshKey> keys_;
  std::string keyring_;
  std::vector<std::string> gpg_fingerprints_;  // of its keys and subkeys
};

}  // namespace modules::fetch
