#include "pki/private_key.hpp"

#include <algorithm>
#include <optional>

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rsa.h>

#include "base/sha256.hpp"
#include "pki/openssl.hpp"
#include "pki/pem.hpp"

namespace pki {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// An RSA key of 16384 bits has 13 KiB.
constexpr std::size_t kLargestKey = 32 * 1024;
constexpr int kFewestRsaBits = 2048;
constexpr int kMostRsaBits = 16384;  // OpenSSL verifies no larger ones
constexpr std::string_view kEncrypted = "ENCRYPTED PRIVATE KEY";
// What a guess at the passphrase costs: 16 MiB. OpenSSL refuses to use more than 32.
constexpr int kSalt = 16;
constexpr std::uint64_t kScryptN = 16384, kScryptR = 8, kScryptP = 1;

using OwnedKeyInfo = std::unique_ptr<PKCS8_PRIV_KEY_INFO, Freed<PKCS8_PRIV_KEY_INFO_free>>;
using OwnedEncrypted = std::unique_ptr<X509_SIG, Freed<X509_SIG_free>>;

OwnedKey read_pkcs8(std::string_view der) {
  const auto info = from_der<OwnedKeyInfo>(der, d2i_PKCS8_PRIV_KEY_INFO);
  return OwnedKey(info ? EVP_PKCS82PKEY(info.get()) : nullptr);
}

Result<OwnedKey> decrypt(std::string_view der, std::string_view passphrase) {
  if (passphrase.empty())
    return Error(ErrorCode::permission,
                 "it is encrypted, and there is no passphrase: give a file that holds it "
                 "(--ca-key-passphrase-file) or a systemd credential");
  const auto encrypted = from_der<OwnedEncrypted>(der, d2i_X509_SIG);
  if (!encrypted) return Error(ErrorCode::invalid, "the private key is damaged");
  const OwnedKeyInfo info(
      PKCS8_decrypt(encrypted.get(), passphrase.data(), static_cast<int>(passphrase.size())));
  if (!info)
    return Error(ErrorCode::permission, "the passphrase is not the one that this key was encrypted with");
  return OwnedKey(EVP_PKCS82PKEY(info.get()));
}

// The forms that "openssl genrsa" and "openssl ecparam" had before PKCS#8.
OwnedKey read_traditional(int type, std::string_view der) {
  return from_der<OwnedKey>(der, [type](EVP_PKEY** key, const unsigned char** at, long size) {
    return d2i_PrivateKey(type, key, at, size);
  });
}

// The one key of the text; beside it only the curve that "openssl ecparam -genkey" writes in front.
Result<OwnedKey> read_key(std::string_view pem, std::string_view passphrase = {}) {
  auto blocks = read_pem(pem, Beside::comments, kLargestKey);
  if (!blocks) return std::move(blocks).error();
  std::erase_if(*blocks, [](const PemBlock& block) { return block.label == "EC PARAMETERS"; });
  if (blocks->size() != 1) return Error(ErrorCode::invalid, "there must be exactly one private key");
  const PemBlock& block = blocks->front();
  OwnedKey key;
  if (block.label == "PRIVATE KEY")
    key = read_pkcs8(block.der);
  else if (block.label == "EC PRIVATE KEY")
    key = read_traditional(EVP_PKEY_EC, block.der);
  else if (block.label == "RSA PRIVATE KEY")
    key = read_traditional(EVP_PKEY_RSA, block.der);
  else if (block.label == kEncrypted) {
    auto opened = decrypt(block.der, passphrase);
    if (!opened) return opened;
    key = std::move(*opened);
  } else
    return Error(ErrorCode::invalid, "there is a " + block.label + " where a private key belongs");
  if (!key) return Error(ErrorCode::invalid, "the private key is damaged");
  return key;
}

// A private key that does not belong to the public one beside it would sign what nobody can verify.
Result<void> check_pair(EVP_PKEY* key) {
  const std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>> context(
      EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
  if (!context || EVP_PKEY_pairwise_check(context.get()) != 1)
    return Error(ErrorCode::invalid, "the private key is damaged: its two halves do not belong together");
  return {};
}

bool may_be_brought(const EVP_PKEY* key) {
  if (EVP_PKEY_is_a(key, "ED25519")) return true;
  if (EVP_PKEY_is_a(key, "RSA"))
    return EVP_PKEY_get_bits(key) >= kFewestRsaBits && EVP_PKEY_get_bits(key) <= kMostRsaBits;
  char group[64] = {};
  if (!EVP_PKEY_is_a(key, "EC") || EVP_PKEY_get_group_name(key, group, sizeof group, nullptr) != 1)
    return false;
  return std::string_view(group) == "prime256v1" || std::string_view(group) == "secp384r1";
}

Result<PrivateKey> checked(OwnedKey key) {
  if (auto fine = check_pair(key.get()); !fine) return std::move(fine).error();
  return PrivateKey(std::shared_ptr<EVP_PKEY>(key.release(), EVP_PKEY_free));
}

}  // namespace

Result<PrivateKey> PrivateKey::generate() {
  const ErrorScope scope;
  EVP_PKEY* key = EVP_EC_gen("P-256");
  if (!key) return openssl_error("making a key");
  return PrivateKey(std::shared_ptr<EVP_PKEY>(key, EVP_PKEY_free));
}

Result<PrivateKey> PrivateKey::parse(std::string_view pem) {
  const ErrorScope scope;
  auto key = read_key(pem);
  if (!key) return std::move(key).error();
  if (!is_p256(spki_of(key->get())))
    return Error(ErrorCode::unsupported, "the key is " + describe_key(key->get()) + "; it must be EC P-256");
  return checked(std::move(*key));
}

Result<PrivateKey> PrivateKey::parse_brought(std::string_view pem, std::string_view passphrase) {
  const ErrorScope scope;
  auto key = read_key(pem, passphrase);
  if (!key) return std::move(key).error();
  if (!may_be_brought(key->get()))
    return Error(ErrorCode::unsupported, "the key is " + describe_key(key->get()) +
                                             "; it must be EC P-256 or P-384, RSA of 2048 bits or more, or "
                                             "Ed25519");
  return checked(std::move(*key));
}

std::string PrivateKey::pem() const {
  const ErrorScope scope;
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), get(), nullptr, nullptr, 0, nullptr, nullptr);
  std::string text = text_of(bio.get());
  return text;
}

