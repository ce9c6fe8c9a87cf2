#include "backend/fleet/agent_connection.hpp"

#include <algorithm>
#include <functional>

#include "backend/domain/access/instants.hpp"
#include "backend/domain/json_text.hpp"
#include "backend/domain/limits/peer_network.hpp"
#include "backend/domain/limits/report_cut.hpp"
#include "backend/fleet/report_intake.hpp"
#include "backend/store/history/audit.hpp"
#include "base/text.hpp"
#include "base/token.hpp"
#include "base/values/json_text.hpp"
#include "protocol/codec.hpp"

namespace backend::fleet {

using namespace protocol::at_backend;
using protocol::BackendBody;

namespace {

std::string said_json(const std::string& app_id, const std::string& instance_id,
                      std::span<const protocol::MachineHold> holds) {
  base::JsonText json;
  json.begin_object().member("app_id", app_id).member("instance_id", instance_id);
  json.key("holds").json(domain::to_json(holds));
  return json.end_object().take();
}

}  // namespace

// What the rules say, done. What takes time is left to the reader.
struct AgentConnection::Perform {
  AgentConnection& self;
  Errands& errands;

  void operator()(Send& action) const {
    self.send(transport::make_text(protocol::encode(action.message, action.version)));
  }
  void operator()(Close& action) const { self.close(action.code, std::move(action.reason)); }
  void operator()(StartTimer& action) const {
    self.stop_timer();
    self.timer_ = std::make_shared<transport::Wake>(self.socket_->executor());
    transport::spawn(self.socket_->executor(), fire_after(self.weak_from_this(), self.timer_, action.ms));
  }
  void operator()(StopTimer&) const { self.stop_timer(); }
  void operator()(SetMaxMessage& action) const { self.socket_->set_max_message(action.bytes); }
  void operator()(DecideHandshake& action) const { errands.handshake = std::move(action); }
  void operator()(protocol::at_backend::Store& action) const {
    std::visit(
        [this](auto& report) {
          if constexpr (std::is_constructible_v<domain::Report, decltype(report)>)
            self.take(std::move(report));
        },
        action.report);
  }
  void operator()(StoreFacts& action) const { errands.facts = std::move(action.facts); }
  void operator()(HoldsChanged& action) const { self.store_said_holds(std::move(action.holds)); }
  void operator()(AnswerWaits& action) const {
    self.asked_waits_ = action.recipe_version;
    self.answer_waits(action.re);
  }
  void operator()(OutputArrived& action) const { self.fleet_.output_arrived(self, action.output); }
  void operator()(Answered& action) const {
    if (self.take_own_answer(action)) return;
    if (const auto* nack = std::get_if<protocol::Nack>(&action.answer))
      self.fleet_.inquiries_.refused(self.session_.instance, action.re, nack->error, nack->retryable);
    else
      self.fleet_.inquiries_.answered(self.session_.instance, action.re, action.answer);
  }
  void operator()(TellFailed& action) const {
    if (!action.mid.empty())
      self.fleet_.inquiries_.refused(self.session_.instance, action.mid, action.error, false);
  }
  void operator()(SignCertificate& action) const { errands.sign = std::move(action); }
  void operator()(AgentLeaves& action) const {
    self.log(terminal::LogLevel::debug, self.instance_id() + " leaves: " + base::quote_of(action.reason));
  }
  void operator()(Impostor& action) const {
    self.add_audit("agent.impostor",
                   "spoke in the name of " + action.claimed_app_id + "/" + action.claimed_instance_id);
  }
  void operator()(protocol::at_backend::Log& action) const {
    using Level = protocol::at_backend::Log::Level;
    const terminal::LogLevel level = action.level == Level::warning ? terminal::LogLevel::warning
                                     : action.level == Level::info  ? terminal::LogLevel::info
                                                                    : terminal::LogLevel::debug;
    self.log(level, "agent " + self.socket_->peer() + ": " + action.text);
  }
};

AgentConnection::AgentConnection(Fleet& fleet, std::shared_ptr<transport::WebSocket> socket,
                                 std::optional<domain::Credential> credential)
    : fleet_(fleet),
      socket_(std::move(socket)),
      queue_(socket_->executor()),
      rules_({.protocol_min = fleet.settings_.allow_v1 ? 1 : 2,
              .accepts_tokens = fleet.settings_.accept_tokens}),
      credential_(credential ? std::make_unique<domain::Credential>(std::move(*credential)) : nullptr) {
  if (credential_) {
    proved_ = "certificate " + credential_->serial;
    limits_ = fleet_.limits_of(proved_);
  } else {
    proved_ = "from " + domain::network_of(socket_->peer());
    limits_ = std::make_shared<domain::AgentLimits>();
  }
}

AgentConnection::Errands AgentConnection::perform(std::vector<Action> actions) {
  Errands errands;
  for (Action& action : actions)
    std::visit(Perform{*this, errands}, action);
  return errands;
}

// Holds no connection that has ended.
transport::Task<> AgentConnection::fire_after(std::weak_ptr<AgentConnection> weak,
                                              std::shared_ptr<transport::Wake> timer, std::int64_t ms) {
  co_await timer->wait_for(std::chrono::milliseconds(ms));
  if (const auto self = weak.lock(); self && self->timer_ == timer)
    self->perform(self->rules_.step(TimerFired{}));
}

void AgentConnection::stop_timer() {
  if (const auto timer = std::exchange(timer_, nullptr)) timer->notify();
}

transport::Task<> AgentConnection::serve() {
  const auto self = shared_from_this();
  transport::spawn(socket_->executor(), write_all());
  Opened opened;
  if (credential_) opened.certificate = {credential_->app_id, credential_->instance_id};
  perform(rules_.step(std::move(opened)));
  co_await read_all();
  stop_timer();
  end_pauses();
  if (is_admitted()) fleet_.disconnected(self);
  // What we said last is still written, if the peer takes it; the writer then closes the socket.
  queue_.close();
  if (close_code_ == 0) socket_->abort();
}

transport::Task<> AgentConnection::write_all() {
  const auto self = shared_from_this();
  auto running = queue_.run(socket_);
  const auto written = co_await std::move(running);
  if (!written || close_code_ == 0) {
    socket_->abort();
    co_return;
  }
  auto closing = socket_->close(close_code_, close_reason_);
  co_await std::move(closing);
}

transport::Task<> AgentConnection::read_all() {
  for (;;) {
    auto reading = socket_->read();
    auto text = co_await std::move(reading);
    if (!text) {
      const auto code = text.error().code();
      if (code == base::ErrorCode::invalid || code == base::ErrorCode::limit) malformed(text.error());
      co_return;
    }
    if (close_code_ != 0) continue;  // until the peer has closed, too
    fleet_.metrics_.messages_received.add();
    auto message = protocol::parse_agent_message(*text);
    if (!message) {
      malformed(message.error());
      close(protocol::close_code(message.error()), message.error().message());
      continue;
    }
    frame_bytes_ = text->size();
    text = std::string();  // not needed while we wait
    const domain::AgentLimits::Verdict limit =
        limits_->take(domain::kind_of(message->body), frame_bytes_, domain::steady_millis());
    Errands errands;
    if (!is_over_and_done(*message, limit)) errands = perform(rules_.step(Received{std::move(*message)}));
    if (errands.handshake) {
      auto answering = answer_handshake(std::move(*errands.handshake), limit.is_over);
      co_await std::move(answering);
    }
    if (errands.facts) {
      auto storing = take_facts(std::move(*errands.facts), limit.is_over);
      co_await std::move(storing);
    }
    if (errands.sign) {
      auto signing = sign(std::move(*errands.sign));
      co_await std::move(signing);
    }
    if (fleet_.intake_->is_behind(*this)) {
      auto waiting = fleet_.intake_->room_for(*this);
      co_await std::move(waiting);
    }
    if (limit.delay > 0 && close_code_ == 0) {
      fleet_.metrics_.messages_delayed.add();
      note_limit("it is read more slowly");
      const auto waiting_for = pause();
      co_await waiting_for->wait_for(std::chrono::milliseconds(limit.delay));
    }
  }
}

// Facts and handshakes are looked at first, and then wait, or are sent away.
bool AgentConnection::is_over_and_done(const protocol::AgentMessage& message,
                                       const domain::AgentLimits::Verdict& verdict) {
  if (!verdict.is_over || !rules_.is_accepted()) return false;
  fleet_.metrics_.messages_over.add();
  const domain::MessageKind kind = domain::kind_of(message.body);
  note_limit(std::string(protocol::code_of(message.body)) +
             (kind == domain::MessageKind::facts ? " is stored less often" : " is left out"));
  if (kind == domain::MessageKind::output) return true;
  if (kind != domain::MessageKind::certificate) return false;
  const domain::Millis wait = limits_->wait(kind, domain::steady_millis());
  perform(
      rules_.step(Tell{.body = protocol::Nack{.error = "too many requests for certificates: ask again in " +
                                                       std::to_string((wait + 999) / 1000) + " s",
                                              .retryable = true},
                       .re = message.envelope.mid}));
  return true;
}

std::shared_ptr<transport::Wake> AgentConnection::pause() {
  if (!pause_) pause_ = std::make_shared<transport::Wake>(socket_->executor());
  return pause_;
}

void AgentConnection::end_pauses() {
  if (pause_) pause_->notify();
}

// Once on a connection.
void AgentConnection::note_limit(std::string_view what) {
  if (std::exchange(has_noted_limit_, true)) return;
  log(terminal::LogLevel::warning, "agent " + app_id() + "/" + instance_id() + " " + socket_->peer() +
                                       " sends more than its limits allow; " + std::string(what));
}

void AgentConnection::log(terminal::LogLevel level, const std::string& text) {
  fleet_.peer_log_.write(level, proved_, text, domain::steady_millis());
}

void AgentConnection::malformed(const base::Error& error) {
  fleet_.metrics_.messages_malformed.add();
  log(terminal::LogLevel::warning, "agent " + (instance_id().empty() ? "" : instance_id() + " ") +
                                       socket_->peer() +
                                       ": malformed message: " + base::quote_of(error.message()));
}

// ---- what is said

void AgentConnection::send(transport::Text text, std::string_view slot) {
  if (close_code_ != 0 || queue_.is_closed())
    return;  // closed alone: the peer is gone, and the reader ends soon
  fleet_.metrics_.messages_sent.add();
  const bool taken = slot.empty() ? queue_.push(std::move(text)) : queue_.replace(slot, std::move(text));
  if (taken) return;
  log(terminal::LogLevel::warning,
      "agent " + instance_id() + " " + socket_->peer() + " does not read what it is told; disconnected");
  close_code_ = protocol::kClosePolicy;
  socket_->abort();
}

void AgentConnection::close(unsigned code, std::string reason) {
  if (close_code_ != 0) return;
  close_code_ = code;
  close_reason_ = std::move(reason);
  end_pauses();
  queue_.close();  // the writer writes what is there, then says goodbye
}

bool AgentConnection::tell(BackendBody body, std::string mid) {
  if (close_code_ != 0) return false;
  auto actions = rules_.step(
      Tell{.body = std::move(body), .mid = std::move(mid), .now = std::chrono::system_clock::now()});
  bool told = true;
  for (const Action& action : actions)
    if (std::holds_alternative<TellFailed>(action)) told = false;
  perform(std::move(actions));
  return told;
}

bool AgentConnection::tell_recipe(const PlacementContent& content, std::int64_t version, RecipeTexts& texts) {
  if (close_code_ != 0 || !rules_.is_accepted() || version <= told_version_) return false;
  const bool only_version = content.placement.key == told_placement_ && rules_.version() >= 2;
  told_version_ = version;
  told_placement_ = content.placement.key;
  // The rules let a recipe pass to every accepted agent; encoding is done once for all that are told the
  // same.
  const protocol::ModuleSource& module = module_of(content);
  transport::Text& text = texts[std::to_string(content.placement.key) + "/" + std::to_string(version) + "/" +
                                std::to_string(rules_.version()) + (only_version ? "v" : "") +
                                (app_compat_v1_ ? "c" : "") + module.repo + " " + module.tag];
  if (!text) {
    protocol::RecipeMetadata recipe{.recipe_version = version,
                                    .digest = content.placement.digest,
                                    .kill_on_change = content.placement.kill_on_change,
                                    .round_delay_s = content.placement.round_delay_s};
    // Without a word the agent's last one stays. In version 2 no repository is said, too: an agent whose
    // recipe uses no modules any more must not hang on to a repository that may be gone.
    if (!only_version && (!module.repo.empty() || rules_.version() >= 2)) recipe.module = module;
    if (!only_version) recipe.states = protocol::Json{*content.text};
    if (!only_version && !content.placement.vars.empty())
      recipe.vars = protocol::Json{content.placement.vars};
    if (!only_version) recipe.tags = domain::read_tags(content.placement.tags);
    if (!only_version) recipe.compat_v1 = app_compat_v1_;
    text = transport::make_text(
        protocol::encode(protocol::BackendMessage{BackendBody(std::move(recipe))}, rules_.version()));
  }
  send(text, "recipe");
  fleet_.metrics_.recipes_pushed.add();
  return true;
}

// Agents of version 1 expect a repository in every recipe, whether it uses any of it or not.
const protocol::ModuleSource& AgentConnection::module_of(const PlacementContent& content) const {
  const bool is_expected = content.placement.module.repo.empty() && rules_.version() < 2;
  return is_expected ? app_module_ : content.placement.module;
}

// Agents may take what an answer does not list for done. So there is none about a version that we do not
// have: an agent with another one gets ours and asks again, and one that is ahead of our index, because its
// handshake came between a commit and its delivery, is answered by the delivery.
void AgentConnection::answer_waits(const std::string& re) {
  const std::int64_t version = fleet_.waits_.given(session_.instance).recipe_version;
  if (version == 0 || asked_waits_ != version) return;
  asked_waits_ = 0;
  if (auto list = fleet_.waits_.wait_list(session_.instance))
    perform(rules_.step(Tell{.body = std::move(*list), .re = re}));
  fleet_.tell_satisfied_waits(*this, version);
}

// ---- pauses

protocol::Hold hold_of(const domain::Pause& pause, domain::Millis now, bool is_now) {
  if (!pause.is_on(now)) return {.on = false};
  constexpr domain::Millis kMillis = 1000;
  return {.by = pause.by,
          .reason = pause.reason,
          .left_s = std::clamp<std::int64_t>((pause.until - now + kMillis - 1) / kMillis,
                                             protocol::kShortestHold, protocol::kLongestHold),
          .is_now = is_now};
}

void AgentConnection::tell_pause(const domain::Pause& pause, domain::Millis now) {
  tell(hold_of(pause, now, false));
}

// For people: nothing is decided by it.
void AgentConnection::store_said_holds(std::vector<protocol::MachineHold> holds) {
  if (!is_admitted()) return;
  fleet_.publish("hold", app_id(), instance_id(), said_json(app_id(), instance_id(), holds));
  auto writing = fleet_.store_.write([session = session_, holds = std::move(holds)](store::Store& store) {
    return store.set_said_holds(session, holds);
  });
  transport::spawn(socket_->executor(), [](transport::Task<base::Result<bool>> task) -> transport::Task<> {
    [[maybe_unused]] const auto noted = co_await std::move(task);
  }(std::move(writing)));
}

// ---- authorities

namespace {

// What these mids begin with is never an inquiry's.
constexpr std::string_view kAuthoritiesMid = "authorities-";
constexpr std::string_view kCertificateMid = "certificate-";

}  // namespace

std::string AgentConnection::certificate_mid(const std::string& serial) {
  return std::string(kCertificateMid) + serial;
}

void AgentConnection::announce_authorities(std::chrono::milliseconds within) {
  const SharedAuthorities& all = fleet_.authorities_;
  if (all && credential_)
    tell(all->announcement(within), std::string(kAuthoritiesMid) + std::to_string(all->number));
}

void AgentConnection::authorities_changed(std::chrono::milliseconds within) {
  // One that is not admitted yet is looked at when it is.
  if (!credential_ || !is_admitted()) return;
  if (fleet_.authorities_ && !fleet_.authorities_->with_issuer(credential_->issuer))
    return revoked(std::string(kRetiredIssuer));
  announce_authorities(within);
}

bool AgentConnection::take_own_answer(const Answered& answered) {
  const auto* const nack = std::get_if<protocol::Nack>(&answered.answer);
  const std::string_view re = answered.re;
  if (re.starts_with(kAuthoritiesMid)) {
    const auto number = base::parse_integer(re.substr(kAuthoritiesMid.size()));
    if (nack)
      log(terminal::LogLevel::warning,
          "agent " + instance_id() + " does not take the authorities: " + base::quote_of(nack->error));
    else if (number && *number > 0)
      trusts_ = static_cast<std::uint64_t>(*number);
    return true;
  }
  if (!re.starts_with(kCertificateMid)) return false;
  if (!nack) note_kept(std::string(re.substr(kCertificateMid.size())));
  return true;
}

void AgentConnection::note_kept(std::string serial) {
  if (!credential_) return;
  auto writing =
      fleet_.store_.write([uid = credential_->uid, serial = std::move(serial)](store::Store& store) {
        return store.set_certificate_kept(uid, serial, domain::now_millis());
      });
  transport::spawn(socket_->executor(), [](transport::Task<base::Result<void>> task) -> transport::Task<> {
    [[maybe_unused]] const auto noted = co_await std::move(task);
  }(std::move(writing)));
}

void AgentConnection::revoked(const std::string& reason) {
  static constexpr std::chrono::milliseconds kGoodbye = std::chrono::milliseconds(500);
  queue_.clear();
  perform(rules_.step(Revoked{reason}));
  // One that does not read keeps nothing open.
  transport::spawn(socket_->executor(), [](std::weak_ptr<transport::WebSocket> weak) -> transport::Task<> {
    co_await transport::sleep_for(kGoodbye);
    if (const auto socket = weak.lock()) socket->abort();
  }(socket_));
}

// ---- reports

void AgentConnection::take(domain::Report report) {
  fleet_.metrics_.reports_received.add();
  if (domain::shorten(report) > 0) fleet_.metrics_.reports_cut.add();
  const bool is_first = reports_.empty();
  reports_.push_back(std::move(report));
  reports_bytes_ += frame_bytes_;
  waiting_bytes_ += frame_bytes_;
  fleet_.intake_->arrived(shared_from_this(), frame_bytes_, is_first);
}

std::vector<domain::Report> AgentConnection::take_reports() {
  reports_bytes_ = 0;
  return std::exchange(reports_, {});
}

void AgentConnection::let_go(std::size_t bytes) {
  waiting_bytes_ -= std::min(bytes, waiting_bytes_);
}

void AgentConnection::note_history(const std::string& history) {
  told_history_ = std::hash<std::string>()(history);
  history_told_ = domain::steady_millis();
}

// The agent writes it to its disk each time.
void AgentConnection::stored(std::uint64_t up_to_seq, const std::string& history) {
  constexpr domain::Millis kSeldom = 10'000;
  const bool is_news = domain::steady_millis() - history_told_ >= kSeldom &&
                       std::hash<std::string>()(history) != told_history_;
  auto actions = rules_.step(Stored{up_to_seq, is_news ? history : ""});
  const bool is_told =
      std::ranges::any_of(actions, [](const Action& action) { return std::holds_alternative<Send>(action); });
  if (is_news && is_told) note_history(history);
  perform(std::move(actions));
}

void AgentConnection::not_stored() {
  perform(rules_.step(Drain{.retry_after_ms = fleet_.come_again_ms(),
                            .reason = "reports cannot be stored now: send them again later"}));
}

// Something that was refused.
void AgentConnection::add_audit(std::string action, std::string detail) {
  domain::AuditRow row{.at = domain::now_millis(),
                       .actor = std::string(domain::kAgentActor),
                       .action = std::move(action),
                       .object = app_id() + "/" + instance_id(),
                       .detail = std::move(detail)};
  row.from = socket_->peer();
  row.result = domain::kDenied;
  auto writing = fleet_.store_.write([row = std::move(row), proved = proved_](store::Store& store) {
    return store::add_audit(store, row, proved);
  });
  transport::spawn(socket_->executor(), [](transport::Task<base::Result<void>> task) -> transport::Task<> {
    [[maybe_unused]] const auto noted = co_await std::move(task);
  }(std::move(writing)));
}

}  // namespace backend::fleet
