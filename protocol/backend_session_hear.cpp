// What the backend does about each message of an agent.
#include <utility>

#include "protocol/backend_session.hpp"

namespace protocol {

using namespace at_backend;
using Level = Log::Level;

void BackendSession::on(Received& event) {
  AgentMessage& message = event.message;
  if (phase_ != Phase::accepted) return hear_stranger(message);
  const bool is_unknown = std::holds_alternative<Unknown>(message.body);
  if (version_ < since_version(message.body) && !is_unknown)
    return log(Level::debug, instance_id_ + ": " + std::string(code_of(message.body)) +
                                 " was ignored: the agent speaks version 1");
  std::visit([&](auto& body) { hear(body, message.envelope); }, message.body);
}

// Everything that a peer may say who has not been accepted. The list is short on purpose.
void BackendSession::hear_stranger(AgentMessage& message) {
  auto* const handshake = std::get_if<Handshake>(&message.body);
  if (handshake != nullptr && phase_ != Phase::judging) return meet(*handshake);
  auto* const request = std::get_if<CertRequest>(&message.body);
  if (request != nullptr && phase_ == Phase::connecting && !request->token.empty() && !has_enrolled_) {
    has_enrolled_ = true;
    phase_ = Phase::enrolling;
    actions_.push_back(SignCertificate{std::move(*request), message.envelope.mid, true});
    return;
  }
  close(kCloseProtocol, std::string(code_of(message.body)) + " before the handshake was accepted");
}

void BackendSession::hear(Handshake&, const Envelope&) {
  close(kCloseProtocol, "a second handshake on one connection");
}

// ---- reports

bool BackendSession::is_of_this_agent(const std::string& claimed_instance_id) {
  if (claimed_instance_id.empty() || claimed_instance_id == instance_id_) return true;
  actions_.push_back(Impostor{claimed_instance_id});
  close(kClosePolicy, "spoke in the name of " + claimed_instance_id);
  return false;
}

void BackendSession::store(AgentBody report) {
  const std::optional<std::uint64_t> seq = *seq_of(report);
  if (version_ == 1) {
    actions_.push_back(Store{std::nullopt, std::move(report)});
  } else if (!seq) {
    close(kCloseProtocol, std::string(code_of(report)) + " without a seq");
  } else if (*seq > last_seq_) {
    last_seq_ = *seq;
    actions_.push_back(Store{seq, std::move(report)});
  }
}

void BackendSession::hear(StateLog& report, const Envelope&) {
  if (is_of_this_agent(report.instance_id)) store(std::move(report));
}
void BackendSession::hear(RecipeStatus& report, const Envelope&) {
  store(std::move(report));
}
void BackendSession::hear(RoundEnd& report, const Envelope&) {
  store(std::move(report));
}
void BackendSession::hear(UpdateStatus& report, const Envelope&) {
  store(std::move(report));
}

// ---- all else

void BackendSession::hear(WaitQuery& query, const Envelope& envelope) {
  if (is_of_this_agent(query.instance_id))
    actions_.push_back(AnswerWaits{query.recipe_version, envelope.mid});
}
void BackendSession::hear(StateOutput& output, const Envelope&) {
  actions_.push_back(OutputArrived{std::move(output)});
}
void BackendSession::hear(Facts& facts, const Envelope&) {
  actions_.push_back(StoreFacts{std::move(facts)});
}

void BackendSession::hear(PlanResult& answer, const Envelope& envelope) {
  actions_.push_back(Answered{envelope.re, std::move(answer)});
}
void BackendSession::hear(QueryResult& answer, const Envelope& envelope) {
  actions_.push_back(Answered{envelope.re, std::move(answer)});
}
void BackendSession::hear(TestAnswer& answer, const Envelope& envelope) {
  actions_.push_back(Answered{envelope.re, std::move(answer)});
}
void BackendSession::hear(Ack& answer, const Envelope& envelope) {
  if (!envelope.re.empty()) actions_.push_back(Answered{envelope.re, answer});
}
void BackendSession::hear(Nack& answer, const Envelope& envelope) {
  log(Level::info,
      instance_id_ + ": refused " + (envelope.re.empty() ? "a message" : envelope.re) + ": " + answer.error);
  if (!envelope.re.empty()) actions_.push_back(Answered{envelope.re, std::move(answer)});
}

void BackendSession::hear(CertRequest& request, const Envelope& envelope) {
  actions_.push_back(SignCertificate{std::move(request), envelope.mid, false});
}

void BackendSession::hear(Goodbye& goodbye, const Envelope&) {
  actions_.push_back(AgentLeaves{std::move(goodbye.reason)});
  close(kCloseNormal, "");
}

void BackendSession::hear(Unknown& unknown, const Envelope& envelope) {
  log(Level::debug, instance_id_ + ": unknown code '" + unknown.code + "'");
  if (version_ == 2) send(Nack{.error = "unknown code '" + unknown.code + "'"}, {}, envelope.mid);
}

}  // namespace protocol
