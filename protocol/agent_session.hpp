// The agent's side of one connection: what happens goes in, what is to be done comes out. No sockets, no
// clock, no thread of its own; whoever owns it performs the actions in order. Made anew for every connection.
//
// The rules:
//  * The handshake is sent first. It offers version 2; the answer decides:
//      Welcome                                        version 2
//      RecipeMetadata, WaitList, State, AgentUpdate   version 1
//      AppNotReady                                    nothing yet: the identity is read again, and the
//                                                     handshake repeated
//      silence for 30 s                               version 1, if this backend has spoken it before; else
//                                                     nothing: it closes, and the next connection tries again
//    An agent that must not speak version 1 closes instead. A Welcome that comes late is welcome all the
//    same; a second one closes the connection.
//  * Reports are sent when the version is known: all after `ack_seq` in version 2, where Ack says what is
//    stored; in version 1 only StateLogs, which count as stored once they are written.
//  * The backend is the authority on what runs: any other version of a recipe than ours is taken, also a
//    lower one. The same version (and digest, where both have one) is a no-op; one without states moves the
//    version. Which recipe is in force is not the session's to know: it is told (RecipeInForce).
//  * The waits that are open are asked about on every connection and after every recipe that has some. One is
//    done when the backend says so, and not because it is missing from a list (but for version 1).
//  * Which message may come when is a table (permissions.hpp), and is looked up before anything else. A code
//    that nobody knows is answered by Nack in version 2, and ignored in version 1. So are messages of version
//    2 from a peer that never said Welcome.
//  * What cannot be understood closes the connection in version 2. In version 1 it is dropped, with a line in
//    the log, unless it is no JSON.
//  * What must be done until a certain time is refused after it, by the backend's clock: what Welcome said it
//    was, and the time since. What reaches past the recipe is done once, also across connections: the shell
//    notes it first (NoteCommand), and says whether it came before.
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
#include "protocol/report_window.hpp"

