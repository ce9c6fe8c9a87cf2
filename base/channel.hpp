// Channel: a bounded queue of values between threads.
//
// push() waits while it is full, so a slow reader slows its writer down instead of growing the queue. Any
// number of writers and readers. readable_fd() can be polled together with sockets and pipes.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "base/unique_fd.hpp"

namespace base {

template <class T>
class Channel {
 public:
  using Clock = std::chrono::steady_clock;

  using Weigh = std::size_t (*)(const T&);

  explicit Channel(std::size_t capacity)
      : capacity_(capacity), fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  // For values that differ much in size: full too when they weigh this much together.
  Channel(std::size_t capacity, Weigh weigh, std::size_t most_weight)
      : capacity_(capacity),
        weigh_(weigh),
        most_weight_(most_weight),
        fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  // False when the channel was closed; the value is then lost.
  bool push(T value) {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return closed_ || has_room(); });
    if (closed_) return false;
    add(std::move(value));
    arrived(lock);
    return true;
  }

  // All of them, in order, taking the lock as seldom as there is room.
  bool push_all(std::vector<T> values) {
    for (std::size_t next = 0; next < values.size();) {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return closed_ || has_room(); });
      if (closed_) return false;
      while (next < values.size() && has_room())
        add(std::move(values[next++]));
      arrived(lock);
    }
    return true;
  }

  // Never waits: false when it is full. In a closed channel the value is lost, as with push().
  bool try_push(T value) {
    std::unique_lock lock(mutex_);
    if (closed_) return true;
    if (items_.size() >= capacity_) return false;
    items_.push_back(std::move(value));
    arrived(lock);
    return true;
  }

  std::optional<T> try_pop() {
    std::unique_lock lock(mutex_);
    return take(lock);
  }

  // Waits for a value; nothing when the time is over or the channel is closed and empty.
  std::optional<T> pop_until(Clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    filled_.wait_until(lock, deadline, [&] { return closed_ || !items_.empty(); });
    return take(lock);
  }
  std::optional<T> pop() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return closed_ || !items_.empty(); });
    return take(lock);
  }

  // All that is there, after waiting for at least one; empty when the channel is closed and empty.
  std::vector<T> pop_all() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [&] { return closed_ || !items_.empty(); });
    std::vector<T> all(std::make_move_iterator(items_.begin()), std::make_move_iterator(items_.end()));
    items_.clear();
    weight_ = 0;
    emptied(lock);
    return all;
  }

  // Writers fail from now on; readers still get what is there.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    signal();
    room_.notify_all();
    filled_.notify_all();
  }

  bool is_closed() {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }

  // Readable while there is something to pop, or the channel is closed.
  int readable_fd() const { return fd_.get(); }
  // False: the process had no descriptor left when this was made. Whoever polls would wait for ever.
  bool can_be_polled() const { return static_cast<bool>(fd_); }

 private:
  bool has_room() const { return items_.size() < capacity_ && (!weigh_ || weight_ < most_weight_); }
  void add(T value) {
    if (weigh_) weight_ += weigh_(value);
    items_.push_back(std::move(value));
  }
  void signal() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
  }
  void arrived(std::unique_lock<std::mutex>& lock) {
    signal();
    lock.unlock();
    filled_.notify_all();
  }
  void emptied(std::unique_lock<std::mutex>& lock) {
    if (!closed_) {
      std::uint64_t count = 0;
      [[maybe_unused]] const ssize_t got = ::read(fd_.get(), &count, sizeof count);
    }
    lock.unlock();
    room_.notify_all();
  }
  std::optional<T> take(std::unique_lock<std::mutex>& lock) {
    if (items_.empty()) return std::nullopt;
    std::optional<T> value(std::move(items_.front()));
    items_.pop_front();
    if (weigh_) weight_ -= weigh_(*value);
    if (items_.empty()) {
      emptied(lock);
    } else {
      lock.unlock();
      room_.notify_one();
    }
    return value;
  }

  const std::size_t capacity_;
  const Weigh weigh_ = nullptr;
  const std::size_t most_weight_ = 0;
  const UniqueFd fd_;
  std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable filled_;
  std::deque<T> items_;     // guarded by mutex_
  std::size_t weight_ = 0;  // guarded by mutex_
  bool closed_ = false;     // guarded by mutex_
};

}  // namespace base
