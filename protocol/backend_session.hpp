// The backend's side of one agent's connection: what happens goes in, what is to be done comes out. No
// sockets, no clock, no thread of its own; whoever owns it performs the actions in order. Small, because a
// backend has ten thousand of them.
//
// The rules:
//  * Which message may come from whom is a table (permissions.hpp), and is looked up before anything else.
//  * The first message is a Handshake, within 10 s, or a CertRequest with a join token (enrolment, once, and
//    nothing after it). Nothing else is handled for a peer that was not accepted.
//  * The shell judges the handshake. Accepted: an agent that offers version 2 gets a Welcome, another one
//  nothing.
//    Not ready: AppNotReady, and the agent may repeat the handshake, in the same name. Refused: closed.
//  * A report is stored once: numbers grow on a connection, and one that does not is a repetition and
//  dropped. Gaps
//    are accepted, since the agent's spool may drop. Version 1 has no numbers: the shell gives its own.
//  * Ack is sent when the shell says that reports are stored, never before.
//  * Who is speaking is what its certificate says, or for agents without one what the handshake said. A
//    message in another machine's or app's name closes the connection.
//  * What the agent is asked for beyond its recipe is asked for until a certain time (lifetimes.hpp).
//  * Nothing is handled after the connection was superseded, drained or closed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/compiled_once.hpp"
#include "protocol/codec.hpp"
#include "protocol/messages.hpp"
#include "protocol/permissions.hpp"

namespace protocol {

// What a backend accepts, from all of its agents alike.
struct BackendPolicy {
  int protocol_min = 1;         // 2: an agent that offers only version 1 is refused
  bool accepts_tokens = false;  // an agent without a certificate may be known by its instance_token
};

// Whom a verified certificate names.
struct CertifiedName {
  std::string app_id;
  std::string instance_id;
};

namespace at_backend {

enum class Timer { handshake };
inline constexpr std::int64_t kHandshakeMs = 10'000;
inline constexpr std::int64_t kNotReadyMs = 30'000;  // until the handshake is repeated, unless said otherwise

// ---- events

struct Opened {
  std::optional<CertifiedName> certificate = {};  // nothing: none that counts was shown
};
struct Received {
  AgentMessage message;
};
// Answers to DecideHandshake. The welcome's protocol_version is the session's to fill in.
struct Accepted {
  Welcome welcome;
};
struct NotReady {
  std::string reason;
  std::optional<std::int64_t> retry_after_ms;
};
struct Refused {
  std::string reason;
};
struct Stored {  // every report of this agent up to here is on disk
  std::uint64_t up_to_seq = 0;
  std::string history = {};  // to be said with the Ack; "": nothing new
};
// Something to say: RecipeMetadata, WaitList, State, AgentUpdate, Query, Run, Cancel, OutputSubscribe,
// Settings, Hold, RunNow, CertIssued, Authorities, Test. `mid` names a request whose answer is waited for,
// `re` the request that this answers. `now` is needed for what must be done within its time; without, that
// time is over.
struct Tell {
  BackendBody body;
  std::string mid = {};
  std::string re = {};
  std::chrono::system_clock::time_point now = {};
};
struct Superseded {};  // the same agent has a newer connection
struct Drain {         // this backend is going away, or cannot serve the agent now
  std::optional<std::int64_t> retry_after_ms;
  std::vector<std::string> alternatives = {};
  std::string reason = "draining";
};
struct Revoked {  // the agent's right to be here has ended
  std::string reason;
};
struct TimerFired {
  Timer which = Timer::handshake;
};

struct Event : std::variant<Opened, Received, Accepted, NotReady, Refused, Stored, Tell, Superseded, Drain,
                            Revoked, TimerFired> {
  using variant::variant;
  BASE_COMPILED_ONCE(Event);
};

// ---- actions

struct Send {
  BackendMessage message;
  int version = 1;  // for encode()
  bool operator==(const Send&) const = default;
};
struct Close {
  unsigned code = kCloseNormal;
  std::string reason;
  bool operator==(const Close&) const = default;
};
struct StartTimer {  // starting it again moves it
  Timer which = Timer::handshake;
  std::int64_t ms = 0;
  bool operator==(const StartTimer&) const = default;
};
struct StopTimer {
  Timer which = Timer::handshake;
  bool operator==(const StopTimer&) const = default;
};
struct SetMaxMessage {  // for what is received
  std::uint64_t bytes = kLargestBeforeWelcome;
  bool operator==(const SetMaxMessage&) const = default;
};
struct DecideHandshake {
  Handshake handshake;
  int version = 1;  // that will be spoken if it is accepted
  bool operator==(const DecideHandshake&) const = default;
};
struct Store {  // no number: of version 1
  std::optional<std::uint64_t> seq;
  AgentBody report;
  bool operator==(const Store&) const = default;
};
struct StoreFacts {
  Facts facts;
  bool operator==(const StoreFacts&) const = default;
};
struct HoldsChanged {  // the machine says so; it decides nothing
  std::vector<MachineHold> holds;
  bool operator==(const HoldsChanged&) const = default;
};
struct AnswerWaits {
  std::int64_t recipe_version = 0;
  std::string re;
  bool operator==(const AnswerWaits&) const = default;
};
struct OutputArrived {
  StateOutput output;
  bool operator==(const OutputArrived&) const = default;
};
// PlanResult, QueryResult, TestAns, Ack or Nack: the answer to what was told with that mid.
struct Answered {
  std::string re;
  AgentBody answer;
  bool operator==(const Answered&) const = default;
};
struct TellFailed {  // this agent cannot be told that
  std::string mid;
  std::string error;
  bool operator==(const TellFailed&) const = default;
};
struct SignCertificate {
  CertRequest request;
  std::string re;
  bool enrolment = false;  // by join token, of a peer that is nobody yet
  bool operator==(const SignCertificate&) const = default;
};
struct AgentLeaves {
  std::string reason;
  bool operator==(const AgentLeaves&) const = default;
};
struct Impostor {              // for the audit: the agent spoke in another machine's or app's name
  std::string claimed_app_id;  // either may be empty: it was not said
  std::string claimed_instance_id;
  bool operator==(const Impostor&) const = default;
};
struct Log {
  enum class Level { debug, info, warning } level = Level::info;
  std::string text;
  bool operator==(const Log&) const = default;
};

struct Action : std::variant<Send, Close, StartTimer, StopTimer, SetMaxMessage, DecideHandshake, Store,
                             StoreFacts, HoldsChanged, AnswerWaits, OutputArrived, Answered, TellFailed,
                             SignCertificate, AgentLeaves, Impostor, Log> {
  using variant::variant;
  BASE_COMPILED_ONCE(Action);
};

}  // namespace at_backend

class BackendSession {
 public:
  explicit BackendSession(BackendPolicy policy) : policy_(policy) {}

