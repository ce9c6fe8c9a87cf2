// PrivateKey: a key pair. A value that is cheap to copy (copies share the key, which never changes); any
// thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

struct evp_pkey_st;  // OpenSSL's, for the files of this folder

namespace pki {

class PrivateKey {
 public:
  // EC P-256, the only kind that we make.
  static base::Result<PrivateKey> generate();
  // One PEM block, unencrypted, of EC P-256.
  static base::Result<PrivateKey> parse(std::string_view pem);
  // What an operator brings: EC P-256 or P-384, RSA of 2048 bits or more, Ed25519. PKCS#8 may be encrypted:
  // then the passphrase is needed, and a wrong one is an error of its own (`permission`).
  static base::Result<PrivateKey> parse_brought(std::string_view pem, std::string_view passphrase = {});

  // PKCS#8, unencrypted: for files that only their owner may read.
  std::string pem() const;
  // PKCS#8, encrypted (PBES2: scrypt and AES-256).
  base::Result<std::string> pem(std::string_view passphrase) const;
  // SHA-256 of the public key (SubjectPublicKeyInfo, DER), 64 hexadecimal digits.
  std::string public_hash() const;

  // Whether a text holds a key that only a passphrase opens.
  static bool is_encrypted(std::string_view pem);

  explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  evp_pkey_st* get() const { return key_.get(); }

 private:
  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace pki
