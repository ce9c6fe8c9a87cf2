// OpenSSL's objects with owners, its error queue kept clean, and base64 in the one way to write it. For the
// .cpp files of this folder only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/result.hpp"

namespace release {

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using OwnedBio = std::unique_ptr<BIO, Freed<BIO_free>>;
using OwnedDigest = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using OwnedEncrypted = std::unique_ptr<X509_SIG, Freed<X509_SIG_free>>;
using OwnedKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using OwnedKeyInfo = std::unique_ptr<PKCS8_PRIV_KEY_INFO, Freed<PKCS8_PRIV_KEY_INFO_free>>;

// What fails while this lives leaves nothing in the thread's error queue: TLS reads that queue.
class ErrorScope {
 public:
  ErrorScope() { ERR_set_mark(); }
  ~ErrorScope() { ERR_pop_to_mark(); }
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;
};

// "what: OpenSSL's reason", for calls that fail only when memory or the library itself does.
base::Error openssl_error(std::string_view what);

std::string to_base64(std::string_view bytes);
// Exactly `size` bytes, written as to_base64() writes them: no blanks, no other padding, no stray bits.
std::optional<std::string> from_base64(std::string_view text, std::size_t size);

}  // namespace release
