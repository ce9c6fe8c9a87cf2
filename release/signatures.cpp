#include "release/signatures.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "release/document_text.hpp"
#include "release/openssl.hpp"

namespace release {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kKind = "ed25519 ";
constexpr std::size_t kIdLength = 64;
constexpr std::size_t kSignatureLength = 64;

const PublicKey* key_of(const Root& root, Role role, const std::string& id) {
  const RoleKeys& keys = root.role(role);
  if (std::ranges::find(keys.keys, id) == keys.keys.end()) return nullptr;
  const auto found = std::ranges::find(root.keys, id, &PublicKey::id);
  return found == root.keys.end() ? nullptr : &*found;
}

std::size_t count(const Root& root, Role role, const std::set<std::string>& verified) {
  return static_cast<std::size_t>(std::ranges::count_if(
      root.role(role).keys, [&](const std::string& id) { return verified.contains(id); }));
}

Verdict check_count(const Root& root, Role role, std::size_t counted) {
  const std::uint32_t threshold = root.role(role).threshold;
  if (counted >= threshold) return {};
  return {Refusal::below_threshold,
          "signed by " + std::to_string(counted) + " of the " + std::to_string(threshold) +
              " keys that the role '" + std::string(name_of(role)) + "' of root " +
              std::to_string(root.version) + " wants: let the others sign it ('opsctl release sign')"};
}

enum class Strangers { refused, ignored };

// Each signature is by a key that one of the roots has for the role, none twice, all good; enough of each
// root.
Verdict judge(std::initializer_list<const Root*> roots, Role role, std::string_view document,
              std::string_view text, Strangers strangers) {
  const auto signatures = parse_signatures(text);
  if (!signatures) return {Refusal::malformed, signatures.error().message()};
  std::set<std::string> ids, verified;
  for (const Signature& each : *signatures) {
    if (!ids.insert(each.key_id).second)
      return {Refusal::key_twice, "the key " + each.key_id +
                                      " has signed twice, and counts once: take the copy that was published"};
    const PublicKey* key = nullptr;
    for (const Root* root : roots)
      if (!key) key = key_of(*root, role, each.key_id);
    if (!key && strangers == Strangers::ignored) continue;
    if (!key)
      return {Refusal::unknown_key,
              "signed by a key that may not sign it: " + each.key_id + " is not a '" +
                  std::string(name_of(role)) + "' key of root " + std::to_string((*roots.begin())->version) +
                  "; sign with a key of that role, or publish a root that has this one"};
    if (!key->verifies(document, each.bytes))
      return {Refusal::bad_signature,
              "the signature of the key " + each.key_id +
                  " is not of this document: it was changed after it was signed, or on "
                  "its way; take the copy that was published"};
    verified.insert(each.key_id);
  }
  for (const Root* root : roots)
    if (Verdict enough = check_count(*root, role, count(*root, role, verified)); !enough) return enough;
  return {};
}

}  // namespace

Result<std::vector<Signature>> parse_signatures(std::string_view text) {
  const auto malformed = [](const std::string& what) {
    return Error(ErrorCode::invalid, "the signature file " + what + ": take the copy that was published");
  };
  std::vector<Signature> signatures;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return malformed("ends in the middle of a line");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (signatures.size() == kMostSignatures)
      return malformed("has more than " + std::to_string(kMostSignatures) + " signatures");
    const std::string number = std::to_string(signatures.size() + 1);
    const std::size_t blank = kKind.size() + kIdLength;
    const std::string_view id = line.substr(std::min(kKind.size(), line.size()), kIdLength);
    if (!line.starts_with(kKind) || !is_sha256(id) || line.size() <= blank || line[blank] != ' ')
      return malformed("is not 'ed25519 KEY-ID BASE64' in line " + number);
    auto bytes = from_base64(line.substr(blank + 1), kSignatureLength);
    if (!bytes) return malformed("has no base64 of 64 bytes in line " + number);
    signatures.push_back({std::string(id), std::move(*bytes)});
  }
  return signatures;
}

std::string write(const std::vector<Signature>& signatures) {
  std::string text;
  for (const Signature& each : signatures)
    text += std::string(kKind) + each.key_id + " " + to_base64(each.bytes) + "\n";
  return text;
}

Verdict judge_signatures(const Root& root, Role role, std::string_view document,
                         std::string_view signatures) {
  return judge({&root}, role, document, signatures, Strangers::refused);
}

Verdict judge_next_root(const Root& now, const Root& next, std::string_view document,
                        std::string_view signatures) {
  return judge({&now, &next}, Role::root, document, signatures, Strangers::refused);
}

Verdict judge_untrusted_root(const Root& now, std::string_view document, std::string_view signatures) {
  return judge({&now}, Role::root, document, signatures, Strangers::ignored);
}

Result<void> check_signatures(const Root& root, Role role, std::string_view document,
                              std::string_view signatures) {
  Verdict verdict = judge_signatures(root, role, document, signatures);
  if (verdict) return {};
  return Error(verdict.refusal == Refusal::malformed ? ErrorCode::invalid : ErrorCode::permission,
               std::move(verdict.message));
}

bool is_good(const Root& root, Role role, std::string_view document, const Signature& signature) {
  const PublicKey* key = key_of(root, role, signature.key_id);
  return key && key->verifies(document, signature.bytes);
}

std::size_t missing_signatures(const Root& root, Role role, std::string_view document,
                               const std::vector<Signature>& signatures) {
  std::set<std::string> verified;
  for (const Signature& each : signatures)
    if (is_good(root, role, document, each)) verified.insert(each.key_id);
  const std::size_t counted = count(root, role, verified);
  return root.role(role).threshold - std::min<std::size_t>(root.role(role).threshold, counted);
}

}  // namespace release
