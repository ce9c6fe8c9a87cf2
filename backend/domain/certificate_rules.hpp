// Which certificates of agents are good, and who may renew one. Pure: rows in, decision out.
// docs/backend.md has the rules. Any thread.
#pragma once

#include <optional>
#include <string>

#include "backend/domain/identity.hpp"

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

struct RenewalDecision {
  std::string refusal;        // for the peer; "": it may renew
  bool drops_unused = false;  // certificates that nobody ever used make room for the new one
};
// `good`: how many certificates of the enrolment are neither revoked nor expired.
RenewalDecision decide_renewal(const Credential& credential, const std::optional<Enrolment>& enrolment,
                               const std::optional<CertificateRow>& certificate, std::int64_t good,
                               Millis now);

}  // namespace backend::domain
