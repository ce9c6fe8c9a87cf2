// StoreThread: the store's threads, and the way to them from the loop.
//
// The writer takes everything that is queued by then, runs it in one transaction (a savepoint each, so that
// one that fails does not undo the others), commits, and completes all of them on the loop: whoever resumes
// knows that what was written is durable. When the transaction itself ends (a full disk), all of them fail,
// and nothing of them is stored. The reader has a connection of its own that only reads, and does
// one thing at a time, each asker in turn. Work that takes its time and needs no store (recipe checks) has a
// thread of its own, in turn as well.
//
// write(), read() and work() are called on the loop's thread. The functions run on the other threads: they
// own, or share as constants, all that they touch.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "backend/store/store.hpp"
#include "backend/store/threads/turns.hpp"
#include "backend/telemetry/metrics.hpp"
#include "transport/async.hpp"

namespace backend::store {

// One function on its way through a store's thread.
class StoreJob {
 public:
  explicit StoreJob(transport::Loop& loop) : finished_(loop.get_executor()) {}
  virtual ~StoreJob() = default;
  // On the store's thread. An error undoes what this function wrote. Null: of a thread without a store.
  virtual base::Result<void> run(Store* store) = 0;
  // What it wrote was undone after all: the transaction could not be committed.
  virtual void fail(const base::Error& error) = 0;

  // On the loop's thread.
  void finish() {
    is_finished_ = true;
    finished_.notify();
  }
  transport::Task<> wait() {
    while (!is_finished_)
      co_await finished_.wait();
  }

  std::chrono::steady_clock::time_point queued = std::chrono::steady_clock::now();

 private:
  bool is_finished_ = false;
  transport::Wake finished_;
};

// The thread behind one store, or behind none. Ends, after what is queued, when it is destroyed.
class StoreWorker {
 public:
  enum class Commit { together, none };
  // `store` may be null, with Commit::none.
  StoreWorker(transport::Loop& loop, std::unique_ptr<Store> store, Commit commit,
              telemetry::Metrics& metrics);
  ~StoreWorker();

  // False when too many are queued.
  bool queue(const std::string& asker, std::shared_ptr<StoreJob> job);
  std::size_t queued() const { return queued_.load(std::memory_order_relaxed); }

 private:
  using Batch = std::vector<std::shared_ptr<StoreJob>>;
  void work();
  Batch take();
  void run_together(const Batch& batch);

  transport::Loop& loop_;
  const std::unique_ptr<Store> store_;
  const Commit commit_;
  telemetry::Metrics& metrics_;
  std::atomic<std::size_t> queued_ = 0;
  std::mutex mutex_;
  std::condition_variable arrived_;
  Turns<std::shared_ptr<StoreJob>> waiting_;  // guarded by mutex_
  bool stopping_ = false;                     // guarded by mutex_
  std::thread thread_;                        // last: it uses all of the above
};

class StoreThread {
 public:
  // Opens the database twice, to write and to read.
  static base::Result<std::unique_ptr<StoreThread>> open(transport::Loop& loop, const Opener& open_store,
                                                         telemetry::Metrics& metrics);
  StoreThread(std::unique_ptr<StoreWorker> writer, std::unique_ptr<StoreWorker> reader,
              std::unique_ptr<StoreWorker> hand, transport::Loop& loop)
      : loop_(loop), writer_(std::move(writer)), reader_(std::move(reader)), hand_(std::move(hand)) {}

  // `work` is Result<R>(Store&). The task has to be awaited. Writes are done in their order.
  template <class F>
  auto write(F work) -> transport::Task<std::invoke_result_t<F&, Store&>> {
    return run(*writer_, "", std::move(work));
  }
  // `asker`: whoever waits for it, a token; "" is the backend itself.
  template <class F>
  auto read(const std::string& asker, F work) -> transport::Task<std::invoke_result_t<F&, Store&>> {
    return run(*reader_, asker, std::move(work));
  }
  // `work` is Result<R>().
  template <class F>
  auto work(const std::string& asker, F work) -> transport::Task<std::invoke_result_t<F&>> {
    return run(*hand_, asker, std::move(work));
  }

  std::size_t writes_queued() const { return writer_->queued(); }
  std::size_t reads_queued() const { return reader_->queued(); }

 private:
  template <class F>
  struct Answered {
    using Type = std::invoke_result_t<F&, Store&>;
  };
  template <class F>
  requires std::invocable<F&>
  struct Answered<F> {
    using Type = std::invoke_result_t<F&>;
  };
  template <class F>
  using AnswerOf = typename Answered<F>::Type;

  template <class F>
  struct Call final : StoreJob {
    using Answer = AnswerOf<F>;
    Call(transport::Loop& loop, F the_work) : StoreJob(loop), work(std::move(the_work)) {}
    base::Result<void> run(Store* store) override {
      if constexpr (std::is_invocable_v<F&>)
        answer.emplace(work());
      else
        answer.emplace(work(*store));
      if (!*answer) return answer->error();
      return {};
    }
    void fail(const base::Error& error) override { answer.emplace(error); }

    F work;
    std::optional<Answer> answer;
  };

  template <class F>
  transport::Task<AnswerOf<F>> run(StoreWorker& worker, const std::string& asker, F work) {
    auto call = std::make_shared<Call<F>>(loop_, std::move(work));
    const bool taken = worker.queue(asker, call);
    return wait_for<F>(std::move(call), taken);
  }
  template <class F>
  static transport::Task<AnswerOf<F>> wait_for(std::shared_ptr<Call<F>> call, bool taken) {
    if (!taken) co_return base::Error(base::ErrorCode::limit, "the store is behind: too much waits for it");
    co_await call->wait();
    co_return std::move(*call->answer);
  }

  transport::Loop& loop_;
  std::unique_ptr<StoreWorker> writer_;
  std::unique_ptr<StoreWorker> reader_;
  std::unique_ptr<StoreWorker> hand_;  // without a store
};

}  // namespace backend::store
