// For tests: an authority that signs whatever it is asked to, expired and misnamed certificates too.
#pragma once

#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

namespace tests {

// Certificates with the key, in PEM; the chain ends with the authority.
struct Signed {
  std::string chain;
  std::string key;
};

struct Wish {
  std::string names = {};  // "DNS:localhost,IP:127.0.0.1"; empty: a client
  long from = -60;         // in seconds from now
  long until = 3600;
};

class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name = "test authority") : key_(new_key()) {
    certificate_ = new_certificate(name, key_.get(), {.from = -3600, .until = 7200}, nullptr);
    add(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
    add(certificate_.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
    add(certificate_.get(), NID_subject_key_identifier, "hash");
    REQUIRE(::X509_sign(certificate_.get(), key_.get(), ::EVP_sha256()) > 0);
  }

  std::string pem() const { return to_pem(certificate_.get()); }
  // SHA-256 of the public key (SubjectPublicKeyInfo), in hex.
  std::string hash() const {
    unsigned char* der = nullptr;
    const int size = ::i2d_X509_PUBKEY(::X509_get_X509_PUBKEY(certificate_.get()), &der);
    unsigned char digest[SHA256_DIGEST_LENGTH];
    ::SHA256(der, static_cast<std::size_t>(size), digest);
    OPENSSL_free(der);
    std::string hex;
    for (const unsigned char byte : digest) {
      char two[3];
      std::snprintf(two, sizeof two, "%02x", byte);
      hex += two;
    }
    return hex;
  }

  Signed issue(const Wish& wish) const {
    const Key key = new_key();
    const Certificate made =
        new_certificate(wish.names.empty() ? "an agent" : "a server", key.get(), wish, certificate_.get());
    add(made.get(), NID_basic_constraints, "critical,CA:FALSE");
    // Python 3.13 asks for it.
    add(made.get(), NID_authority_key_identifier, "keyid:always", certificate_.get());
    add(made.get(), NID_ext_key_usage, wish.names.empty() ? "clientAuth" : "serverAuth");
    if (!wish.names.empty()) add(made.get(), NID_subject_alt_name, wish.names);
    REQUIRE(::X509_sign(made.get(), key_.get(), ::EVP_sha256()) > 0);
    const Bio text(::BIO_new(::BIO_s_mem()), ::BIO_free);
    ::PEM_write_bio_PrivateKey(text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return {to_pem(made.get()) + pem(), content(text.get())};
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
  using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
  using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

  static Key new_key() { return Key(EVP_EC_gen("P-256"), ::EVP_PKEY_free); }

  static Certificate new_certificate(const std::string& name, EVP_PKEY* key, const Wish& wish, X509* issuer) {
    Certificate made(::X509_new(), ::X509_free);
    ::X509_set_version(made.get(), 2);
    std::uint64_t serial = 0;
    ::RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
    ::ASN1_INTEGER_set_uint64(::X509_get_serialNumber(made.get()), serial >> 1U);
    ::X509_gmtime_adj(X509_getm_notBefore(made.get()), wish.from);
    ::X509_gmtime_adj(X509_getm_notAfter(made.get()), wish.until);
    ::X509_set_pubkey(made.get(), key);
    ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    ::X509_set_issuer_name(made.get(), ::X509_get_subject_name(issuer ? issuer : made.get()));
    return made;
  }

  // `issuer`: none for one that signs itself.
  static void add(X509* certificate, int kind, const std::string& value, X509* issuer = nullptr) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    ::X509V3_set_ctx(&context, issuer ? issuer : certificate, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* made = ::X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
    REQUIRE(made);
    ::X509_add_ext(certificate, made, -1);
    ::X509_EXTENSION_free(made);
  }

  static std::string content(BIO* text) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(text, &data);
    return {data, static_cast<std::size_t>(size)};
  }

  static std::string to_pem(X509* certificate) {
    const Bio text(::BIO_new(::BIO_s_mem()), ::BIO_free);
    ::PEM_write_bio_X509(text.get(), certificate);
    return content(text.get());
  }

  Key key_;
  Certificate certificate_{nullptr, ::X509_free};
};

}  // namespace tests
