#include "pki/issue.hpp"

#include "pki/openssl.hpp"

namespace pki {

namespace {

using base::Result;

constexpr int kSerialBits = 128;

// All calls answer whether they worked.
bool set_serial(X509* certificate) {
  const OwnedNumber number(BN_new());
  // The top bit is set: all serials have the same length, also as text.
  return number && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_names(X509* certificate, const std::string& common_name, const X509* issuer) {
  X509_NAME* subject = X509_get_subject_name(certificate);
  return X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common_name.data()),
                                    static_cast<int>(common_name.size()), -1, 0) == 1 &&
         X509_set_issuer_name(certificate, issuer ? X509_get_subject_name(issuer) : subject) == 1;
}

bool set_times(X509* certificate, Instant not_before, Instant not_after) {
  using std::chrono::system_clock;
  return ASN1_TIME_set(X509_getm_notBefore(certificate), system_clock::to_time_t(not_before)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), system_clock::to_time_t(not_after)) != nullptr;
}

// `value` in the language of openssl.cnf: only ever a constant, never a name from outside.
bool add_extension(X509* certificate, X509V3_CTX* context, int kind, const char* value) {
  const OwnedExtension extension(X509V3_EXT_conf_nid(nullptr, context, kind, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool add_alt_name(GENERAL_NAMES* names, const AltName& name) {
  const bool is_address = name.kind == AltName::Kind::address;
  std::unique_ptr<ASN1_STRING, Freed<ASN1_STRING_free>> text(
      ASN1_STRING_type_new(is_address ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING));
  if (!text || ASN1_STRING_set(text.get(), name.value.data(), static_cast<int>(name.value.size())) != 1)
    return false;
  std::unique_ptr<GENERAL_NAME, Freed<GENERAL_NAME_free>> entry(GENERAL_NAME_new());
  if (!entry) return false;
  const int type = is_address ? GEN_IPADD : name.kind == AltName::Kind::dns ? GEN_DNS : GEN_URI;
  GENERAL_NAME_set0_value(entry.get(), type, text.release());
  if (sk_GENERAL_NAME_push(names, entry.get()) == 0) return false;
  static_cast<void>(entry.release());
  return true;
}

bool add_alt_names(X509* certificate, const std::vector<AltName>& wanted) {
  if (wanted.empty()) return true;
  const OwnedNames names(GENERAL_NAMES_new());
  if (!names) return false;
  for (const AltName& name : wanted)
    if (!add_alt_name(names.get(), name)) return false;
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
}

bool add_extensions(X509* certificate, const Wanted& wanted, X509* issuer) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer ? issuer : certificate, certificate, nullptr, nullptr, 0);
  const auto add = [&](int kind, const char* value) {
    return add_extension(certificate, &context, kind, value);
  };
  const bool is_authority = wanted.usage == Usage::authority;
  if (!add(NID_basic_constraints, is_authority ? "critical,CA:TRUE,pathlen:0" : "critical,CA:FALSE") ||
      !add(NID_key_usage, is_authority ? "critical,keyCertSign,cRLSign" : "critical,digitalSignature") ||
      !add(NID_subject_key_identifier, "hash"))
    return false;
  // A brought CA may have no identifier to point to.
  if (issuer && X509_get0_subject_key_id(issuer) && !add(NID_authority_key_identifier, "keyid:always"))
    return false;
  if (!is_authority && !add(NID_ext_key_usage, wanted.usage == Usage::agent ? "clientAuth" : "serverAuth"))
    return false;
  return add_alt_names(certificate, wanted.names);
}

}  // namespace

Result<Certificate> issue(const Wanted& wanted, const PrivateKey& issuer_key, const Certificate* issuer) {
  const ErrorScope scope;
  OwnedCertificate made(X509_new());
  X509* const signer = issuer ? issuer->get() : nullptr;
  // Ed25519 has its hash inside.
  const EVP_MD* hash = EVP_PKEY_is_a(issuer_key.get(), "ED25519") ? nullptr : EVP_sha256();
  if (!made || X509_set_version(made.get(), X509_VERSION_3) != 1 || !set_serial(made.get()) ||
      !set_names(made.get(), wanted.common_name, signer) ||
      !set_times(made.get(), wanted.not_before, wanted.not_after) ||
      X509_set_pubkey(made.get(), wanted.key) != 1 || !add_extensions(made.get(), wanted, signer) ||
      X509_sign(made.get(), issuer_key.get(), hash) <= 0)
    return openssl_error("making a certificate");
  return Certificate::wrap(std::shared_ptr<X509>(made.release(), X509_free));
}

}  // namespace pki
