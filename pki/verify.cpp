#include "pki/verify.hpp"

#include <openssl/x509_vfy.h>

#include "pki/openssl.hpp"

namespace pki {

namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

using OwnedStore = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
using OwnedContext = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;

// The list, not what is in it.
struct ListFreed {
  void operator()(STACK_OF(X509) * list) const { sk_X509_free(list); }
};
using OwnedList = std::unique_ptr<STACK_OF(X509), ListFreed>;

// 112 bits: RSA of 2048 bits, SHA-256. TLS would refuse less, too.
constexpr int kSecurityLevel = 2;

Error problem_of(X509_STORE_CTX* context) {
  const char* text = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context));
  std::string who = "the certificate";
  if (X509* current = X509_STORE_CTX_get_current_cert(context)) {
    X509_up_ref(current);
    if (const auto wrapped = Certificate::wrap(std::shared_ptr<X509>(current, X509_free)))
      who += " of \"" + wrapped->subject() + "\"";
  }
  return Error(ErrorCode::invalid, who + ": " + text);
}

}  // namespace

Result<void> verify(const std::vector<Certificate>& chain, const std::vector<Certificate>& authorities,
                    Purpose purpose, std::optional<Instant> at) {
  const ErrorScope scope;
  if (chain.empty()) return Error(ErrorCode::invalid, "there is no certificate");
  const OwnedStore store(X509_STORE_new());
  const OwnedList others(sk_X509_new_null());
  const OwnedContext context(X509_STORE_CTX_new());
  if (!store || !others || !context) return openssl_error("verifying a certificate");
  for (const Certificate& authority : authorities)
    X509_STORE_add_cert(store.get(), authority.get());
  for (const Certificate& other : chain)
    if (&other != &chain.front()) sk_X509_push(others.get(), other.get());
  if (X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(), others.get()) != 1)
    return openssl_error("verifying a certificate");
  X509_STORE_CTX_set_purpose(context.get(),
                             purpose == Purpose::agent ? X509_PURPOSE_SSL_CLIENT : X509_PURPOSE_SSL_SERVER);
  X509_VERIFY_PARAM* how = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_auth_level(how, kSecurityLevel);
  if (at)
    X509_VERIFY_PARAM_set_time(how, std::chrono::system_clock::to_time_t(*at));
  else
    X509_VERIFY_PARAM_set_flags(how, X509_V_FLAG_NO_CHECK_TIME);
  if (X509_verify_cert(context.get()) != 1) return problem_of(context.get());
  return {};
}

}  // namespace pki
