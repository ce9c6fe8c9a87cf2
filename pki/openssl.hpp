// OpenSSL's objects with owners, and its error queue kept clean. For the .cpp files of this folder only: what
// others include does not lead here.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/bn.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/openssl.hpp"

namespace pki {

using base::ErrorScope;
using base::Freed;
using base::openssl_error;
using base::OwnedBio;
using base::OwnedKey;

using OwnedCertificate = std::unique_ptr<X509, Freed<X509_free>>;
using OwnedRequest = std::unique_ptr<X509_REQ, Freed<X509_REQ_free>>;
using OwnedExtension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using OwnedNames = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;
using OwnedNumber = std::unique_ptr<BIGNUM, Freed<BN_free>>;

// What was written to a memory BIO.
std::string text_of(BIO* bio);

// The DER of an object, by its i2d function; empty when that fails.
template <class Object, class ToDer>
std::string der_of(Object* object, ToDer to_der) {
  unsigned char* bytes = nullptr;
  const int size = to_der(object, &bytes);
  if (size <= 0) return {};
  std::string der(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

// The object of a DER, by its d2i function; null when it is not that, or when something follows it.
template <class Owned, class FromDer>
Owned from_der(std::string_view der, FromDer read) {
  const auto* const begin = reinterpret_cast<const unsigned char*>(der.data());
  const unsigned char* at = begin;
  Owned object(read(nullptr, &at, static_cast<long>(der.size())));
  if (object && at != begin + der.size()) object.reset();
  return object;
}

// SubjectPublicKeyInfo, DER.
std::string spki_of(const EVP_PKEY* key);

// "EC prime256v1", "RSA of 1024 bits": for people.
std::string describe_key(const EVP_PKEY* key);

// Whether it is P-256 as everybody writes it: by the curve's name, with an uncompressed point. So one key has
// one encoding, and one hash. `spki` is a SubjectPublicKeyInfo.
bool is_p256(std::string_view spki);

}  // namespace pki
