// Who may enrol, and under which name. Pure: a request and what is stored go in, a decision comes out.
// docs/backend.md has the rules. Any thread.
//
// Two steps, so that nothing about an instance is looked up for a peer whose join token is of no use:
// refuse_join_token(), then decide_enrolment().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/domain/identity.hpp"

namespace backend::domain {

// What is to come of a request: a refusal, or the names that it gets.
struct EnrolmentDecision {
  std::string refusal;        // for the peer; "": it may
  std::string detail;         // of the refusal, for the audit
  bool is_bad_token = false;  // refused for its token: the peer is told nothing more
  bool repeats = false;       // it was answered before, and the answer never arrived: that use counts
  std::string app_id, instance_id;
};

// Nothing: the token is known and good, but for its uses, which decide_enrolment() looks at.
std::optional<EnrolmentDecision> refuse_join_token(const EnrolRequest& request,
                                                   const std::optional<JoinToken>& token, Millis now);

// The instance that a request is about. "": neither the token nor the machine names one. The operator's word
// goes before the machine's idea of its own name, often that of its host.
const std::string& wanted_instance(const EnrolRequest& request, const JoinToken& token);

// What is stored about wanted_instance() in the token's app.
struct EnrolmentFacts {
  std::optional<Enrolment> newest;                 // its newest enrolment
  bool has_used_certificate = false;               // any of that enrolment
  std::vector<CertificateRow> with_requested_key;  // those of that enrolment that have the request's key
  bool instance_exists = false;
};
// `new_name`: for a machine that nobody has named.
EnrolmentDecision decide_enrolment(const EnrolRequest& request, const JoinToken& token,
                                   const EnrolmentFacts& facts, const std::string& new_name);

}  // namespace backend::domain
