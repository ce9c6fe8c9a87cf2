#include "backend/fleet/agent_connection.hpp"

#include "backend/domain/instants.hpp"
#include "backend/fleet/report_intake.hpp"
#include "backend/store/audit.hpp"
#include "base/json_text.hpp"
#include "base/token.hpp"
#include "protocol/codec.hpp"

namespace backend::fleet {

using namespace protocol::at_backend;
using protocol::BackendBody;

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
  void operator()(AnswerWaits& action) const {
    protocol::WaitList list = self.fleet_.waits_.wait_list(self.session_.instance);
    // The agent asks about what it runs; about another version there is nothing to say.
    if (action.recipe_version != list.recipe_version) list = {.recipe_version = action.recipe_version};
    self.perform(self.rules_.step(Tell{.body = std::move(list), .re = std::move(action.re)}));
    self.fleet_.tell_satisfied_waits(self, action.recipe_version);
  }
  void operator()(OutputArrived& action) const { self.fleet_.output_arrived(self, action.output); }
  void operator()(Answered& action) const {
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
    self.fleet_.log_.debug(self.instance_id() + " leaves: " + action.reason);
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
    self.fleet_.log_.write(level, "agent " + self.socket_->peer() + ": " + action.text);
  }
};

AgentConnection::AgentConnection(Fleet& fleet, std::shared_ptr<transport::WebSocket> socket,
                                 std::optional<domain::Credential> credential)
    : fleet_(fleet),
      socket_(std::move(socket)),
      queue_(socket_->executor()),
      rules_({.protocol_min = fleet.settings_.allow_v1 ? 1 : 2,
              .accepts_tokens = fleet.settings_.accept_tokens}),
      credential_(credential ? std::make_unique<domain::Credential>(std::move(*credential)) : nullptr) {}

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
    Errands errands = perform(rules_.step(Received{std::move(*message)}));
    if (errands.handshake) {
      auto answering = answer_handshake(std::move(*errands.handshake));
      co_await std::move(answering);
    }
    if (errands.facts) {
      auto storing = store_facts(std::move(*errands.facts));
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
  }
}

void AgentConnection::malformed(const base::Error& error) {
  fleet_.metrics_.messages_malformed.add();
  fleet_.log_.warning("agent " + (instance_id().empty() ? "" : instance_id() + " ") + socket_->peer() +
                      ": malformed message: " + error.message());
}

// ---- what is said

void AgentConnection::send(transport::Text text, std::string_view slot) {
  if (close_code_ != 0 || queue_.is_closed())
    return;  // closed alone: the peer is gone, and the reader ends soon
  fleet_.metrics_.messages_sent.add();
  const bool taken = slot.empty() ? queue_.push(std::move(text)) : queue_.replace(slot, std::move(text));
  if (taken) return;
  fleet_.log_.warning("agent " + instance_id() + " " + socket_->peer() +
                      " does not read what it is told; disconnected");
  close_code_ = protocol::kClosePolicy;
  socket_->abort();
}

void AgentConnection::close(unsigned code, std::string reason) {
  if (close_code_ != 0) return;
  close_code_ = code;
  close_reason_ = std::move(reason);
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
  transport::Text& text = texts[std::to_string(content.placement.key) + "/" + std::to_string(version) + "/" +
                                std::to_string(rules_.version()) + (only_version ? "v" : "")];
  if (!text) {
    protocol::RecipeMetadata recipe{.recipe_version = version,
                                    .digest = content.placement.digest,
                                    .kill_on_change = content.placement.kill_on_change,
                                    .round_delay_s = content.placement.round_delay_s};
    if (!only_version) recipe.states = protocol::Json{content.placement.states};
    text = transport::make_text(
        protocol::encode(protocol::BackendMessage{BackendBody(std::move(recipe))}, rules_.version()));
  }
  send(text, "recipe");
  fleet_.metrics_.recipes_pushed.add();
  return true;
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

void AgentConnection::stored(std::uint64_t up_to_seq) {
  perform(rules_.step(Stored{up_to_seq}));
}

void AgentConnection::not_stored() {
  close(transport::close_code::kTryAgainLater, "reports could not be stored");
}

// Something that was refused.
void AgentConnection::add_audit(std::string action, std::string detail) {
  domain::AuditRow row{.at = domain::now_millis(),
                       .actor = "agent",
                       .action = std::move(action),
                       .object = app_id() + "/" + instance_id(),
                       .detail = std::move(detail)};
  row.from = socket_->peer();
  row.result = domain::kDenied;
  auto writing = fleet_.store_.write(
      [row = std::move(row)](store::Store& store) { return store::add_audit(store, row); });
  transport::spawn(socket_->executor(), [](transport::Task<base::Result<void>> task) -> transport::Task<> {
    [[maybe_unused]] const auto noted = co_await std::move(task);
  }(std::move(writing)));
}

}  // namespace backend::fleet
