#include "transport/tls/tls_context.hpp"

#include <arpa/inet.h>

#include <array>
#include <cstdio>
#include <ctime>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

namespace transport {
namespace {

using Bio = std::unique_ptr<BIO, Freed<&BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<&EVP_PKEY_free>>;

Bio read_from(const std::string& text) {
  return Bio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Keys are never asked for on a terminal.
int no_password(char*, int, int, void*) {
  return 0;
}

std::string openssl_text() {
  const char* reason = ::ERR_reason_error_string(::ERR_peek_last_error());
  ::ERR_clear_error();
  return reason ? reason : "unknown reason";
}

base::Error failed(const std::string& what) {
  return {base::ErrorCode::invalid, what + ": " + openssl_text()};
}

std::string format_tm(const std::tm& utc) {
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &utc);
  return {text.data(), size};
}

}  // namespace

base::Result<SslContext> make_context(const SSL_METHOD* method) {
  SslContext context(::SSL_CTX_new(method));
  if (!context) return failed("preparing TLS");
  SSL_CTX* raw = context.get();
  const bool fine = SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION) == 1 &&
                    ::SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 &&
                    SSL_CTX_set1_groups_list(raw, "X25519:P-256") == 1;
  if (!fine) return failed("preparing TLS");
  ::SSL_CTX_set_options(raw,
                        SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Else a peer that sends nothing but key updates would keep SSL_read(), and with it the loop, for itself.
  SSL_CTX_clear_mode(raw, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_mode(
      raw, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return context;
}

base::Result<void> use_identity(SSL_CTX* context, const TlsIdentity& identity) {
  ::ERR_clear_error();
  auto chain = parse_certificates(identity.chain);
  if (!chain) return std::move(chain).error();
  if (chain->empty()) return base::Error(base::ErrorCode::invalid, "there is no certificate for TLS");
  const Bio text = read_from(identity.key);
  const Key key(text ? ::PEM_read_bio_PrivateKey(text.get(), nullptr, no_password, nullptr) : nullptr);
  if (!key) return failed("the private key for TLS is not in PEM without a password");
  if (::SSL_CTX_use_certificate(context, chain->front().get()) != 1) return failed("the certificate for TLS");
  for (std::size_t i = 1; i < chain->size(); ++i)
    if (SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) != 1)
      return failed("the certificate chain for TLS");
  if (::SSL_CTX_use_PrivateKey(context, key.get()) != 1 || ::SSL_CTX_check_private_key(context) != 1)
    return failed("the private key does not belong to the certificate");
  return {};
}

base::Result<std::vector<X509Certificate>> parse_certificates(const std::string& pem, std::size_t most) {
  std::vector<X509Certificate> result;
  if (pem.empty()) return result;
  ::ERR_clear_error();
  const Bio text = read_from(pem);
  while (text) {
    X509Certificate one(::PEM_read_bio_X509(text.get(), nullptr, no_password, nullptr));
    if (!one) break;
    if (result.size() >= most)
      return base::Error(base::ErrorCode::limit,
                         "more than " + std::to_string(most) + " certificates in one text");
    result.push_back(std::move(one));
  }
  const bool at_end = ERR_GET_REASON(::ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (result.empty() || !at_end) return failed("this is not a certificate in PEM");
  ::ERR_clear_error();
  return result;
}

base::Result<X509Store> make_store(const std::string& pem) {
  auto certificates = parse_certificates(pem, kMaxAuthorities);
  if (!certificates) return std::move(certificates).error();
  X509Store store(::X509_STORE_new());
  if (!store) return failed("preparing trust");
  for (const X509Certificate& one : *certificates)
    if (::X509_STORE_add_cert(store.get(), one.get()) != 1) return failed("a certificate of an authority");
  // An operator's CA may itself be signed by one that is nobody's business here.
  ::X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  return store;
}

std::string to_pem(X509* certificate) {
  const Bio text(::BIO_new(::BIO_s_mem()));
  if (!text || ::PEM_write_bio_X509(text.get(), certificate) != 1) return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string key_hash(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = ::i2d_X509_PUBKEY(::X509_get_X509_PUBKEY(certificate), &der);
  if (size <= 0) return {};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  ::SHA256(der, static_cast<std::size_t>(size), digest.data());
  OPENSSL_free(der);
  std::string hex;
  for (const unsigned char byte : digest) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 15U];
  }
  return hex;
}

std::string names_of(X509* certificate) {
  std::string result;
  const std::unique_ptr<GENERAL_NAMES, Freed<&GENERAL_NAMES_free>> names(
      static_cast<GENERAL_NAMES*>(::X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()) && result.size() < 256; ++i) {
    int type = 0;
    const auto* value = static_cast<const ASN1_STRING*>(
        ::GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type));
    const auto* data =
        value && (type == GEN_DNS || type == GEN_IPADD) ? ::ASN1_STRING_get0_data(value) : nullptr;
    if (!data) continue;
    const int size = ::ASN1_STRING_length(value);
    std::array<char, INET6_ADDRSTRLEN> address{};
    std::string name;
    if (type == GEN_DNS)
      name.assign(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    else if (size == 4 || size == 16)
      name = ::inet_ntop(size == 4 ? AF_INET : AF_INET6, data, address.data(), address.size());
    for (char& c : name)
      if (c <= ' ' || c >= 0x7f) c = '?';
    if (!name.empty()) result.append(result.empty() ? "" : ", ").append(name);
  }
  return result.empty() ? "no name" : result;
}

std::string format_time(const ASN1_TIME* time) {
  std::tm utc{};
  return ::ASN1_TIME_to_tm(time, &utc) == 1 ? format_tm(utc) : "an unreadable time";
}

std::string format_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return format_tm(utc);
}

}  // namespace transport
