// What code outside transport/ sees of Asio: coroutines, one loop per thread, timers.
//
// Sockets, HTTP and websockets have narrow headers of their own; the heavy ones stay inside this folder.
// Everything here belongs to one loop and is used on its thread; asio::post(loop, …) is the way in from
// others.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>

#include "transport/task.hpp"

namespace transport {

namespace asio = boost::asio;

using Loop = asio::io_context;

// Starts the task on that loop; nobody waits for it. An exception that leaves it, a defect, leaves
// Loop::run().
void spawn(asio::any_io_executor executor, Task<> task);

// Resumes after that time.
Task<> sleep_for(std::chrono::milliseconds time);

// A condition variable for coroutines of one loop. As with one, check the condition around wait(). It
// outlives those that wait.
class Wake {
 public:
  explicit Wake(const asio::any_io_executor& executor)
      : timer_(executor, asio::steady_timer::time_point::max()) {}

  // Resumes all that wait now.
  void notify() { timer_.cancel(); }
  Task<> wait();
  // Resumes after that time too.
  Task<> wait_for(std::chrono::milliseconds time);

 private:
  asio::steady_timer timer_;  // never expires
};

}  // namespace transport
