#include "release/key.hpp"

#include <openssl/pem.h>
#include <openssl/pkcs12.h>

#include "base/sha256.hpp"
#include "release/openssl.hpp"

namespace release {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// SubjectPublicKeyInfo of Ed25519: SEQUENCE { SEQUENCE { 1.3.101.112 }, BIT STRING of 32 bytes }.
constexpr std::string_view kSpkiStart("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00", 12);
constexpr std::size_t kRawKey = 32;
constexpr std::size_t kSignature = 64;

// An encrypted Ed25519 key has 400 bytes of PEM.
constexpr std::size_t kLargestPem = 16 * 1024;

// scrypt: 16 MiB of memory, five times: as strong as what password stores use, and within the 32 MiB that
// OpenSSL allows itself when it decrypts.
constexpr std::uint64_t kScryptN = 16384, kScryptR = 8, kScryptP = 5;
constexpr int kSalt = 16;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Result<std::string> spki_of(const EVP_PKEY* key) {
  std::string raw(kRawKey, '\0');
  std::size_t size = raw.size();
  if (EVP_PKEY_get_raw_public_key(key, reinterpret_cast<unsigned char*>(raw.data()), &size) != 1 ||
      size != kRawKey)
    return openssl_error("reading a public key");
  return std::string(kSpkiStart) + raw;
}

// The one PEM block of the text.
Result<OwnedEncrypted> read_encrypted(std::string_view pem) {
  if (pem.size() > kLargestPem) return Error(ErrorCode::limit, "this is too large to be a signing key");
  const OwnedBio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  char *label = nullptr, *header = nullptr;
  unsigned char* der = nullptr;
  long size = 0;
  if (!bio || PEM_read_bio(bio.get(), &label, &header, &der, &size) != 1)
    return Error(
        ErrorCode::invalid,
        "there is no signing key in it (\"-----BEGIN ENCRYPTED PRIVATE KEY-----\" and base64), or it "
        "is damaged: take a copy of the key file");
  const std::string kind = label;
  const unsigned char* at = der;
  OwnedEncrypted encrypted;
  if (kind == "ENCRYPTED PRIVATE KEY") encrypted.reset(d2i_X509_SIG(nullptr, &at, size));
  const bool whole = encrypted && at == der + size;
  OPENSSL_clear_free(der, static_cast<std::size_t>(size));
  OPENSSL_free(label);
  OPENSSL_free(header);
  if (kind == "PRIVATE KEY")
    return Error(ErrorCode::unsupported,
                 "the key is not encrypted: \"openssl pkcs8 -topk8 -scrypt -in FILE\" encrypts it");
  if (kind != "ENCRYPTED PRIVATE KEY")
    return Error(ErrorCode::invalid, "there is a " + kind + " where a signing key belongs");
  if (!whole) return Error(ErrorCode::invalid, "the key is damaged: take a copy of the key file");
  return encrypted;
}

}  // namespace

Result<PublicKey> PublicKey::parse(std::string_view text) {
  const ErrorScope scope;
  const auto spki = from_base64(text, kSpkiStart.size() + kRawKey);
  if (!spki || !spki->starts_with(kSpkiStart))
    return Error(ErrorCode::invalid,
                 "this is not an Ed25519 public key in base64 (60 characters, as 'opsctl release key show' "
                 "prints it)");
  OwnedKey key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, bytes_of(*spki) + kSpkiStart.size(), kRawKey));
  if (!key) return openssl_error("reading a public key");
  return PublicKey(base::sha256_hex(*spki), std::string(text),
                   std::shared_ptr<EVP_PKEY>(key.release(), EVP_PKEY_free));
}

bool PublicKey::verifies(std::string_view bytes, std::string_view signature) const {
  if (signature.size() != kSignature) return false;
  const ErrorScope scope;
  const OwnedDigest context(EVP_MD_CTX_new());
  return context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
         EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(bytes),
                          bytes.size()) == 1;
}

Result<SigningKey> SigningKey::wrap(std::shared_ptr<evp_pkey_st> key) {
  if (!EVP_PKEY_is_a(key.get(), "ED25519"))
    return Error(ErrorCode::unsupported, "the key is not Ed25519: 'opsctl release key create' makes one");
  auto spki = spki_of(key.get());
  if (!spki) return std::move(spki).error();
  return SigningKey(PublicKey(base::sha256_hex(*spki), to_base64(*spki), std::move(key)));
}

Result<SigningKey> SigningKey::generate() {
  const ErrorScope scope;
  OwnedKey key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (!key) return openssl_error("making a key");
  return wrap(std::shared_ptr<EVP_PKEY>(key.release(), EVP_PKEY_free));
}

Result<SigningKey> SigningKey::parse(std::string_view pem, std::string_view passphrase) {
  const ErrorScope scope;
  auto encrypted = read_encrypted(pem);
  if (!encrypted) return std::move(encrypted).error();
  const OwnedKeyInfo info(
      PKCS8_decrypt(encrypted->get(), passphrase.data(), static_cast<int>(passphrase.size())));
  if (!info) return Error(ErrorCode::permission, "wrong passphrase");
  OwnedKey key(EVP_PKCS82PKEY(info.get()));
  if (!key) return Error(ErrorCode::invalid, "the key is damaged: take a copy of the key file");
  return wrap(std::shared_ptr<EVP_PKEY>(key.release(), EVP_PKEY_free));
}

Result<std::string> SigningKey::pem(std::string_view passphrase) const {
  if (passphrase.empty()) return Error(ErrorCode::invalid, "a signing key needs a passphrase");
  const ErrorScope scope;
  const OwnedKeyInfo info(EVP_PKEY2PKCS8(public_.key_.get()));
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
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Result<std::string> SigningKey::sign(std::string_view bytes) const {
  const ErrorScope scope;
  const OwnedDigest context(EVP_MD_CTX_new());
  std::string signature(kSignature, '\0');
  std::size_t size = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, public_.key_.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes_of(bytes), bytes.size()) != 1 ||
      size != kSignature)
    return openssl_error("signing");
  return signature;
}

}  // namespace release
