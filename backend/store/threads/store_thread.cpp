#include "backend/store/threads/store_thread.hpp"

#include <algorithm>

namespace backend::store {

namespace {

// More than connections can have under way: reached only when the disk stands still.
constexpr std::size_t kMostQueued = 50'000;
// One transaction takes no more than this, so that nobody waits for seconds behind a burst.
constexpr std::size_t kLargestBatch = 1024;

}  // namespace

StoreWorker::StoreWorker(transport::Loop& loop, std::unique_ptr<Store> store, Commit commit,
                         telemetry::Metrics& metrics)
    : loop_(loop), store_(std::move(store)), commit_(commit), metrics_(metrics), thread_([this] {
        work();
      }) {}

StoreWorker::~StoreWorker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_one();
  thread_.join();
}

bool StoreWorker::queue(const std::string& asker, std::shared_ptr<StoreJob> job) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostQueued) return false;
    waiting_.push(asker, std::move(job));
    queued_.store(waiting_.size(), std::memory_order_relaxed);
  }
  arrived_.notify_one();
  return true;
}

StoreWorker::Batch StoreWorker::take() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
  // One at a time where nothing is gained by more: whoever comes meanwhile has its turn next.
  const std::size_t most = commit_ == Commit::together ? kLargestBatch : 1;
  Batch batch;
  while (batch.size() < most && !waiting_.empty())
    batch.push_back(waiting_.pop());
  queued_.store(waiting_.size(), std::memory_order_relaxed);
  return batch;
}

void StoreWorker::run_together(const Batch& batch) {
  const auto committed = store_->transact([&]() -> base::Result<void> {
    for (const auto& job : batch)
      if (auto ran = store_->transact([&] { return job->run(store_.get()); }); !ran) job->fail(ran.error());
    return {};
  });
  if (!committed) {
    metrics_.store_errors.add();
    for (const auto& job : batch)
      job->fail(committed.error());
  }
  const auto now = std::chrono::steady_clock::now();
  metrics_.store_batch.observe(static_cast<double>(batch.size()));
  for (const auto& job : batch)
    metrics_.store_seconds.observe(std::chrono::duration<double>(now - job->queued).count());
}

void StoreWorker::work() {
  for (Batch batch = take(); !batch.empty(); batch = take()) {
    if (commit_ == Commit::together) {
      run_together(batch);
    } else {
      for (const auto& job : batch)
        if (auto ran = job->run(store_.get()); !ran) job->fail(ran.error());
    }
    transport::asio::post(loop_, [done = std::move(batch)] {
      for (const auto& job : done)
        job->finish();
    });
  }
}

base::Result<std::unique_ptr<StoreThread>> StoreThread::open(transport::Loop& loop, const Opener& open_store,
                                                             telemetry::Metrics& metrics) {
  auto writing = open_store(Access::write);
  if (!writing) return std::move(writing).error();
  auto reading = open_store(Access::read_only);
  if (!reading) return std::move(reading).error();
  return std::make_unique<StoreThread>(
      std::make_unique<StoreWorker>(loop, std::move(*writing), StoreWorker::Commit::together, metrics),
      std::make_unique<StoreWorker>(loop, std::move(*reading), StoreWorker::Commit::none, metrics),
      std::make_unique<StoreWorker>(loop, nullptr, StoreWorker::Commit::none, metrics), loop);
}

}  // namespace backend::store
