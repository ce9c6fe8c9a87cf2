#include "modules/git/ssh_signature.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <openssl/core_names.h>

#include "base/text.hpp"
#include "modules/git/object.hpp"
#include "modules/git/openssl.hpp"

namespace modules::git {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::string_view kMagic = "SSHSIG";
constexpr std::string_view kNamespace = "git";
constexpr std::string_view kArmourBegin = "-----BEGIN SSH SIGNATURE-----";
constexpr std::string_view kArmourEnd = "-----END SSH SIGNATURE-----";
constexpr std::size_t kLargestSignature = 16 * 1024;
constexpr std::size_t kMostKeys = 1000;
constexpr std::size_t kEd25519Key = 32;
constexpr std::size_t kLeastRsaBits = 2048;

struct Curve {
  std::string_view type;   // of keys and signatures
  std::string_view curve;  // as SSH names it
  const char* group;       // as OpenSSL names it
  const char* digest;
};
constexpr Curve kCurves[] = {{"ecdsa-sha2-nistp256", "nistp256", "P-256", "SHA256"},
                             {"ecdsa-sha2-nistp384", "nistp384", "P-384", "SHA384"},
                             {"ecdsa-sha2-nistp521", "nistp521", "P-521", "SHA512"}};

const Curve* curve_of(std::string_view type) {
  const auto* found = std::ranges::find(kCurves, type, &Curve::type);
  return found == std::end(kCurves) ? nullptr : found;
}

bool is_known_type(std::string_view type) {
  return type == "ssh-ed25519" || type == "ssh-rsa" || curve_of(type) != nullptr;
}

// SSH's wire form: strings with their length in front.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  std::optional<std::uint32_t> number() {
    if (rest_.size() < 4) return std::nullopt;
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i)
      value = value << 8 | static_cast<std::uint8_t>(rest_[static_cast<std::size_t>(i)]);
    rest_.remove_prefix(4);
    return value;
  }
  std::optional<std::string_view> string() {
    const auto length = number();
    if (!length || *length > rest_.size()) return std::nullopt;
    const std::string_view value = rest_.substr(0, *length);
    rest_.remove_prefix(*length);
    return value;
  }
  bool skip(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::string wire_string(std::string_view text) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(text.size() >> shift & 0xff);
  return out.append(text);
}

std::string digest_of(const char* algorithm, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  std::size_t size = 0;
  if (EVP_Q_digest(nullptr, algorithm, nullptr, text.data(), text.size(), digest.data(), &size) != 1)
    return {};
  return std::string(reinterpret_cast<const char*>(digest.data()), size);
}

base::OwnedKey key_from(const char* algorithm, OSSL_PARAM_BLD* builder) {
  const OwnedParams params(OSSL_PARAM_BLD_to_param(builder));
  const OwnedKeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, algorithm, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
    return nullptr;
  return base::OwnedKey(key);
}

base::OwnedKey rsa_key(WireReader& wire) {
  const auto exponent = wire.string();
  const auto modulus = wire.string();
  if (!exponent || !modulus || !wire.at_end()) return nullptr;
  const OwnedNumber e(BN_bin2bn(octets(*exponent), static_cast<int>(exponent->size()), nullptr));
  const OwnedNumber n(BN_bin2bn(octets(*modulus), static_cast<int>(modulus->size()), nullptr));
  const OwnedParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!e || !n || !builder || static_cast<std::size_t>(BN_num_bits(n.get())) < kLeastRsaBits ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return nullptr;
  return key_from("RSA", builder.get());
}

base::OwnedKey ec_key(WireReader& wire, const Curve& curve) {
  const auto name = wire.string();
  const auto point = wire.string();
  if (!name || *name != curve.curve || !point || !wire.at_end()) return nullptr;
  const OwnedParamBuilder builder(OSSL_PARAM_BLD_new());
  if (!builder ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve.group, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point->data(),
                                       point->size()) != 1)
    return nullptr;
  return key_from("EC", builder.get());
}

base::OwnedKey public_key(const SshKey& key) {
  WireReader wire(key.blob);
  const auto type = wire.string();
  if (!type || *type != key.type) return nullptr;
  if (key.type == "ssh-rsa") return rsa_key(wire);
  if (const Curve* curve = curve_of(key.type)) return ec_key(wire, *curve);
  const auto raw = wire.string();
  if (key.type != "ssh-ed25519" || !raw || raw->size() != kEd25519Key || !wire.at_end()) return nullptr;
  return base::OwnedKey(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, octets(*raw), raw->size()));
}

