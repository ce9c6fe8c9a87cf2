// Inside transport/: OpenSSL's objects as ours, and what the two sides of TLS share.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/result.hpp"
#include "transport/tls.hpp"
#include "transport/tls/stream.hpp"

namespace transport {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using SslContext = std::unique_ptr<SSL_CTX, Freed<&SSL_CTX_free>>;
using Ssl = std::unique_ptr<SSL, Freed<&SSL_free>>;
using SslSession = std::unique_ptr<SSL_SESSION, Freed<&SSL_SESSION_free>>;
using X509Certificate = std::unique_ptr<X509, Freed<&X509_free>>;
using X509Store = std::unique_ptr<X509_STORE, Freed<&X509_STORE_free>>;

// What both sides want: TLS 1.2 and up, forward secrecy and authenticated encryption only, small idle
// connections.
base::Result<SslContext> make_context(const SSL_METHOD* method);
// Checks that key and certificate belong together.
base::Result<void> use_identity(SSL_CTX* context, const TlsIdentity& identity);

// At most `most`. An empty text has none; any other that does not hold one is an error.
inline constexpr std::size_t kMaxCertificates = 64;
inline constexpr std::size_t kMaxAuthorities = 1024;  // a system's bundle has about 150
base::Result<std::vector<X509Certificate>> parse_certificates(const std::string& pem,
                                                              std::size_t most = kMaxCertificates);
// Any of them is trusted, also one that somebody else signed.
base::Result<X509Store> make_store(const std::string& pem);

std::string to_pem(X509* certificate);
// SHA-256, in hex, of the key as the certificate holds it (SubjectPublicKeyInfo in DER).
std::string key_hash(X509* certificate);
// The names and addresses that it is for: "a, b"; "no name" if there are none.
std::string names_of(X509* certificate);
// "2026-01-31 12:00:00 UTC".
std::string format_time(const ASN1_TIME* time);
std::string format_now();

// What is wrong with a client's certificate; empty if nothing. `chain` may be null.
std::string problem_with_client(X509_STORE* trusted, X509* certificate, STACK_OF(X509) * chain);

// The server's half of a handshake. What the client has shown goes to `shown`; null if that is nothing.
Task<ErrorCode> secure_as_server(Stream& stream, const TlsServer& server,
                                 std::shared_ptr<const PeerCertificate>& shown);

// The client's half, with a server that must be `host`, a name or an address. `where` is for messages and for
// resuming the last session with the same.
Task<base::Result<void>> secure_as_client(Stream& stream, std::shared_ptr<TlsClient> client, std::string host,
                                          std::string where, std::chrono::milliseconds timeout);

}  // namespace transport
