// What this folder needs of OpenSSL besides base/openssl.hpp: owners, and base64 in the one way to write it.
// For the .cpp files of this folder only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/x509.h>

#include "base/openssl.hpp"

namespace release {

using base::ErrorScope;
using base::Freed;
using base::openssl_error;
using base::OwnedBio;
using base::OwnedKey;

using OwnedDigest = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using OwnedEncrypted = std::unique_ptr<X509_SIG, Freed<X509_SIG_free>>;
using OwnedKeyInfo = std::unique_ptr<PKCS8_PRIV_KEY_INFO, Freed<PKCS8_PRIV_KEY_INFO_free>>;

std::string to_base64(std::string_view bytes);
// Exactly `size` bytes, written as to_base64() writes them: no blanks, no other padding, no stray bits.
std::optional<std::string> from_base64(std::string_view text, std::size_t size);

}  // namespace release
