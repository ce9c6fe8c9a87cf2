// Renewal: keeps the certificate alive. Well before it ends a new one, for a new key, is asked for over the
// connection, which goes on with the old one; the next connection has the new. Belongs to the loop's thread.
#pragma once

#include <functional>
#include <optional>

#include "agent/identity/membership.hpp"
#include "agent/log_line.hpp"
#include "transport/async.hpp"

namespace agent::connection {

class Renewal {
 public:
  // Who is asked: null while nobody is connected who could be. It is looked at before a request is made,
  // which would take the place of an enrolment's that is under way.
  using Ask = std::function<void(protocol::CertRequest)>;
  Renewal(transport::asio::any_io_executor executor, identity::Membership& membership, LogLine log,
          std::function<Ask()> backend)
      : membership_(membership),
        log_(std::move(log)),
        backend_(std::move(backend)),
        changed_(std::move(executor)) {}

  // Until end().
  transport::Task<> run();
  void end();

  // There is somebody to ask: what is due is asked for now, not at the next try.
  void connected();
  // There is a (new) certificate.
  void enrolled() { changed_.notify(); }
  // Another authority issues certificates now: one of its is asked for, once, within that time.
  void issuer_changed(std::chrono::milliseconds within);
  // The error is logged, too.
  base::Result<void> issued(const protocol::CertIssued& issued);

 private:
  std::chrono::milliseconds until_next() const;
  void renew();

  identity::Membership& membership_;
  const LogLine log_;
  const std::function<Ask()> backend_;
  transport::Wake changed_;
  pki::Instant last_try_{};
  std::optional<pki::Instant> other_issuer_at_;  // when to ask for a certificate of another authority
  bool is_ending_ = false;
};

}  // namespace agent::connection
