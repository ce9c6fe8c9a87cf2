// Many agents that speak the real protocol and report how the recipes went that they are given, without doing
// anything: for rollouts of recipes.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "protocol/codec.hpp"
#include "tests/support/loopback.hpp"
#include "transport/client/dial.hpp"

namespace tests {

class RecipeFleet {
 public:
  // Whether a recipe with this text works on machine number n. Its one state is called "a".
  using Behaviour = std::function<bool(std::size_t number, const std::string& states)>;

  RecipeFleet(std::size_t count, Behaviour behaviour) : behaviour_(std::move(behaviour)) {
    for (std::size_t i = 0; i < count; ++i)
      agents_.push_back(std::make_unique<Agent>(i));
  }
  RecipeFleet(const RecipeFleet&) = delete;
  RecipeFleet& operator=(const RecipeFleet&) = delete;
  ~RecipeFleet() { leave(); }

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
    while (living_ > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    thread_.stop();
  }

  std::size_t online() const { return online_; }
  // How many have this text in what they run now, and how many have ever had it.
  std::size_t running(const std::string& text) const { return count(text, &Agent::states); }
  std::size_t ever_had(const std::string& text) const { return count(text, &Agent::history); }

 private:
  struct Agent {
    explicit Agent(std::size_t n) : number(n), id("m" + std::to_string(n)) {}
    const std::size_t number;
    const std::string id;
    std::string states, history;  // guarded by mutex_
    std::string digest;
    std::int64_t version = 0;
    std::uint64_t seq = 0;
    std::map<std::uint64_t, protocol::AgentBody> spool;  // not acknowledged
    std::shared_ptr<transport::WebSocket> socket;
  };

  std::size_t count(const std::string& text, std::string Agent::*where) const {
    const std::scoped_lock lock(mutex_);
    std::size_t found = 0;
    for (const auto& agent : agents_)
      found += ((*agent).*where).find("\"" + text + "\"") != std::string::npos ? 1 : 0;
    return found;
  }

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
    hello.agent_version = "1.0.0";
    hello.instance_token = "token of " + agent.id;
    hello.protocol_max = 2;
    hello.agent_uid = "uid-" + agent.id;
    if (agent.version > 0) {
      hello.recipe_version = agent.version;
      hello.recipe_digest = agent.digest;
    }
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
        for (const auto& [seq, report] : std::map(agent.spool)) {
          auto sending = send(agent, report);
          co_await std::move(sending);
        }
      } else if (const auto* ack = std::get_if<protocol::Ack>(&message->body)) {
        if (ack->ack_seq) agent.spool.erase(agent.spool.begin(), agent.spool.upper_bound(*ack->ack_seq));
      } else if (auto* recipe = std::get_if<protocol::RecipeMetadata>(&message->body)) {
        auto taking = take(agent, std::move(*recipe));
        co_await std::move(taking);
      } else if (std::holds_alternative<protocol::Goodbye>(message->body)) {
        break;
      }
    }
    if (is_welcome) --online_;
  }

  transport::Task<> take(Agent& agent, protocol::RecipeMetadata recipe) {
    agent.version = recipe.recipe_version;
    agent.digest = recipe.digest;
    bool is_well = false;
    {
      const std::scoped_lock lock(mutex_);
      if (recipe.states) {
        agent.states = recipe.states->text;
        agent.history += agent.states;
      }
      is_well = behaviour_(agent.number, agent.states);
    }
    auto accepting = report(agent, status(agent.version, protocol::RecipeProgress::accepted));
    co_await std::move(accepting);
    protocol::StateLog log;
    log.id = "a";
    log.recipe_version = agent.version;
    log.state_result = is_well;
    log.outcome = is_well ? "changed" : "failed";
    log.state_comment = is_well ? "" : "this machine does not like it";
    auto logging = report(agent, log);
    co_await std::move(logging);
    auto ending = report(agent, status(agent.version, is_well ? protocol::RecipeProgress::converged
                                                              : protocol::RecipeProgress::failed));
    co_await std::move(ending);
  }

  static protocol::RecipeStatus status(std::int64_t version, protocol::RecipeProgress progress) {
    protocol::RecipeStatus status;
    status.recipe_version = version;
    status.status = progress;
    return status;
  }

  template <class Report>
  transport::Task<> report(Agent& agent, Report body) {
    body.seq = ++agent.seq;
    agent.spool.emplace(agent.seq, body);
    auto sending = send(agent, std::move(body));
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
