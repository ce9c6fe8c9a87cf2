#include <arpa/inet.h>

#include <boost/asio/ip/address.hpp>
#include <mutex>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "transport/tls/tls_context.hpp"
#include "transport/tls/tls_error.hpp"

namespace transport {
namespace {

// One handshake's question and its answer.
struct Verification {
  std::string host;  // a name or an address
  std::string where;
  std::string ca_hash;
  std::string problem;
};

bool is_address(const std::string& host) {
  ErrorCode not_an_address;
  (void)asio::ip::make_address(host, not_an_address);
  return !not_an_address;
}

bool is_for_host(X509* certificate, const std::string& host) {
  if (is_address(host)) return ::X509_check_ip_asc(certificate, host.c_str(), 0) == 1;
  const unsigned flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  return ::X509_check_host(certificate, host.data(), host.size(), flags, nullptr) == 1;
}

// The authority that a chain presents: its last certificate.
std::string presented_hash(X509* certificate, STACK_OF(X509) * chain) {
  const int count = chain ? sk_X509_num(chain) : 0;
  return key_hash(count > 0 ? sk_X509_value(chain, count - 1) : certificate);
}

std::string words_for(int problem, const Verification& question, X509* culprit,
                      const std::string& presented) {
  const std::string& where = question.where;
  switch (problem) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "the certificate of " + where + " expired on " + format_time(::X509_get0_notAfter(culprit)) +
             ": it must be renewed there, unless this machine's clock is wrong (it says " + format_now() +
             ")";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "the certificate of " + where + " is not valid before " +
             format_time(::X509_get0_notBefore(culprit)) + ": is this machine's clock right? it says " +
             format_now();
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return "the certificate of " + where + " is signed by an authority that is not trusted here (CA hash " +
             presented +
             "): is the CA file the backend's? If the backend has a new CA, get it, or a new join token, "
             "from there";
    case X509_V_ERR_INVALID_PURPOSE:
      return "the certificate of " + where + " is not for servers: somebody else's may be in use there";
    default:
      return "the certificate of " + where + " is not accepted: " + ::X509_verify_cert_error_string(problem);
  }
}

// The authority with that hash among what the server has sent. Not the server's own certificate: a join token
// names a CA.
X509* find_anchor(STACK_OF(X509) * chain, X509* leaf, const std::string& hash) {
  for (int i = 0; chain && i < sk_X509_num(chain); ++i) {
    X509* one = sk_X509_value(chain, i);
    if (one != leaf && ::X509_cmp(one, leaf) != 0 && ::X509_check_ca(one) > 0 && key_hash(one) == hash)
      return one;
  }
  return nullptr;
}

// With a CA hash: trusts the authority that has it, and nobody else. False when there is none.
bool trust_hash(X509_STORE_CTX* check, const std::string& hash, STACK_OF(X509) * anchors) {
  X509* anchor = find_anchor(::X509_STORE_CTX_get0_untrusted(check), ::X509_STORE_CTX_get0_cert(check), hash);
  if (!anchor || sk_X509_push(anchors, anchor) <= 0) return false;
  ::X509_STORE_CTX_set0_trusted_stack(check, anchors);
  ::X509_STORE_CTX_set_flags(check, X509_V_FLAG_PARTIAL_CHAIN);
  return true;
}

int reject(X509_STORE_CTX* check, int problem, Verification& question, std::string words) {
  ::X509_STORE_CTX_set_error(check, problem);
  question.problem = std::move(words);
  return 0;
}

// Where an SSL of ours has its Verification; it frees that, as the Connection it is.
int connection_index();

// Called by OpenSSL in the middle of the handshake, before anything of ours is shown.
int verify_server(X509_STORE_CTX* check, void*) {
  auto* ssl = static_cast<SSL*>(::X509_STORE_CTX_get_ex_data(check, ::SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* question = ssl ? static_cast<Verification*>(::SSL_get_ex_data(ssl, connection_index())) : nullptr;
  if (!question) return 0;
  X509* leaf = ::X509_STORE_CTX_get0_cert(check);
  STACK_OF(X509)* sent = ::X509_STORE_CTX_get0_untrusted(check);
  // The certificates belong to `sent`, which outlives the check.
  const std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)> anchors(
      sk_X509_new_null(), [](STACK_OF(X509) * list) { sk_X509_free(list); });
  if (!question->ca_hash.empty() && !trust_hash(check, question->ca_hash, anchors.get()))
    return reject(check, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, *question,
                  question->where + " does not have the CA that the join token names (it shows CA hash " +
                      presented_hash(leaf, sent) + ", the token says " + question->ca_hash +
                      "): is this the backend that made the token? if so, get a new token from it");
  if (::X509_verify_cert(check) != 1) {
    const int problem = ::X509_STORE_CTX_get_error(check);
    X509* culprit = ::X509_STORE_CTX_get_current_cert(check);
    return reject(check, problem == X509_V_OK ? X509_V_ERR_UNSPECIFIED : problem, *question,
                  words_for(problem, *question, culprit ? culprit : leaf, presented_hash(leaf, sent)));
  }
  if (!is_for_host(leaf, question->host))
    return reject(check, X509_V_ERR_HOSTNAME_MISMATCH, *question,
                  "the certificate of " + question->where + " is for " + names_of(leaf) + " and not for " +
                      question->host + ": use a name that it is for, or have the backend's names extended");
  return 1;
}

}  // namespace

struct TlsClient::Impl {
  // Whether the session that is kept may be offered to that server. One that would outlive the server's
  // certificate is dropped: nobody checks the certificate of a resumed session.
  SslSession session_for(const std::string& where) {
    const std::scoped_lock lock(mutex);
    if (!session || session_where != where) return nullptr;
    X509* certificate = ::SSL_SESSION_get0_peer(session.get());
    if (!certificate || ::SSL_SESSION_is_resumable(session.get()) != 1 ||
        ::X509_cmp_current_time(::X509_get0_notAfter(certificate)) <= 0) {
      session.reset();
      return nullptr;
    }
    ::SSL_SESSION_up_ref(session.get());
    return SslSession(session.get());
  }

