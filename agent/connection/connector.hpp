// Connector: keeps the daemon connected. Dials the backends in turn, makes a Manager for each connection,
// waits between attempts, and tries settings that a backend has sent. Belongs to the loop's thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/connection/manager.hpp"
#include "agent/connection/renewal.hpp"
#include "agent/runtime/active_recipe.hpp"
#include "agent/runtime/daemon_settings.hpp"
#include "agent/runtime/daemon_state.hpp"
#include "agent/updater/updater.hpp"
#include "transport/back_off.hpp"
#include "transport/client/dial.hpp"

namespace agent::connection {

class Connector {
 public:
  // What people want to know of the connection.
  struct View {
    std::string uri;  // that is connected, or was tried last
    bool is_connected = false;
    std::chrono::system_clock::time_point since;  // connected, or not
    std::string problem;                          // why the last attempt or connection ended
  };

  // `status`: one line for the service manager, whenever it changes.
  Connector(transport::Loop& loop, const runtime::DaemonSettings& settings, runtime::DaemonState& live,
            runtime::WorkerPort& worker, runtime::ActiveRecipe& recipe, runtime::RecipeModules& modules,
            runtime::MachineHolds& holds, updater::Updater& updater,
            std::function<void(const std::string&)> status);

  // Until end().
  transport::Task<> run();

  void on_worker_event(const engine::Event& event);
  void recipe_changed();  // its modules have come
  void reports_available();
  void holds_changed();
  // Gathers them, off the loop, and sends what has changed.
  void refresh_facts();

  // Waits a moment until the backend has acknowledged what there is, says goodbye, and is over.
  transport::Task<> end(std::string reason, std::chrono::milliseconds patience);

  const View& view() const { return view_; }
  int protocol_version() const { return manager_ ? manager_->protocol_version() : 0; }

 private:
  using Clock = std::chrono::steady_clock;

  transport::Task<std::chrono::milliseconds> connect_once();
  transport::Task<base::Result<std::shared_ptr<transport::TlsClient>>> prepare_tls(
      transport::DialOptions way);
  transport::Task<> keep_facts();
  base::Result<std::shared_ptr<transport::TlsClient>> without_enrolment(const base::Error& why);
  Renewal::Ask who_renews();
  base::Result<void> trust(const protocol::Authorities& announced);
  static transport::Task<> leave_later(std::weak_ptr<Manager> manager, std::chrono::milliseconds when);
  transport::Task<> watch_candidate(std::weak_ptr<Manager> manager);
  std::chrono::milliseconds after_failed_dial(const std::string& problem);
  std::chrono::milliseconds after_connection(Manager::Ended ended, Clock::time_point opened);
  void ask_source(std::function<void()> done);
  void ask_source_again();
  void take(identity::SourceIdentity said);
  std::string app_at_work() const;
  void believe(identity::SourceIdentity said);
  void choose_servers();
  void drop_candidate(const std::string& why);
  ManagerParts parts();
  void accepted();
  protocol::Handshake hello();
  void set_view(bool is_connected, std::string problem);

  transport::Loop& loop_;
  const runtime::DaemonSettings& settings_;
  const runtime::BackendSettings& backend_;
  runtime::DaemonState& live_;
  runtime::WorkerPort& worker_;
  runtime::ActiveRecipe& recipe_;
  runtime::RecipeModules& modules_;
  runtime::MachineHolds& holds_;
  updater::Updater& updater_;
  const std::function<void(const std::string&)> status_;

  std::vector<std::string> alternatives_;  // where the last backend has sent us
  std::vector<std::string> servers_;       // that are tried in turn
  std::optional<transport::BackOff> back_off_;
  std::size_t failed_dials_ = 0;  // since the servers were chosen
  std::shared_ptr<Manager> manager_;
  facts::Facts sent_facts_;  // what the session knows
  transport::Wake changed_;
  transport::Wake facts_wanted_;
  Renewal renewal_;
  bool is_secure_ = false;             // the connection, or the attempt
  std::vector<std::string> vouching_;  // the authorities of whom one has vouched for the connection
  bool is_stale_ = false;              // one of them is not trusted any more
  bool is_gathering_ = false;
  bool is_asking_ = false;         // the identity source
  std::string refused_token_;      // that it announced last
  std::string refused_app_;        // the same
  bool is_somebody_else_ = false;  // it has said something new since the last attempt began
  Clock::time_point asked_{};
  bool is_ending_ = false;
  View view_;
};

}  // namespace agent::connection