Result<std::string> PrivateKey::pem(std::string_view passphrase) const {
  if (passphrase.empty()) return Error(ErrorCode::invalid, "a key is not encrypted with an empty passphrase");
  const ErrorScope scope;
  const OwnedKeyInfo info(EVP_PKEY2PKCS8(get()));
  X509_ALGOR* method =
      PKCS5_pbe2_set_scrypt(EVP_aes_256_cbc(), nullptr, kSalt, nullptr, kScryptN, kScryptR, kScryptP);
  OwnedEncrypted encrypted;
  if (info && method)  // takes the method over when it succeeds
    encrypted.reset(
        PKCS8_set0_pbe(passphrase.data(), static_cast<int>(passphrase.size()), info.get(), method));
  if (!encrypted) {
    X509_ALGOR_free(method);
    return openssl_error("encrypting a key");
  }
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_PKCS8(bio.get(), encrypted.get()) != 1) return openssl_error("writing a key");
  return text_of(bio.get());
}

bool PrivateKey::is_encrypted(std::string_view pem) {
  const auto blocks = read_pem(pem, Beside::comments, kLargestKey);
  return blocks &&
         std::ranges::any_of(*blocks, [](const PemBlock& block) { return block.label == kEncrypted; });
}

std::string PrivateKey::public_hash() const {
  const ErrorScope scope;
  return base::sha256_hex(spki_of(get()));
}

}  // namespace pki
