// What agent and backend say to each other, as values. docs/protocol.md says when they say it.
//
// A field that version 1 does not have is optional or empty by default: such a message is a version 1
// message. Times are milliseconds; instants are RFC 3339 text, as on the wire.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/compiled_once.hpp"
#include "protocol/update_phase.hpp"

namespace protocol {

// JSON that only its final reader understands (the states of a recipe, facts, arguments of a query). It was
// read within the limits and is written compactly.
struct Json {
  std::string text;
  bool operator==(const Json&) const = default;
};

// No number of a message is larger, nor smaller than its negative: what every reader of JSON keeps exactly
// (RFC 7493), and room enough for whoever adds to one.
inline constexpr std::int64_t kLargestNumber = (std::int64_t{1} << 53) - 1;

using Tags = std::map<std::string, std::string>;

// Of the variables of one machine, as JSON.
inline constexpr std::size_t kLargestVariables = std::size_t{512} << 10;

// What every message of version 2 may carry.
struct Envelope {
  std::string mid;  // unique
  std::string re;   // the mid that this answers
  std::string ts;
  std::string valid_until;  // by the backend's clock; an agent does not carry it out later
  bool operator==(const Envelope&) const = default;
};

struct Change {
  std::string what, before, after, diff;
  bool operator==(const Change&) const = default;
};

// A state's id on a machine.
struct StateRef {
  std::string instance_id;
  std::string state_id;
  bool operator==(const StateRef&) const = default;
};

// ---- from the agent

struct RunningState {
  std::string id;
  std::string since;
  bool operator==(const RunningState&) const = default;
};

// Why no round begins on a machine, as its agent has it. The instants are by the machine's own clock: for
// people. How long a hold lasts is counted by the agent.
struct MachineHold {
  bool is_local = false;  // begun at the machine; otherwise the backend's
  std::string by;
  std::string reason;
  std::string since;
  std::string until;
  bool operator==(const MachineHold&) const = default;
};
// One of each kind; more are not taken.
inline constexpr std::size_t kMostHolds = 2;

// What a hold may last.
inline constexpr std::int64_t kShortestHold = 1;
inline constexpr std::int64_t kLongestHold = 30LL * 24 * 3600;
inline constexpr std::int64_t kDefaultHold = 8LL * 3600;

struct Handshake {
  std::string instance_id;
  std::string app_id;
  std::string agent_version;
  int protocol_version = 1;
  std::string instance_token;
  std::optional<std::string> init_errors;
  // version 2
  int protocol_max = 1;
  std::vector<std::string> capabilities;
  std::string agent_uid;
  std::string boot_id;
  Tags tags;
  std::string facts_hash;
  std::optional<std::int64_t> recipe_version;
  std::string recipe_digest;
  std::optional<std::uint64_t> last_seq;
  std::optional<RunningState> running;
  std::string os;
  std::string arch;
  // By the hashes of their public keys: the authorities by which the agent knows its backends.
  std::vector<std::string> authorities;
  // The last that a backend has said in Welcome or Ack, as it was: of use to backends only.
  std::string history;
  std::vector<MachineHold> holds;  // no round begins while there is one
  bool operator==(const Handshake&) const = default;
};

// Why a state was changed, or was to be. None: it was not, or the agent is one that does not say.
enum class ChangeCause { none, new_recipe, drift, trigger, refresh };
// By ChangeCause; the empty one is not written.
inline constexpr std::array<std::string_view, 5> kChangeCauseWords{"", "new recipe", "drift", "trigger",
                                                                   "refresh"};
static_assert(kChangeCauseWords.size() == static_cast<std::size_t>(ChangeCause::refresh) + 1);
constexpr std::string_view name_of(ChangeCause cause) {
  return kChangeCauseWords[static_cast<std::size_t>(cause)];
}
ChangeCause change_cause_of(std::string_view name);  // none for what is no cause's name

// One state's result. What names the machine and the version is in version 1's form only.
struct StateLog {
  std::string instance_id;
  std::string app_id;
  std::int64_t recipe_version = 0;
  std::string id;
  bool state_result = false;
  std::string state_comment;
  std::optional<std::string> state_stdout;
  // version 2
  std::optional<std::uint64_t> seq;
  std::string run_id;
  std::uint64_t round = 0;
  std::string outcome;  // kept, changed, failed, skipped, cancelled, timed_out
  ChangeCause cause = ChangeCause::none;
  std::vector<Change> changes;
  unsigned attempt = 1;
  std::optional<int> exit_code;
  std::string started;
  std::int64_t duration_ms = 0;
  std::int64_t cpu_ms = 0;
  std::uint64_t max_rss_kb = 0;
  bool truncated = false;
  bool operator==(const StateLog&) const = default;
};

struct WaitQuery {
  std::string instance_id;
  std::string app_id;
  std::int64_t recipe_version = 0;
  bool operator==(const WaitQuery&) const = default;
};

enum class RecipeProgress { accepted, rejected, running, converged, failed, superseded };
struct RecipeStatus {
  std::optional<std::uint64_t> seq;
  std::int64_t recipe_version = 0;
  RecipeProgress status = RecipeProgress::accepted;
  std::vector<std::string> errors;
  std::string progress;  // what is being done before it can run, for people: modules that are fetched
  bool operator==(const RecipeStatus&) const = default;
};

// A piece of what a program prints. Those that were dropped leave a gap between offsets.
struct StateOutput {
  std::string run_id;
  std::string id;
  std::string stream;  // stdout, stderr
  std::uint64_t offset = 0;
  std::string data;
  bool operator==(const StateOutput&) const = default;
};

struct RoundEnd {
  std::optional<std::uint64_t> seq;
  std::string run_id;
  std::int64_t recipe_version = 0;
  std::uint64_t round = 0;
  std::map<std::string, std::uint64_t> counts;  // per outcome
  std::uint64_t not_reached = 0;
  std::int64_t duration_ms = 0;
  std::vector<std::string> drift;
  bool operator==(const RoundEnd&) const = default;
};

struct PlannedState {
  std::string id;
  std::string module;
  std::string verdict;  // kept, change, fail, unknown, skipped
  std::string message;
  std::vector<Change> changes;
  bool operator==(const PlannedState&) const = default;
};
struct PlanResult {  // `re` of the envelope says which request
  std::int64_t recipe_version = 0;
  std::vector<PlannedState> states;
  std::vector<std::string> errors;  // why the recipe was refused
  bool operator==(const PlanResult&) const = default;
};

struct UpdateStatus {
  std::optional<std::uint64_t> seq;
  std::string action_id;
  std::string version;
  UpdatePhase phase = UpdatePhase::requested;
  std::optional<double> progress;
  std::string error;
  bool operator==(const UpdateStatus&) const = default;
};

struct Facts {
  std::string hash;
  std::optional<Json> full;
  std::optional<Json> patch;  // RFC 7396
  bool operator==(const Facts&) const = default;
};

struct QueryResult {
  Json data;
  bool more = false;
  bool operator==(const QueryResult&) const = default;
};

struct CertRequest {
  std::string csr;
  std::string token;  // of the first enrolment; a renewal is known by its certificate
  // What the agent would like to be called. The server decides.
  std::string app_id;
  std::string instance_id;
  bool operator==(const CertRequest&) const = default;
};

struct HoldStatus {  // the holds of the machine from now on; none: its rounds go on
  std::vector<MachineHold> holds;
  bool operator==(const HoldStatus&) const = default;
};

struct TestAnswer {  // the handshake's fields
  Handshake handshake;
  bool operator==(const TestAnswer&) const = default;
};

// ---- from the backend

struct Welcome {
  int protocol_version = 2;
  std::vector<std::string> capabilities;
  std::string session;
  std::uint64_t epoch = 0;
  std::uint64_t ack_seq = 0;
  int heartbeat_s = 30;
  std::uint64_t max_message = 4 * 1024 * 1024;
  bool report_changes_only = false;
  std::string server_time;
  std::string facts_hash;  // of the facts that the backend has
  std::string history;     // to be kept, and said again in the next handshake
  bool operator==(const Welcome&) const = default;
};

struct AppNotReady {
  std::string reason;
  std::optional<std::int64_t> retry_after_ms;
  bool operator==(const AppNotReady&) const = default;
};

struct ModuleSource {
  std::string repo;
  std::string tag;
  std::string commit;
  bool operator==(const ModuleSource&) const = default;
};

struct RecipeMetadata {
  std::int64_t recipe_version = 0;
  std::optional<ModuleSource> module;  // absent: the last one is kept
  std::optional<Json> states;          // absent: only the version moves
  // version 2
  std::string digest;
  bool plan_only = false;
  bool kill_on_change = false;
  std::optional<std::int64_t> round_delay_s;
  // With the states, for an agent that can take them (kCanVars): the variables that the recipe uses, an
  // object, and the operator's tags. Absent: there are none.
  std::optional<Json> vars;
  Tags tags;
  // The recipe is of version 1, and taken as far as it can be (recipe::Inputs::compat_v1). Of what a backend
  // of version 1 sends, the session says so.
  bool compat_v1 = false;
  bool operator==(const RecipeMetadata&) const = default;
};

struct WaitList {  // what is still being waited for
  std::int64_t recipe_version = 0;
  std::vector<StateRef> waited;
  bool operator==(const WaitList&) const = default;
};

struct WaitDone {  // "State" on the wire: the wait state's conditions have come true
  std::int64_t recipe_version = 0;
  std::string id;
  std::string satisfied_at;
  bool operator==(const WaitDone&) const = default;
};

struct AgentUpdate {
  std::string version;
  std::string url;
  std::string action_id;
  bool operator==(const AgentUpdate&) const = default;
};

struct Query {
  std::string kind;  // facts, unit, journal, file_hash, processes
  Json args;
  std::uint64_t limit = 0;
  bool operator==(const Query&) const = default;
};

struct Run {  // one state at once, outside the recipe
  std::string run_id;
  Json state;
  bool operator==(const Run&) const = default;
};

struct Cancel {
  std::string run_id;
  bool force = false;
  bool operator==(const Cancel&) const = default;
};

struct OutputSubscribe {
  std::string run_id;  // or
  std::string id;      // both empty: everything
  bool on = true;
  bool operator==(const OutputSubscribe&) const = default;
};

struct Settings {  // a candidate; what is absent stays as it is
  std::vector<std::string> ws_uris;
  std::optional<int> heartbeat_s;
  std::optional<std::int64_t> round_delay_s;
  bool operator==(const Settings&) const = default;
};

// No round begins from now on. Replaces the hold that the backend has said before.
struct Hold {
  bool on = true;  // false: the backend's hold is over
  std::string by;
  std::string reason;
  std::int64_t left_s = 0;  // how long it lasts from now: neither side needs the other's clock
  bool is_now = false;      // the round under way is ended, too, as by `opsagent stop`
  bool operator==(const Hold&) const = default;
};

struct RunNow {  // begin a round now, instead of when its turn comes
  bool operator==(const RunNow&) const = default;
};

struct CertIssued {
  std::string chain;
  std::string expires;
  bool operator==(const CertIssued&) const = default;
};

// By whom the agent knows its backends from now on, all of them; and who issues certificates. Believed only
// over a connection that one of those vouches for whom the agent trusts already.
struct Authorities {
  std::vector<std::string> roots;  // PEM, one certificate each
  std::string issuer;              // SHA-256 of the public key that signs certificates, 64 hexadecimal digits
  // Within this time, each agent at another moment: a certificate of the issuer is asked for, and a
  // connection that nobody vouches for any more is made anew.
  std::optional<std::int64_t> within_ms;
  bool operator==(const Authorities&) const = default;
};

struct Test {
  bool operator==(const Test&) const = default;
};

// ---- from both

struct Ack {  // cumulative, or of the message that `re` names
  std::optional<std::uint64_t> ack_seq;
  std::string history = {};  // from the backend: as in Welcome
  bool operator==(const Ack&) const = default;
};

struct Nack {
  std::string error;
  bool retryable = false;
  bool operator==(const Nack&) const = default;
};

struct Goodbye {
  std::string reason;
  std::optional<std::int64_t> retry_after_ms;
  std::vector<std::string> alternatives;
  bool operator==(const Goodbye&) const = default;
};

// A well-formed message whose code nobody knows: ignored in version 1, answered by Nack in version 2.
struct Unknown {
  std::string code;
  bool operator==(const Unknown&) const = default;
};

struct AgentBody : std::variant<Handshake, StateLog, WaitQuery, RecipeStatus, StateOutput, RoundEnd,
                                PlanResult, UpdateStatus, Facts, QueryResult, CertRequest, HoldStatus,
                                TestAnswer, Ack, Nack, Goodbye, Unknown> {
  using variant::variant;
  BASE_COMPILED_ONCE(AgentBody);
  bool operator==(const AgentBody& other) const;
};
struct BackendBody : std::variant<Welcome, AppNotReady, RecipeMetadata, WaitList, WaitDone, AgentUpdate,
                                  Query, Run, Cancel, OutputSubscribe, Settings, Hold, RunNow, CertIssued,
                                  Authorities, Test, Ack, Nack, Goodbye, Unknown> {
  using variant::variant;
  BASE_COMPILED_ONCE(BackendBody);
  bool operator==(const BackendBody& other) const;
};

struct AgentMessage {
  AgentBody body;
  Envelope envelope = {};
  bool operator==(const AgentMessage&) const = default;
};
struct BackendMessage {
  BackendBody body;
  Envelope envelope = {};
  bool operator==(const BackendMessage&) const = default;
};

// The code on the wire, and the version that brought the message: 1 or 2.
std::string_view code_of(const AgentBody& body);
std::string_view code_of(const BackendBody& body);
int since_version(const AgentBody& body);
int since_version(const BackendBody& body);

// A report is a message that the agent keeps until the backend has stored it: StateLog, RecipeStatus,
// RoundEnd, UpdateStatus. Null for all others; the optional inside is empty when the report came without a
// number.
const std::optional<std::uint64_t>* seq_of(const AgentBody& body);
std::optional<std::uint64_t>* seq_of(AgentBody& body);

}  // namespace protocol
