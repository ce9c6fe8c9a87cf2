#include "agent/inbox.hpp"

#include <algorithm>

namespace agent {

bool Inbox::requested() {
  drain();
  return stop_ == Stop::When::now || (next_ && next_->on_change == OnChange::kill);
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

void Inbox::take_recipe(RunRecipe recipe) {
  if (recipe.mode == Mode::plan) {
    plan_ = std::move(recipe);
    return;
  }
  const std::optional<std::int64_t> last = next_ ? next_->version : version_ ? version_ : current_;
  if (last == recipe.version) return;  // the backend sends it again after a reconnect
  // A kill that was asked for stays asked for, whatever comes after it.
  if (next_ && next_->on_change == OnChange::kill) recipe.on_change = OnChange::kill;
  next_ = std::move(recipe);
  version_.reset();  // was said of the recipe before
}

void Inbox::take(Command command) {
  if (auto* run = std::get_if<RunRecipe>(&command)) {
    take_recipe(std::move(*run));
  } else if (auto* move = std::get_if<MoveVersion>(&command)) {
    if (next_)
      next_->version = move->version;
    else if (current_)
      version_ = move->version;
  } else if (auto* done = std::get_if<WaitDone>(&command)) {
    // A board that cannot be written still works until the next restart; the backend is asked again then.
    (void)waits_.hear(done->version, done->state_id);
  } else if (auto* stop = std::get_if<Stop>(&command)) {
    stop_ = stop_ ? std::min(*stop_, stop->when) : stop->when;  // now < wait < end
  }
}

}  // namespace agent
