// Who may enrol, and under which name. Pure: a request and what is stored go in, a decision comes out.
// docs/backend.md has the rules. Any thread.
//
// Two steps, so that nothing about an instance is looked up for a peer whose join token is of no use:
// refuse_join_token(), then decide_enrolment().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backend/domain/access/identity.hpp"

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

// The name that a machine gets. The operator's word goes first: the instance that the token names. The
// machine's wish, often the name of its host, counts if the token allows it (name_pattern): selectors and
// waits go by names, so a name is worth as much as a tag. Else it keeps the name that it has, which its key
// shows
// (`with_key`: the enrolment in the token's app that has the request's key and is the newest of its name);
// and else one is made from its key, the same each time, within the pattern if the token has one.
std::string choose_name(const EnrolRequest& request, const JoinToken& token,
                        const std::optional<Enrolment>& with_key);

// Why machines could not be given names of this pattern; "" if they can.
std::string problem_of_name_pattern(std::string_view pattern);

// What is stored about the chosen name in the token's app.
struct EnrolmentFacts {
  std::optional<Enrolment> newest;                 // its newest enrolment
  bool has_used_certificate = false;               // any of that enrolment
  std::vector<CertificateRow> with_requested_key;  // those of that enrolment that have the request's key
  bool instance_exists = false;
  std::int64_t with_token = 0;  // enrolments of this name that the request's token has made
};
// A machine that never uses what it is given may ask again with one use of its token, but not without end:
// each time is a row of the audit.
inline constexpr std::int64_t kMostRepeats = 20;

// `name`: choose_name().
EnrolmentDecision decide_enrolment(const EnrolRequest& request, const JoinToken& token,
                                   const EnrolmentFacts& facts, const std::string& name);

}  // namespace backend::domain
