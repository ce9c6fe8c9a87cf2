#include "pki/request.hpp"

#include <openssl/pem.h>

#include "base/sha256.hpp"
#include "pki/openssl.hpp"
#include "pki/pem.hpp"

namespace pki {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

Error refused(const std::string& why, ErrorCode code = ErrorCode::invalid) {
  return Error(code, "the certificate request " + why);
}

// With the hashes that are still good for signatures.
bool is_signed_well(int signature) {
  return signature == NID_ecdsa_with_SHA256 || signature == NID_ecdsa_with_SHA384 ||
         signature == NID_ecdsa_with_SHA512;
}

}  // namespace

Result<std::string> make_request(const PrivateKey& key) {
  const ErrorScope scope;
  const OwnedRequest request(X509_REQ_new());
  if (!request || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), EVP_sha256()) <= 0)
    return openssl_error("making a certificate request");
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509_REQ(bio.get(), request.get()) != 1)
    return openssl_error("writing a certificate request");
  std::string pem = text_of(bio.get());
  return pem;
}

Result<Request> Request::parse(std::string_view pem) {
  const ErrorScope scope;
  auto blocks = read_pem(pem, Beside::nothing, kLargestRequest);
  if (!blocks) return std::move(blocks).error().with_context("the certificate request");
  if (blocks->size() != 1) return refused("has more than one PEM block");
  if (blocks->front().label != "CERTIFICATE REQUEST") return refused("is a " + blocks->front().label);
  const auto request = from_der<OwnedRequest>(blocks->front().der, d2i_X509_REQ);
  if (!request) return refused("is damaged");
  // The key's encoding is looked at before the key: nothing of an unusual one is computed with.
  const std::string spki =
      der_of(X509_REQ_get_X509_PUBKEY(request.get()),
             [](const X509_PUBKEY* key, unsigned char** to) { return i2d_X509_PUBKEY(key, to); });
  EVP_PKEY* key = X509_REQ_get0_pubkey(request.get());
  if (!is_p256(spki))
    return refused("has a key that is " + (key ? describe_key(key) : "damaged or unknown") +
                       "; it must be EC P-256, named and uncompressed",
                   ErrorCode::unsupported);
  if (!key) return refused("has a key that is no point of its curve");
  if (!is_signed_well(X509_REQ_get_signature_nid(request.get())))
    return refused("is not signed with ECDSA and SHA-256, SHA-384 or SHA-512", ErrorCode::unsupported);
  if (X509_REQ_verify(request.get(), key) != 1) return refused("is not signed with its own key");
  EVP_PKEY_up_ref(key);
  return Request(std::shared_ptr<EVP_PKEY>(key, EVP_PKEY_free));
}

std::string Request::public_hash() const {
  const ErrorScope scope;
  return base::sha256_hex(spki_of(key()));
}

}  // namespace pki
