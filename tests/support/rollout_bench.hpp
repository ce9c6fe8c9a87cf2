// For tests of rollouts over a real database: machines that are told, answer, come and go, without sockets.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/domain/rollouts/rollout_rules.hpp"
#include "backend/rollouts/rollout_step.hpp"
#include "backend/store/inventory/update_orders.hpp"
#include "tests/support/store_bench.hpp"

namespace tests {

class RolloutBench : public StoreBench {
 public:
  // `count` machines that are connected with 1.2.3.
  void join_all(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      sessions["m" + std::to_string(i)] = join("m" + std::to_string(i));
  }
  void start(std::int64_t pause_s = 60, std::int64_t jitter_s = 0, const std::string& id = "r1") {
    std::vector<backend::domain::Candidate> machines;
    for (const auto& [name, session] : sessions)
      machines.push_back({session.instance, name, true, true});
    backend::domain::Rollout rollout;
    rollout.id = id;
    rollout.app_id = "default";
    rollout.selector = "*";
    rollout.version = "2.0";
    rollout.pause_s = pause_s;
    rollout.jitter_s = jitter_s;
    rollout.timeout_s = 900;
    rollout.created = now;
    const backend::domain::Rings rings =
        backend::domain::make_rings(std::move(machines), rollout.version, per_cent);
    rollout.rings = rings.sizes;
    must(store->begin_ring(must(store->add_rollout(rollout, rings.targets)), now));
  }
  // One step; the database is a new one each time.
  backend::rollouts::RolloutNews step(std::int64_t passed_s = 0) {
    open();
    now += passed_s * 1000;
    auto news = must(backend::rollouts::step_rollouts(*store, now, watch));
    for (const backend::domain::UpdateOrder& order : news.orders)
      CHECK_MESSAGE(told.insert(order.instance).second, "told twice");
    return news;
  }
  // What an agent does when it was told: `phase`, and, if that is "confirmed", a handshake with the new
  // version.
  void answer(backend::domain::InstanceKey instance, const std::string& phase) {
    for (auto& [name, session] : sessions)
      if (session.instance == instance) {
        if (phase == "confirmed") come(name, "2.0");
        report(name, phase);
      }
  }
  std::optional<backend::domain::UpdateOrder> come(const std::string& name, const std::string& version,
                                                   const std::string& pinned = {},
                                                   bool is_version_1 = false) {
    auto hello = handshake(name);
    hello.agent_version = version;
    sessions[name] = admit(hello).session;
    return must(backend::store::update_for(
        *store, {sessions[name].instance, "default", name, version, is_version_1, pinned}, now));
  }
  void report(const std::string& name, const std::string& phase, const std::string& action = "r1") {
    protocol::UpdateStatus status;
    status.seq = ++seq[name];
    status.action_id = action;
    status.phase = protocol::update_phase_of(phase).value();
    const std::vector<backend::domain::Report> reports{status};
    must(store->store_reports(sessions[name], reports, now));
  }
  backend::domain::Rollout rollout() { return must(store->find_rollout("r1")); }
  std::string state() { return std::string(backend::domain::name_of(rollout().state)); }
  std::size_t in_phase(const std::string& phase) {
    return must(store->list_rollout_targets(rollout(), phase, {"", backend::domain::kLargestPage}))
        .items.size();
  }
  backend::rollouts::Commanded command(backend::rollouts::RolloutCommand what) {
    return must(backend::rollouts::command_rollout(*store, "r1", what, "ann", now));
  }

  const std::vector<int> per_cent{10, 50, 100};
  std::map<std::string, backend::domain::AgentSession> sessions;
  std::map<std::string, std::uint64_t> seq;
  std::set<backend::domain::InstanceKey> told;
  backend::rollouts::Watch watch;
};

}  // namespace tests