namespace protocol {

namespace at_agent {

enum class Timer { answer, repeat_handshake };
inline constexpr std::int64_t kAnswerMs = 30'000;
inline constexpr std::int64_t kRepeatHandshakeMs = 30'000;
// What a backend may ask for instead.
inline constexpr std::int64_t kSoonestRepeatMs = 100;
inline constexpr std::int64_t kLatestRepeatMs = 24 * 3600 * 1000;

// A wait state of the recipe that has not been satisfied. A target without an instance id means whichever
// machine has such a state.
struct OpenWait {
  std::string id;
  std::vector<StateRef> targets;
  std::string key = {};  // another one than the id, where an earlier wait has the same; "": the id
  bool operator==(const OpenWait&) const = default;
  const std::string& name() const { return key.empty() ? id : key; }
};

struct Report {
  std::uint64_t seq = 0;
  AgentBody body;
};

// ---- events

struct Opened {};
struct Received {
  BackendMessage message;
  std::chrono::steady_clock::time_point at = {};
};
struct NotUnderstood {  // something came that is no message
  std::string code;     // that it says it has; may be empty
  std::string problem;
  unsigned close_code = kCloseProtocol;
};
struct IdentityRead {  // answers ReadIdentityAgain
  Handshake hello;
};
struct ReportsAvailable {  // the spool has reports up to here
  std::uint64_t last_seq = 0;
};
struct ReportsRead {  // answers ReadReports; ordered
  std::vector<Report> reports;
  std::uint64_t through =
      0;  // the last that was read, also if it could not be understood; 0: there are none left
};
struct ReportsWritten {  // the socket has taken every report that was sent, up to this one
  std::uint64_t up_to = 0;
};
struct FactsChanged {  // answers ReadFacts, with `full`; later on with `patch`, or with `full` again
  std::string hash;
  std::optional<Json> full;
  std::optional<Json> patch;
};
// What the agent's recipe is now. After Opened; and answers TakeRecipe and MoveVersion, before the next
// Received: with the new one, or, when it was rejected or waits, with the one that stays. Also later, when
// one that waited is in force.
struct RecipeInForce {
  std::int64_t version = 0;  // 0: there is none
  std::string digest;
  std::vector<OpenWait> waits;
  bool another_waits = false;  // to be taken: this one again takes it back
  bool operator==(const RecipeInForce&) const = default;
};
struct Output {
  StateOutput output;
};
struct PlanReady {  // answers PlanRecipe
  std::string re;
  PlanResult result;
};
struct QueryAnswered {  // answers AnswerQuery
  std::string re;
  QueryResult result;
};
// Done: answers RunState, CancelRun, TrySettings, TakeHold, BeginRound, TrustAuthorities, CertificateIssued.
struct RequestDone {
  std::string re;
};
struct RequestRefused {  // answers any of them, and AnswerQuery
  std::string re;
  std::string error;
  bool retryable = false;
};
struct CommandNoted {        // answers NoteCommand, before the next Received
  std::string problem = {};  // why the command is not to be done; empty: it is noted
};
struct HoldsChanged {  // of this machine, by whomever
  std::vector<MachineHold> holds;
};
struct CertificateWanted {
  CertRequest request;
};
struct TimerFired {
  Timer which = Timer::answer;
};
struct Closing {  // the agent stops, or connects anew for a reason of its own
  std::string reason;
};

struct Event
    : std::variant<Opened, Received, NotUnderstood, IdentityRead, ReportsAvailable, ReportsRead,
                   ReportsWritten, FactsChanged, RecipeInForce, Output, PlanReady, QueryAnswered, RequestDone,
                   RequestRefused, CommandNoted, HoldsChanged, CertificateWanted, TimerFired, Closing> {
  using variant::variant;
  BASE_COMPILED_ONCE(Event);
};

// ---- actions

struct Send {
  AgentMessage message;
  int version = 1;  // for encode()
  bool operator==(const Send&) const = default;
};
struct Close {  // and connect again as usual
  unsigned code = kCloseNormal;
  std::string reason;
  bool operator==(const Close&) const = default;
};
struct Disconnect {  // close, and connect again as the backend asks
  std::optional<std::int64_t> retry_after_ms;
  std::vector<std::string> alternatives;
  bool operator==(const Disconnect&) const = default;
};
struct StartTimer {  // one of each kind; starting it again moves it
  Timer which = Timer::answer;
  std::int64_t ms = 0;
  bool operator==(const StartTimer&) const = default;
};
struct ReadIdentityAgain {
  bool operator==(const ReadIdentityAgain&) const = default;
};
struct TakeRecipe {
  RecipeMetadata recipe;
  bool operator==(const TakeRecipe&) const = default;
};
struct MoveVersion {
  std::int64_t version = 0;
  std::string digest;                  // empty: the last one is kept
  std::optional<ModuleSource> module;  // absent: the last one is kept
  bool operator==(const MoveVersion&) const = default;
};
struct PlanRecipe {
  RecipeMetadata recipe;
  std::string re;
  bool operator==(const PlanRecipe&) const = default;
};
struct WaitDone {
  std::int64_t version = 0;
  std::string id;  // OpenWait::name()
  bool operator==(const WaitDone&) const = default;
};
struct WaitsMissing {  // these wait states, by OpenWait::name(), are still open, as far as the backend has
                       // said
  std::int64_t version = 0;
  std::vector<std::string> ids;
  bool operator==(const WaitsMissing&) const = default;
};
struct ReadReports {
  std::uint64_t after = 0;
  std::size_t how_many = 0;
  bool operator==(const ReadReports&) const = default;
};
struct AcknowledgeReports {  // the spool may forget all up to here
  std::uint64_t seq = 0;
  bool operator==(const AcknowledgeReports&) const = default;
};
// The backend has stored more than we can have said (our state folder was put back): our numbers have been
// used, and reports under them would pass for repeated ones, also those that were made since. The spool gets
// a new uid, under which its numbers have not been used, and the connection is made anew with it.
struct ResetReportStream {
  std::uint64_t seq = 0;
  bool operator==(const ResetReportStream&) const = default;
};
struct KeepHistory {  // for the next handshakes, also after a restart
  std::string history;
  bool operator==(const KeepHistory&) const = default;
};
struct ReadFacts {
  bool operator==(const ReadFacts&) const = default;
};
struct ReportChangesOnly {
  bool on = false;
  bool operator==(const ReportChangesOnly&) const = default;
};
struct SetHeartbeat {
  int seconds = 30;
  bool operator==(const SetHeartbeat&) const = default;
};
struct SetMaxMessage {
  std::uint64_t bytes = kLargestMessage;
  bool operator==(const SetMaxMessage&) const = default;
};
struct WatchOutput {  // of that run or state; both empty: of all
  std::string run_id, id;
  bool on = false;
  bool operator==(const WatchOutput&) const = default;
};
// A command is about to be done: it is to be remembered, unless it came before. See CommandMemory.
struct NoteCommand {
  std::string key;
  std::optional<std::int64_t> until;  // milliseconds since 1970; nothing: it has no time
  bool must_last = true;              // false: it changes nothing
  bool operator==(const NoteCommand&) const = default;
};
struct RunState {
  Run run;
  std::string re;
  bool operator==(const RunState&) const = default;
};
struct CancelRun {
  Cancel cancel;
  std::string re;
  bool operator==(const CancelRun&) const = default;
};
struct AnswerQuery {
  Query query;
  std::string re;
  bool operator==(const AnswerQuery&) const = default;
};
struct TrySettings {
  Settings settings;
  std::string re;
  bool operator==(const TrySettings&) const = default;
};
struct TakeHold {
  Hold hold;
  std::string re;  // the backend wants to know whether it was kept; empty: it does not
  bool operator==(const TakeHold&) const = default;
};
struct BeginRound {
  std::string re;
  bool operator==(const BeginRound&) const = default;
};
struct ConfirmSettings {  // this connection was welcomed: what it was tried with is kept
  bool operator==(const ConfirmSettings&) const = default;
};
struct UpdateAsked {
  AgentUpdate update;
  bool operator==(const UpdateAsked&) const = default;
};
struct CertificateIssued {
  CertIssued certificate;
  std::string re;  // the backend wants to know whether it was kept; empty: it does not
  bool operator==(const CertificateIssued&) const = default;
};
struct TrustAuthorities {
  Authorities authorities;
  std::string re;
  bool operator==(const TrustAuthorities&) const = default;
};
struct Log {
  enum class Level { debug, info, warning } level = Level::info;
  std::string text;
  bool operator==(const Log&) const = default;
};

struct Action
    : std::variant<Send, Close, Disconnect, StartTimer, ReadIdentityAgain, TakeRecipe, MoveVersion,
                   PlanRecipe, WaitDone, WaitsMissing, ReadReports, AcknowledgeReports, ResetReportStream,
                   KeepHistory, ReadFacts, ReportChangesOnly, SetHeartbeat, SetMaxMessage, WatchOutput,
                   NoteCommand, RunState, CancelRun, AnswerQuery, TrySettings, TakeHold, BeginRound,
                   ConfirmSettings, UpdateAsked, CertificateIssued, TrustAuthorities, Log> {
  using variant::variant;
  BASE_COMPILED_ONCE(Action);
};

}  // namespace at_agent

class AgentSession {
 public:
  // `hello` says who the agent is and what it has: recipe version and digest, last_seq, facts_hash.
  // protocol_version and protocol_max are the session's to fill in. `offered`: the newest report that any
  // backend can have heard of before; nothing: last_seq. `spoke_version_1`: so did the backend, last time.
  explicit AgentSession(Handshake hello, int protocol_min = 1, std::optional<std::uint64_t> offered = {},
                        bool spoke_version_1 = false);