  // Takes `given`.
  void keep(SSL_SESSION* given, const std::string& where) {
    const std::scoped_lock lock(mutex);
    session.reset(given);
    session_where = where;
  }

  SslContext context;   // constant
  std::string ca_hash;  // constant
  std::mutex mutex;
  SslSession session;  // guarded by `mutex`, as is the next: the newest, of whichever server
  std::string session_where;
};

namespace {

// What a connection's SSL points to as long as it lives: new sessions come with any read.
struct Connection : Verification {
  std::shared_ptr<TlsClient> client;
};

int keep_session(SSL* ssl, SSL_SESSION* session) {
  auto* connection =
      static_cast<Connection*>(static_cast<Verification*>(::SSL_get_ex_data(ssl, connection_index())));
  if (!connection) return 0;
  connection->client->impl().keep(session, connection->where);
  return 1;
}

void free_connection(void*, void* data, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<Connection*>(static_cast<Verification*>(data));
}

int connection_index() {
  static const int index = ::SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, free_connection);
  return index;
}

base::Error describe_failure(const ErrorCode& error, const Connection& connection) {
  const std::string& where = connection.where;
  if (!connection.problem.empty()) return {base::ErrorCode::permission, connection.problem};
  if (is_not_tls(error))
    return {base::ErrorCode::invalid,
            where + " does not speak TLS: is the port right, or is it a plain one (ws://, http://)?"};
  if (is_version_error(error))
    return {base::ErrorCode::unsupported,
            where + " speaks no version of TLS that is safe to use: 1.2 or 1.3 is needed"};
  if (is_certificate_alert(error))
    return {base::ErrorCode::permission, where + " refused this side's certificate: " + error.message()};
  if (error == tls_error(kTlsTruncated) || error == asio::error::connection_reset)
    return {base::ErrorCode::io,
            where +
                " hung up during the TLS handshake: is it full or stopping, or is the port "
                "not one for TLS?"};
  return to_error(error, "TLS with " + where);
}

}  // namespace

TlsClient::TlsClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsClient::~TlsClient() = default;

base::Result<std::shared_ptr<TlsClient>> TlsClient::make(TlsTrust trust,
                                                         std::optional<TlsIdentity> identity) {
  if (trust.ca.empty() == trust.ca_hash.empty())
    return base::Error(base::ErrorCode::invalid, "TLS needs either a CA file or a CA hash to trust");
  if (!trust.ca_hash.empty() && !base::is_sha256_hex(trust.ca_hash))
    return base::Error(base::ErrorCode::invalid, "a CA hash is 64 hexadecimal digits, in lower case");
  auto context = make_context(::TLS_client_method());
  if (!context) return std::move(context).error();
  auto store = make_store(trust.ca);
  if (!store) return std::move(store).error().with_context("the CA to trust");
  ::SSL_CTX_set_cert_store(context->get(), store->release());
  if (identity)
    if (auto used = use_identity(context->get(), *identity); !used) return std::move(used).error();
  ::SSL_CTX_set_verify(context->get(), SSL_VERIFY_PEER, nullptr);
  ::SSL_CTX_set_cert_verify_callback(context->get(), verify_server, nullptr);
  SSL_CTX_set_session_cache_mode(context->get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  ::SSL_CTX_sess_set_new_cb(context->get(), keep_session);
  auto impl = std::make_unique<Impl>();
  impl->context = std::move(*context);
  impl->ca_hash = std::move(trust.ca_hash);
  return std::make_shared<TlsClient>(std::move(impl));
}

Task<base::Result<void>> secure_as_client(Stream& stream, std::shared_ptr<TlsClient> client, std::string host,
                                          std::string where, std::chrono::milliseconds timeout) {
  TlsClient::Impl& impl = client->impl();
  SSL* ssl = ::SSL_new(impl.context.get());
  if (!ssl) co_return base::Error(base::ErrorCode::internal, "preparing TLS failed");
  ::SSL_set_connect_state(ssl);
  if (!is_address(host))  // as SSL_set_tlsext_host_name(), which is a macro with casts
    ::SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data());
  if (const SslSession session = impl.session_for(where)) ::SSL_set_session(ssl, session.get());
  auto owned = std::make_unique<Connection>();
  owned->host = std::move(host);
  owned->where = std::move(where);
  owned->ca_hash = impl.ca_hash;
  owned->client = client;
  Connection& connection = *owned;
  ::SSL_set_ex_data(ssl, connection_index(), static_cast<Verification*>(owned.release()));

  const Deadline deadline(stream.get_executor(), timeout, [&stream] {
    ErrorCode ignored;
    stream.close(ignored);
  });
  const ErrorCode failed = co_await stream.handshake(ssl);
  if (deadline.expired())
    co_return base::Error(
        base::ErrorCode::timed_out,
        connection.where + " did not finish the TLS handshake in time: is the port one for TLS?");
  if (failed) co_return describe_failure(failed, connection);
  co_return base::Result<void>();
}

}  // namespace transport
