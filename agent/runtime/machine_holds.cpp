#include "agent/runtime/machine_holds.hpp"

#include <algorithm>

#include "protocol/ids.hpp"

namespace agent::runtime {

using base::Result;
using std::chrono::milliseconds;

void MachineHolds::start(WorkerPort& worker) {
  worker_ = &worker;
  for (const std::string& problem : store_.load())
    log_(Level::warning, problem);
  if (const std::string why = refusal(); !why.empty()) log_(Level::warning, why + ": no round begins");
  apply(false);
}

std::string MachineHolds::problem_of(const std::string& by, const std::string& reason, std::int64_t seconds) {
  if (const auto wrong = protocol::problem_of_id(by); !wrong.empty()) return "'by' " + std::string(wrong);
  if (const auto wrong = protocol::problem_of_id(reason); !wrong.empty())
    return "the reason " + std::string(wrong);
  if (seconds < protocol::kShortestHold || seconds > protocol::kLongestHold)
    return "a machine is held for 1 second at least and 30 days at most";
  return {};
}

bool MachineHolds::has(const Hold& hold) const {
  constexpr milliseconds kSame{2000};
  return store_.is_kept() && std::ranges::any_of(store_.holds(), [&](const Hold& own) {
           return own.origin == hold.origin && own.by == hold.by && own.reason == hold.reason &&
                  std::chrono::abs(own.left - hold.left) < kSame;
         });
}

Result<void> MachineHolds::set(Hold hold, bool now) {
  if (has(hold)) {
    if (now) worker_->send(engine::SetHold{.on = true, .is_now = true});
    return {};
  }
  const std::string text = hold_text(hold, store_.now());
  auto kept = store_.set(std::move(hold));
  log_(Level::warning, "this machine is " + text);
  if (!kept) log_(Level::error, kept.error().message());
  apply(now);
  return kept;
}

Result<bool> MachineHolds::release(HoldOrigin origin) {
  auto released = store_.release(origin);
  if (!released) log_(Level::error, released.error().message());
  if (!released || !*released) return released;
  const std::string left = refusal();
  log_(Level::info,
       std::string(origin == HoldOrigin::machine ? "the machine's own hold" : "the backend's pause") +
           " is over" + (left.empty() ? "" : "; " + left));
  apply(false);
  return released;
}

Result<void> MachineHolds::begin_round() {
  if (const std::string why = refusal(); !why.empty())
    return base::Error(base::ErrorCode::permission, why + ": no round begins");
  worker_->send(engine::BeginRound{});
  return {};
}

void MachineHolds::apply(bool now) {
  const bool is_held = store_.is_held();
  if (is_held != was_held_ || now) worker_->send(engine::SetHold{.on = is_held, .is_now = now && is_held});
  was_held_ = is_held;
  if (changed_) changed_();
  look_again();
}

// The timer's clock stands still while the machine is suspended: so it is looked at every so often.
void MachineHolds::look_again() {
  constexpr milliseconds kMost = std::chrono::seconds(30);
  timer_.cancel();
  const std::vector<Hold> holds = store_.holds();
  if (holds.empty()) return;
  milliseconds wait = kMost;
  for (const Hold& hold : holds)
    wait = std::min(wait, hold.left + milliseconds(1));
  timer_.expires_after(wait);
  timer_.async_wait([this](const auto& failed) {
    if (failed) return;
    std::vector<std::string> problems;
    const std::vector<Hold> ended = store_.pass_time(problems);
    for (const std::string& problem : problems)
      log_(Level::warning, problem);
    if (ended.empty()) return look_again();
    for (const Hold& hold : ended)
      log_(Level::info, "the time of the " +
                            std::string(hold.origin == HoldOrigin::machine ? "hold" : "backend's pause") +
                            " by " + hold.by + " is over");
    apply(false);
  });
}

}  // namespace agent::runtime