  std::vector<at_agent::Action> step(at_agent::Event event);

  // 0 while it is not known.
  int version() const { return version_; }

 private:
  enum class Phase { connecting, handshake_sent, not_ready, speaking, closed };

  void on(at_agent::Opened&);
  void on(at_agent::Received& event);
  void on(at_agent::NotUnderstood& event);
  void on(at_agent::IdentityRead& event);
  void on(at_agent::ReportsAvailable& event);
  void on(at_agent::ReportsRead& event);
  void on(at_agent::ReportsWritten& event);
  void on(at_agent::FactsChanged& event);
  void on(at_agent::RecipeInForce& event);
  void on(at_agent::Output& event);
  void on(at_agent::PlanReady& event);
  void on(at_agent::QueryAnswered& event);
  void on(at_agent::RequestDone& event);
  void on(at_agent::RequestRefused& event);
  void on(at_agent::CommandNoted& event);
  void on(at_agent::HoldsChanged& event);
  void on(at_agent::CertificateWanted& event);
  void on(at_agent::TimerFired& event);
  void on(at_agent::Closing& event);

  void on_message(Welcome& welcome, const Envelope&);
  void on_message(AppNotReady& message, const Envelope&);
  void on_message(RecipeMetadata& recipe, const Envelope& envelope);
  void on_message(WaitList& list, const Envelope&);
  void on_message(protocol::WaitDone& done, const Envelope&);
  void on_message(AgentUpdate& update, const Envelope&);
  void on_message(Query& query, const Envelope& envelope);
  void on_message(Run& run, const Envelope& envelope);
  void on_message(Cancel& cancel, const Envelope& envelope);
  void on_message(OutputSubscribe& subscribe, const Envelope&);
  void on_message(Settings& settings, const Envelope& envelope);
  void on_message(Hold& hold, const Envelope& envelope);
  void on_message(RunNow&, const Envelope& envelope);
  void on_message(CertIssued& issued, const Envelope& envelope);
  void on_message(Authorities& authorities, const Envelope& envelope);
  void on_message(Test&, const Envelope& envelope);
  void on_message(Ack& ack, const Envelope&);
  void on_message(Nack& nack, const Envelope& envelope);
  void on_message(Goodbye& goodbye, const Envelope&);
  void on_message(Unknown& unknown, const Envelope& envelope);

