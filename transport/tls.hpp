// TLS as callers see it: who we are, whom we trust, and what a client has shown.
//
// A TlsServer or TlsClient is shared by any number of connections, on any thread. Making one fails when the
// PEM texts are not what they should be (`invalid`). TLS 1.2 and 1.3 only; a client verifies always, there is
// no switch for it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace transport {

// In PEM. The chain begins with our own certificate. A server's should end with the root, so that a client
// that knows nothing but the hash of the CA's key finds it there.
struct TlsIdentity {
  std::string chain;
  std::string key;
};

class TlsServer {
 public:
  // Clients are asked for a certificate signed by one of `client_ca` (PEM, may be empty), and served without
  // one too.
  //
  // Clients resume sessions with tickets. A key for them is used for one period, and known for one more; a
  // session lives one period at most, so a good ticket always finds its key.
  static constexpr std::chrono::seconds kTicketPeriod{2 * 60 * 60};
  static base::Result<std::shared_ptr<TlsServer>> make(
      TlsIdentity identity, std::string client_ca, std::chrono::milliseconds ticket_period = kTicketPeriod);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  // For a renewed certificate: connections from now on see it, those that are open stay, sessions can be
  // resumed.
  base::Result<void> replace(TlsIdentity identity);
  // And from now on clients are known by these.
  base::Result<void> replace(TlsIdentity identity, std::string client_ca);

  // Inside transport/.
  struct Impl;
  explicit TlsServer(std::unique_ptr<Impl> impl);
  Impl& impl() const { return *impl_; }

 private:
  const std::unique_ptr<Impl> impl_;
};

// One of the two.
struct TlsTrust {
  std::string ca;       // the CAs, in PEM
  std::string ca_hash;  // for the first meeting: SHA-256, in hex, of the CA's SubjectPublicKeyInfo (DER)
};

class TlsClient {
 public:
  // `identity`: shown to servers that ask for one.
  static base::Result<std::shared_ptr<TlsClient>> make(TlsTrust trust,
                                                       std::optional<TlsIdentity> identity = {});
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // Inside transport/.
  struct Impl;
  explicit TlsClient(std::unique_ptr<Impl> impl);
  Impl& impl() const { return *impl_; }

 private:
  const std::unique_ptr<Impl> impl_;
};

// What a client has shown. It has the certificate's key; whether the certificate is good is said by
// `problem`.
struct PeerCertificate {
  std::string pem;
  // Empty: signed by one of client_ca, for use by clients, and in time. Else what is wrong, in words for
  // people.
  std::string problem;
};

}  // namespace transport
