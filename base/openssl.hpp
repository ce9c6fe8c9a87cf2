// OpenSSL's objects with owners, and its error queue kept clean. For the .cpp files of the folders that may
// use OpenSSL, by way of their own openssl.hpp: what others include does not lead here.
#pragma once

#include <memory>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "base/result.hpp"

namespace base {

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using OwnedBio = std::unique_ptr<BIO, Freed<BIO_free>>;
using OwnedKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

// What fails while this lives leaves nothing in the thread's error queue: TLS reads that queue to find out
// what happened to a connection, and would take our leftovers for its own.
class ErrorScope {
 public:
  ErrorScope() { ERR_set_mark(); }
  ~ErrorScope() { ERR_pop_to_mark(); }
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;
};

// "what: OpenSSL's reason", for calls that fail only when memory or the library itself does.
Error openssl_error(std::string_view what);

}  // namespace base
