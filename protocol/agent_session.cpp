#include "protocol/agent_session.hpp"

#include <algorithm>
#include <utility>

namespace protocol {

namespace at_agent {
BASE_COMPILED_HERE(Event)
BASE_COMPILED_HERE(Action)
}  // namespace at_agent

using namespace at_agent;
using Level = Log::Level;

AgentSession::AgentSession(Handshake hello, int protocol_min, std::optional<std::uint64_t> offered,
                           bool spoke_version_1)
    : protocol_min_(protocol_min),
      spoke_version_1_(spoke_version_1),
      hello_(std::move(hello)),
      recipe_{hello_.recipe_version.value_or(0), hello_.recipe_digest, {}},
      reports_(hello_.last_seq.value_or(0)),
      offered_(offered.value_or(hello_.last_seq.value_or(0))) {}

std::vector<Action> AgentSession::step(Event event) {
  if (phase_ == Phase::closed) return {};
  std::visit([this](auto& happened) { on(happened); }, event);
  return std::exchange(actions_, {});
}

// ---- the connection

void AgentSession::on(Opened&) {
  actions_.push_back(WatchOutput{.on = false});
  say_hello();
}

void AgentSession::on(IdentityRead& event) {
  if (phase_ != Phase::not_ready) return;
  hello_ = std::move(event.hello);
  say_hello();
}

void AgentSession::say_hello() {
  hello_.protocol_version = 1;
  hello_.protocol_max = 2;
  // One that was taken before there was a limit to it would be refused: better none, and another one comes.
  const bool is_told = recipe_.version > 0 && recipe_.version <= kLargestNumber;
  hello_.recipe_version = is_told ? std::optional(recipe_.version) : std::nullopt;
  hello_.recipe_digest = recipe_.digest;
  hello_.last_seq = reports_.last();
  phase_ = Phase::handshake_sent;
  has_asked_for_waits_ = false;
  told_holds_ = hello_.holds;
  actions_.push_back(Send{AgentMessage{hello_}, 1});
  actions_.push_back(StartTimer{Timer::answer, kAnswerMs});
}

void AgentSession::on(TimerFired& event) {
  if (event.which == Timer::repeat_handshake && phase_ == Phase::not_ready)
    actions_.push_back(ReadIdentityAgain{});
  // Silence proves nothing: a busy backend of version 2 would lose what is written to one of version 1.
  // But one that has spoken version 1 before says nothing because it has nothing to say.
  if (event.which != Timer::answer || phase_ != Phase::handshake_sent) return;
  if (!spoke_version_1_ || protocol_min_ > 1)
    return close(kCloseGoingAway, "the backend does not answer the handshake");
  log(Level::info, "the backend is silent, and has spoken version 1 before");
  speak_version_1();
  ask_about_waits();
}

// The backend has shown that it knows only version 1.
void AgentSession::speak_version_1() {
  if (protocol_min_ > 1)
    return close(kClosePolicy, "the backend speaks protocol version 1, and protocol_min is 2");
  version_ = 1;
  phase_ = Phase::speaking;
  log(Level::info, "the backend speaks protocol version 1");
  // What the spool still has was never written to a version 1 peer, nor acknowledged by one of version 2.
  reports_.start(0);
  actions_.push_back(ReportChangesOnly{.on = false});  // nothing else counts what is kept
  read_more_reports();
}

void AgentSession::on(Closing& event) {
  if (version_ == 2) send(Goodbye{.reason = event.reason});
  close(kCloseGoingAway, std::move(event.reason));
}

void AgentSession::close(unsigned code, std::string reason) {
  if (code != kCloseGoingAway) log(Level::warning, "closing the connection: " + reason);
  actions_.push_back(Close{code, std::move(reason)});
  phase_ = Phase::closed;
}

// ---- reports

void AgentSession::on(ReportsAvailable& event) {
  reports_.available(event.last_seq);
  read_more_reports();
}

void AgentSession::on(ReportsRead& event) {
  if (reports_.reading_arrives()) {
    for (Report& report : event.reports)
      if (reports_.take(report.seq)) send_report(report);
    const std::uint64_t last = event.reports.empty() ? 0 : event.reports.back().seq;
    reports_.reading_ends(std::max(event.through, last));
    if (version_ == 1) acknowledge(reports_.written_through());
  }
  read_more_reports();
}

// Version 1 has a word for results only, and says in each of them which machine it is about.
void AgentSession::send_report(Report& report) {
  auto* const seq = seq_of(report.body);
  if (seq == nullptr) return log(Level::warning, "the spool holds something that is not a report");
  *seq = report.seq;
  if (version_ == 1) {
    auto* const result = std::get_if<StateLog>(&report.body);
    if (result == nullptr) return;
    result->instance_id = hello_.instance_id;
    result->app_id = hello_.app_id;
  }
  offered_ = std::max(offered_, report.seq);
  send(std::move(report.body));
  reports_.goes_out();
}

void AgentSession::on(ReportsWritten& event) {
  reports_.written(event.up_to);
  if (version_ == 1) acknowledge(reports_.written_through());
  read_more_reports();
}

void AgentSession::acknowledge(std::uint64_t up_to) {
  if (up_to <= reports_.acknowledged()) return;
  if (!reports_.acknowledge(up_to))
    return close(kCloseProtocol, "report " + std::to_string(up_to) + " was acknowledged and never sent");
  actions_.push_back(AcknowledgeReports{up_to});
}

void AgentSession::read_more_reports() {
  if (phase_ != Phase::speaking) return;
  if (const auto reading = reports_.next_reading())
    actions_.push_back(ReadReports{reading->after, reading->how_many});
}

// ---- recipes and waits

void AgentSession::on(RecipeInForce& event) {
  const bool is_another = event.version != recipe_.version || event.digest != recipe_.digest;
  is_recipe_changing_ = false;
  recipe_ = std::move(event);
  if (is_another || !has_asked_for_waits_) ask_about_waits();
}

void AgentSession::ask_about_waits() {
  if (phase_ != Phase::speaking || recipe_.waits.empty() || recipe_.version < 1) return;
  has_asked_for_waits_ = true;
  send(WaitQuery{
      .instance_id = hello_.instance_id, .app_id = hello_.app_id, .recipe_version = recipe_.version});
}

// ---- answers, and what else goes to a backend of version 2

void AgentSession::on(FactsChanged& event) {
  hello_.facts_hash = event.hash;
  if (version_ != 2) return;
  if (event.patch && facts_in_step_) {
    send(Facts{.hash = std::move(event.hash), .patch = std::move(event.patch)});
  } else if (event.full) {
    facts_in_step_ = true;
    send(Facts{.hash = std::move(event.hash), .full = std::move(event.full)});
  }
}

void AgentSession::on(Output& event) {
  const StateOutput& output = event.output;
  const bool watched = std::ranges::any_of(watchers_, [&](const OutputSubscribe& watcher) {
    return (watcher.run_id.empty() || watcher.run_id == output.run_id) &&
           (watcher.id.empty() || watcher.id == output.id);
  });
  if (watched) send(std::move(event.output));
}

void AgentSession::on(PlanReady& event) {
  if (version_ == 2) send(std::move(event.result), std::move(event.re));
}
void AgentSession::on(QueryAnswered& event) {
  if (version_ == 2) send(std::move(event.result), std::move(event.re));
}
void AgentSession::on(RequestDone& event) {
  if (version_ == 2) send(Ack{}, std::move(event.re));
}
void AgentSession::on(RequestRefused& event) {
  if (version_ == 2)
    send(Nack{.error = std::move(event.error), .retryable = event.retryable}, std::move(event.re));
}
void AgentSession::on(HoldsChanged& event) {
  hello_.holds = std::move(event.holds);
  if (version_ == 2 && tells_holds_) send(HoldStatus{hello_.holds});
}
void AgentSession::on(CertificateWanted& event) {
  if (version_ == 2) send(std::move(event.request));
}

void AgentSession::send(AgentBody body, std::string re) {
  actions_.push_back(Send{AgentMessage{std::move(body), {.re = std::move(re)}}, version_ == 2 ? 2 : 1});
}

void AgentSession::log(Level level, std::string text) {
  actions_.push_back(Log{level, std::move(text)});
}

}  // namespace protocol
