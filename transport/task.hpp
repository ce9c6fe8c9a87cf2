// Task, by name only: for headers that declare coroutines. Whoever runs or awaits one includes async.hpp.
#pragma once

namespace boost::asio {
class any_io_executor;
template <typename, typename>
class awaitable;
}  // namespace boost::asio

namespace transport {

// A coroutine that runs on its loop's thread. Errors are values: it answers Result<T> where something can
// fail. g++ 12: pass arguments by value, and make them before the co_await, not inside it.
template <class T = void>
using Task = boost::asio::awaitable<T, boost::asio::any_io_executor>;

}  // namespace transport
