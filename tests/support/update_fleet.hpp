// Many agents that speak the real protocol and update themselves as they are told, without doing anything:
// for rollouts. Each confirms after it has come back with the new version, or says that it rolled back.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "protocol/codec.hpp"
#include "tests/support/loopback.hpp"
#include "transport/client/dial.hpp"

namespace tests {

class UpdateFleet {
 public:
  // What machine number n answers to an update: "confirmed", "rolled_back", "failed", or "" for silence.
  using Behaviour = std::function<std::string(std::size_t number)>;

  UpdateFleet(std::size_t count, Behaviour behaviour) : behaviour_(std::move(behaviour)) {
    for (std::size_t i = 0; i < count; ++i)
      agents_.push_back(std::make_unique<Agent>(i));
  }
  UpdateFleet(const UpdateFleet&) = delete;
  UpdateFleet& operator=(const UpdateFleet&) = delete;
  ~UpdateFleet() { leave(); }

  // All of them stay connected to whatever listens there, coming again when they are cut off.
  void connect(std::uint16_t port) {
    port_ = port;
    if (running_.exchange(true)) return;
    thread_.call([this] {
      for (const auto& agent : agents_)
        transport::spawn(thread_.loop().get_executor(), live(*agent));
    });
  }
  void leave() {
    running_ = false;
    thread_.call([this] {
      for (const auto& agent : agents_)
        if (agent->socket) agent->socket->abort();
    });
    // Sockets must be gone before their loop is.
    while (living_ > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    thread_.stop();
  }

  std::size_t online() const { return online_; }
  // How many updates machine n has begun, and how many AgentUpdate it has heard.
  std::size_t begun(std::size_t number) const {
    const std::scoped_lock lock(mutex_);
    return agents_[number]->actions.size();
  }
  std::size_t told() const {
    const std::scoped_lock lock(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(agents_, [](const auto& agent) { return !agent->actions.empty(); }));
  }

 private:
  struct Agent {
    explicit Agent(std::size_t n) : number(n), id("m" + std::to_string(n)) {}
    const std::size_t number;
    const std::string id;
    std::string version = "1.0.0";
    std::string trial_action, trial_version;  // to confirm after the next handshake
    std::set<std::string> actions;            // guarded by mutex_
    std::uint64_t seq = 0;
    std::map<std::uint64_t, protocol::UpdateStatus> spool;  // not acknowledged
    std::shared_ptr<transport::WebSocket> socket;
  };

  transport::Task<> live(Agent& agent) {
    using namespace std::chrono_literals;
    ++living_;
    while (running_) {
      transport::DialOptions options;
      options.uri = *transport::parse_uri("ws://127.0.0.1:" + std::to_string(port_.load()) + "/agent/");
      auto dialling = transport::dial(std::move(options));
      auto socket = co_await std::move(dialling);
      if (!socket) {
        co_await transport::sleep_for(50ms);
        continue;
      }
      agent.socket = std::move(*socket);
      auto serving = serve(agent);
      co_await std::move(serving);
      agent.socket->abort();
      agent.socket.reset();
      co_await transport::sleep_for(20ms);
    }
    --living_;
  }

  transport::Task<> serve(Agent& agent) {
    protocol::Handshake hello;
    hello.instance_id = agent.id;
    hello.app_id = "default";
    hello.agent_version = agent.version;
    hello.instance_token = "token of " + agent.id;
    hello.protocol_max = 2;
    hello.agent_uid = "uid-" + agent.id;
    hello.capabilities = {"update"};
    auto greeting = send(agent, hello);
    co_await std::move(greeting);
    bool is_welcome = false;
    while (running_) {
      auto reading = agent.socket->read();
      auto text = co_await std::move(reading);
      if (!text) break;
      auto message = protocol::parse_backend_message(*text);
      if (!message) break;
      if (std::holds_alternative<protocol::Welcome>(message->body)) {
        is_welcome = true;
        ++online_;
        auto answering = arrived(agent);
        co_await std::move(answering);
      } else if (const auto* ack = std::get_if<protocol::Ack>(&message->body)) {
        if (ack->ack_seq) agent.spool.erase(agent.spool.begin(), agent.spool.upper_bound(*ack->ack_seq));
      } else if (const auto* update = std::get_if<protocol::AgentUpdate>(&message->body)) {
        const protocol::AgentUpdate told = *update;
        auto updating = begin(agent, told);
        const bool restarts = co_await std::move(updating);
        if (restarts) break;
      } else if (std::holds_alternative<protocol::Goodbye>(message->body)) {
        break;
      }
    }
    if (is_welcome) --online_;
  }

  // What was not acknowledged is sent again; a new version confirms itself.
  transport::Task<> arrived(Agent& agent) {
    for (const auto& [seq, status] : std::map(agent.spool)) {
      auto sending = send(agent, status);
      co_await std::move(sending);
    }
    if (agent.trial_action.empty() || agent.version != agent.trial_version) co_return;
    const std::string action = std::exchange(agent.trial_action, {});
    auto reporting = report(agent, action, agent.version, "confirmed");
    co_await std::move(reporting);
  }

  // True: it restarts with the new version.
  transport::Task<bool> begin(Agent& agent, protocol::AgentUpdate update) {
    {
      const std::scoped_lock lock(mutex_);
      if (!agent.actions.insert(update.action_id).second) co_return false;  // known already
    }
    const std::string outcome = behaviour_(agent.number);
    if (outcome.empty()) co_return false;
    auto reporting = report(agent, update.action_id, update.version, "downloading");
    co_await std::move(reporting);
    if (outcome == "confirmed") {
      agent.version = agent.trial_version = update.version;
      agent.trial_action = update.action_id;
      co_return true;
    }
    auto closing = report(agent, update.action_id, update.version, outcome);
    co_await std::move(closing);
    co_return false;
  }

  transport::Task<> report(Agent& agent, std::string action, std::string version, std::string phase) {
    protocol::UpdateStatus status;
    status.seq = ++agent.seq;
    status.action_id = std::move(action);
    status.version = std::move(version);
    status.phase = protocol::update_phase_of(phase).value();
    agent.spool.emplace(agent.seq, status);
    auto sending = send(agent, status);
    co_await std::move(sending);
  }

  transport::Task<> send(Agent& agent, protocol::AgentBody body) {
    std::string text = protocol::encode(protocol::AgentMessage{std::move(body), {}}, 2);
    auto writing = agent.socket->write(transport::make_text(std::move(text)));
    [[maybe_unused]] const auto written = co_await std::move(writing);
  }

  const Behaviour behaviour_;
  std::vector<std::unique_ptr<Agent>> agents_;
  std::atomic<std::uint16_t> port_ = 0;
  std::atomic<bool> running_ = false;
  std::atomic<std::size_t> online_ = 0;
  std::atomic<std::size_t> living_ = 0;  // agents whose task has not ended
  mutable std::mutex mutex_;
  LoopThread thread_;  // last: what runs on it uses all of the above
};

}  // namespace tests
