#include "agent/engine/records/committer.hpp"

#include <algorithm>
#include <utility>

namespace agent::engine {

namespace {

// Events that somebody is waiting for leave at once; results of states can wait for company.
bool is_urgent(const Event& event) {
  return !std::holds_alternative<StateResult>(event);
}

}  // namespace

Committer::Committer(base::Channel<Event>& out, base::SyncGroup& sync, Journal* journal, ReportSink* reports)
    : out_(out), sync_(sync), journal_(journal), reports_(reports), thread_([this] { run(); }) {}

Committer::~Committer() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  work_.notify_all();
  thread_.join();
}

void Committer::submit(Event event) {
  submit(std::move(event), std::nullopt);
}

void Committer::submit(StateResult result, std::uint64_t failed_syncs) {
  submit(Event(std::move(result)), failed_syncs);
}

std::uint64_t Committer::failed_syncs() const {
  const std::lock_guard lock(mutex_);
  return failed_syncs_;
}

bool Committer::has_room() const {
  return waiting_.size() < kMostWaiting && waiting_bytes_ < kMostWaitingBytes;
}

// As a full spool does: the worker must not stand still, deaf to all who want it to stop, for as long as a
// disk is full.
void Committer::drop_kept() {
  dropped_ += std::erase_if(waiting_, [&](const Event& event) {
    const auto* result = std::get_if<StateResult>(&event);
    const bool is_dropped = result && result->outcome == Outcome::kept;
    if (is_dropped) waiting_bytes_ -= weight(event);
    return is_dropped;
  });
}

void Committer::submit(Event event, std::optional<std::uint64_t> failed_syncs) {
  const bool urgent = is_urgent(event);
  const std::size_t bytes = weight(event);
  std::unique_lock lock(mutex_);
  left_.wait(lock, [&] {
    if (!has_room() && is_held_up_) drop_kept();
    return has_room();
  });
  if (auto* result = std::get_if<StateResult>(&event);
      result && failed_syncs && *failed_syncs != failed_syncs_)
    doubt(*result);
  waiting_.push_back(std::move(event));
  waiting_bytes_ += bytes;
  const bool full = waiting_.size() >= kLargestBatch || waiting_bytes_ >= kLargestBatchBytes;
  const bool was_full = due_ == Clock::time_point::min();
  const bool wake = urgent || !due_ || (full && !was_full);
  const Clock::time_point by = urgent ? Clock::now() : due_.value_or(Clock::now() + kLongestDelay);
  due_ = full ? Clock::time_point::min() : due_ ? std::min(*due_, by) : by;
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
  left_.wait(lock, [&] { return is_held_up_ || (waiting_.empty() && !busy_); });
  return all_heard_ && !is_held_up_;
}

void Committer::let_go() {
  if (sync_.pending()) {
    flush();
    return;
  }
  std::unique_lock lock(mutex_);
  left_.wait(lock, [&] { return is_held_up_ || !busy_; });
}

std::vector<StateResult> Committer::take_unsynced() {
  const std::lock_guard lock(mutex_);
  has_unsynced_ = false;
  return std::exchange(unsynced_, {});
}

void Committer::take_doubtful_files(const std::function<bool(const std::string& path)>& note) {
  const std::lock_guard lock(mutex_);
  std::erase_if(doubtful_files_, note);
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
    std::vector<Event> batch = take_batch();
    busy_ = true;
    // Whoever waits for room need not wait for the disk.
    left_.notify_all();
    lock.unlock();
    const bool heard = commit(std::move(batch));
    lock.lock();
    busy_ = false;
    all_heard_ = all_heard_ && heard;
    left_.notify_all();
  }
}

