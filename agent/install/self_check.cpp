#include "agent/install/self_check.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "agent/install/files.hpp"
#include "agent/install/install.hpp"
#include "agent/install/manifest.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "release/key.hpp"
#include "transport/tls.hpp"
#include "update/journal.hpp"

namespace agent::install {

namespace {

Check good(std::string about, std::string text) {
  return {true, std::move(about), std::move(text)};
}
Check bad(std::string about, std::string text) {
  return {false, std::move(about), std::move(text)};
}

// Whoever is not root may not see everything, and is told so instead of being alarmed.
bool is_forbidden(int error) {
  return (error == EACCES || error == EPERM) && ::geteuid() != 0;
}

void check_release(const SelfTestOptions& options, std::vector<Check>& checks) {
  constexpr const char* kAbout = "files";
  const auto folder = own_release();
  if (!folder) {
    checks.push_back(good(kAbout, "no manifest beside this program: not a self-contained release"));
    return;
  }
  const auto manifest = read_manifest(*folder);
  if (!manifest) {
    checks.push_back(bad(kAbout, manifest.error().message()));
    return;
  }
  const std::size_t before = checks.size();
  if (manifest->version != options.version)
    checks.push_back(bad(
        kAbout, "the manifest is of version " + manifest->version + ", the program of " + options.version));
  for (std::string& problem : check_files(*folder, *manifest))
    checks.push_back(bad(kAbout, std::move(problem)));
  if (checks.size() == before)
    checks.push_back(good(kAbout, std::to_string(manifest->files.size()) + " are as the manifest says"));
}

// The second example of RFC 8032, section 7.1.
bool ed25519_works() {
  constexpr std::string_view kKey = "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=";
  constexpr std::string_view kSignature =
      "\x92\xa0\x09\xa9\xf0\xd4\xca\xb8\x72\x0e\x82\x0b\x5f\x64\x25\x40\xa2\xb2\x7b\x54\x16\x50\x3f\x8f\xb3"
      "\x76\x22\x23\xeb\xdb\x69\xda\x08\x5a\xc1\xe4\x3e\x15\x99\x6e\x45\x8f\x36\x13\xd0\xf1\x1d\x8c\x38\x7b"
      "\x2e\xae\xb4\x30\x2a\xee\xb0\x0d\x29\x16\x12\xbb\x0c";
  const std::string signature = std::string(kSignature) + '\0';
  const auto key = release::PublicKey::parse(kKey);
  return key && key->verifies("\x72", signature) && !key->verifies("\x73", signature);
}

void check_cryptography(std::vector<Check>& checks) {
  constexpr const char* kAbout = "cryptography";
  const bool hashes =
      base::sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  if (!hashes) checks.push_back(bad(kAbout, "SHA-256 does not work: is OpenSSL's provider there?"));
  const bool signs = ed25519_works();
  if (!signs) checks.push_back(bad(kAbout, "Ed25519 does not work: is OpenSSL's provider there?"));
  const auto tls = transport::TlsClient::make({.ca_hash = std::string(64, 'a')});
  if (!tls) checks.push_back(bad(kAbout, "TLS does not work: " + tls.error().message()));
  if (hashes && signs && tls) checks.push_back(good(kAbout, "SHA-256, Ed25519 and TLS work"));
}

void check_configuration(const SelfTestOptions& options, std::vector<Check>& checks) {
  constexpr const char* kAbout = "configuration";
  for (const std::string_view line : base::split(options.config_problem, '\n'))
    checks.push_back(bad(kAbout, std::string(line)));
  if (options.config_problem.empty()) checks.push_back(good(kAbout, "free of mistakes, or not there"));
}

void check_state(const SelfTestOptions& options, std::vector<Check>& checks) {
  constexpr const char* kAbout = "state folder";
  const std::string& path = options.state_dir;
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) {
    if (errno == ENOENT)
      checks.push_back(good(kAbout, path + " is not there yet"));
    else if (is_forbidden(errno))
      checks.push_back(good(kAbout, path + " is not for us to see: run this as root"));
    else
      checks.push_back(bad(kAbout, base::os_error(errno, path).message()));
    return;
  }
  if (!S_ISDIR(st.st_mode)) {
    checks.push_back(bad(kAbout, path + " is not a folder"));
    return;
  }
  if (::access(path.c_str(), R_OK | X_OK) != 0 && !is_forbidden(errno)) {
    checks.push_back(bad(kAbout, base::os_error(errno, path).message()));
    return;
  }
  checks.push_back(good(kAbout, path + " is there"));
  const auto journal = update::read_journal(path);
  if (!journal && !(journal.error().code() == base::ErrorCode::permission && ::geteuid() != 0))
    checks.push_back(bad("update journal", journal.error().message()));
}

void check_states(const SelfTestOptions& options, std::vector<Check>& checks) {
  const std::size_t count = options.registry().entries().size();
  if (count == 0)
    checks.push_back(bad("states", "this program knows none"));
  else
    checks.push_back(good("states", std::to_string(count) + " are known"));
}

}  // namespace

std::vector<Check> self_test(const SelfTestOptions& options) {
  std::vector<Check> checks;
  check_release(options, checks);
  check_cryptography(checks);
  check_configuration(options, checks);
  check_state(options, checks);
  check_states(options, checks);
  return checks;
}

}  // namespace agent::install
