// Link: one non-blocking connection of the load to the backend, plain or with TLS. Like frames.hpp written
// apart from transport/: OpenSSL on the socket and nothing between.
//
// One thread. What goes wrong with a connection is `broken`; why, says problem().
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <openssl/ssl.h>

#include "base/result.hpp"
#include "base/unique_fd.hpp"

namespace fleet {

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using OwnedKey = std::unique_ptr<EVP_PKEY, Freed<&EVP_PKEY_free>>;
using OwnedCertificate = std::unique_ptr<X509, Freed<&X509_free>>;
using OwnedSession = std::unique_ptr<SSL_SESSION, Freed<&SSL_SESSION_free>>;
using OwnedSsl = std::unique_ptr<SSL, Freed<&SSL_free>>;
using OwnedContext = std::unique_ptr<SSL_CTX, Freed<&SSL_CTX_free>>;

// What all agents' TLS has in common: whom they trust, and one context.
class TlsCommon {
 public:
  // `authority_file` in PEM: the backend's ca.crt, with all that it has.
  static base::Result<std::unique_ptr<TlsCommon>> make(const std::string& authority_file);

  SSL_CTX* context() const { return context_.get(); }

 private:
  explicit TlsCommon(OwnedContext context) : context_(std::move(context)) {}

  OwnedContext context_;
};

// What an agent keeps from one connection to the next. Stays where it is while a connection is open.
struct TlsKept {
  OwnedCertificate certificate;  // with its key; none before the enrolment
  OwnedKey key;
  OwnedSession session;  // the newest

  // Both in PEM; of the chain only the agent's own. False when they are not what they should be.
  bool take_certificate(const std::string& chain, const std::string& key_pem);
};

class Link {
 public:
  enum class Outcome { done, again, broken };

  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { close(); }

  // The connection is under way when this returns true. `tls` null: plain.
  bool open(const std::string& host, std::uint16_t port, const TlsCommon* tls, TlsKept& kept);
  explicit operator bool() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }

  // Once the socket is connected: the next step of the TLS handshake. `again`: when wanted_events() come.
  Outcome secure();
  std::uint32_t wanted_events() const { return wanted_; }
  bool is_secure() const { return ssl_ != nullptr; }
  bool was_resumed() const { return ssl_ && ::SSL_session_reused(ssl_.get()) == 1; }

  // Appends what there is.
  Outcome read(std::string& into);
  // Counts up `done` by what was taken.
  Outcome write(const std::string& text, std::size_t& done);

  // With TLS's goodbye if the connection is in order.
  void close();
  const std::string& problem() const { return problem_; }

 private:
  Outcome outcome(int result);

  base::UniqueFd fd_;
  OwnedSsl ssl_;
  std::uint32_t wanted_ = 0;
  bool in_order_ = false;
  std::string problem_;
};

}  // namespace fleet
