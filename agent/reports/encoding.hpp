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
  // What the start of a round tells about the recipe as a whole. Whoever knows the recipe decides that; it
  // is called by the committer's thread.
  using StatusAtStart = std::optional<protocol::RecipeStatus> (*)(const engine::RoundStarted&);

  explicit Reports(StatusAtStart status_at_start) : status_at_start_(status_at_start) {}

  // With "changes", states that were kept are only counted, by the round's end. Any thread.
  void set_changes_only(bool on) { changes_only_.store(on, std::memory_order_relaxed); }

  // The report that this event is, if it is one: results, ends of rounds, and what the start of one tells.
  // Any thread.
  std::optional<Spool::Entry> encode(const engine::Event& event) const;

 private:
  const StatusAtStart status_at_start_;
  std::atomic<bool> changes_only_ = false;
};

protocol::StateLog to_protocol(const engine::StateResult& result);
protocol::RoundEnd to_protocol(const engine::RoundEnd& end);
protocol::PlanResult to_protocol(const engine::PlanResult& plan);

// A report for the spool, and back. An Error: the spool holds something that is not a message.
Spool::Entry to_entry(protocol::AgentBody body, Importance importance = Importance::normal);
base::Result<protocol::AgentBody> from_payload(std::string_view payload);

}  // namespace agent::reports
