// Certificate requests (PKCS#10): what an agent sends to get a certificate. Pure functions.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "pki/private_key.hpp"

namespace pki {

// An honest one has 400 bytes. Looked at before anything is parsed: whoever sends it is not known yet.
inline constexpr std::size_t kLargestRequest = 16 * 1024;

// PEM. It has no subject: the server gives the names.
base::Result<std::string> make_request(const PrivateKey& key);

// A request that is in order: one PEM block and nothing else, a P-256 key, signed with that key. Subject and
// wished extensions are not read, whatever they are. The error says in words what is wrong.
class Request {
 public:
  static base::Result<Request> parse(std::string_view pem);

  // SHA-256 of the public key (SubjectPublicKeyInfo, DER), 64 hexadecimal digits.
  std::string public_hash() const;

  evp_pkey_st* key() const { return key_.get(); }  // the public one, for the files of this folder

 private:
  explicit Request(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}

  std::shared_ptr<evp_pkey_st> key_;
};

}  // namespace pki
