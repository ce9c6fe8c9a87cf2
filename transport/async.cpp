#include "transport/async.hpp"

#include <exception>

#include "transport/tokens.hpp"

namespace transport {

void spawn(asio::any_io_executor executor, Task<> task) {
  asio::co_spawn(std::move(executor), std::move(task), [](std::exception_ptr defect) {
    if (defect) std::rethrow_exception(defect);
  });
}

Task<> sleep_for(std::chrono::milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(kAsTuple);
}

Task<> Wake::wait() {
  co_await timer_.async_wait(kAsTuple);
}

Task<> Wake::wait_for(std::chrono::milliseconds time) {
  const Deadline alarm(timer_.get_executor(), time, [this] { notify(); });
  co_await timer_.async_wait(kAsTuple);
}

}  // namespace transport