// An ECDSA signature in the form that OpenSSL takes; "" when it is not one.
std::string ecdsa_der(std::string_view wire_form) {
  WireReader wire(wire_form);
  const auto r = wire.string();
  const auto s = wire.string();
  if (!r || !s || !wire.at_end()) return {};
  OwnedNumber first(BN_bin2bn(octets(*r), static_cast<int>(r->size()), nullptr));
  OwnedNumber second(BN_bin2bn(octets(*s), static_cast<int>(s->size()), nullptr));
  const OwnedEcdsa signature(ECDSA_SIG_new());
  if (!first || !second || !signature) return {};
  ECDSA_SIG_set0(signature.get(), first.release(), second.release());
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(signature.get(), &der);
  if (size <= 0) return {};
  std::string text(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return text;
}

// Whether `signature` (its type and its bytes in wire form) is this key's over these bytes.
bool is_signed_by(const SshKey& key, std::string_view bytes, std::string_view signature) {
  WireReader wire(signature);
  const auto type = wire.string();
  const auto value = wire.string();
  if (!type || !value || !wire.at_end()) return false;
  std::string form(*value);
  const char* digest = nullptr;  // Ed25519 has its own
  if (key.type == "ssh-rsa") {
    if (*type != "rsa-sha2-512" && *type != "rsa-sha2-256") return false;
    digest = *type == "rsa-sha2-512" ? "SHA512" : "SHA256";
  } else {
    if (*type != key.type) return false;
    if (const Curve* curve = curve_of(key.type)) {
      digest = curve->digest;
      form = ecdsa_der(*value);
    }
  }
  const base::OwnedKey verifier = public_key(key);
  const OwnedDigest context(EVP_MD_CTX_new());
  return verifier && context &&
         EVP_DigestVerifyInit_ex(context.get(), nullptr, digest, nullptr, nullptr, verifier.get(), nullptr) ==
             1 &&
         EVP_DigestVerify(context.get(), octets(form), form.size(), octets(bytes), bytes.size()) == 1;
}

Error bad_signature() {
  return Error(ErrorCode::invalid, "the SSH signature is damaged");
}

Result<std::string> without_armour(std::string_view armoured) {
  const std::size_t begin = armoured.find(kArmourBegin);
  const std::size_t end = armoured.find(kArmourEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin ||
      armoured.size() > kLargestSignature)
    return bad_signature();
  std::string text;
  for (const char c : armoured.substr(begin + kArmourBegin.size(), end - begin - kArmourBegin.size()))
    if (c != '\n' && c != '\r' && c != ' ' && c != '\t') text += c;
  auto bytes = decode_base64(text);
  if (!bytes) return bad_signature();
  return std::move(*bytes);
}

}  // namespace

std::optional<std::string> from_base64(std::string_view text) {
  return decode_base64(text);
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0 || text.size() > (1U << 24)) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()), octets(text),
                                   static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  bytes.resize(static_cast<std::size_t>(size));
  for (int i = 0; i < 2 && text.ends_with('='); ++i) {
    text.remove_suffix(1);
    bytes.pop_back();
  }
  return bytes;
}

std::string encode_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), octets(bytes),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::string SshKey::fingerprint() const {
  std::string text = encode_base64(digest_of("SHA256", blob));
  while (text.ends_with('='))
    text.pop_back();
  return "SHA256:" + text;
}

Result<std::vector<SshKey>> parse_ssh_keys(std::string_view text) {
  const base::ErrorScope scope;
  std::vector<SshKey> keys;
  std::size_t number = 0;
  for (const std::string_view raw : base::split(text, '\n')) {
    ++number;
    const std::string_view line = base::trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    const std::vector<std::string_view> words = base::split_words(line);
    const std::size_t at = is_known_type(words[0]) ? 0 : 1;
    const auto blob =
        words.size() > at + 1 && is_known_type(words[at]) ? decode_base64(words[at + 1]) : std::nullopt;
    SshKey key{.type = words.size() > at ? std::string(words[at]) : "", .blob = blob.value_or("")};
    if (!blob || !public_key(key))
      return Error(ErrorCode::invalid,
                   "line " + std::to_string(number) +
                       " is not a public key that can be used: \"TYPE BASE64\" with ssh-ed25519, "
                       "ecdsa-sha2-nistp256, -nistp384, -nistp521, or ssh-rsa of at least 2048 bits");
    if (keys.size() == kMostKeys) return Error(ErrorCode::limit, "more than 1000 keys");
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<const SshKey*> verify_ssh_signature(std::string_view text, std::string_view armoured,
                                           const std::vector<SshKey>& keys) {
  const base::ErrorScope scope;
  const auto bytes = without_armour(armoured);
  if (!bytes) return bytes.error();
  WireReader wire(*bytes);
  if (!wire.skip(kMagic)) return bad_signature();
  const auto version = wire.number();
  const auto key_blob = wire.string();
  const auto name = wire.string();
  const auto reserved = wire.string();
  const auto algorithm = wire.string();
  const auto signature = wire.string();
  if (!version || *version != 1 || !key_blob || !name || !reserved || !algorithm || !signature ||
      !wire.at_end())
    return bad_signature();
  if (*name != kNamespace)
    return Error(ErrorCode::invalid, "the SSH signature is for '" + base::quote_of(*name) + "', not for git");
  if (*algorithm != "sha256" && *algorithm != "sha512") return bad_signature();
  const auto key = std::ranges::find(keys, *key_blob, &SshKey::blob);
  if (key == keys.end()) {
    const SshKey stranger{.type = "", .blob = std::string(*key_blob)};
    return Error(ErrorCode::permission, "it is signed by the SSH key " + stranger.fingerprint() +
                                            ", which module_keys does not name");
  }
  const std::string digest = digest_of(*algorithm == "sha256" ? "SHA256" : "SHA512", text);
  const std::string covered = std::string(kMagic) + wire_string(*name) + wire_string(*reserved) +
                              wire_string(*algorithm) + wire_string(digest);
  if (!is_signed_by(*key, covered, *signature))
    return Error(ErrorCode::permission,
                 "its SSH signature does not fit its content (key " + key->fingerprint() + ")");
  return &*key;
}

}  // namespace modules::git
