// What the backend knows, as plain values. docs/backend.md says what each thing means.
//
// Instants are milliseconds since 1970 (UTC). Keys are numbers of the store's own, never shown to anybody.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/messages.hpp"

namespace backend::domain {

using Millis = std::int64_t;
using Tags = std::map<std::string, std::string>;
using InstanceKey = std::int64_t;   // never used again after its instance was forgotten
using AgentKey = std::int64_t;      // one agent_uid of one instance
using PlacementKey = std::int64_t;  // one list of states with its options

// One page of a list. `next` goes into `after` of the next call; empty: this was the last one. A page may
// have fewer items than asked for, even none, and still a `next`: the work per call is bounded.
template <class T>
struct Page {
  std::vector<T> items;
  std::string next;
};
struct PageRequest {
  std::string after;
  std::size_t limit = 100;  // at most kLargestPage
};
inline constexpr std::size_t kLargestPage = 1000;
// A page ends after the row that takes it past this, however few rows it has then: machines decide how long
// their reports are, and a page is in memory as a whole, as rows and as an answer.
inline constexpr std::size_t kMostPageBytes = std::size_t{4} << 20;

// What can be edited has an `edit` that grows with every edit: the number in its ETag.
using Edit = std::int64_t;
// As an expectation: it has to be there, whatever its edit. (0: it must not be there.)
inline constexpr Edit kAnyEdit = -1;

// How far an app relies on what its machines say of themselves: the tags that they bring along, and facts.
// Whoever has a machine's key can say anything.
enum class SelfTrust {
  off,    // not at all: selectors see the operator's tags
  named,  // where a selector names it: self.KEY, fact.KEY
  all,    // plain names, too, see the machine's own tags where the operator has set none
};
std::string_view name_of(SelfTrust trust);
std::optional<SelfTrust> self_trust_of(std::string_view name);

struct App {
  std::string app_id;
  std::string report = "all";  // "all" or "changes"
  std::string agent_version;   // agents with another one are told to update at their handshake; "": none
  Millis created = 0;
  Edit edit = 0;
  SelfTrust trust = SelfTrust::off;
  // Changes of recipes and assignments go to so many per cent of the machines that they reach, ring by ring;
  // empty: to all at once.
  std::vector<int> rings = {};
  // The repository and tag that recipes of its machines take modules from, unless they name one themselves;
  // no repository: none. Without a commit: a recipe has that from its push.
  protocol::ModuleSource module = {};
  // Its recipes are of version 1: they are taken and sent as far as they can be, and what is wrong with a
  // state shows in its turn (recipe::Inputs::compat_v1).
  bool compat_v1 = false;
};
// Of apps that are made from now on.
inline constexpr int kChangeRings[] = {10, 50, 100};
// "10,50,100"; "now" without any.
std::string rings_text(const std::vector<int>& rings);

struct LastRound {
  std::uint64_t round = 0;
  std::int64_t recipe_version = 0;
  std::string counts;  // JSON: outcome -> number
  std::uint64_t not_reached = 0;
  std::int64_t duration_ms = 0;
  Millis at = 0;
};

// No round begins on a machine until then, because an operator wants it so. The truth about it: what the
// machine says of itself is shown beside it, and decides nothing.
struct Pause {
  std::string by, reason;
  Millis since = 0;
  Millis until = 0;  // stays when it is over: silence before it is explained. 0: there was none
  bool is_on(Millis now) const { return until > now; }
  bool operator==(const Pause&) const = default;
};

struct Instance {
  InstanceKey key = 0;
  std::string app_id, instance_id;
  std::string agent_uid, agent_version, os, arch, boot_id;
  int protocol = 1;
  std::uint64_t epoch = 0;
  Tags agent_tags;                   // what it says of itself
  Tags operator_tags;                // set by operators, and by its join token
  Tags tag_scopes;                   // of those that a token with a scope has set: name -> that scope
  SelfTrust trust = SelfTrust::off;  // its app's
  std::string wished_name;           // that it asked for and was not given; "": none
  std::string facts_hash;
  std::string facts;  // JSON; only in find_instance() and where it was asked for
  bool online = false;
  Millis first_seen = 0, connected_at = 0, last_seen = 0;
  std::int64_t recipe_version = 0;  // what it should run; 0: nothing was ever placed
  PlacementKey placement = 0;
  std::string recipe_digest;
  std::string problem;  // why it could not be given what it is assigned; "" when all is well
  Millis revoked = 0;   // 0: it is not. A revoked machine is given nothing, and nobody waits for it
  std::string revoked_why;
  Millis pending = 0;         // since when it waits until an operator approves it; 0: it does not
  std::string token_prefix;   // of the hash of its instance_token; "": it has none
  bool takes_inputs = false;  // its agent knows what to do with variables and tags of a recipe
  bool takes_holds = false;   // its agent knows what a pause is
  Pause pause = {};
  // By the machine's clock: the holds that it has, its own and the backend's, as it has last said.
  std::vector<protocol::MachineHold> said_holds = {};
  Millis excluded = 0;  // by an operator: neither waits nor rollouts are held up by it; 0: it is not
  std::string excluded_why;
  std::int64_t reported_version = 0;
  // "new" until the agent has reported; "rejected" also when `problem` is set; "converged" only with the
  // version that it should run, and "running" until then
  std::string status;
  std::vector<std::string> errors;  // with that status, or the agent's own start errors
  std::optional<LastRound> last_round;
  Edit edit = 0;

