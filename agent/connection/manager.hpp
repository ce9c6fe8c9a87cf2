// Manager: one connection to the backend. Made when it is open, gone when it ends.
//
// It performs what protocol::AgentSession says, which has the rules of the protocol. What this machine allows
// is checked here, before it is performed: `allow` of the configuration for runs and queries, the range of
// settings, which backends may be used; the session is told of a refusal and answers. Nothing of value lives
// in it: recipe, spool, settings, what is known of waits and the worker itself are the daemon's. Belongs to
// the loop's thread; nothing in it blocks but short writes to the state folder.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/connection/outbox.hpp"
#include "agent/facts/facts.hpp"
#include "agent/log_line.hpp"
#include "agent/reports/encoding.hpp"
#include "agent/reports/spool.hpp"
#include "agent/runtime/active_recipe.hpp"
#include "agent/runtime/backend_history.hpp"
#include "agent/runtime/command_store.hpp"
#include "agent/runtime/machine_holds.hpp"
#include "agent/runtime/recipe_modules.hpp"
#include "agent/runtime/settings_store.hpp"
#include "agent/runtime/worker_port.hpp"
#include "base/background_thread.hpp"
#include "base/values/redactor.hpp"
#include "protocol/agent_session.hpp"

namespace agent::connection {

// What outlives connections.
struct ManagerParts {
  reports::Spool& spool;
  reports::Reports& reports;
  runtime::ActiveRecipe& recipe;
  runtime::WorkerPort& worker;
  runtime::SettingsStore& settings;
  runtime::RecipeModules& modules;
  runtime::MachineHolds& holds;
  base::BackgroundThread& background;
  base::Redactor& redactor;
  const facts::Facts& facts;                              // as they are now
  const std::vector<std::string>& allow;                  // beyond the recipe
  std::function<protocol::Handshake()> hello;             // reads the identity again
  std::function<void(std::function<void()>)> ask_source;  // the identity's, off the loop; then calls that
  runtime::CommandStore& commands;                        // that were taken before
  runtime::BackendHistory& history;                       // of the backend, as it has said
  std::function<std::optional<std::string>(const std::string&)> refuse_uri;  // why a backend may not name it
  std::function<void()> spooled;                                             // a report was appended here
  std::function<void()> welcomed;
  std::function<void()> accepted;  // the backend speaks with us, in version 1 or 2
  std::function<void(const protocol::AgentUpdate&)> update_asked;
  std::function<base::Result<void>(const protocol::CertIssued&)> certificate_issued;
  std::function<base::Result<void>(const protocol::Authorities&)> trust_authorities;
  LogLine log;
};

class Manager : public std::enable_shared_from_this<Manager> {
 public:
  // How a connection ended, for whoever makes the next.
  struct Ended {
    std::string why;
    bool was_welcomed = false;
    bool has_new_settings = false;  // to be tried at once
    std::optional<std::chrono::milliseconds> retry_after;
    std::vector<std::string> alternatives;
  };

  Manager(ManagerParts parts, std::shared_ptr<transport::WebSocket> socket, int protocol_min,
          bool spoke_version_1);

  // Until the connection has ended.
  transport::Task<Ended> run();

  // What happens elsewhere while it is open.
  void on_worker_event(const engine::Event& event);  // of the worker; output and plans are of interest
  void recipe_changed();                             // its modules have come
  void reports_available();
  void holds_changed();
  void facts_changed(const facts::Facts& before, const facts::Facts& now);
  void ask_for_certificate(protocol::CertRequest request);
  // Says goodbye and ends.
  void close(std::string reason);

  int protocol_version() const { return session_.version(); }
  const std::string& peer() const { return socket_->peer(); }

 private:
  using SessionEvent = protocol::at_agent::Event;

  void feed(SessionEvent event);
  // manager_actions.cpp: one per action.
  void perform(protocol::at_agent::Send& action);
  void perform(protocol::at_agent::Close& action);
  void perform(protocol::at_agent::Disconnect& action);
  void perform(protocol::at_agent::StartTimer& action);
  void perform(protocol::at_agent::ReadIdentityAgain& action);
  void perform(protocol::at_agent::TakeRecipe& action);
  void perform(protocol::at_agent::MoveVersion& action);
  void perform(protocol::at_agent::PlanRecipe& action);
  void perform(protocol::at_agent::WaitDone& action);
  void perform(protocol::at_agent::WaitsMissing& action);
  void perform(protocol::at_agent::ReadReports& action);
  void perform(protocol::at_agent::AcknowledgeReports& action);
  void perform(protocol::at_agent::ResetReportStream& action);
  void perform(protocol::at_agent::KeepHistory& action);
  void perform(protocol::at_agent::ReadFacts& action);
  void perform(protocol::at_agent::ReportChangesOnly& action);
  void perform(protocol::at_agent::SetHeartbeat& action);
  void perform(protocol::at_agent::SetMaxMessage& action);
  void perform(protocol::at_agent::WatchOutput& action);
  void perform(protocol::at_agent::NoteCommand& action);
  void perform(protocol::at_agent::RunState& action);
  void perform(protocol::at_agent::CancelRun& action);
  void perform(protocol::at_agent::AnswerQuery& action);
  void perform(protocol::at_agent::TrySettings& action);
  void perform(protocol::at_agent::TakeHold& action);
  void perform(protocol::at_agent::BeginRound& action);
  void perform(protocol::at_agent::ConfirmSettings& action);
  void perform(protocol::at_agent::UpdateAsked& action);
  void perform(protocol::at_agent::CertificateIssued& action);
  void perform(protocol::at_agent::TrustAuthorities& action);
  void perform(protocol::at_agent::Log& action);

  struct Planned {
    std::string states;
    recipe::Inputs inputs;
  };
  void plan(const std::string& re, std::int64_t version, const Planned& planned,
            const runtime::RecipeTypes& types);
  // What the recipe's owner has decided.
  void carry_out(runtime::RecipeDecision decision);
  void append(protocol::AgentBody report);
  void answer(const std::string& re, const base::Result<void>& done);
  void refuse(std::string re, std::string error, bool retryable = false);
  void send_to_worker(engine::Command command);
  bool may(std::string_view what) const;
  void log(Level level, const std::string& text) { parts_.log(level, text); }

  const ManagerParts parts_;
  const std::shared_ptr<transport::WebSocket> socket_;
  protocol::AgentSession session_;
  Outbox outbox_;
  transport::asio::steady_timer timers_[2];  // by protocol::at_agent::Timer
  std::deque<SessionEvent> events_;
  bool stepping_ = false;
  bool is_accepted_ = false;
  std::size_t watchers_ = 0;
  Ended ended_;
};

}  // namespace agent::connection
