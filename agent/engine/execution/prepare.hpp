// prepare() and StateSession: what comes before a state's plan and around it, the same for a plan of the
// recipe and for a run. Whether the state is to run at all, its watched files, its time limit, the Context
// that its module is given, and what becomes of an exception.
//
// One thread: the worker's, or the planner's. Problems are in the answers; nothing is thrown.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "agent/engine/managed_host.hpp"
#include "agent/engine/watches/watch_store.hpp"
#include "base/interrupt.hpp"
#include "recipe/recipe.hpp"
#include "states/commands.hpp"
#include "states/context.hpp"
#include "states/plan.hpp"

namespace agent::engine {

struct Prepared {
  enum class Next {
    plan,
    skip,        // its condition does not hold
    wait,        // its condition or its watched files depend on an earlier state, which is only planned
    impossible,  // wrong system, or its condition or watched files cannot be told
    cancelled,   // somebody asked to stop meanwhile
  };
  Next next = Next::plan;
  std::string problem;     // wait, impossible, cancelled: why
  std::string depends_on;  // wait: id of the earlier state
  WatchState watch;
  std::string watch_cause;  // id of the earlier state that would change a watched file
};

// `overlay`: what earlier states would have done, while planning. `condition_counts`: false for a state that
// was begun and can be read again: its condition held then, and may be what the change has made untrue.
Prepared prepare(const recipe::State& state, const states::Overlay& overlay, ManagedHost& machine,
                 WatchStore& watches, base::Interrupt& interrupt, bool condition_counts = true);

// How long a state may take: what the recipe says, else its own parameters, else its type.
std::chrono::seconds time_limit(const recipe::State& state);

// Ends native work (hashing, copying, going through a tree) when a state's time is over, or when somebody
// asks to stop. Programs, servers and services have the same deadline, and clocks of their own: they are left
// a moment more, to say so in their own words.
class LimitedTime final : public base::Interrupt {
 public:
  LimitedTime(base::Interrupt& other, std::chrono::seconds limit)
      : other_(other), limit_(limit), end_(std::chrono::steady_clock::now() + limit + kMoment) {}

  bool requested() override;
  int wait_fd() const override { return other_.wait_fd(); }
  void defer(bool on) override { other_.defer(on); }

  // Whether it was the time that has ended the work, and no request.
  bool is_over() const { return is_over_ && !other_.requested(); }
  // "Timed out after 5 s: <what was going on>"
  std::string timed_out(std::string_view what) const;

 private:
  static constexpr std::chrono::milliseconds kMoment{500};
  base::Interrupt& other_;
  const std::chrono::seconds limit_;
  const std::chrono::steady_clock::time_point end_;
  bool is_over_ = false;
};

// One try at a prepared state. Its time starts now. What it is made with must outlive it.
class StateSession {
 public:
  struct Parts {
    const recipe::State& state;
    const states::Overlay& overlay;
    const WatchState& watch;
    const states::Orders* orders = nullptr;
    ManagedHost& machine;
    base::Interrupt& interrupt;
    states::Waits& waits;
    bool wants_diffs = true;  // nobody sees those of a sensitive state
    bool plans_only = false;  // see states::Context
    std::string_view plan_salt{};
    // See states::Commands; may be empty.
    states::Commands::Output live{};
    std::function<void()> before_program{};
    const base::Redactor* redactor = nullptr;  // null: there are no secrets
  };
  explicit StateSession(Parts parts);
  ~StateSession() { tree_.heed(nullptr); }
  StateSession(const StateSession&) = delete;
  StateSession& operator=(const StateSession&) = delete;

  // Says, too, what is watched in vain.
  states::Plan plan();
  // `made` is this session's plan, with the verdict `change`.
  states::Applied apply(const states::Plan& made);
  // Whether all is as asked now: what has triggered the state does not count again.
  states::Plan plan_again();

  const states::Commands& commands() const { return commands_; }
  const LimitedTime& time() const { return time_; }

 private:
  const recipe::State& state_;
  LimitedTime time_;
  base::Tree& tree_;
  const WatchState& watch_;
  states::Commands commands_;
  states::ApplyContext context_;
};

}  // namespace agent::engine
