#include "pki/certificate.hpp"

#include <algorithm>
#include <ctime>

#include <openssl/pem.h>

#include "base/sha256.hpp"
#include "pki/openssl.hpp"
#include "pki/pem.hpp"

namespace pki {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// Of a whole chain: sixteen certificates of a size that nobody has.
constexpr std::size_t kLargest = 256 * 1024;

std::optional<Instant> instant_of(const ASN1_TIME* time) {
  std::tm fields{};
  if (!time || ASN1_TIME_to_tm(time, &fields) != 1) return std::nullopt;
  // What an Instant cannot hold (nanoseconds, in 64 bits) is as good as for ever: RFC 5280 writes 9999 for
  // that.
  constexpr std::time_t kLast = 9'000'000'000;
  const std::time_t seconds = ::timegm(&fields);
  return std::chrono::system_clock::from_time_t(std::clamp<std::time_t>(seconds, -kLast, kLast));
}

Result<Certificate> read_block(const PemBlock& block) {
  if (block.label != "CERTIFICATE")
    return Error(ErrorCode::invalid, "there is a " + block.label + " where only certificates belong");
  auto owned = from_der<OwnedCertificate>(block.der, d2i_X509);
  if (!owned) return Error(ErrorCode::invalid, "the certificate is damaged");
  return Certificate::wrap(std::shared_ptr<X509>(owned.release(), X509_free));
}

std::string_view bytes_of(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

// For TLS clients and for nothing else. An extension that is there twice counts as absent.
bool is_for_clients_only(const X509* certificate) {
  using Owned = std::unique_ptr<EXTENDED_KEY_USAGE, Freed<EXTENDED_KEY_USAGE_free>>;
  const Owned usages(
      static_cast<EXTENDED_KEY_USAGE*>(X509_get_ext_d2i(certificate, NID_ext_key_usage, nullptr, nullptr)));
  return usages && sk_ASN1_OBJECT_num(usages.get()) == 1 &&
         OBJ_obj2nid(sk_ASN1_OBJECT_value(usages.get(), 0)) == NID_client_auth;
}

// The URI that is its only alternative name.
std::string only_uri(const X509* certificate) {
  const OwnedNames names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (!names || sk_GENERAL_NAME_num(names.get()) != 1) return {};
  int type = 0;
  const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), 0), &type);
  if (type != GEN_URI || !value) return {};
  return std::string(bytes_of(static_cast<const ASN1_STRING*>(value)));
}

// The common name that is all of its subject.
std::string only_common_name(const X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  if (X509_NAME_entry_count(subject) != 1) return {};
  const X509_NAME_ENTRY* entry = X509_NAME_get_entry(subject, 0);
  if (OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry)) != NID_commonName) return {};
  return std::string(bytes_of(X509_NAME_ENTRY_get_data(entry)));
}

}  // namespace

Result<Certificate> Certificate::wrap(std::shared_ptr<x509_st> certificate) {
  const ErrorScope scope;
  const auto from = instant_of(X509_get0_notBefore(certificate.get()));
  const auto until = instant_of(X509_get0_notAfter(certificate.get()));
  if (!from || !until) return Error(ErrorCode::invalid, "the certificate's times are damaged");
  if (X509_get_extension_flags(certificate.get()) & EXFLAG_INVALID)
    return Error(ErrorCode::invalid, "the certificate's extensions are damaged");
  if (!X509_get0_pubkey(certificate.get()))
    return Error(ErrorCode::invalid, "the certificate's public key is damaged or of an unknown kind");
  Certificate result;
  result.certificate_ = std::move(certificate);
  result.not_before_ = *from;
  result.not_after_ = *until;
  return result;
}

Result<Certificate> Certificate::parse(std::string_view pem) {
  const ErrorScope scope;
  auto blocks = read_pem(pem, Beside::nothing, kLargest);
  if (!blocks) return std::move(blocks).error();
  if (blocks->size() != 1) return Error(ErrorCode::invalid, "there must be exactly one certificate");
  return read_block(blocks->front());
}

Result<std::vector<Certificate>> Certificate::parse_chain(std::string_view pem) {
  const ErrorScope scope;
  auto blocks = read_pem(pem, Beside::comments, kLargest);
  if (!blocks) return std::move(blocks).error();
  std::vector<Certificate> chain;
  for (const PemBlock& block : *blocks) {
    auto certificate = read_block(block);
    if (!certificate) return std::move(certificate).error();
    chain.push_back(std::move(*certificate));
  }
  return chain;
}

std::string Certificate::pem() const {
  const ErrorScope scope;
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), get());
  std::string text = text_of(bio.get());
  return text;
}

std::string Certificate::serial() const {
  const ErrorScope scope;
  const OwnedNumber number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(get()), nullptr));
  if (!number) return {};
  char* digits = BN_bn2hex(number.get());
  std::string text(digits ? digits : "");
  OPENSSL_free(digits);
  for (char& c : text)
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

std::string Certificate::subject() const {
  const ErrorScope scope;
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(get()), 0, XN_FLAG_RFC2253);
  std::string text = text_of(bio.get());
  return text;
}

std::string Certificate::public_hash() const {
  const ErrorScope scope;
  return base::sha256_hex(der_of(X509_get_X509_PUBKEY(get()), [](const X509_PUBKEY* key, unsigned char** to) {
    return i2d_X509_PUBKEY(key, to);
  }));
}

std::optional<AgentName> Certificate::agent_name() const {
  const ErrorScope scope;
  // 0: not a CA in any of the ways in which old certificates could be one.
  if (X509_check_ca(get()) != 0 || !is_for_clients_only(get())) return std::nullopt;
  auto name = parse_agent_uri(only_uri(get()));
  if (name && only_common_name(get()) != name->uid) name.reset();
  return name;
}

bool Certificate::is_authority() const {
  const ErrorScope scope;
  // 1: by basicConstraints. An absent keyUsage reads as all bits set.
  const std::uint32_t usage = X509_get_key_usage(get());
  return X509_check_ca(get()) == 1 && usage != UINT32_MAX && (usage & KU_KEY_CERT_SIGN) != 0;
}

std::string pem_of(const std::vector<Certificate>& chain) {
  std::string text;
  for (const Certificate& certificate : chain)
    text += certificate.pem();
  return text;
}

}  // namespace pki
