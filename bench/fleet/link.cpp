#include "bench/fleet/link.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

#include "base/files/file_read.hpp"
#include "bench/fleet/poller.hpp"

namespace fleet {

namespace {

using OwnedBio = std::unique_ptr<BIO, Freed<&BIO_free>>;

// A record of TLS at least: then nothing is left in OpenSSL that epoll does not know of.
constexpr std::size_t kReadAtOnce = 64 * 1024;
constexpr std::size_t kLargestAuthority = 64 * 1024;

OwnedBio text_bio(const std::string& text) {
  return OwnedBio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

OwnedCertificate first_certificate(const std::string& pem) {
  const OwnedBio text = text_bio(pem);
  return OwnedCertificate(text ? ::PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr) : nullptr);
}

// False when there is none.
bool trust_all(X509_STORE* store, const std::string& pem) {
  const OwnedBio text = text_bio(pem);
  std::size_t count = 0;
  while (text) {
    const OwnedCertificate one(::PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
    if (!one) break;
    if (::X509_STORE_add_cert(store, one.get()) != 1) return false;
    ++count;
  }
  ::ERR_clear_error();
  return count > 0;
}

// OpenSSL's callback: takes the session.
int keep_session(SSL* ssl, SSL_SESSION* session) {
  static_cast<TlsKept*>(SSL_get_app_data(ssl))->session.reset(session);
  return 1;
}

std::string tls_problem() {
  const char* reason = ::ERR_reason_error_string(::ERR_peek_last_error());
  ::ERR_clear_error();
  return reason ? std::string("TLS: ") + reason : "the backend closed the connection";
}

}  // namespace

base::Result<std::unique_ptr<TlsCommon>> TlsCommon::make(const std::string& authority_file) {
  auto pem = base::read_file(authority_file, kLargestAuthority);
  if (!pem) return std::move(pem).error();
  OwnedContext context(::SSL_CTX_new(::TLS_client_method()));
  if (!context || !trust_all(::SSL_CTX_get_cert_store(context.get()), *pem))
    return base::Error(base::ErrorCode::invalid, authority_file + " is no authority's certificate in PEM");
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  ::SSL_CTX_sess_set_new_cb(context.get(), keep_session);
  return std::unique_ptr<TlsCommon>(new TlsCommon(std::move(context)));
}

bool TlsKept::take_certificate(const std::string& chain, const std::string& key_pem) {
  const OwnedBio text = text_bio(key_pem);
  OwnedKey read(text ? ::PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, nullptr) : nullptr);
  OwnedCertificate own = first_certificate(chain);
  if (!read || !own || ::X509_check_private_key(own.get(), read.get()) != 1) return false;
  certificate = std::move(own);
  key = std::move(read);
  session.reset();  // it was a stranger's
  return true;
}

bool Link::open(const std::string& host, std::uint16_t port, const TlsCommon* tls, TlsKept& kept) {
  fd_ = start_connecting(host, port);
  if (!fd_ || !tls) return static_cast<bool>(fd_);
  ssl_.reset(::SSL_new(tls->context()));
  SSL* ssl = ssl_.get();
  if (!ssl) return false;
  SSL_set_app_data(ssl, &kept);
  ::SSL_set_connect_state(ssl);
  bool fine = ::SSL_set_fd(ssl, fd_.get()) == 1 &&
              ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl), host.c_str()) == 1;
  // As real agents do, without the authority: the backend knows it.
  if (kept.certificate)
    fine = fine && ::SSL_use_certificate(ssl, kept.certificate.get()) == 1 &&
           ::SSL_use_PrivateKey(ssl, kept.key.get()) == 1;
  if (kept.session && ::SSL_SESSION_is_resumable(kept.session.get()) == 1)
    fine = fine && ::SSL_set_session(ssl, kept.session.get()) == 1;
  return fine;
}

Link::Outcome Link::outcome(int result) {
  const int saved_errno = errno;
  switch (::SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      wanted_ = EPOLLIN;
      return Outcome::again;
    case SSL_ERROR_WANT_WRITE:
      wanted_ = EPOLLIN | EPOLLOUT;
      return Outcome::again;
    case SSL_ERROR_SYSCALL:
      problem_ = saved_errno == 0 ? "the backend closed the connection" : std::strerror(saved_errno);
      break;
    default:
      problem_ = tls_problem();
  }
  in_order_ = false;
  ::ERR_clear_error();
  return Outcome::broken;
}

Link::Outcome Link::secure() {
  if (!ssl_) return Outcome::done;
  ::ERR_clear_error();
  errno = 0;
  const int result = ::SSL_do_handshake(ssl_.get());
  if (result != 1) return outcome(result);
  in_order_ = true;
  return Outcome::done;
}

Link::Outcome Link::read(std::string& into) {
  static char buffer[kReadAtOnce];
  if (ssl_) {
    std::size_t got = 0;
    ::ERR_clear_error();
    errno = 0;
    const int result = ::SSL_read_ex(ssl_.get(), buffer, sizeof buffer, &got);
    if (result != 1) return outcome(result);
    into.append(buffer, got);
    return Outcome::done;
  }
  const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Outcome::again;
  if (got <= 0) {
    problem_ = "the backend closed the connection";
    return Outcome::broken;
  }
  into.append(buffer, static_cast<std::size_t>(got));
  return Outcome::done;
}

Link::Outcome Link::write(const std::string& text, std::size_t& done) {
  while (done < text.size()) {
    if (ssl_) {
      std::size_t put = 0;
      ::ERR_clear_error();
      errno = 0;
      const int result = ::SSL_write_ex(ssl_.get(), text.data() + done, text.size() - done, &put);
      if (result != 1) return outcome(result);
      done += put;
      continue;
    }
    const ssize_t put = ::send(fd_.get(), text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return Outcome::again;
    if (put < 0) {
      problem_ = "the backend broke the connection";
      return Outcome::broken;
    }
    done += static_cast<std::size_t>(put);
  }
  return Outcome::done;
}

void Link::close() {
  if (ssl_) {
    if (in_order_) ::SSL_shutdown(ssl_.get());
    // Otherwise OpenSSL spoils the session of a connection that was cut, which may well be resumed.
    ::SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    ::ERR_clear_error();
  }
  ssl_.reset();
  fd_.reset();
  in_order_ = false;
}

}  // namespace fleet
