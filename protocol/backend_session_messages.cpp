// What the backend does about each message of an agent.
#include <utility>

#include "base/text.hpp"
#include "protocol/backend_session.hpp"

namespace protocol {

using namespace at_backend;
using Level = Log::Level;

void BackendSession::on(Received& event) {
  AgentMessage& message = event.message;
  switch (verdict_on(message.body, role())) {
    case Verdict::no:
      return refuse(message.body);
    case Verdict::skip:
      return log(Level::debug, instance_id_ + ": " + std::string(code_of(message.body)) +
                                   " was ignored: the agent speaks version 1");
    default:
      break;
  }
  if (!is_of_this_agent(message.body)) return;
  std::visit([&](auto& body) { on_message(body, message.envelope); }, message.body);
}

AgentRole BackendSession::role() const {
  switch (phase_) {
    case Phase::connecting:
      return is_certified_            ? AgentRole::known
             : policy_.accepts_tokens ? AgentRole::claimant
                                      : AgentRole::stranger;
    case Phase::not_ready:
      return AgentRole::known;
    case Phase::judging:
      return AgentRole::judged;
    case Phase::accepted:
      return version_ < 2    ? AgentRole::version_1
             : is_certified_ ? AgentRole::certified
                             : AgentRole::version_2;
    default:  // enrolling; of a closed connection nothing is heard
      return AgentRole::enrolling;
  }
}

void BackendSession::refuse(const AgentBody& body) {
  const std::string code(code_of(body));
  const bool is_handshake = std::holds_alternative<Handshake>(body);
  if (is_handshake && role() == AgentRole::stranger)
    return close(kClosePolicy, "a certificate is needed here: enrol the agent with a join token");
  if (phase_ != Phase::accepted) return close(kCloseProtocol, code + " before the handshake was accepted");
  close(kCloseProtocol,
        is_handshake ? "a second handshake on one connection" : code + " is not allowed to this agent");
}

namespace {

struct ClaimedNames {
  std::string_view app_id, instance_id;
};

// Every body that says which machine it is about.
ClaimedNames claimed_names(const AgentBody& body) {
  return std::visit(
      []<class M>(const M& message) -> ClaimedNames {
        if constexpr (requires { message.instance_id; })
          return {message.app_id, message.instance_id};
        else if constexpr (requires { message.handshake; })
          return {message.handshake.app_id, message.handshake.instance_id};
        else
          return {};
      },
      body);
}

}  // namespace

bool BackendSession::is_of_this_agent(const AgentBody& body) {
  if (!is_certified_ && phase_ != Phase::accepted) return true;  // who it is, is what it is about to say
  const ClaimedNames claimed = claimed_names(body);
  const auto differs = [](std::string_view said, std::string_view is) { return !said.empty() && said != is; };
  const bool other_app = differs(claimed.app_id, app_id_);
  if (!other_app && !differs(claimed.instance_id, instance_id_)) return true;
  Impostor impostor{std::string(claimed.app_id), std::string(claimed.instance_id)};
  std::string reason = "spoke in the name of " + impostor.claimed_instance_id;
  if (other_app) reason += (claimed.instance_id.empty() ? "app " : " of app ") + impostor.claimed_app_id;
  actions_.push_back(std::move(impostor));
  close(kClosePolicy, std::move(reason));
  return false;
}

// ---- reports

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

void BackendSession::on_message(StateLog& report, const Envelope&) {
  store(std::move(report));
}
void BackendSession::on_message(RecipeStatus& report, const Envelope&) {
  store(std::move(report));
}
void BackendSession::on_message(RoundEnd& report, const Envelope&) {
  store(std::move(report));
}
void BackendSession::on_message(UpdateStatus& report, const Envelope&) {
  store(std::move(report));
}

// ---- all else

void BackendSession::on_message(WaitQuery& query, const Envelope& envelope) {
  actions_.push_back(AnswerWaits{query.recipe_version, envelope.mid});
}
void BackendSession::on_message(StateOutput& output, const Envelope&) {
  actions_.push_back(OutputArrived{std::move(output)});
}
void BackendSession::on_message(Facts& facts, const Envelope&) {
  actions_.push_back(StoreFacts{std::move(facts)});
}

void BackendSession::on_message(HoldStatus& status, const Envelope&) {
  actions_.push_back(HoldsChanged{std::move(status.holds)});
}

void BackendSession::on_message(PlanResult& answer, const Envelope& envelope) {
  actions_.push_back(Answered{envelope.re, std::move(answer)});
}
void BackendSession::on_message(QueryResult& answer, const Envelope& envelope) {
  actions_.push_back(Answered{envelope.re, std::move(answer)});
}
void BackendSession::on_message(TestAnswer& answer, const Envelope& envelope) {
  actions_.push_back(Answered{envelope.re, std::move(answer)});
}
void BackendSession::on_message(Ack& answer, const Envelope& envelope) {
  if (!envelope.re.empty()) actions_.push_back(Answered{envelope.re, answer});
}
void BackendSession::on_message(Nack& answer, const Envelope& envelope) {
  log(Level::info, instance_id_ + ": refused " + (envelope.re.empty() ? "a message" : envelope.re) + ": " +
                       base::quote_of(answer.error));
  if (!envelope.re.empty()) actions_.push_back(Answered{envelope.re, std::move(answer)});
}

void BackendSession::on_message(CertRequest& request, const Envelope& envelope) {
  const bool enrols = phase_ == Phase::connecting;
  if (enrols) {
    phase_ = Phase::enrolling;
    actions_.push_back(StopTimer{Timer::handshake});  // from here on it is the shell that takes its time
  }
  actions_.push_back(SignCertificate{std::move(request), envelope.mid, enrols});
}

void BackendSession::on_message(Goodbye& goodbye, const Envelope&) {
  actions_.push_back(AgentLeaves{std::move(goodbye.reason)});
  close(kCloseNormal, "");
}

void BackendSession::on_message(Unknown& unknown, const Envelope& envelope) {
  log(Level::debug, instance_id_ + ": unknown code '" + unknown.code + "'");
  if (version_ == 2) send(Nack{.error = "unknown code '" + unknown.code + "'"}, {.re = envelope.mid});
}

}  // namespace protocol
