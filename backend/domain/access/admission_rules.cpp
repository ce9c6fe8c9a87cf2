#include "backend/domain/access/admission_rules.hpp"

#include <algorithm>

#include "backend/domain/access/certificate_rules.hpp"
#include "base/sha256.hpp"
#include "base/token.hpp"
#include "protocol/capabilities.hpp"
#include "protocol/ids.hpp"

namespace backend::domain {

namespace {

using Verdict = Admission::Verdict;

constexpr std::size_t kLongestUid = 255;

// Why the handshake cannot be that of an agent; "" if it can.
std::string problem_of_handshake(const protocol::Handshake& handshake, bool has_certificate) {
  if (const auto wrong = protocol::problem_of_name(handshake.instance_id); !wrong.empty())
    return "the instance_id " + std::string(wrong);
  for (const auto& [name, value] : handshake.tags)
    if (const auto wrong = protocol::problem_of_name(name); !wrong.empty())
      return "the name of a tag " + std::string(wrong);
  if (handshake.agent_uid.size() > kLongestUid) return "the agent_uid is too long";
  if (!has_certificate && handshake.instance_token.empty()) return "the handshake has no instance_token";
  return {};
}

std::optional<HandshakeRefusal> refuse_token(const protocol::Handshake& handshake,
                                             const AdmissionFacts& facts) {
  const std::string instance = "instance '" + handshake.instance_id + "'";
  if (facts.instance && facts.instance->revoked != 0)
    return HandshakeRefusal{
        Verdict::revoked,
        instance + " was revoked" +
            (facts.instance->revoked_why.empty() ? "" : ": " + facts.instance->revoked_why)};
  // Or whoever gets hold of the old token could go on without a certificate.
  if (facts.was_enrolled)
    return HandshakeRefusal{Verdict::wrong_token, instance + " is enrolled: it needs its certificate"};
  if (facts.instance &&
      !base::equal_in_constant_time(facts.instance->token_hash, base::sha256_hex(handshake.instance_token)))
    return HandshakeRefusal{Verdict::wrong_token,
                            instance +
                                " is known with another token: if the machine was reinstalled, forget it "
                                "first (opsctl agent forget " +
                                handshake.instance_id + ")"};
  return std::nullopt;
}

}  // namespace

std::optional<HandshakeRefusal> refuse_form(const protocol::Handshake& handshake,
                                            const std::optional<Credential>& credential) {
  if (std::string wrong = problem_of_handshake(handshake, credential.has_value()); !wrong.empty())
    return HandshakeRefusal{Verdict::invalid, std::move(wrong)};
  if (credential &&
      (credential->app_id != handshake.app_id || credential->instance_id != handshake.instance_id))
    return HandshakeRefusal{Verdict::wrong_name, "the certificate is for " + credential->app_id + "/" +
                                                     credential->instance_id + ", not for " +
                                                     handshake.app_id + "/" + handshake.instance_id};
  return std::nullopt;
}

std::optional<HandshakeRefusal> refuse_peer(const protocol::Handshake& handshake,
                                            const std::optional<Credential>& credential,
                                            const AdmissionFacts& facts, Millis now) {
  if (!facts.app_is_known)
    return HandshakeRefusal{
        Verdict::unknown_app,
        "app '" + handshake.app_id + "' is not known: opsctl app create " + handshake.app_id};
  if (!credential) {
    if (auto refusal = refuse_token(handshake, facts)) return refusal;
  } else if (std::string wrong = problem_of_certificate(*credential, facts.enrolment, facts.certificate, now);
             !wrong.empty()) {
    auto enrolment = facts.enrolment;
    if (enrolment) enrolment->why.clear();
    return HandshakeRefusal{Verdict::revoked, std::move(wrong),
                            problem_of_certificate(*credential, enrolment, facts.certificate, now)};
  }
  // It is who it says. Whether it is wanted is an operator's to say.
  const bool is_stranger = !facts.instance && !credential && facts.approves_strangers;
  if (is_stranger || (facts.instance && facts.instance->pending != 0))
    return HandshakeRefusal{Verdict::pending,
                            "instance '" + handshake.instance_id +
                                "' waits until an operator approves it: opsctl agent approve " +
                                handshake.app_id + "/" + handshake.instance_id};
  return std::nullopt;
}

WaitingRoom room_to_wait(const PendingCounts& counts) {
  if (counts.of_network >= kMostPendingOfNetwork) return WaitingRoom::none;
  if (counts.all < kMostPending) return WaitingRoom::there_is;
  return counts.of_busiest > counts.of_network ? WaitingRoom::oldest_of_busiest_goes : WaitingRoom::none;
}

std::string told_to_strangers(const protocol::Handshake& handshake, WaitingRoom room) {
  const std::string name = handshake.app_id + "/" + handshake.instance_id;
  std::string text = "an operator has to let in " + name + ": opsctl agent approve " + name +
                     ", or why not is in the backend's log";
  if (room == WaitingRoom::none)
    text += ". The list of machines that wait is full, in all or for this address (" +
            std::to_string(kMostPendingOfNetwork) + "): one that is not in it comes in when others have left";
  return text;
}

AdmittedVersions versions_after(const std::optional<KnownInstance>& instance, std::int64_t at_agent,
                                std::string_view digest_at_agent) {
  const auto known_or = [](std::int64_t version, std::int64_t largest) {
    return version < 0 || version > largest ? 0 : version;
  };
  at_agent = known_or(at_agent, kLargestBelieved);
  // Versions go on from what the agent has: it may be known from before it was forgotten here.
  if (!instance) return {.recipe = at_agent, .reported = at_agent};
  // What was stored before there was a limit may be beyond it.
  const std::int64_t recipe = known_or(instance->recipe_version, protocol::kLargestNumber);
  const std::int64_t reported = known_or(instance->reported_version, protocol::kLargestNumber);
  const bool is_other_list = at_agent > 0 && recipe == at_agent && !digest_at_agent.empty() &&
                             !instance->recipe_digest.empty() && digest_at_agent != instance->recipe_digest;
  return {.recipe = recipe < at_agent || is_other_list ? at_agent + 1 : recipe,
          .reported = std::max(reported, at_agent)};
}

int protocol_of(const protocol::Handshake& handshake) {
  return std::max(handshake.protocol_version, handshake.protocol_max) >= 2 ? 2 : 1;
}

namespace {

bool offers(const protocol::Handshake& handshake, std::string_view capability) {
  return protocol_of(handshake) >= 2 &&
         std::ranges::find(handshake.capabilities, capability) != handshake.capabilities.end();
}

}  // namespace

bool takes_inputs(const protocol::Handshake& handshake) {
  return offers(handshake, protocol::kCanVars);
}

bool takes_holds(const protocol::Handshake& handshake) {
  return offers(handshake, protocol::kCanHold);
}

}  // namespace backend::domain
