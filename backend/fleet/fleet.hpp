// Fleet: who is connected, what waits for whom, and what is to be told to whom.
//
// One connection per instance: a newer one ends the older. Belongs to the loop's thread; what must last is in
// the store before anybody is told.
#pragma once

#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backend/domain/limits/agent_limits.hpp"
#include "backend/domain/placement/waits.hpp"
#include "backend/domain/reports/report_rules.hpp"
#include "backend/fleet/certificates.hpp"
#include "backend/fleet/delivery.hpp"
#include "backend/fleet/inquiries.hpp"
#include "backend/fleet/peer_log.hpp"
#include "backend/fleet/store_condition.hpp"
#include "backend/store/threads/store_thread.hpp"
#include "backend/telemetry/event_log.hpp"
#include "backend/telemetry/metrics.hpp"
#include "terminal/log.hpp"
#include "transport/http.hpp"
#include "transport/web_socket/web_socket.hpp"

namespace backend::fleet {

class AgentConnection;
class ReportIntake;

struct FleetSettings {
  bool allow_v1 = false;
  bool accept_tokens = true;       // agents without a certificate
  bool approve_strangers = false;  // those of them that come for the first time wait for an operator
  CertificateTerms certificates;   // whose authorities are those of the start
  // A draining backend asks its agents to come back within this time, each at another moment.
  std::chrono::milliseconds spread = std::chrono::seconds(20);
  int heartbeat_s = 30;
  domain::ReportQuota quota;  // of each instance
  // How often rollouts are looked at while there are any.
  std::chrono::milliseconds rollout_interval = std::chrono::seconds(1);
  // After a start: so long agents that were connected before have to come back, until rollouts go on.
  std::chrono::milliseconds settling = std::chrono::seconds(60);
};

// What a machine is told of a pause; of one that is over, that there is none. `is_now`: its round is ended.
protocol::Hold hold_of(const domain::Pause& pause, domain::Millis now, bool is_now);

class Fleet {
 public:
  Fleet(transport::Loop& loop, store::StoreThread& store, telemetry::EventLog& events,
        telemetry::Metrics& metrics, terminal::Log& log, FleetSettings settings);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // Before anybody connects: nobody is online, and the waits are as the store has them.
  transport::Task<base::Result<void>> load();

  // One websocket, until it ends.
  transport::Task<> serve(transport::HttpRequest request, std::shared_ptr<transport::WebSocket> socket);

  // After the commit: tells those that are connected, and those whose waits have come true.
  void deliver(const Delivery& delivery);
  void forget(domain::InstanceKey instance);
  // What agents are told from now on with recipes: those of version 1 the app's modules where a recipe names
  // none itself; others whether it is of version 1.
  void use_app(const domain::App& app);
  // Closes its connection at once, if it has one. The store has been told before.
  void revoke(domain::InstanceKey instance, const std::string& reason);
  // Every so often: a connection does not outlive the certificate that it was opened or renewed with.
  void close_expired();

  // Of the machines that are connected: whose certificate was not renewed and ends by then.
  std::size_t certificates_ending_by(domain::Millis at) const;

  // Null without TLS.
  const SharedAuthorities& authorities() const { return authorities_; }
  // From now on these sign. Agents that are connected are told; those whose certificate is of none of them
  // are sent away. The server shows a certificate of theirs already.
  void use_authorities(SharedAuthorities authorities);

  bool is_connected(domain::InstanceKey instance) const { return online_.contains(instance); }
  std::size_t connected() const { return online_.size(); }

  // Asks and waits. Errors: not connected, refused (`permission`), no answer in time, version 1.
  transport::Task<base::Result<Answer>> ask(domain::InstanceKey instance, protocol::BackendBody question,
                                            std::chrono::milliseconds time);
  // The same for one state outside the recipe: answers its result, once that is stored.
  transport::Task<base::Result<Answer>> run(domain::InstanceKey instance, protocol::Run run,
                                            std::chrono::milliseconds time);
  // Says something that needs no answer. False when it is not connected or does not take it.
  bool tell(domain::InstanceKey instance, const protocol::BackendBody& message);

  // An operator has paused a machine, or resumed it: for those who watch.
  void publish_pause(const std::string& app_id, const std::string& instance_id, const domain::Pause& pause);

