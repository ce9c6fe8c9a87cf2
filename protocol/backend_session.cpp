#include "protocol/backend_session.hpp"

#include <algorithm>
#include <utility>

#include "base/utc_text.hpp"
#include "protocol/capabilities.hpp"
#include "protocol/lifetimes.hpp"

namespace protocol {

namespace at_backend {
BASE_COMPILED_HERE(Event)
BASE_COMPILED_HERE(Action)
}  // namespace at_backend

using namespace at_backend;
using Level = Log::Level;

namespace {

// What an agent must have listed to be told such a message; empty: every agent of the message's version may
// be.
struct NeededCapability {
  std::string_view operator()(const RecipeMetadata& recipe) const { return recipe.plan_only ? kCanPlan : ""; }
  std::string_view operator()(const Query&) const { return kCanQuery; }
  std::string_view operator()(const Run&) const { return kCanRun; }
  std::string_view operator()(const Cancel&) const { return kCanRun; }
  std::string_view operator()(const OutputSubscribe&) const { return kCanOutput; }
  std::string_view operator()(const Settings&) const { return kCanSettings; }
  std::string_view operator()(const Hold&) const { return kCanHold; }
  std::string_view operator()(const RunNow&) const { return kCanHold; }
  std::string_view operator()(const Authorities&) const { return kCanTrust; }
  std::string_view operator()(const auto&) const { return ""; }
};

// The session's own words: no shell may put them into its mouth.
bool is_of_the_session(const BackendBody& body) {
  return std::holds_alternative<Welcome>(body) || std::holds_alternative<AppNotReady>(body) ||
         std::holds_alternative<Ack>(body) || std::holds_alternative<Goodbye>(body) ||
         std::holds_alternative<Unknown>(body);
}

}  // namespace

std::vector<Action> BackendSession::step(Event event) {
  if (phase_ == Phase::closed) return {};
  std::visit([this](auto& happened) { on(happened); }, event);
  return std::exchange(actions_, {});
}

// ---- who is there

void BackendSession::on(Opened& event) {
  if (event.certificate) {
    is_certified_ = true;
    app_id_ = std::move(event.certificate->app_id);
    instance_id_ = std::move(event.certificate->instance_id);
  }
  actions_.push_back(SetMaxMessage{kLargestBeforeWelcome});
  actions_.push_back(StartTimer{Timer::handshake, kHandshakeMs});
}

void BackendSession::on(TimerFired&) {
  if (phase_ == Phase::connecting || phase_ == Phase::enrolling || phase_ == Phase::not_ready)
    close(kClosePolicy, "no handshake in time");
}

void BackendSession::on_message(Handshake& handshake, const Envelope&) {
  version_ = handshake.protocol_max >= 2 ? 2 : 1;
  if (version_ < policy_.protocol_min)
    return close(kClosePolicy, "protocol version 1 is not accepted here, and " + handshake.instance_id +
                                   " offers no other");
  if (phase_ == Phase::not_ready && !is_certified_ &&
      (handshake.app_id != app_id_ || handshake.instance_id != instance_id_))
    return close(kClosePolicy, "one connection is for one machine: it was " + app_id_ + "/" + instance_id_);
  phase_ = Phase::judging;
  if (is_certified_) handshake.app_id = app_id_;  // it may have been left out
  app_id_ = handshake.app_id;
  instance_id_ = handshake.instance_id;
  capabilities_ = handshake.capabilities;
  actions_.push_back(StopTimer{Timer::handshake});
  actions_.push_back(DecideHandshake{std::move(handshake), version_});
}

void BackendSession::on(Accepted& event) {
  if (phase_ != Phase::judging) return;
  phase_ = Phase::accepted;
  last_seq_ = acked_seq_ = event.welcome.ack_seq;
  actions_.push_back(SetMaxMessage{event.welcome.max_message});
  if (version_ < 2) return;
  event.welcome.protocol_version = version_;
  send(std::move(event.welcome));
}

void BackendSession::on(NotReady& event) {
  if (phase_ != Phase::judging) return;
  phase_ = Phase::not_ready;
  const std::int64_t wait = std::max<std::int64_t>(event.retry_after_ms.value_or(kNotReadyMs), kNotReadyMs);
  send(AppNotReady{.reason = std::move(event.reason), .retry_after_ms = event.retry_after_ms});
  actions_.push_back(StartTimer{Timer::handshake, wait + kHandshakeMs});
}

void BackendSession::on(Refused& event) {
  close(kClosePolicy, std::move(event.reason));
}

// ---- the end of it

void BackendSession::on(Superseded&) {
  close(kCloseSuperseded, "a newer connection of the same agent has taken over");
}

void BackendSession::on(Revoked& event) {
  close(kClosePolicy, std::move(event.reason));
}

void BackendSession::on(Drain& event) {
  if (version_ == 2)
    send(Goodbye{.reason = event.reason,
                 .retry_after_ms = event.retry_after_ms,
                 .alternatives = std::move(event.alternatives)});
  close(kCloseGoingAway, std::move(event.reason));
}

void BackendSession::close(unsigned code, std::string reason) {
  if (code == kCloseProtocol || code == kClosePolicy)
    log(Level::warning, (instance_id_.empty() ? "" : instance_id_ + ": ") + reason);
  actions_.push_back(Close{code, std::move(reason)});
  phase_ = Phase::closed;
}

// ---- what is said to the agent

void BackendSession::on(Stored& event) {
  // What an older connection brought is acknowledged when this one has brought it too.
  const std::uint64_t up_to = std::min(event.up_to_seq, last_seq_);
  if (phase_ != Phase::accepted || version_ < 2 || up_to <= acked_seq_) return;
  acked_seq_ = up_to;
  send(Ack{.ack_seq = acked_seq_, .history = std::move(event.history)});
}

void BackendSession::on(Tell& event) {
  const auto fail = [&](std::string why) {
    actions_.push_back(TellFailed{std::move(event.mid), std::move(why)});
  };
  const bool enrols = phase_ == Phase::enrolling && (std::holds_alternative<CertIssued>(event.body) ||
                                                     std::holds_alternative<Nack>(event.body));
  if (is_of_the_session(event.body))
    return fail(std::string(code_of(event.body)) + " is said by the session itself");
  if (phase_ != Phase::accepted && !enrols) return fail("the agent's handshake is not accepted yet");
  if (enrols) version_ = 2;

  const std::string_view needed = std::visit(NeededCapability{}, event.body);
  if (version_ < 2 && (since_version(event.body) > 1 || !needed.empty()))
    return fail("the agent speaks protocol version 1, which cannot do this");
  const bool is_missing = !needed.empty() && std::ranges::find(capabilities_, needed) == capabilities_.end();
  if (is_missing && needed == kCanHold)
    return fail("the agent is too old: it knows nothing of pauses; update it");
  if (is_missing)
    return fail("the agent does not offer '" + std::string(needed) + "'" +
                (needed == kCanRun || needed == kCanQuery
                     ? "; it must be allowed on the machine (--allow " + std::string(needed) + ")"
                     : ""));
  const auto lifetime = version_ < 2 ? std::nullopt : lifetime_of(event.body);
  send(std::move(event.body), {.mid = std::move(event.mid),
                               .re = std::move(event.re),
                               .valid_until = lifetime ? base::utc_text(event.now + *lifetime) : ""});
  if (enrols) actions_.push_back(StartTimer{Timer::handshake, kHandshakeMs});  // until the agent leaves
}

void BackendSession::send(BackendBody body, Envelope envelope) {
  actions_.push_back(Send{BackendMessage{std::move(body), std::move(envelope)}, version_});
}

void BackendSession::log(Level level, std::string text) {
  actions_.push_back(Log{level, std::move(text)});
}

}  // namespace protocol