  // What a plain name in a selector means: the operator's, and with SelfTrust::all its own where the operator
  // has none.
  Tags tags() const { return tags_under(trust); }
  Tags tags_under(SelfTrust relied_on) const;
  // Nothing is given to it, and nobody waits for it.
  bool is_out() const { return revoked != 0 || pending != 0; }
};

struct InstanceFilter {
  std::string app_id;  // "": all
  std::optional<bool> online;
  bool only_pending = false;
  bool without_out = false;  // not those of which Instance::is_out()
  bool only_failed = false;  // whose recipe has failed, or could not be given to them
};

// The state that a machine's recipe fails at now.
struct FailedState {
  std::string state_id;
  std::string outcome;
  std::int64_t recipe_version = 0;
  std::string comment;  // "" when the result is not kept any more
  Millis received = 0;  // 0, likewise
};

// ---- handshake

// An admitted connection. What arrives with an older epoch is not stored.
struct AgentSession {
  InstanceKey instance = 0;
  AgentKey agent = 0;
  std::uint64_t epoch = 0;
  bool operator==(const AgentSession&) const = default;
};

struct Admission {
  // revoked: its certificate, or it itself, was revoked or replaced. wrong_name: it speaks for another than
  // its certificate names. pending: an operator has to approve it.
  enum class Verdict { admitted, unknown_app, wrong_token, invalid, revoked, wrong_name, pending };
  Verdict verdict = Verdict::invalid;
  std::string reason;  // when not admitted, for an operator: for the log and the audit
  std::string told;    // when not admitted, for the peer
  // Not admitted, and nothing that it said is proved: it is told the same whatever the reason is.
  bool is_stranger = false;
  AgentSession session;
  std::uint64_t ack_seq = 0;
  bool is_new = false;        // the first handshake of this instance
  bool tags_changed = false;  // or what its agent can do: placement is to be looked at again
  std::string facts_hash;     // of the facts that we have
  std::string issuer;         // of its certificate
  App app;
};

// ---- recipes

struct NewRevision {
  std::string name;
  std::string content;  // as uploaded
  std::string syntax;   // "yaml" or "json"
  std::string digest;   // SHA-256 of `states`
  std::string states;   // JSON list, as on the wire
  std::size_t state_count = 0;
  std::string owner = {};   // the scope of whoever pushes it; the first one's is the recipe's (ownership.hpp)
  std::string author = {};  // the name of the token
  std::string message = {};  // what the author says about it
  // What its modules come from, with the commit that it was checked with; no repository: it has none.
  protocol::ModuleSource module = {};
  std::string unchecked = {};  // why its modules were not looked at; "": they were
  std::string inputs = {};     // what it refers to (variables/recipe_inputs.hpp), as JSON; "": to nothing
};
struct Revision {
  std::string name;
  std::int64_t revision = 0;
  std::string digest, syntax;
  std::size_t state_count = 0;
  Millis created = 0;
  std::string content, states;  // only in find_revision()
  std::string author = {};      // "": it is from before authors were noted
  std::string message = {};
  protocol::ModuleSource module = {};  // as of NewRevision
  std::string unchecked = {};
  std::string inputs = {};
};
struct PutRevision {
  Revision revision;
  bool is_new = false;  // false: the newest one has this very content, and the same modules
};

struct RecipeSummary {
  std::string name;
  std::int64_t newest = 0;
  std::string digest;  // of the newest
  std::size_t state_count = 0;
  Millis created = 0;                     // of the newest
  std::string owner = {};                 // a scope; "": of tokens without one
  std::string author = {}, message = {};  // of the newest
};

struct Assignment {
  std::int64_t id = 0;
  std::string app_id;
  std::string selector = "*";
  std::string recipe;
  std::optional<std::int64_t> revision;  // nothing: the newest
  std::int64_t order = 0;                // several on one machine: by order, then by id
  bool kill_on_change = false;
  std::optional<std::int64_t> round_delay_s;
  Millis created = 0;
  Edit edit = 0;
  std::string owner = {};  // the scope of whoever has written it last; "": a token without one
  std::string set = {};    // of `apply`, which has made it (apply_rules.hpp); "": it was made by itself
};

// What one or many instances run: each distinct one is stored once.
// `source`: the revisions and options that it was made from, by which it is found without making it again.
struct Placement {
  PlacementKey key = 0;
  std::string digest;  // SHA-256 of `states`
  std::string states = "[]";
  bool kill_on_change = false;
  std::optional<std::int64_t> round_delay_s;
  bool has_waits = false;
  std::string source;
  protocol::ModuleSource module = {};  // of its recipes; no repository: they name none
  // What its recipes are filled in with: the variables that they use, a JSON object, and the tags that they
  // use. "": they need none of it.
  std::string vars = {}, tags = {};
  // The recipes read variables or tags, if only facts: the agent has to know what that is.
  bool needs_inputs = false;
  // The one with the same states and without variables: it has the states, for all that differ in these
  // alone. 0: this one has them.
  PlacementKey base = 0;
};

// ---- reports

using Report =
    std::variant<protocol::StateLog, protocol::RoundEnd, protocol::RecipeStatus, protocol::UpdateStatus>;

struct ReportsStored {
  std::uint64_t ack_seq = 0;
  std::size_t stored = 0;
  std::size_t duplicates = 0;
  // The epoch is not the current one: nothing was stored, and nothing is to be acknowledged.
  bool is_superseded = false;
};

// Every state of the round was reached and is as it should be.
bool is_whole(const protocol::RoundEnd& end);

struct ReportOrigin {
  std::int64_t id = 0;  // grows with the time of storing
  std::string app_id, instance_id, agent_uid;
  std::uint64_t seq = 0;
  Millis received = 0;
};
struct ResultRow {
  ReportOrigin origin;
  protocol::StateLog log;      // but for its changes, which are
  std::string changes = "[]";  // JSON
};
struct RoundRow {
  ReportOrigin origin;
  protocol::RoundEnd end;
};
struct StatusRow {
  ReportOrigin origin;
  protocol::RecipeStatus status;
};

struct ReportFilter {
  std::string app_id, instance_id;  // an instance needs its app
  std::string state_id, outcome, run_id;
  Millis since = 0;
  Millis until = 0;  // what was received before; 0: no end
};

// How far one state of an instance has come; the base of waits.
struct StateStanding {
  std::string state_id;
  std::int64_t recipe_version = 0;  // of the last report
  std::string outcome;              // of the last report
  std::int64_t done_version = 0;    // the newest version under which it has succeeded
  Millis done_at = 0;
};

// An instance as waits see it.
struct InstanceProgress {
  InstanceKey key = 0;
  std::string app_id, instance_id;
  Tags tags;       // Instance::tags()
  Tags self_tags;  // what it says of itself
  bool trusts_self_reported = false;
  bool takes_self_tags = false;  // SelfTrust::all
  Tags tag_scopes;               // as Instance has them
  std::int64_t recipe_version = 0;
  PlacementKey placement = 0;
  bool is_out = false;                 // revoked, or not approved: it is not there for waits
  bool is_excluded = false;            // an operator has said that nobody is to wait for it
  std::int64_t converged_version = 0;  // the newest version under which a whole round succeeded
  Millis converged_at = 0;
  std::vector<StateStanding> states;
};

// ---- the rest

// Results of what is in the audit.
inline constexpr std::string_view kDone = "ok";
inline constexpr std::string_view kBegun = "begun";    // noted before it was tried
inline constexpr std::string_view kDenied = "denied";  // refused; only so many of these are noted

struct AuditRow {
  std::int64_t id = 0;
  Millis at = 0;
  std::string actor, action, object, detail;
  std::string from = {};  // the peer's address
  std::string result = std::string(kDone);
  std::string chain = {};  // the store's: see audit_chain.hpp
};

// The newest row, as the store remembers it apart from the rows.
struct AuditHead {
  std::int64_t id = 0;  // 0: there is none
  std::string chain;
};

struct FleetCounts {
  std::uint64_t instances = 0, online = 0, converged = 0, failed = 0, rejected = 0, running = 0;
  std::uint64_t changed_last_hour = 0;  // results with outcome "changed"
  std::uint64_t results = 0, rounds = 0;
};

// Limits of what is kept; 0: no limit of that kind. One call removes at most `batch` rows of each table.
struct Retention {
  Millis oldest = 0;  // an instant: what was received before it goes
  Millis now = 0;  // what was received later, by a clock that was ahead, counts as received now; 0: it stays
  std::uint64_t most_results = 0, most_rounds = 0, most_statuses = 0;
  std::uint64_t most_bytes = 0;  // of each of them
  std::size_t batch = 5000;
};
struct Purged {
  std::size_t rows = 0;
  bool more = false;  // call again
};
// A look at the next rows of a table, in the order of their ids.
struct Sweep {
  std::int64_t after = 0;    // the last id that was looked at; 0: from the beginning
  std::size_t batch = 5000;  // rows to look at
  Millis before = 0;         // what is younger stays
};
struct Swept {
  std::size_t rows = 0;
  std::int64_t next = 0;  // goes into `after`; 0: that was the end
};

}  // namespace backend::domain
