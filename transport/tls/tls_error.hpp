// Inside transport/: what goes wrong in TLS, as error codes with words.
#pragma once

#include <boost/system/error_code.hpp>

namespace transport {

// Of the category below; other values are OpenSSL's reason codes (SSL_R_…, alerts of the other side among
// them).
inline constexpr int kTlsTruncated = 1;  // the connection ended without TLS's goodbye
inline constexpr int kTlsUnknown = 2;    // OpenSSL gave no reason

const boost::system::error_category& tls_category();

inline boost::system::error_code tls_error(int reason) {
  return {reason, tls_category()};
}

// The reason that OpenSSL noted last on this thread.
boost::system::error_code last_tls_error();

// The other side does not like our certificate, or that we have none.
bool is_certificate_alert(const boost::system::error_code& error);
// There is no version of TLS that both sides speak.
bool is_version_error(const boost::system::error_code& error);
// What came was not TLS.
bool is_not_tls(const boost::system::error_code& error);

}  // namespace transport
