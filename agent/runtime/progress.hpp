// Progress: where the worker stands, from its events. For handshakes, `opsagent status`, and reports on the
// recipe as a whole. Pure; one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/engine/messages.hpp"
#include "protocol/messages.hpp"

namespace agent::runtime {

class Progress {
 public:
  using Instant = std::chrono::system_clock::time_point;

  struct LastRound {
    engine::RoundEnd end;
    Instant ended;
  };

  // The news about the recipe as a whole, if this event is some.
  std::optional<protocol::RecipeStatus> on_worker_event(const engine::Event& event, Instant now);

  // Another recipe was taken: under which versions the one before went on does not concern it. Not told by
  // the worker's events, because those of a recipe may be heard after its version has moved.
  void take_up() { moved_to_.reset(); }
  // The same states go on under another version: what held for the old one holds for the new one.
  std::optional<protocol::RecipeStatus> move_to(std::int64_t version);

  const std::optional<protocol::RunningState>& running() const { return running_; }
  const std::optional<LastRound>& last_round() const { return last_round_; }
  std::optional<Instant> next_round() const { return next_round_; }
  std::uint64_t round() const { return round_; }  // that is under way, or was last
  const std::string& run_id() const { return run_id_; }

 private:
  std::optional<protocol::RecipeStatus> change_to(std::int64_t version, protocol::RecipeProgress status);

  std::string run_id_;
  std::uint64_t round_ = 0;
  std::optional<protocol::RunningState> running_;
  std::optional<LastRound> last_round_;
  std::optional<Instant> next_round_;
  std::optional<std::int64_t> moved_to_;  // since the recipe was taken up
  // What was said last.
  std::int64_t version_ = 0;
  std::optional<protocol::RecipeProgress> status_;
};

// "12 kept, 1 changed"
std::string counts_text(const engine::RoundEnd& end);

}  // namespace agent::runtime
