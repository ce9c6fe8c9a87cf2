#include "transport/tokens.hpp"

#include <boost/asio/error.hpp>
#include <string>

namespace transport {

// Shared with the timer's handler, which may be on its way when the deadline is destroyed.
struct Deadline::State {
  State(asio::any_io_executor executor, std::chrono::milliseconds time) : timer(std::move(executor), time) {}

  asio::steady_timer timer;
  std::function<void()> expire;
  bool expired = false;
};

Deadline::Deadline(asio::any_io_executor executor, std::chrono::milliseconds time,
                   std::function<void()> expire)
    : state_(std::make_shared<State>(std::move(executor), time)) {
  state_->expire = std::move(expire);
  state_->timer.async_wait([state = state_](const ErrorCode& error) {
    if (error || !state->expire) return;
    state->expired = true;
    state->expire();
  });
}

Deadline::~Deadline() {
  cancel();
}

void Deadline::cancel() {
  state_->expire = nullptr;
  state_->timer.cancel();
}

bool Deadline::expired() const {
  return state_->expired;
}

base::Error to_error(const ErrorCode& error, std::string_view what) {
  const auto with = [&](base::ErrorCode code, std::string_view text) {
    return base::Error(code, std::string(what).append(": ").append(text));
  };
  if (error == asio::error::eof) return with(base::ErrorCode::io, "the other side ended the connection");
  if (error == asio::error::operation_aborted) return with(base::ErrorCode::cancelled, "cancelled");
  if (error.category() == boost::system::system_category()) return base::os_error(error.value(), what);
  return with(base::ErrorCode::io, error.message());
}

}  // namespace transport
