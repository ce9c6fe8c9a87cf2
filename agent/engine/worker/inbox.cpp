#include "agent/engine/worker/inbox.hpp"

#include <algorithm>

namespace agent::engine {

bool Inbox::requested() {
  drain();
  if (must_finish_) return false;
  if (run_) return stop_ == Stop::When::now || run_->is_cancelled;
  return stop_ == Stop::When::now || leaves_round() || (next_ && next_->on_change == OnChange::kill);
}

void Inbox::drain() {
  while (auto command = commands_.try_pop())
    take(std::move(*command));
}

void Inbox::wait_until(Clock::time_point deadline) {
  if (auto command = commands_.pop_until(deadline)) take(std::move(*command));
  drain();
}

void Inbox::wait() {
  auto command = commands_.pop();
  if (!command) {
    stop_ = Stop::When::now;  // the channel is closed: the worker is being destroyed
    return;
  }
  take(std::move(*command));
  drain();
}

std::optional<std::int64_t> Inbox::take_version() {
  if (version_) current_ = version_;
  return std::exchange(version_, std::nullopt);
}

void Inbox::mark_done(std::int64_t version, const std::vector<std::string>& state_ids) {
  for (const std::string& id : state_ids)
    waits_.mark_done(version, id);
}

void Inbox::take_recipe(RunRecipe recipe) {
  const std::optional<std::int64_t> last = next_ ? next_->version : version_ ? version_ : current_;
  const bool is_repeated = last == recipe.version && !recipe.replaces_same_version;
  // The number may have been another recipe's before.
  if (!is_repeated) waits_.forget_all();
  mark_done(recipe.version, recipe.done_waits);
  if (is_repeated) return;  // the backend sends it again after a reconnect
  // A kill that was asked for stays asked for, whatever comes after it.
  if (next_ && next_->on_change == OnChange::kill) recipe.on_change = OnChange::kill;
  // As does one that is not to wait, whose modules have changed before it could begin.
  if (has_next()) recipe.after_round = false;
  next_ = std::move(recipe);
  version_.reset();  // was said of the recipe before
}

std::optional<Inbox::AdHocRequest> Inbox::take_ad_hoc() {
  if (ad_hoc_.empty()) return std::nullopt;
  AdHocRequest first = std::move(ad_hoc_.front());
  ad_hoc_.pop_front();
  return first;
}

void Inbox::take_ad_hoc(AdHocRequest request) {
  if (ad_hoc_.size() < kMostAdHoc) ad_hoc_.push_back(std::move(request));
}

void Inbox::begin_run(const std::string& run_id) {
  run_ = {.run_id = run_id};
}

void Inbox::cancel(const std::string& run_id) {
  if (run_ && run_->run_id == run_id) run_->is_cancelled = true;
  for (AdHocRequest& request : ad_hoc_)
    if (auto* run = std::get_if<RunState>(&request); run && run->run_id == run_id) run->is_cancelled = true;
}

void Inbox::take(Command command) {
  if (auto* run = std::get_if<RunRecipe>(&command)) {
    take_recipe(std::move(*run));
  } else if (auto* move = std::get_if<MoveVersion>(&command)) {
    if (next_)
      next_->version = move->version;
    else if (current_)
      version_ = move->version;
    waits_.forget_all();
    mark_done(move->version, move->done_waits);
  } else if (auto* done = std::get_if<WaitDone>(&command)) {
    waits_.mark_done(done->version, done->state_id);
  } else if (auto* delay = std::get_if<SetRoundDelay>(&command)) {
    round_delay_ = delay->delay;
  } else if (auto* hold = std::get_if<SetHold>(&command)) {
    is_held_ = hold->on;
    leaves_round_ = hold->on && (leaves_round_ || hold->is_now);
  } else if (std::holds_alternative<BeginRound>(command)) {
    begin_round_ = true;
  } else if (auto* plan = std::get_if<PlanRecipe>(&command)) {
    take_ad_hoc(std::move(*plan));
  } else if (auto* state = std::get_if<RunState>(&command)) {
    take_ad_hoc(std::move(*state));
  } else if (auto* run_to_cancel = std::get_if<CancelRun>(&command)) {
    cancel(run_to_cancel->run_id);
  } else if (auto* stop = std::get_if<Stop>(&command)) {
    stop_ = stop_ ? std::min(*stop_, stop->when) : stop->when;  // now < wait < end
    keeps_place_ = stop->keeps_place;
  }
}

}  // namespace agent::engine
