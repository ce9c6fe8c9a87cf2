// Which certificates of agents are good, and who may renew one. Pure: rows in, decision out.
// docs/backend.md has the rules. Any thread.
#pragma once

#include <optional>
#include <string>

#include "backend/domain/access/identity.hpp"

namespace backend::domain {

// Why certificates end; these texts are stored.
inline constexpr std::string_view kEnrolledAnew = "enrolled anew";
inline constexpr std::string_view kForgotten = "forgotten";
inline constexpr std::string_view kReplaced = "replaced by a newer one";
inline constexpr std::string_view kNeverUsed = "never used";

// A certificate that has expired is refused for that; its row is of use a while longer, to those who look.
inline constexpr Millis kCertificatesKeptAfterEnd = 30LL * 24 * 3600 * 1000;

// What is wrong with a verified certificate; "" when nothing is. `enrolment`: the one with the credential's
// uid. `certificate`: the one with its serial.
std::string problem_of_certificate(const Credential& credential, const std::optional<Enrolment>& enrolment,
                                   const std::optional<CertificateRow>& certificate, Millis now);

// Certificates that one enrolment is issued within half of a certificate's life. An agent whose answers get
// lost, or that cannot keep them, asks some 120 times until its certificate ends.
inline constexpr std::int64_t kMostRenewals = 128;

// From when on a certificate can be renewed: half of its life. Agents ask at two thirds, by their own clock.
Millis renewable_from(const CertificateRow& certificate);

// What is known about the enrolment when a certificate is to be renewed.
struct RenewalFacts {
  std::int64_t good = 0;        // of its certificates are neither revoked nor expired
  std::int64_t lately = 0;      // were issued within the last half of a life
  bool changes_issuer = false;  // the next would be of another authority: then it need not be old
};

struct RenewalDecision {
  std::string refusal;        // for the peer; "": it may renew
  bool is_for_now = false;    // with a refusal: nothing is wrong with the peer, it may ask again later
  bool drops_unused = false;  // certificates that nobody ever used make room for the new one
};
RenewalDecision decide_renewal(const Credential& credential, const std::optional<Enrolment>& enrolment,
                               const std::optional<CertificateRow>& certificate, const RenewalFacts& facts,
                               Millis now);

}  // namespace backend::domain
