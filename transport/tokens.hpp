// Inside transport/: how our coroutines await Asio's operations, and the deadlines that they put on them.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>

#include "base/result.hpp"
#include "transport/async.hpp"

namespace transport {

// auto [error, …] = co_await socket.async_…(…, kAsTuple);
inline constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

using ErrorCode = boost::system::error_code;

// Calls `expire` after that time, unless it is destroyed first. `expire` ends what is being waited for,
// usually by closing a socket; expired() then tells a deadline from other errors.
class Deadline {
 public:
  Deadline(asio::any_io_executor executor, std::chrono::milliseconds time, std::function<void()> expire);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  bool expired() const;
  // From now on it does not expire.
  void cancel();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// "what: Connection reset by peer", with the code that fits.
base::Error to_error(const ErrorCode& error, std::string_view what);

}  // namespace transport
