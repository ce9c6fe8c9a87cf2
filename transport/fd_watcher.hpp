// FdWatcher: lets a coroutine wait until a descriptor has something to read: the channel of another thread,
// signals, a listening socket. Belongs to its loop's thread.
#pragma once

#include <chrono>
#include <memory>

#include "transport/async.hpp"

namespace transport {

class FdWatcher {
 public:
  // The descriptor stays the caller's and must outlive the watcher.
  FdWatcher(asio::any_io_executor executor, int fd);
  ~FdWatcher();
  FdWatcher(const FdWatcher&) = delete;
  FdWatcher& operator=(const FdWatcher&) = delete;

  // Resumes when there is something to read, or the other end is gone. False: cancel() was called. One at a
  // time.
  Task<bool> readable();
  // The same, and false when the time is over.
  Task<bool> readable_for(std::chrono::milliseconds time);

  // Ends a wait, now.
  void cancel();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with the wait, which may end after the watcher is gone
};

}  // namespace transport
