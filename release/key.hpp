// Keys that sign releases: Ed25519. Values; any thread.
//
// A key's id is the SHA-256 (64 hexadecimal digits) of its public part as SubjectPublicKeyInfo in DER; its
// text is that DER in base64, 60 characters. A shell makes a PEM of it with one line above and one below.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

struct evp_pkey_st;  // OpenSSL's, for key.cpp

namespace release {

class PublicKey {
 public:
  // Refused: anything but Ed25519, anything behind it, base64 that is not the one way to write it.
  static base::Result<PublicKey> parse(std::string_view text);

  const std::string& id() const { return id_; }
  const std::string& text() const { return text_; }
  // Whether `signature` (64 bytes) is this key's over exactly these bytes.
  bool verifies(std::string_view bytes, std::string_view signature) const;

 private:
  friend class SigningKey;
  PublicKey(std::string id, std::string text, std::shared_ptr<evp_pkey_st> key)
      : id_(std::move(id)), text_(std::move(text)), key_(std::move(key)) {}
  std::string id_, text_;
  std::shared_ptr<evp_pkey_st> key_;
};

class SigningKey {
 public:
  static base::Result<SigningKey> generate();
  // PKCS#8, encrypted (PBES2: scrypt and AES-256). The error tells a wrong passphrase from a damaged file.
  static base::Result<SigningKey> parse(std::string_view pem, std::string_view passphrase);
  base::Result<std::string> pem(std::string_view passphrase) const;

  const PublicKey& public_key() const { return public_; }
  base::Result<std::string> sign(std::string_view bytes) const;  // 64 bytes

 private:
  static base::Result<SigningKey> wrap(std::shared_ptr<evp_pkey_st> key);
  explicit SigningKey(PublicKey key) : public_(std::move(key)) {}
  PublicKey public_;  // its key_ has both parts
};

}  // namespace release
