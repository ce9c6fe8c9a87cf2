// What this folder needs of OpenSSL besides base/openssl.hpp. For its .cpp files only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <openssl/bn.h>
#include <openssl/ecdsa.h>
#include <openssl/param_build.h>

#include "base/openssl.hpp"

namespace modules::git {

using OwnedDigest = std::unique_ptr<EVP_MD_CTX, base::Freed<EVP_MD_CTX_free>>;
using OwnedKeyContext = std::unique_ptr<EVP_PKEY_CTX, base::Freed<EVP_PKEY_CTX_free>>;
using OwnedNumber = std::unique_ptr<BIGNUM, base::Freed<BN_free>>;
using OwnedParamBuilder = std::unique_ptr<OSSL_PARAM_BLD, base::Freed<OSSL_PARAM_BLD_free>>;
using OwnedParams = std::unique_ptr<OSSL_PARAM, base::Freed<OSSL_PARAM_free>>;
using OwnedEcdsa = std::unique_ptr<ECDSA_SIG, base::Freed<ECDSA_SIG_free>>;

inline const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Without blanks; padding as base64 has it. Nothing when it is anything else.
std::optional<std::string> decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

}  // namespace modules::git