  // Live output of an instance is sent to us while anybody holds one of these.
  class OutputWatch {
   public:
    OutputWatch(Fleet& fleet, domain::InstanceKey instance);
    ~OutputWatch();
    OutputWatch(const OutputWatch&) = delete;
    OutputWatch& operator=(const OutputWatch&) = delete;

   private:
    Fleet& fleet_;
    const domain::InstanceKey instance_;
  };

  // Who is connected is known from here on.
  domain::Millis watching_since() const { return watching_since_; }
  // The backend was started a moment ago, and somebody who was connected before is not back yet.
  bool is_settling() const;

  const domain::WaitIndex& waits() const { return waits_; }
  std::size_t reports_waiting() const;

  // Sends everybody away, spread over time, and returns when they are gone or the time is over, with all that
  // has arrived stored. After `begin_drain` nobody new is admitted.
  void begin_drain() { draining_ = true; }
  bool draining() const { return draining_; }
  transport::Task<> drain(std::chrono::milliseconds within);

  // Every so often: the store is told who is still there.
  transport::Task<> note_presence();
  // Every so often: whether a store that failed works again, and who has used nothing of its limits lately.
  transport::Task<> look_after();

  StoreCondition& store_condition() { return condition_; }

 private:
  friend class AgentConnection;
  friend class ReportIntake;

  // For connections.
  void connected(const std::shared_ptr<AgentConnection>& connection, const domain::Instance& instance);
  void disconnected(const std::shared_ptr<AgentConnection>& connection);
  bool is_watched(domain::InstanceKey instance) const { return output_watches_.contains(instance); }
  // After reports were stored.
  void reported(const AgentConnection& connection, const std::vector<domain::Report>& reports);
  std::shared_ptr<const domain::StateList> shared_states(const domain::InstanceProgress& progress,
                                                         const PlacementContents& contents);
  void tell_satisfied(const std::vector<domain::Satisfied>& satisfied);
  // All that have come true so far, for an agent that asks or has just come.
  void tell_satisfied_waits(AgentConnection& connection, std::int64_t recipe_version);
  void output_arrived(const AgentConnection& connection, const protocol::StateOutput& output);
  transport::Task<base::Result<Answer>> ask(std::shared_ptr<Inquiries::Inquiry> inquiry,
                                            domain::InstanceKey instance, protocol::BackendBody question,
                                            std::chrono::milliseconds time);
  std::shared_ptr<AgentConnection> find(domain::InstanceKey instance) const;
  // What has been used of its limits by whoever has proved to be `key`, whichever connection it has.
  std::shared_ptr<domain::AgentLimits> limits_of(const std::string& key);
  // When an agent that cannot be served now is to come again: each at another moment.
  std::int64_t come_again_ms();
  void publish(std::string_view type, std::string app_id, std::string instance_id, std::string data);

  transport::Loop& loop_;
  store::StoreThread& store_;
  telemetry::EventLog& events_;
  telemetry::Metrics& metrics_;
  terminal::Log& log_;
  PeerLog peer_log_;
  const FleetSettings settings_;
  StoreCondition condition_;
  std::unordered_map<std::string, std::shared_ptr<domain::AgentLimits>>
      limits_;  // by AgentConnection::proved()
  std::mt19937 random_{std::random_device{}()};
  SharedAuthorities authorities_;
  Inquiries inquiries_;
  domain::WaitIndex waits_;
  std::unordered_map<domain::PlacementKey, std::weak_ptr<const domain::StateList>>
      lists_;  // those that waits_ holds
  std::unique_ptr<ReportIntake> intake_;
  std::unordered_map<domain::InstanceKey, std::shared_ptr<AgentConnection>> online_;
  std::unordered_map<domain::InstanceKey, std::size_t> output_watches_;  // how many watch
  std::unordered_set<std::shared_ptr<AgentConnection>> serving_;         // admitted or not
  std::unordered_set<domain::InstanceKey> missing_;  // connected before the start, and not since
  domain::Millis watching_since_ = 0;
  std::chrono::steady_clock::time_point settled_by_;
  transport::Wake left_;  // one of them ended
  bool draining_ = false;
};

}  // namespace backend::fleet
