// Inbox: the worker's end of the command channel. Commands are read as they come, also in the middle of a
// state, and kept until the worker gets to them; some of them cancel the state that is running. One thread:
// the worker's.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/engine/messages.hpp"
#include "agent/engine/satisfied_waits.hpp"
#include "base/channel.hpp"
#include "base/interrupt.hpp"

namespace agent::engine {

class Inbox final : public base::Interrupt {
 public:
  using Clock = base::Channel<Command>::Clock;

  // `must_finish`: whether something runs that nothing may end, for other threads to see.
  Inbox(base::Channel<Command>& commands, SatisfiedWaits& waits, std::atomic<bool>& must_finish)
      : commands_(commands), waits_(waits), must_finish_(must_finish) {}

  // Interrupt: whether the state that is running should be cancelled.
  bool requested() override;
  int wait_fd() const override { return commands_.readable_fd(); }
  void defer(bool on) override { must_finish_ = on; }

  // Takes in what has come.
  void drain();
  // Waits for a command, takes it in, and returns; or returns when the time is over.
  void wait_until(Clock::time_point deadline);
  void wait();

  // The recipe that is running, so that the same one again is a no-op.
  void set_current(std::int64_t version) { current_ = version; }

  // Whether a recipe waits for which the round that is under way is to be ended.
  bool has_next() const { return next_ && !next_->after_round; }
  // Whether one waits that lets the round come to its end, or to a wait for other machines.
  bool has_next_after_round() const { return next_ && next_->after_round; }
  std::optional<RunRecipe> take_next() { return std::exchange(next_, std::nullopt); }
  // What is to be done besides the recipe, in the order in which it came.
  using AdHocRequest = std::variant<PlanRecipe, RunState>;
  std::optional<AdHocRequest> take_ad_hoc();
  bool has_ad_hoc() const { return !ad_hoc_.empty() || round_delay_.has_value(); }
  // While a state outside the recipe runs, only a stop `now` and its own cancellation end it.
  void begin_run(const std::string& run_id);
  void end_run() { run_.reset(); }
  bool is_in_run() const { return run_.has_value(); }
  std::optional<std::chrono::milliseconds> take_round_delay() {
    return std::exchange(round_delay_, std::nullopt);
  }
  // The running recipe goes on under this version.
  std::optional<std::int64_t> take_version();

  // No round may begin.
  bool is_held() const { return is_held_; }
  // The round under way is to be ended for that.
  bool leaves_round() const { return is_held_ && leaves_round_; }
  bool take_begin_round() { return std::exchange(begin_round_, false); }

  // The strongest stop that was asked for.
  std::optional<Stop::When> stop() const { return stop_; }
  bool keeps_place() const { return keeps_place_; }
  bool stops_before_next_state() const { return stop_ == Stop::When::now || stop_ == Stop::When::wait; }

 private:
  void take(Command command);
  void take_recipe(RunRecipe recipe);
  void mark_done(std::int64_t version, const std::vector<std::string>& state_ids);
  void take_ad_hoc(AdHocRequest request);
  void cancel(const std::string& run_id);

  // More than anybody asks for at once; those beyond it are dropped, and whoever asked hears nothing.
  static constexpr std::size_t kMostAdHoc = 64;

  base::Channel<Command>& commands_;
  SatisfiedWaits& waits_;
  std::atomic<bool>& must_finish_;
  std::optional<std::int64_t> current_;
  std::optional<RunRecipe> next_;
  std::deque<AdHocRequest> ad_hoc_;
  struct Run {
    std::string run_id;
    bool is_cancelled = false;
  };
  std::optional<Run> run_;
  std::optional<std::chrono::milliseconds> round_delay_;
  std::optional<std::int64_t> version_;
  bool is_held_ = false;
  bool leaves_round_ = false;
  bool begin_round_ = false;
  std::optional<Stop::When> stop_;
  bool keeps_place_ = false;  // as the last one said
};

}  // namespace agent::engine
