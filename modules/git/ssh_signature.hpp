// SSH signatures (PROTOCOL.sshsig of OpenSSH) over commits and tags. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace modules::git {

// A public key: its type's name and the bytes that stand in base64 in a ".pub" file.
struct SshKey {
  std::string type;
  std::string blob;

  // "SHA256:…", as ssh-keygen -l shows it.
  std::string fingerprint() const;
};

// The keys of a file, one a line: "TYPE BASE64 [remark]" as in a ".pub" file, or "NAME TYPE BASE64" as in an
// allowed_signers file of git. Ed25519, ECDSA and RSA. Lines with options are refused.
base::Result<std::vector<SshKey>> parse_ssh_keys(std::string_view text);

// Which of the keys has signed the text, in git's namespace. The error says why none has.
base::Result<const SshKey*> verify_ssh_signature(std::string_view text, std::string_view armoured,
                                                 const std::vector<SshKey>& keys);

}  // namespace modules::git
