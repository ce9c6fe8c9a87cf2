#include "agent/committer.hpp"

#include <algorithm>

namespace agent {

namespace {

// Events that somebody is waiting for leave at once; results of states can wait for company.
bool is_urgent(const Event& event) {
  return !std::holds_alternative<StateResult>(event);
}

}  // namespace

Committer::Committer(base::Channel<Event>& out, base::SyncGroup& sync, Journal* journal)
    : out_(out), sync_(sync), journal_(journal), thread_([this] { run(); }) {}

Committer::~Committer() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  work_.notify_all();
  thread_.join();
}

void Committer::submit(Event event) {
  std::unique_lock lock(mutex_);
  left_.wait(lock, [&] { return waiting_.size() < kMostWaiting; });
  const bool urgent = is_urgent(event);
  const bool wake = urgent || !due_ || waiting_.size() + 1 == kLargestBatch;
  const Clock::time_point by = urgent ? Clock::now() : due_.value_or(Clock::now() + kLongestDelay);
  due_ = due_ ? std::min(*due_, by) : by;
  waiting_.push_back(std::move(event));
  if (waiting_.size() >= kLargestBatch) due_ = Clock::time_point::min();
  lock.unlock();
  if (wake) work_.notify_one();
}

void Committer::submit_output(StateOutput output) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() + out_.size() >= kMostOutputs) return;
  }
  submit(std::move(output));
}

void Committer::journal_written() {
  {
    const std::lock_guard lock(mutex_);
    if (due_) return;
    due_ = Clock::now() + kLongestDelay;
  }
  work_.notify_one();
}

bool Committer::flush() {
  std::unique_lock lock(mutex_);
  if (!waiting_.empty()) {
    due_ = Clock::time_point::min();
    work_.notify_one();
  }
  left_.wait(lock, [&] { return waiting_.empty() && !busy_; });
  return all_heard_;
}

void Committer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return due_ || closing_; });
    while (due_ && !closing_ && Clock::now() < *due_) {
      const Clock::time_point until = *due_;
      work_.wait_until(lock, until);
    }
    if (closing_ && waiting_.empty()) return;
    std::vector<Event> batch = std::exchange(waiting_, {});
    due_.reset();
    busy_ = true;
    lock.unlock();
    const bool heard = commit(std::move(batch));
    lock.lock();
    busy_ = false;
    all_heard_ = all_heard_ && heard;
    left_.notify_all();
  }
}

bool Committer::commit(std::vector<Event> batch) {
  std::optional<std::size_t> last_changed;
  for (const Event& event : batch)
    if (const auto* result = std::get_if<StateResult>(&event); result && result->outcome != Outcome::kept)
      last_changed = result->index;
  base::Result<void> synced;
  if (last_changed) synced = sync_.flush();
  if (journal_ && synced) synced = journal_->sync();
  if (!synced) {
    // What is not on disk must not be reported as changed.
    for (Event& event : batch)
      if (auto* result = std::get_if<StateResult>(&event); result && result->outcome == Outcome::changed) {
        result->outcome = Outcome::failed;
        result->comment += "\nChanged, but not on disk: " + synced.error().message();
      }
  }
  if (!out_.push_all(std::move(batch))) return false;  // the journal keeps what nobody has heard
  if (journal_ && last_changed && synced) synced = journal_->done(*last_changed);
  return true;
}

}  // namespace agent
