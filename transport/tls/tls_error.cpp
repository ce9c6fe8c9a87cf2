#include "transport/tls/tls_error.hpp"

#include <string>

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace transport {
namespace {

// Alerts are worded as what the other side says of us.
const char* words_for(int reason) {
  switch (reason) {
    case kTlsTruncated:
      return "the other side ended the connection without TLS's goodbye";
    case kTlsUnknown:
      return "TLS failed";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
      return "the other side does not accept our certificate";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
      return "the other side says that our certificate was revoked";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
      return "the other side says that our certificate is not valid now";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return "the other side does not know the authority that signed our certificate";
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
      return "the other side denies access with our certificate";
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return "the other side demands a certificate";
    default:
      return nullptr;
  }
}

// Boost's base has no virtual destructor; categories are never deleted.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class TlsCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "tls"; }
  std::string message(int reason) const override {
    if (const char* words = words_for(reason)) return words;
    const char* text = ::ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, reason));
    return std::string("TLS: ") + (text ? text : "error " + std::to_string(reason));
  }
};
#pragma GCC diagnostic pop

}  // namespace

const boost::system::error_category& tls_category() {
  static const TlsCategory category;
  return category;
}

boost::system::error_code last_tls_error() {
  const unsigned long packed = ::ERR_peek_last_error();
  ::ERR_clear_error();
  const int reason = ERR_GET_LIB(packed) == ERR_LIB_SSL ? ERR_GET_REASON(packed) : 0;
  return tls_error(reason == 0 ? kTlsUnknown : reason);
}

bool is_certificate_alert(const boost::system::error_code& error) {
  if (error.category() != tls_category()) return false;
  switch (error.value()) {
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return true;
    default:
      return false;
  }
}

bool is_version_error(const boost::system::error_code& error) {
  if (error.category() != tls_category()) return false;
  const int reason = error.value();
  return reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_TLSV1_ALERT_PROTOCOL_VERSION ||
         reason == SSL_R_VERSION_TOO_LOW || reason == SSL_R_WRONG_SSL_VERSION;
}

bool is_not_tls(const boost::system::error_code& error) {
  if (error.category() != tls_category()) return false;
  const int reason = error.value();
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
         reason == SSL_R_HTTPS_PROXY_REQUEST || reason == SSL_R_PACKET_LENGTH_TOO_LONG ||
         reason == SSL_R_RECORD_LENGTH_MISMATCH;
}

}  // namespace transport
