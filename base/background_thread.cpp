#include "base/background_thread.hpp"

#include <sys/eventfd.h>

namespace base {

BackgroundThread::Ending::Ending() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void BackgroundThread::Ending::request() {
  requested_.store(true);
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
}

BackgroundThread::BackgroundThread()
    : thread_([this] {
        while (auto job = jobs_.pop())
          if (!ending_.requested()) (*job)(ending_);
      }) {}

BackgroundThread::~BackgroundThread() {
  ending_.request();
  jobs_.close();
  thread_.join();
}

}  // namespace base