  std::vector<at_backend::Action> step(at_backend::Event event);

  bool is_accepted() const { return phase_ == Phase::accepted; }
  // 0 while it is not known.
  int version() const { return version_; }
  // Empty while nobody has said; a certificate's are there from the beginning.
  const std::string& app_id() const { return app_id_; }
  const std::string& instance_id() const { return instance_id_; }
  bool is_certified() const { return is_certified_; }

 private:
  enum class Phase : std::uint8_t { connecting, enrolling, judging, not_ready, accepted, closed };

  void on(at_backend::Opened& event);
  void on(at_backend::Received& event);
  void on(at_backend::Accepted& event);
  void on(at_backend::NotReady& event);
  void on(at_backend::Refused& event);
  void on(at_backend::Stored& event);
  void on(at_backend::Tell& event);
  void on(at_backend::Superseded&);
  void on(at_backend::Drain& event);
  void on(at_backend::Revoked& event);
  void on(at_backend::TimerFired& event);

  // One for each message: a new one without a rule does not compile.
  void on_message(StateLog& report, const Envelope&);
  void on_message(RecipeStatus& report, const Envelope&);
  void on_message(RoundEnd& report, const Envelope&);
  void on_message(UpdateStatus& report, const Envelope&);
  void on_message(WaitQuery& query, const Envelope& envelope);
  void on_message(StateOutput& output, const Envelope&);
  void on_message(Facts& facts, const Envelope&);
  void on_message(HoldStatus& status, const Envelope&);
  void on_message(PlanResult& answer, const Envelope& envelope);
  void on_message(QueryResult& answer, const Envelope& envelope);
  void on_message(TestAnswer& answer, const Envelope& envelope);
  void on_message(Ack& answer, const Envelope& envelope);
  void on_message(Nack& answer, const Envelope& envelope);
  void on_message(CertRequest& request, const Envelope& envelope);
  void on_message(Goodbye& goodbye, const Envelope&);
  void on_message(Unknown& unknown, const Envelope& envelope);
  void on_message(Handshake& handshake, const Envelope&);

  AgentRole role() const;
  void refuse(const AgentBody& body);
  // False if it names another machine or app, which ends the connection.
  bool is_of_this_agent(const AgentBody& body);
  void store(AgentBody report);
  void send(BackendBody body, Envelope envelope = {});
  void close(unsigned code, std::string reason);
  void log(at_backend::Log::Level level, std::string text);

  // Constant after construction.
  const BackendPolicy policy_;

  Phase phase_ = Phase::connecting;
  bool is_certified_ = false;
  std::int8_t version_ = 0;
  std::uint64_t last_seq_ = 0;   // the newest report that came in
  std::uint64_t acked_seq_ = 0;  // the newest that was acknowledged
  std::string app_id_;
  std::string instance_id_;
  std::vector<std::string> capabilities_;
  std::vector<at_backend::Action> actions_;
};

}  // namespace protocol