// All that waits, or as much as makes a batch that is large enough.
std::vector<Event> Committer::take_batch() {
  due_.reset();
  if (waiting_bytes_ <= kLargestBatchBytes) {
    waiting_bytes_ = 0;
    return std::exchange(waiting_, {});
  }
  std::size_t bytes = 0;
  auto rest = waiting_.begin();
  while (rest != waiting_.end() && bytes < kLargestBatchBytes)
    bytes += weight(*rest++);
  std::vector<Event> batch(std::move_iterator(waiting_.begin()), std::move_iterator(rest));
  waiting_.erase(waiting_.begin(), rest);
  waiting_bytes_ -= bytes;
  if (!waiting_.empty()) due_ = Clock::time_point::min();
  return batch;
}

bool Committer::commit(std::vector<Event> batch) {
  std::vector<Reported> reported;
  for (const Event& event : batch)
    if (const StateResult* result = as_worked(event)) {
      RunRound begun_in = journalled_in(*result);
      if (reported.empty() || reported.back().begun_in != begun_in)
        reported.push_back({std::move(begun_in), result->index});
      reported.back().index = std::max(reported.back().index, result->index);
    }
  if (!reported.empty() || retry_sync_)
    sync(batch);
  else if (journal_)
    (void)journal_->sync();  // what could not be synced is tried again with the next

  if (!reports_) {
    if (!out_.push_all(std::move(batch))) return false;  // the journal keeps what nobody has heard
    confirm(reported);
    return true;
  }
  const bool stored = store(batch);
  if (stored) confirm(reported);
  out_.push_all(std::move(batch));
  return stored;
}

void Committer::sync(std::vector<Event>& batch) {
  base::Result<void> synced = sync_.flush();
  if (synced && journal_) synced = journal_->sync();
  retry_sync_ = !synced;
  if (synced) return;
  const std::lock_guard lock(mutex_);
  ++failed_syncs_;
  why_unsynced_ = synced.error().message();
  for (std::vector<Event>* events : {&batch, &waiting_})
    for (Event& event : *events)
      if (auto* result = std::get_if<StateResult>(&event)) doubt(*result);
}

// What is not on disk must not be reported as changed.
void Committer::doubt(StateResult& result) {
  doubtful_files_.insert(doubtful_files_.end(), result.written.begin(), result.written.end());
  if (result.outcome != Outcome::changed) return;
  result.outcome = Outcome::failed;
  result.comment += "\nChanged, but could not be synced to disk: " + why_unsynced_;
  unsynced_.push_back(result);
  has_unsynced_ = true;
}

// Holds the results back for as long as the spool does not take them. False: until the end.
bool Committer::store(const std::vector<Event>& batch) {
  for (bool is_first = true;; is_first = false) {
    const base::Result<void> stored = reports_->append(batch);
    const bool can_never_be = !stored && stored.error().code() == base::ErrorCode::limit;
    if (!stored && is_first)
      out_.push(Notice{Notice::Level::warning,
                       stored.error().message() +
                           (can_never_be ? ". It is not reported" : ". Reports are held back meanwhile")});
    std::unique_lock lock(mutex_);
    is_held_up_ = !stored && !can_never_be;
    if (!is_held_up_) {
      const std::size_t dropped = std::exchange(dropped_, 0);
      lock.unlock();
      if (dropped > 0)
        out_.push(Notice{Notice::Level::warning, "while reports could not be stored, " +
                                                     std::to_string(dropped) +
                                                     " results of states that were kept were dropped"});
      return true;
    }
    left_.notify_all();
    if (closing_ || out_.is_closed()) {
      is_held_up_ = false;
      return false;
    }
    work_.wait_for(lock, kSpoolRetry, [&] { return closing_; });
  }
}

void Committer::confirm(const std::vector<Reported>& reported) {
  if (!journal_) return;
  {
    const std::lock_guard lock(mutex_);
    if (!unsynced_.empty() || !doubtful_files_.empty()) return;
  }
  // If this fails, the spool knows what was reported; without one, it is reported twice after a kill.
  for (const Reported& last : reported)
    (void)journal_->done(last.begun_in, last.index);
}

}  // namespace agent::engine
