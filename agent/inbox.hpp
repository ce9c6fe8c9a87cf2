// Inbox: the worker's end of the command channel. Commands are read as they come, also in the middle of a
// state, and kept until the worker gets to them; some of them cancel the state that is running. One thread:
// the worker's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "agent/messages.hpp"
#include "agent/wait_board.hpp"
#include "base/channel.hpp"
#include "base/interrupt.hpp"

namespace agent {

class Inbox final : public base::Interrupt {
 public:
  using Clock = base::Channel<Command>::Clock;

  Inbox(base::Channel<Command>& commands, WaitBoard& waits) : commands_(commands), waits_(waits) {}

  // Interrupt: whether the state that is running should be cancelled.
  bool requested() override;
  int wait_fd() const override { return commands_.readable_fd(); }

  // Takes in what has come.
  void drain();
  // Waits for a command, takes it in, and returns; or returns when the time is over.
  void wait_until(Clock::time_point deadline);
  void wait();

  // The recipe that is running, so that the same one again is a no-op.
  void set_current(std::int64_t version) { current_ = version; }

  bool has_next() const { return next_.has_value(); }
  std::optional<RunRecipe> take_next() { return std::exchange(next_, std::nullopt); }
  // A recipe that is only to be planned. It replaces nothing; of several, the last is answered.
  std::optional<RunRecipe> take_plan() { return std::exchange(plan_, std::nullopt); }
  // The running recipe goes on under this version.
  std::optional<std::int64_t> take_version();

  // The strongest stop that was asked for.
  std::optional<Stop::When> stop() const { return stop_; }
  bool stops_before_next_state() const { return stop_ == Stop::When::now || stop_ == Stop::When::wait; }

 private:
  void take(Command command);
  void take_recipe(RunRecipe recipe);

  base::Channel<Command>& commands_;
  WaitBoard& waits_;
  std::optional<std::int64_t> current_;
  std::optional<RunRecipe> next_;
  std::optional<RunRecipe> plan_;
  std::optional<std::int64_t> version_;
  std::optional<Stop::When> stop_;
};

}  // namespace agent
