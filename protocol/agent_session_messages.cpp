// What the agent does about each message of the backend.
#include <algorithm>
#include <array>
#include <utility>

#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/utc_text.hpp"
#include "protocol/agent_session.hpp"
#include "protocol/capabilities.hpp"
#include "protocol/lifetimes.hpp"

namespace protocol {

using namespace at_agent;
using Level = Log::Level;

namespace {

// A backend cannot make an agent ping without end, nor never; nor refuse what every peer must accept.
constexpr int kShortestHeartbeat = 5;
constexpr int kLongestHeartbeat = 3600;

// People who watch output at one time, of one agent.
constexpr std::size_t kMostWatchers = 64;

// Characters of a hash by which a command without a `mid` is known.
constexpr std::size_t kHashLength = 32;

// Whether anything is another way afterwards.
bool changes_something(const BackendBody& body) {
  return !std::holds_alternative<Query>(body) && !std::holds_alternative<OutputSubscribe>(body) &&
         !std::holds_alternative<RecipeMetadata>(body);
}

// What a command is known by when it comes again. Without a `mid` (orders to update have none) all of it:
// whoever says it anew says another time. Without that, too, there is nothing; and what changes nothing needs
// nothing.
std::string command_key(const BackendMessage& message) {
  if (!message.envelope.mid.empty()) return "mid " + message.envelope.mid;
  if (message.envelope.valid_until.empty() || !changes_something(message.body)) return {};
  return "hash " + base::sha256_hex(encode(message)).substr(0, kHashLength);
}

bool matches(const StateRef& target, const StateRef& waited) {
  return target.state_id == waited.state_id &&
         (target.instance_id.empty() || target.instance_id == waited.instance_id);
}

}  // namespace

void AgentSession::on(Received& event) {
  BackendBody& body = event.message.body;
  const Verdict verdict = verdict_on(body, role());
  if (verdict == Verdict::no)
    return close(kCloseProtocol, phase_ == Phase::connecting ? "a message came before the handshake"
                                                             : "a second " + std::string(code_of(body)));
  if (verdict == Verdict::skip)
    return log(Level::info, std::string(code_of(body)) + " was ignored: the backend never said Welcome");
  const bool decides = verdict == Verdict::as_v1;
  if (decides) speak_version_1();
  if (phase_ == Phase::closed) return;
  if (std::string wrong = problem_of_age(event.message, event.at); !wrong.empty())
    return refuse(event.message, std::move(wrong));
  if (note(event.message)) return;
  if (std::holds_alternative<Welcome>(body)) welcomed_at_ = event.at;
  std::visit([&](auto& message) { on_message(message, event.message.envelope); }, body);
  // If a recipe is on its way, the question follows when it was taken.
  if (decides && !is_recipe_changing_) ask_about_waits();
}

void AgentSession::on(NotUnderstood& event) {
  static constexpr std::array<std::string_view, 4> kOfVersion1{"RecipeMetadata", "WaitList", "State",
                                                               "AgentUpdate"};
  std::string what = "the backend sent something that is not a message: " + event.problem;
  const bool shows_version_1 =
      role() == BackendRole::undecided && std::ranges::find(kOfVersion1, event.code) != kOfVersion1.end();
  const bool may_be_dropped = version_ == 1 || shows_version_1 || (version_ == 0 && spoke_version_1_);
  if (event.close_code != kCloseProtocol || phase_ == Phase::connecting || !may_be_dropped)
    return close(event.close_code, std::move(what));
  if (shows_version_1) speak_version_1();
  if (phase_ == Phase::closed) return;
  log(Level::warning, what + "; it is dropped");
  if (shows_version_1) ask_about_waits();
}

BackendRole AgentSession::role() const {
  if (phase_ == Phase::connecting) return BackendRole::unasked;
  return version_ == 0   ? BackendRole::undecided
         : version_ == 1 ? BackendRole::version_1
                         : BackendRole::version_2;
}

std::string AgentSession::problem_of_age(const BackendMessage& message,
                                         std::chrono::steady_clock::time_point now) const {
  if (version_ != 2) return {};  // version 1 has neither times nor names for its messages
  if (const std::string& until = message.envelope.valid_until; !until.empty()) {
    const auto end = base::parse_utc(until);
    if (!end) return "valid_until is not a time";
    if (!server_time_) return "valid_until means nothing without the server_time of Welcome";
    if (*server_time_ + (now - welcomed_at_) > *end) return "expired: it was to be done until " + until;
  }
  return {};
}

bool AgentSession::note(BackendMessage& message) {
  if (version_ != 2 || !lifetime_of(message.body)) return false;
  std::string key = command_key(message);
  if (key.empty()) return false;
  NoteCommand action{.key = std::move(key), .must_last = changes_something(message.body)};
  if (const auto until = base::parse_utc(message.envelope.valid_until))
    action.until = std::chrono::duration_cast<std::chrono::milliseconds>(until->time_since_epoch()).count();
  actions_.push_back(std::move(action));
  noting_ = std::move(message);
  return true;
}

void AgentSession::on(CommandNoted& event) {
  if (!noting_) return;
  BackendMessage command = *std::exchange(noting_, std::nullopt);
  if (!event.problem.empty()) return refuse(command, std::move(event.problem));
  std::visit([&](auto& message) { on_message(message, command.envelope); }, command.body);
}

void AgentSession::refuse(const BackendMessage& message, std::string why) {
  log(Level::warning, std::string(code_of(message.body)) + " was refused: " + why);
  send(Nack{.error = std::move(why)}, message.envelope.mid);
}

void AgentSession::on_message(Welcome& welcome, const Envelope&) {
  if (welcome.protocol_version < 2) return version_ == 0 ? speak_version_1() : void();
  version_ = 2;
  phase_ = Phase::speaking;
  server_time_ = base::parse_utc(welcome.server_time);
  // What has changed since the handshake was said is said now.
  tells_holds_ = std::ranges::find(welcome.capabilities, kCanHold) != welcome.capabilities.end();
  if (tells_holds_ && told_holds_ != hello_.holds) send(HoldStatus{hello_.holds});
  actions_.push_back(ConfirmSettings{});
  actions_.push_back(SetHeartbeat{std::clamp(welcome.heartbeat_s, kShortestHeartbeat, kLongestHeartbeat)});
  actions_.push_back(SetMaxMessage{std::max<std::uint64_t>(welcome.max_message, kLargestBeforeWelcome)});
  actions_.push_back(ReportChangesOnly{welcome.report_changes_only});

  if (!welcome.history.empty()) actions_.push_back(KeepHistory{std::move(welcome.history)});
  // What the spool has grown to since does not count: it may be beyond by now, and none of that was sent.
  if (welcome.ack_seq > offered_) {
    log(Level::warning, "the backend has reports up to " + std::to_string(welcome.ack_seq) +
                            ", and this agent has sent none after " + std::to_string(offered_) +
                            ": its state folder was put back, and its reports get a new agent_uid");
    actions_.push_back(ResetReportStream{welcome.ack_seq});
    return;  // nothing goes out under the old one
  }
  reports_.start(welcome.ack_seq);
  if (welcome.ack_seq > 0) actions_.push_back(AcknowledgeReports{welcome.ack_seq});
  facts_in_step_ = !hello_.facts_hash.empty() && welcome.facts_hash == hello_.facts_hash;
  if (!facts_in_step_) actions_.push_back(ReadFacts{});
  ask_about_waits();
  read_more_reports();
}

void AgentSession::on_message(AppNotReady& message, const Envelope&) {
  if (phase_ == Phase::speaking)
    log(Level::info, "AppNotReady in the middle of a connection: the handshake is repeated");
  phase_ = Phase::not_ready;
  version_ = 0;
  const std::int64_t wait =
      std::clamp(message.retry_after_ms.value_or(kRepeatHandshakeMs), kSoonestRepeatMs, kLatestRepeatMs);
  log(Level::info,
      "the app is not ready" + (message.reason.empty() ? "" : ": " + base::quote_of(message.reason)));
  actions_.push_back(StartTimer{Timer::repeat_handshake, wait});
}

void AgentSession::on_message(RecipeMetadata& recipe, const Envelope& envelope) {
  if (version_ == 1) recipe.compat_v1 = true;
  if (recipe.plan_only) {
    if (version_ == 2)
      actions_.push_back(PlanRecipe{std::move(recipe), envelope.mid});
    else
      log(Level::warning, "a recipe to plan was ignored: the backend never said Welcome");
    return;
  }
  const bool same_content =
      recipe.digest.empty() || recipe_.digest.empty() || recipe.digest == recipe_.digest;
  if (recipe.recipe_version == recipe_.version && same_content && !(recipe_.another_waits && recipe.states))
    return;
  if (!recipe.states && recipe_.version == 0)
    return log(Level::warning, "recipe version " + std::to_string(recipe.recipe_version) +
                                   " came without states, and there are none to go on with");
  is_recipe_changing_ = true;
  if (recipe.states)
    actions_.push_back(TakeRecipe{std::move(recipe)});
  else
    actions_.push_back(
        MoveVersion{recipe.recipe_version, std::move(recipe.digest), std::move(recipe.module)});
}

// The list names what is still being waited for: states of other machines, or our own wait states. That a
// wait is done is said by State. What is not listed may have been cut off, or be of a recipe that the backend
// does not have: only version 1, which has no other word for it, means by that that it is done.
void AgentSession::on_message(WaitList& list, const Envelope&) {
  if (list.recipe_version != recipe_.version) return;
  const auto is_listed = [&](const OpenWait& wait) {
    return std::ranges::any_of(list.waited, [&](const StateRef& waited) {
      return matches({hello_.instance_id, wait.id}, waited) ||
             std::ranges::any_of(wait.targets, [&](const StateRef& t) { return matches(t, waited); });
    });
  };
  WaitsMissing missing{.version = recipe_.version};
  std::vector<std::string> done;
  for (const OpenWait& wait : recipe_.waits)
    (is_listed(wait) || version_ != 1 ? missing.ids : done).push_back(wait.name());
  for (std::string& id : done) {
    std::erase_if(recipe_.waits, [&](const OpenWait& wait) { return wait.name() == id; });
    actions_.push_back(at_agent::WaitDone{recipe_.version, std::move(id)});
  }
  actions_.push_back(std::move(missing));
}

void AgentSession::on_message(protocol::WaitDone& done, const Envelope&) {
  if (done.recipe_version != recipe_.version) return;
  // An id that several have cannot say which is meant: all of them, as the original has it.
  for (const OpenWait& wait : recipe_.waits)
    if (wait.id == done.id && !wait.key.empty())
      actions_.push_back(at_agent::WaitDone{done.recipe_version, wait.key});
  std::erase_if(recipe_.waits, [&](const OpenWait& wait) { return wait.id == done.id; });
  actions_.push_back(at_agent::WaitDone{done.recipe_version, std::move(done.id)});
}

void AgentSession::on_message(AgentUpdate& update, const Envelope&) {
  actions_.push_back(UpdateAsked{std::move(update)});
}

void AgentSession::on_message(Query& query, const Envelope& envelope) {
  actions_.push_back(AnswerQuery{std::move(query), envelope.mid});
}
void AgentSession::on_message(Run& run, const Envelope& envelope) {
  actions_.push_back(RunState{std::move(run), envelope.mid});
}
void AgentSession::on_message(Cancel& cancel, const Envelope& envelope) {
  actions_.push_back(CancelRun{std::move(cancel), envelope.mid});
}
void AgentSession::on_message(Settings& settings, const Envelope& envelope) {
  actions_.push_back(TrySettings{std::move(settings), envelope.mid});
}
void AgentSession::on_message(Hold& hold, const Envelope& envelope) {
  actions_.push_back(TakeHold{std::move(hold), envelope.mid});
}
void AgentSession::on_message(RunNow&, const Envelope& envelope) {
  actions_.push_back(BeginRound{envelope.mid});
}
void AgentSession::on_message(CertIssued& issued, const Envelope& envelope) {
  actions_.push_back(CertificateIssued{std::move(issued), envelope.mid});
}
void AgentSession::on_message(Authorities& authorities, const Envelope& envelope) {
  actions_.push_back(TrustAuthorities{std::move(authorities), envelope.mid});
}

void AgentSession::on_message(OutputSubscribe& subscribe, const Envelope& envelope) {
  std::erase_if(watchers_, [&](const OutputSubscribe& watcher) {
    return watcher.run_id == subscribe.run_id && watcher.id == subscribe.id;
  });
  if (subscribe.on && watchers_.size() >= kMostWatchers)
    return send(Nack{.error = "too many are watching already", .retryable = true}, envelope.mid);
  if (subscribe.on) watchers_.push_back(subscribe);
  actions_.push_back(WatchOutput{subscribe.run_id, subscribe.id, subscribe.on});
}

void AgentSession::on_message(Test&, const Envelope& envelope) {
  send(TestAnswer{hello_}, envelope.mid);
}

void AgentSession::on_message(Ack& ack, const Envelope&) {
  if (!ack.history.empty()) actions_.push_back(KeepHistory{std::move(ack.history)});
  if (!ack.ack_seq) return;
  acknowledge(*ack.ack_seq);
  read_more_reports();
}

void AgentSession::on_message(Nack& nack, const Envelope& envelope) {
  log(Level::warning, "the backend refused " + (envelope.re.empty() ? "a message" : envelope.re) + ": " +
                          base::quote_of(nack.error));
}

void AgentSession::on_message(Goodbye& goodbye, const Envelope&) {
  log(Level::info,
      "the backend says goodbye" + (goodbye.reason.empty() ? "" : ": " + base::quote_of(goodbye.reason)));
  actions_.push_back(Disconnect{goodbye.retry_after_ms, std::move(goodbye.alternatives)});
  phase_ = Phase::closed;
}

void AgentSession::on_message(Unknown& unknown, const Envelope& envelope) {
  log(Level::debug, "unknown code '" + unknown.code + "'");
  if (version_ == 2) send(Nack{.error = "unknown code '" + unknown.code + "'"}, envelope.mid);
}

}  // namespace protocol
