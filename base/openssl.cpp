#include "base/openssl.hpp"

#include <string>

namespace base {

Error openssl_error(std::string_view what) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  return Error(ErrorCode::internal, std::string(what) + ": " + (reason ? reason : "OpenSSL failed"));
}

}  // namespace base
