// BackgroundThread: one thread for what may block and is neither the loop's nor the worker's: facts and
// queries.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "base/channel.hpp"
#include "base/interrupt.hpp"
#include "base/unique_fd.hpp"

namespace base {

class BackgroundThread {
 public:
  using Job = std::function<void(base::Interrupt&)>;

  BackgroundThread();
  ~BackgroundThread();  // interrupts what runs, and joins
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  // False: there was no descriptor left, and what runs could not be interrupted.
  bool can_be_ended() const { return jobs_.can_be_polled() && ending_.wait_fd() >= 0; }

  // False when too much is waiting already.
  bool submit(Job job) { return jobs_.try_push(std::move(job)); }

 private:
  class Ending final : public base::Interrupt {
   public:
    Ending();
    void request();
    bool requested() override { return requested_.load(); }
    int wait_fd() const override { return fd_.get(); }

   private:
    std::atomic<bool> requested_ = false;
    const base::UniqueFd fd_;
  };

  static constexpr std::size_t kMostWaiting = 32;

  base::Channel<Job> jobs_{kMostWaiting};
  Ending ending_;
  std::thread thread_;
};

}  // namespace base
