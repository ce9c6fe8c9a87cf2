// Who is admitted at a handshake. Pure: what was said and what is stored go in, a decision comes out.
// docs/backend.md has the rules. Any thread.
//
// With a credential that alone says who the peer is. Without one it is the instance_token, which is of no use
// to an instance that was ever enrolled.
#pragma once

#include <optional>
#include <string>

#include "backend/domain/access/identity.hpp"
#include "protocol/messages.hpp"

namespace backend::domain {

// Why a peer is not admitted: the reason for an operator, and what the peer is told; "": the reason. What an
// operator has said about a machine is not for whoever has its dead certificate.
struct HandshakeRefusal {
  Admission::Verdict verdict = Admission::Verdict::invalid;
  std::string reason;
  std::string told = {};
};

// What can be said without a look at what is stored. Nothing: the handshake may be looked at further.
std::optional<HandshakeRefusal> refuse_form(const protocol::Handshake& handshake,
                                            const std::optional<Credential>& credential);

// What is stored about the peer. Facts that the decision does not need may be left empty: none but `app_id`
// counts when the app is not known; `was_enrolled` counts without a credential, the last two with one.
struct AdmissionFacts {
  bool app_is_known = false;
  std::optional<KnownInstance> instance;
  bool was_enrolled = false;                  // any enrolment of this name, whatever became of it
  std::optional<Enrolment> enrolment;         // with the credential's uid
  std::optional<CertificateRow> certificate;  // with the credential's serial
  // Whether machines that come with nothing but an instance_token for the first time must be approved.
  bool approves_strangers = false;
};
// Nothing: the peer is who it says, and is admitted.
std::optional<HandshakeRefusal> refuse_peer(const protocol::Handshake& handshake,
                                            const std::optional<Credential>& credential,
                                            const AdmissionFacts& facts, Millis now);

// Whether one more machine may wait to be approved.
enum class WaitingRoom {
  there_is,
  oldest_of_busiest_goes,  // to make room: its network has more than this one
  none,
};
WaitingRoom room_to_wait(const PendingCounts& counts);

// What a peer without a certificate is told that is not admitted, where machines have to be approved: the
// same for a name that waits, is enrolled, revoked or known with another token, and for an app that is not
// there. `room` is that before this handshake.
std::string told_to_strangers(const protocol::Handshake& handshake, WaitingRoom room);

// Which versions an instance has after a handshake of an agent that says it has `at_agent`, with that digest.
// A version stands for one list of states, also across a database that was put back from a backup: where the
// agent has gone further, or has another list under our number, the next number is used, so that nothing that
// it reports of its list counts for ours. No agent pushes its own so far that there is no next one: above
// kLargestBelieved it counts as none, and the agent is told ours, which it takes because it is another.
inline constexpr std::int64_t kLargestBelieved = protocol::kLargestNumber / 2;
struct AdmittedVersions {
  std::int64_t recipe = 0, reported = 0;
};
AdmittedVersions versions_after(const std::optional<KnownInstance>& instance, std::int64_t at_agent,
                                std::string_view digest_at_agent = {});

// The protocol that both sides speak: 1 or 2.
int protocol_of(const protocol::Handshake& handshake);

// Whether the agent knows what to do with the variables and tags of a recipe.
bool takes_inputs(const protocol::Handshake& handshake);
bool takes_holds(const protocol::Handshake& handshake);

}  // namespace backend::domain