  BackendRole role() const;
  // Why the message must not be carried out (any more); empty if nothing speaks against it.
  std::string problem_of_age(const BackendMessage& message, std::chrono::steady_clock::time_point now) const;
  // Asks the shell to note it, and keeps the message until the answer. False: there is nothing to know it by.
  bool note(BackendMessage& message);
  void refuse(const BackendMessage& message, std::string why);
  void speak_version_1();
  void say_hello();
  void send(AgentBody body, std::string re = {});
  void send_report(at_agent::Report& report);
  void read_more_reports();
  void acknowledge(std::uint64_t up_to);
  void ask_about_waits();
  void close(unsigned code, std::string reason);
  void log(at_agent::Log::Level level, std::string text);

  // Constant after construction.
  const int protocol_min_;
  const bool spoke_version_1_;

  Handshake hello_;
  Phase phase_ = Phase::connecting;
  int version_ = 0;
  at_agent::RecipeInForce recipe_;   // as it was told last; waits that were answered since are taken out
  bool is_recipe_changing_ = false;  // the shell was asked to take or move it, and will say what became of it
  bool has_asked_for_waits_ = false;  // since the last handshake
  std::vector<OutputSubscribe> watchers_;
  // The backend's clock when it said Welcome, and ours.
  std::optional<std::chrono::system_clock::time_point> server_time_;
  std::chrono::steady_clock::time_point welcomed_at_;
  std::optional<BackendMessage> noting_;  // the command that the shell is noting
  std::vector<MachineHold> told_holds_;   // in the handshake
  bool tells_holds_ = false;              // the backend knows what that is
  bool facts_in_step_ = false;            // the backend has the facts that a patch would be on top of
  ReportWindow reports_;
  std::uint64_t offered_;  // the newest report that a backend can have heard of
  std::vector<at_agent::Action> actions_;
};

}  // namespace protocol
