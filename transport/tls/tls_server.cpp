#include <mutex>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "transport/tls/ticket_keys.hpp"
#include "transport/tls/tls_context.hpp"
#include "transport/tls/tls_error.hpp"

namespace transport {
namespace {

// A certificate or two. Clients are strangers here, and this is held for each of them.
constexpr long kMaxClientChain = 16 * 1024;
// How long a client may come back without a full handshake.
constexpr long kSessionSeconds = TlsServer::kTicketPeriod.count();
// Sessions of another use of OpenSSL are none of ours.
constexpr std::string_view kSessionContext = "opsagent";

int accept_any(X509_STORE_CTX*, void*) {
  return 1;  // verified after the handshake, by problem_with_client(), also when a session is resumed
}

base::Result<SslContext> make_server_context(const TlsIdentity& identity,
                                             std::shared_ptr<TicketKeys> tickets) {
  auto made = make_context(::TLS_server_method());
  if (!made) return made;
  SSL_CTX* context = made->get();
  if (auto used = use_identity(context, identity); !used) return std::move(used).error();
  // Asked for, not demanded: whoever has none or a bad one is told so in words, not by an alert.
  ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  ::SSL_CTX_set_cert_verify_callback(context, accept_any, nullptr);
  SSL_CTX_set_max_cert_list(context, kMaxClientChain);
  // Sessions are the clients' to keep, as tickets; with early data off, and one ticket, for a client keeps
  // one.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  ::SSL_CTX_set_session_id_context(context, reinterpret_cast<const unsigned char*>(kSessionContext.data()),
                                   static_cast<unsigned>(kSessionContext.size()));
  ::SSL_CTX_set_timeout(context, kSessionSeconds);
  ::SSL_CTX_set_num_tickets(context, 1);
  ::SSL_CTX_set_max_early_data(context, 0);
  if (!TicketKeys::use(context, std::move(tickets)))
    return base::Error(base::ErrorCode::internal, "preparing TLS failed");
  return made;
}

std::string words_for(int problem, X509* certificate) {
  switch (problem) {
    case X509_V_OK:
      return {};
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "the certificate expired on " + format_time(::X509_get0_notAfter(certificate)) + " (it is now " +
             format_now() + "): enrol again with a new join token";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "the certificate is not valid before " + format_time(::X509_get0_notBefore(certificate)) +
             " (it is now " + format_now() + "): is one of the clocks wrong?";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return "the certificate is signed by an authority that this backend does not know: enrol again with a "
             "new "
             "join token";
    case X509_V_ERR_INVALID_PURPOSE:
      return "the certificate is not for clients";
    default:
      return std::string("the certificate is not accepted: ") + ::X509_verify_cert_error_string(problem);
  }
}

}  // namespace

struct TlsServer::Impl {
  SslContext context;  // guarded by `mutex`; connections hold a reference of their own
  std::mutex mutex;
  X509Store clients;                    // guarded by `mutex`
  std::shared_ptr<TicketKeys> tickets;  // constant; of all contexts, so that sessions outlive a certificate
};

TlsServer::TlsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsServer::~TlsServer() = default;

base::Result<std::shared_ptr<TlsServer>> TlsServer::make(TlsIdentity identity, std::string client_ca,
                                                         std::chrono::milliseconds ticket_period) {
  auto impl = std::make_unique<Impl>();
  impl->tickets = std::make_shared<TicketKeys>(ticket_period);
  auto context = make_server_context(identity, impl->tickets);
  if (!context) return std::move(context).error();
  auto clients = make_store(client_ca);
  if (!clients) return std::move(clients).error().with_context("the authority of clients");
  impl->context = std::move(*context);
  impl->clients = std::move(*clients);
  return std::make_shared<TlsServer>(std::move(impl));
}

base::Result<void> TlsServer::replace(TlsIdentity identity) {
  auto context = make_server_context(identity, impl_->tickets);
  if (!context) return std::move(context).error();
  const std::scoped_lock lock(impl_->mutex);
  impl_->context = std::move(*context);
  return {};
}

base::Result<void> TlsServer::replace(TlsIdentity identity, std::string client_ca) {
  auto clients = make_store(client_ca);
  if (!clients) return std::move(clients).error().with_context("the authority of clients");
  if (auto replaced = replace(std::move(identity)); !replaced) return replaced;
  const std::scoped_lock lock(impl_->mutex);
  impl_->clients = std::move(*clients);
  return {};
}

std::string problem_with_client(X509_STORE* trusted, X509* certificate, STACK_OF(X509) * chain) {
  const std::unique_ptr<X509_STORE_CTX, Freed<&X509_STORE_CTX_free>> check(::X509_STORE_CTX_new());
  if (!check || ::X509_STORE_CTX_init(check.get(), trusted, certificate, chain) != 1 ||
      ::X509_STORE_CTX_set_default(check.get(), "ssl_client") != 1)
    return "the certificate could not be checked";
  const int result = ::X509_verify_cert(check.get());
  const int problem = ::X509_STORE_CTX_get_error(check.get());
  ::ERR_clear_error();
  if (result == 1) return {};
  X509* culprit = ::X509_STORE_CTX_get_current_cert(check.get());
  return words_for(problem == X509_V_OK ? X509_V_ERR_UNSPECIFIED : problem, culprit ? culprit : certificate);
}

Task<ErrorCode> secure_as_server(Stream& stream, const TlsServer& server,
                                 std::shared_ptr<const PeerCertificate>& shown) {
  SSL* ssl = nullptr;
  {
    const std::scoped_lock lock(server.impl().mutex);
    ssl = ::SSL_new(server.impl().context.get());
  }
  if (!ssl) co_return tls_error(kTlsUnknown);
  ::SSL_set_accept_state(ssl);
  const ErrorCode failed = co_await stream.handshake(ssl);
  if (failed) co_return failed;
  X509* certificate = ::SSL_get0_peer_certificate(ssl);
  if (certificate) {
    // As they are now, also for a session that is resumed: it may be one of an authority that was retired
    // since.
    X509Store clients;
    {
      const std::scoped_lock lock(server.impl().mutex);
      ::X509_STORE_up_ref(server.impl().clients.get());
      clients.reset(server.impl().clients.get());
    }
    shown = std::make_shared<const PeerCertificate>(PeerCertificate{
        .pem = to_pem(certificate),
        .problem = problem_with_client(clients.get(), certificate, ::SSL_get_peer_cert_chain(ssl))});
  }
  co_return ErrorCode();
}

}  // namespace transport
