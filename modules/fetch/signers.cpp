#include "modules/fetch/signers.hpp"

#include <algorithm>

#include "base/files/file_read.hpp"
#include "base/programs/process.hpp"
#include "base/text.hpp"
#include "modules/git/openpgp_keys.hpp"

namespace modules::fetch {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using ::modules::git::SignedText;
using ::modules::git::SshKey;

constexpr std::size_t kLargestKeys = 1024 * 1024;
constexpr std::size_t kLargestKeyring = 16 * 1024 * 1024;  // of a distribution's developers
constexpr std::chrono::seconds kGpgvTime{20};
constexpr std::string_view kSshPrefix = "SHA256:";

// The fingerprint of the key in the keyring that has signed the text.
Result<std::string> gpg_signer(const SignedText& text, const std::string& keyring, std::uint32_t uid,
                               base::Interrupt& interrupt) {
  const auto gpgv = base::find_program("gpgv");
  if (!gpgv)
    return Error(ErrorCode::not_found,
                 "it has a GPG signature, and gpgv is not installed (apt install gpgv)");
  base::Command command;
  command.argv = {
      *gpgv, "--homedir", "/nonexistent", "--status-fd", "1", "--keyring", keyring, base::kScriptPath, "-"};
  command.env = base::clean_environment("/nonexistent");
  // What it reads comes from strangers.
  if (uid != 0) command.identity = base::Identity{.uid = uid, .gid = uid, .groups = {}};
  command.script = text.signature;
  command.input = text.payload;
  command.timeout = kGpgvTime;
  command.interrupt = &interrupt;
  auto done = base::run(command);
  if (!done) return std::move(done).error();
  constexpr std::string_view kValid = "[GNUPG:] VALIDSIG ";
  const std::size_t at = done->output.find(kValid);
  if (done->ok() && at != std::string::npos) {
    const std::string_view rest = std::string_view(done->output).substr(at + kValid.size());
    return std::string(rest.substr(0, rest.find_first_of(" \n")));
  }
  if (done->output.find("NO_PUBKEY") != std::string::npos)
    return Error(ErrorCode::permission, "it is signed by a GPG key that module_gpg_keyring does not have");
  return Error(ErrorCode::permission,
               "its GPG signature is not good: " + base::quote_of(base::trim(done->output)));
}

}  // namespace

Result<Signers> Signers::load(const std::string& ssh_keys_file, const std::string& gpg_keyring) {
  Signers signers;
  if (!ssh_keys_file.empty()) {
    const auto text = base::read_file(ssh_keys_file, kLargestKeys);
    if (!text) return text.error().with_context("module_keys");
    auto keys = ::modules::git::parse_ssh_keys(*text);
    if (!keys) return std::move(keys).error().with_context("module_keys, " + ssh_keys_file);
    if (keys->empty())
      return Error(ErrorCode::invalid, "module_keys, " + ssh_keys_file + ": there is no key in it");
    signers.keys_ = std::move(*keys);
  }
  if (!gpg_keyring.empty()) {
    const auto keyring = base::read_file(gpg_keyring, kLargestKeyring);
    if (!keyring) return keyring.error().with_context("module_gpg_keyring");
    auto fingerprints = ::modules::git::openpgp_fingerprints(*keyring);
    if (!fingerprints)
      return std::move(fingerprints).error().with_context("module_gpg_keyring, " + gpg_keyring);
    signers.gpg_fingerprints_ = std::move(*fingerprints);
  }
  signers.keyring_ = gpg_keyring;
  return signers;
}

Result<std::string> Signers::signer_of(const ::modules::git::Snapshot& snapshot, std::uint32_t uid,
                                       base::Interrupt& interrupt) const {
  std::string why;
  for (const SignedText& text : snapshot.signed_texts) {
    if (text.signature.empty()) continue;
    Result<std::string> signer =
        Error(ErrorCode::permission, "it has a GPG signature, and there is no module_gpg_keyring");
    if (text.signature.starts_with("-----BEGIN SSH SIGNATURE-----")) {
      const auto key = ::modules::git::verify_ssh_signature(text.payload, text.signature, keys_);
      signer = key ? Result<std::string>((*key)->fingerprint()) : Result<std::string>(key.error());
    } else if (!keyring_.empty()) {
      signer = gpg_signer(text, keyring_, uid, interrupt);
    }
    if (signer) return signer;
    why += (why.empty() ? "" : "; ") + signer.error().message();
  }
  return Error(ErrorCode::permission, why.empty() ? "neither the tag nor the commit is signed" : why);
}

bool Signers::trusts(const std::string& signer) const {
  if (!signer.starts_with(kSshPrefix))
    return std::ranges::find(gpg_fingerprints_, signer) != gpg_fingerprints_.end();
  return std::ranges::any_of(keys_, [&](const SshKey& key) { return key.fingerprint() == signer; });
}

}  // namespace modules::fetch
