// Reports: what the backend is told of the worker's events, as it lies in the spool.
#pragma once

#include <atomic>
#include <optional>
#include <string_view>

#include "agent/engine/messages.hpp"
#include "agent/reports/spool.hpp"
#include "protocol/messages.hpp"

namespace agent::reports {

class Reports {
 public:
  // With "changes", states that were kept are only counted, by the round's end. Any thread.
  void set_changes_only(bool on) { changes_only_.store(on, std::memory_order_relaxed); }

  // The report that this event is, if it is one: results, ends of rounds, and that a recipe has begun to run.
  // Any thread.
  std::optional<Spool::Entry> encode(const engine::Event& event) const;

 private:
  std::atomic<bool> changes_only_ = false;
};

protocol::StateLog to_protocol(const engine::StateResult& result);
protocol::RoundEnd to_protocol(const engine::RoundEnd& end);
protocol::PlanResult to_protocol(const engine::PlanResult& plan);

// A report for the spool, and back. An Error: the spool holds something that is not a message.
Spool::Entry to_entry(protocol::AgentBody body, Importance importance = Importance::normal);
base::Result<protocol::AgentBody> from_payload(std::string_view payload);

}  // namespace agent::reports
